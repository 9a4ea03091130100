//! Healing of damaged rows: a candidate is right if its digest is the one that was written.

use std::path::{Path, PathBuf};

use rusqlite::{
    Connection,
    config::DbConfig,
    named_params, params_from_iter,
    types::{Value, ValueRef},
};

use super::{
    DigestedTable, ReadOnlyFile, RowDamage, RowDamageKind, Store, StoreError,
    digested_tables::IS_TABLE_SQL,
    file::{begin_immediate, configure_connection, open_connection},
    repaired_text::repaired_texts,
    row_digest::{decode_row, digest_of, encode_row},
    set_digest_writing,
};

/// Returns a row if a table ?1 has the column ?2.
const HAS_COLUMN_SQL: &str = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
/// Maximum length of a row in which each single bit is tried, in bytes.
const MAX_BIT_SEARCH_BYTES: usize = 64 << 10;
/// Maximum length of a row in which each value of each byte is tried, in bytes.
const MAX_BYTE_SEARCH_BYTES: usize = 4 << 10;

/// Maximum number of rows whose key is tried for a missing row. Each is searched for in the whole table.
const MAX_KEY_CANDIDATES: usize = 100;

/// Where the right values of a row were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealedFrom {
    /// One byte of the row differed, and only one value of it fits the digest.
    Digest,
    /// A text of the file of the item.
    File,
    /// A text that the journal keeps: what the file of the item said at its last import.
    Journal,
    /// The same row in a backup.
    Backup(PathBuf),
}

impl Store {
    /// Restores damaged rows, in the order of `damage`, from their digests, from earlier or present texts
    /// of the item, or from copies of this database; `None` for a row that could not be restored.
    pub fn heal_rows(
        &self,
        damage: &[RowDamage],
        backups: &[PathBuf],
        texts: impl Fn(&RowDamage) -> Vec<(HealedFrom, String)>,
    ) -> Result<Vec<Option<HealedFrom>>, StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        self.open()?;
        let mut connection = open_connection(self.path()).map_err(failed)?;
        // The index entries of a damaged row may be those of the right one, and rows that are gone may
        // be referred to.
        connection.pragma_update(None, "writable_schema", true).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", false).map_err(failed)?;
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
            .map_err(failed)?;
        let backups: Vec<_> = backups
            .iter()
            .map(|path| open_copy(path).map(|copy| (path, copy)))
            .collect::<rusqlite::Result<_>>()
            .map_err(failed)?;
        let mut transaction = begin_immediate(&mut connection)?;
        set_digest_writing(&transaction, self.database(), true)?;
        let mut healed = vec![None; damage.len()];
        for (index, row) in damage.iter().enumerate() {
            let table = self.database().digested_tables().iter().find(|it| it.name == row.table);
            let Some((table, digest)) = table.zip(row.digest) else { continue };
            let savepoint = transaction.savepoint().map_err(failed)?;
            // Before a copy is asked for the row, because the damaged one would stay then.
            let place = match row.kind {
                RowDamageKind::Missing => table
                    .heal_key_of_one(&savepoint, row.key, digest, damage, &healed)
                    .map_err(failed)?,
                RowDamageKind::Changed | RowDamageKind::Unknown => None,
            };
            let from = if let Some(place) = place {
                set_healed(&mut healed, place, Some(HealedFrom::Digest));
                Some(HealedFrom::Digest)
            } else {
                let is_changed = row.kind == RowDamageKind::Changed;
                let texts = if is_changed { texts(row) } else { Vec::new() };
                table.heal(&savepoint, row, digest, &texts, &backups).map_err(failed)?
            };
            if from.is_some() {
                savepoint.commit().map_err(failed)?;
            }
            set_healed(&mut healed, index, from);
        }
        set_digest_writing(&transaction, self.database(), false)?;
        transaction.commit().map_err(failed)?;
        Ok(healed)
    }

    /// Builds the indexes of a table again.
    pub fn rebuild_indexes(&self, table: &str) -> Result<(), StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_connection(self.path()).map_err(failed)?;
        let name = table.replace('"', "\"\"");
        connection.execute_batch(&format!("REINDEX main.\"{name}\"")).map_err(failed)
    }
}

fn set_healed(healed: &mut [Option<HealedFrom>], index: usize, from: Option<HealedFrom>) {
    if let Some(place) = healed.get_mut(index) {
        *place = from;
    }
}

/// Opens a copy of a database for reading, without a lock.
fn open_copy(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = ReadOnlyFile::Immutable.open(path)?;
    configure_connection(&mut connection)?;
    Ok(connection)
}

impl DigestedTable {
    fn heal(
        &self,
        connection: &Connection,
        row: &RowDamage,
        digest: i64,
        texts: &[(HealedFrom, String)],
        backups: &[(&PathBuf, Connection)],
    ) -> rusqlite::Result<Option<HealedFrom>> {
        let is_there = row.kind == RowDamageKind::Changed;
        if is_there
            && let Some(encoded) = self.read_encoded(connection, row.key)?
            && let Some(values) = find_single_byte(encoded, self.columns.len(), digest)
            && self.write_values(connection, row.key, values, is_there, digest)?
        {
            return Ok(Some(HealedFrom::Digest));
        }
        if let Some((from, values)) = self.find_text(connection, row.key, digest, texts)?
            && self.write_values(connection, row.key, values, is_there, digest)?
        {
            return Ok(Some(from));
        }
        for (path, backup) in backups {
            // A copy of an earlier version may have the table under another name.
            if !backup.prepare_cached(IS_TABLE_SQL)?.exists([self.name])? {
                continue;
            }
            let Some(encoded) = self.read_encoded(backup, row.key)? else { continue };
            if digest_of(&encoded) == digest
                && let Ok(values) = decode_row(&encoded, self.columns.len())
                && self.write_values(connection, row.key, values, is_there, digest)?
            {
                return Ok(Some(HealedFrom::Backup((*path).clone())));
            }
        }
        Ok(None)
    }

    /// Returns the values of a row with one of `texts`, or with parts of it, in the place of one of its
    /// own, if its digest fits then.
    fn find_text(
        &self,
        connection: &Connection,
        key: i64,
        digest: i64,
        texts: &[(HealedFrom, String)],
    ) -> rusqlite::Result<Option<(HealedFrom, Vec<Value>)>> {
        if texts.is_empty() {
            return Ok(None);
        }
        // A damaged text need not be UTF-8.
        let keep = |value: &ValueRef<'_>| match value {
            ValueRef::Text(text) => {
                (Value::Text(String::from_utf8_lossy(text).into_owned()), Some(text.to_vec()))
            }
            ValueRef::Blob(blob) => (Value::Blob(blob.to_vec()), None),
            ValueRef::Integer(number) => (Value::Integer(*number), None),
            ValueRef::Real(number) => (Value::Real(*number), None),
            ValueRef::Null => (Value::Null, None),
        };
        let read: Option<(Vec<_>, Vec<_>)> =
            self.read_row(connection, key, |values| values.iter().map(keep).unzip())?;
        let Some((mut row, stored)) = read else { return Ok(None) };
        let columns = stored.iter().enumerate().filter_map(|(at, text)| Some((at, text.as_ref()?)));
        for (index, damaged) in columns {
            let damaged_value = row.get(index).cloned().unwrap_or(Value::Null);
            for (from, text) in texts {
                let whole = std::iter::once(text.clone());
                for candidate in whole.chain(repaired_texts(damaged, text.as_bytes())) {
                    set(&mut row, index, Value::Text(candidate));
                    if digest_of(&encode_row(row.iter().map(Into::into))) == digest {
                        return Ok(Some((from.clone(), row)));
                    }
                }
            }
            set(&mut row, index, damaged_value);
        }
        Ok(None)
    }

    /// Finds a missing row under another key, and restores its key. Returns the place of its damage.
    fn heal_key_of_one(
        &self,
        connection: &Connection,
        key: i64,
        digest: i64,
        damage: &[RowDamage],
        healed: &[Option<HealedFrom>],
    ) -> rusqlite::Result<Option<usize>> {
        let others = damage.iter().zip(healed).enumerate().filter(|(_, (row, healed))| {
            row.table == self.name && row.kind == RowDamageKind::Unknown && healed.is_none()
        });
        for (place, (other, _)) in others.take(MAX_KEY_CANDIDATES) {
            if self.heal_key(connection, key, digest, other.key)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Gives the row with the damaged key `found` its right key, if its digest tells it.
    fn heal_key(
        &self,
        connection: &Connection,
        key: i64,
        digest: i64,
        found: i64,
    ) -> rusqlite::Result<bool> {
        let Some(encoded) = self.read_encoded(connection, found)? else { return Ok(false) };
        if let Some(row_key) = &self.row_key {
            // The number is no part of the digest.
            if digest_of(&encoded) != digest {
                return Ok(false);
            }
            let name = self.name;
            // Entries with the right number would take the row for another one.
            connection.execute_batch(&format!("REINDEX main.{name}"))?;
            let sql = format!("UPDATE OR IGNORE {name} SET {row_key} = ?1 WHERE {row_key} = ?2");
            connection.execute(&sql, [key, found])?;
        } else {
            let right = find_single_byte(encoded, self.columns.len(), digest);
            let Some(values) = right else { return Ok(false) };
            self.remove_row(connection, found)?;
            self.write_values(connection, key, values, false, digest)?;
        }
        let healed = self.read_encoded(connection, key)?;
        Ok(healed.is_some_and(|encoded| digest_of(&encoded) == digest))
    }

    /// Removes a row with a damaged key. It may be where its key does not lead, and so may be the rows after
    /// it, so the rows are sorted again.
    fn remove_row(&self, connection: &Connection, key: i64) -> rusqlite::Result<()> {
        let (name, rows, key_sql) = (self.name, self.rows_sql(), self.key_sql("stored"));
        connection.execute_batch(&format!(
            "CREATE TEMP TABLE other_rows AS SELECT * FROM {rows} WHERE {key_sql} <> {key};
             DELETE FROM main.{name};
             INSERT OR IGNORE INTO main.{name} SELECT * FROM temp.other_rows;
             DROP TABLE temp.other_rows"
        ))
    }

    /// Returns the encoded row with a key, as its digest has it: without defaults. A damaged text need
    /// not be UTF-8.
    fn read_encoded(&self, connection: &Connection, key: i64) -> rusqlite::Result<Option<Vec<u8>>> {
        self.read_row(connection, key, |values| encode_row(values.iter().copied()))
    }

    /// Reads the row with a key without defaults.
    fn read_row<T>(
        &self,
        connection: &Connection,
        key: i64,
        read: impl FnOnce(&[ValueRef<'_>]) -> T,
    ) -> rusqlite::Result<Option<T>> {
        let mut has_column = connection.prepare_cached(HAS_COLUMN_SQL)?;
        let mut columns = Vec::new();
        for (column, default) in &self.columns {
            columns.push(match default {
                // A copy of an earlier version.
                _ if !has_column.exists([self.name, column.as_str()])? => "NULL".to_owned(),
                Some(default) => format!("nullif(stored.{column}, {default})"),
                None => format!("stored.{column}"),
            });
        }
        let sql = format!(
            "SELECT {} FROM {} WHERE {} = :key",
            columns.join(", "),
            self.rows_sql(),
            self.key_sql("stored")
        );
        let mut statement = connection.prepare(&sql)?;
        let count = statement.column_count();
        let mut rows = statement.query(named_params! { ":key": key })?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let values: Vec<_> =
            (0..count).map(|index| row.get_ref(index)).collect::<rusqlite::Result<_>>()?;
        Ok(Some(read(&values)))
    }

    /// Writes the values of a row. Returns whether the stored row has the digest then.
    fn write_values(
        &self,
        connection: &Connection,
        key: i64,
        values: Vec<Value>,
        is_there: bool,
        digest: i64,
    ) -> rusqlite::Result<bool> {
        let names: Vec<&str> = self.columns.iter().map(|(column, _)| column.as_str()).collect();
        let value = |(index, (_, default)): (usize, &(String, Option<String>))| match default {
            Some(default) => format!("coalesce(?{}, {default})", index + 2),
            None => format!("?{}", index + 2),
        };
        let given: Vec<String> = self.columns.iter().enumerate().map(value).collect();
        let (name, key_sql) = (self.name, self.key_sql("stored"));
        let sql = match &self.row_key {
            _ if is_there => {
                let set: Vec<_> = names
                    .iter()
                    .zip(&given)
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                format!("UPDATE {name} AS stored SET {} WHERE {key_sql} = ?1", set.join(", "))
            }
            Some(row_key) => format!(
                "INSERT INTO {name} ({row_key}, {}) VALUES (?1, {})",
                names.join(", "),
                given.join(", ")
            ),
            None => format!(
                "INSERT INTO {name} ({}) SELECT {} WHERE ?1 IS NOT NULL",
                names.join(", "),
                given.join(", ")
            ),
        };
        let parameters = std::iter::once(Value::Integer(key)).chain(values);
        match connection.execute(&sql, params_from_iter(parameters)) {
            Ok(_) => {}
            // Another row has a unique value of this one.
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        let stored = self.read_encoded(connection, key)?;
        Ok(stored.is_some_and(|encoded| digest_of(&encoded) == digest))
    }
}

/// Returns the only row of `columns` values with this digest that differs in one byte of a text, a BLOB or
/// a number.
fn find_single_byte(mut bytes: Vec<u8>, columns: usize, digest: i64) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    // The time grows with the square of the length.
    let masks: Vec<u8> = if bytes.len() <= MAX_BYTE_SEARCH_BYTES {
        (1..=255).collect()
    } else if bytes.len() <= MAX_BIT_SEARCH_BYTES {
        (0..8).map(|bit| 1 << bit).collect()
    } else {
        Vec::new()
    };
    for index in 0..bytes.len() {
        for mask in &masks {
            flip(&mut bytes, index, *mask);
            if digest_of(&bytes) == digest
                && let Ok(row) = decode_row(&bytes, columns)
            {
                found.push(row);
            }
            flip(&mut bytes, index, *mask);
        }
    }
    // A byte of a number is not a byte of its encoding. If a text cannot be decoded, it is damaged, and
    // no number.
    let values = decode_row(&bytes, columns).unwrap_or_default();
    let mut row = values.clone();
    for (index, value) in values.iter().enumerate() {
        let Value::Integer(number) = value else { continue };
        for (place, mask) in (0..8).flat_map(|place| (1..=255_u64).map(move |mask| (place, mask))) {
            let other = (number.cast_unsigned() ^ (mask << (8 * place))).cast_signed();
            set(&mut row, index, Value::Integer(other));
            if digest_of(&encode_row(row.iter().map(Into::into))) == digest && !found.contains(&row)
            {
                found.push(row.clone());
            }
        }
        set(&mut row, index, value.clone());
    }
    if found.len() > 1 { None } else { found.pop() }
}

fn flip(bytes: &mut [u8], index: usize, mask: u8) {
    if let Some(byte) = bytes.get_mut(index) {
        *byte ^= mask;
    }
}

fn set(row: &mut [Value], index: usize, value: Value) {
    if let Some(place) = row.get_mut(index) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_byte_is_found_by_digest() {
        let right = vec![
            Value::Text("Kneading the dough".into()),
            Value::Null,
            Value::Integer(0x3E8),
            Value::Blob(vec![1, 2, 3]),
        ];
        let digest = digest_of(&encode_row(right.iter().map(Into::into)));
        let damaged = |index: usize, value| {
            let mut row = right.clone();
            row[index] = value;
            row
        };
        let encode = |row: &[Value]| encode_row(row.iter().map(Into::into));
        for row in [
            damaged(0, Value::Text("Kneading tha dough".into())),
            damaged(2, Value::Integer(0x3E8 ^ 0x4200)),
            damaged(3, Value::Blob(vec![1, 200, 3])),
        ] {
            assert_eq!(find_single_byte(encode(&row), 4, digest), Some(right.clone()));
        }
        let mut invalid = encode(&right);
        flip(&mut invalid, 8, 0x80);
        assert!(decode_row(&invalid, 4).is_err(), "a text that is not UTF-8");
        assert_eq!(find_single_byte(invalid, 4, digest), Some(right.clone()));
        let two = damaged(0, Value::Text("Kneading thy bough".into()));
        assert_eq!(find_single_byte(encode(&two), 4, digest), None);
    }
}
