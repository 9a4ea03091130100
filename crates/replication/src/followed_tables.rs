//! The tables of a file that follows an archive: which rows changed, and storing rows of others.
//!
//! All plain tables are followed except those of [`LOCAL_TABLES`]. Full-text tables are derived: an
//! entry names a row of theirs, and each server indexes it from the other rows.

use std::{collections::HashMap, ops::ControlFlow};

use rusqlite::{Connection, ToSql, params_from_iter, types::Value};
use vademecum_store::{
    DamagedRow, DerivedFtsTable, Entry, TableChanges, decode_values, encode_value,
};

/// Removes the greatest identifier that the table ?1 has used.
const FORGET_SEQUENCE_SQL: &str = "DELETE FROM main.sqlite_sequence WHERE name = ?1";
/// Returns a row if the table ?1 never uses an identifier again.
const HAS_SEQUENCE_SQL: &str = "SELECT 1 \
     FROM main.sqlite_schema \
     WHERE type = 'table' AND name = ?1 AND sql LIKE '%AUTOINCREMENT%'";
/// The greatest identifier that the table ?1 has used.
const SEQUENCE_SQL: &str = "SELECT seq FROM main.sqlite_sequence WHERE name = ?1";
/// Stores the greatest identifier that the table ?1 has used.
const SET_SEQUENCE_SQL: &str = "INSERT INTO main.sqlite_sequence (name, seq) VALUES (?1, ?2)";
/// The columns of the table ?1 in order; `pk` is the position in the primary key, or 0.
const TABLE_COLUMNS_SQL: &str = "SELECT name, pk FROM pragma_table_info(?1, 'main') ORDER BY cid";

/// Tables about this copy of a database: the state of following, how words are stored, and digests of
/// its rows.
const LOCAL_TABLES: [&str; 4] = ["archive_state", "fts_versions", "row_digests", "digest_state"];
/// The greatest identifier that each table with AUTOINCREMENT has used.
const SEQUENCE_TABLE: &str = "sqlite_sequence";

/// The followed tables of one connection, and triggers that record the keys of changed rows.
#[derive(Debug)]
pub(crate) struct FollowedTables {
    tables: Vec<FollowedTable>,
    derived: Vec<DerivedFtsTable>,
}

/// One followed table with its statements.
#[derive(Debug)]
struct FollowedTable {
    name: String,
    /// Columns of the primary key.
    key: Vec<String>,
    /// The table has AUTOINCREMENT.
    has_sequence: bool,
    changes_sql: String,
    all_sql: String,
    insert_sql: String,
    delete_sql: String,
    forget_sql: String,
}

/// Error of storing an entry.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    #[error(transparent)]
    Damaged(#[from] DamagedRow),
    #[error(transparent)]
    Statement(#[from] rusqlite::Error),
}

/// Rows of full-text tables that have to be indexed or removed, by table.
pub(super) type FtsKeys = HashMap<String, Vec<(i64, bool)>>;

impl FollowedTables {
    /// Finds the tables of a database, and records changes of `connection` from now on.
    pub(crate) fn attach(
        connection: &Connection,
        derived: Vec<DerivedFtsTable>,
    ) -> rusqlite::Result<Self> {
        let found = Self { derived, ..Self::find(connection)? };
        for table in &found.tables {
            record_changes(connection, &table.name, &table.key)?;
        }
        // A row that REPLACE removes is a change too.
        connection.pragma_update(None, "recursive_triggers", true)?;
        Ok(found)
    }

    /// Finds the tables of a database.
    pub(super) fn find(connection: &Connection) -> rusqlite::Result<Self> {
        let names: Vec<String> = connection
            .prepare(include_str!("sql/followed_tables.sql"))?
            .query_map([], |row| row.get("name"))?
            .collect::<rusqlite::Result<_>>()?;
        let followed = names.into_iter().filter(|name| !LOCAL_TABLES.contains(&name.as_str()));
        let tables = followed
            .map(|name| FollowedTable::find(connection, name))
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self { tables, derived: Vec::new() })
    }

    /// Returns whether the archive keeps the rows of a table.
    pub(super) fn has_table(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table.name == name)
    }

    /// Returns the changes of the running transaction, and forgets them. `indexed` are its changes to
    /// full-text tables.
    pub(super) fn take_changes(
        &self,
        connection: &Connection,
        indexed: &[TableChanges],
    ) -> rusqlite::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for table in &self.tables {
            let before = entries.len();
            table.read_entries(connection, &table.changes_sql, &mut entries)?;
            if entries.len() > before {
                connection.prepare_cached(&table.forget_sql)?.execute([])?;
                if table.has_sequence {
                    entries.extend(read_sequence(connection, &table.name)?);
                }
            }
        }
        for TableChanges { table, rows, .. } in indexed {
            let sql = format!("SELECT 1 FROM {} WHERE id = ?1", quote(&[table.name, "_docsize"]));
            let mut is_indexed = connection.prepare_cached(&sql)?;
            for row in rows {
                let row_of = is_indexed.exists([row])?.then(Vec::new);
                let key = encode(&[Value::Integer(*row)]);
                entries.push(Entry { table: table.name.to_owned(), key, row: row_of });
            }
        }
        Ok(entries)
    }

    /// Forgets the changes of the running transaction.
    pub(super) fn forget_changes(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.tables.iter().try_for_each(|table| {
            connection.prepare_cached(&table.forget_sql)?.execute([]).map(drop)
        })
    }

    /// Returns all rows as entries, without full-text tables.
    pub(super) fn all_entries(&self, connection: &Connection) -> rusqlite::Result<Vec<Entry>> {
        let mut all = Vec::new();
        self.for_each_table(connection, |entries| all.extend(entries))?;
        Ok(all)
    }

    /// Passes the rows of each table on, without full-text tables.
    pub(super) fn for_each_table(
        &self,
        connection: &Connection,
        mut each: impl FnMut(Vec<Entry>),
    ) -> rusqlite::Result<()> {
        for table in &self.tables {
            let mut entries = Vec::new();
            table.read_entries(connection, &table.all_sql, &mut entries)?;
            if table.has_sequence {
                entries.extend(read_sequence(connection, &table.name)?);
            }
            each(entries);
        }
        Ok(())
    }

    /// Removes all rows.
    pub(super) fn clear(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.tables.iter().try_for_each(|table| {
            connection.execute(&format!("DELETE FROM main.{}", quote(&[&table.name])), []).map(drop)
        })
    }

    /// Stores an entry. Rows of full-text tables are added to `keys`. Entries of tables that this
    /// program does not have are ignored.
    pub(super) fn apply(
        &self,
        connection: &Connection,
        entry: Entry,
        keys: &mut FtsKeys,
    ) -> Result<(), ApplyError> {
        let key = decode_values(&entry.key)?;
        if let Some(table) = self.tables.iter().find(|table| table.name == entry.table) {
            return table.apply(connection, &key, entry.row.as_deref());
        }
        match (entry.table.as_str(), key.as_slice(), entry.row) {
            (SEQUENCE_TABLE, [Value::Text(name)], Some(row)) => {
                let last = decode_values(&row)?.into_iter().next().ok_or(DamagedRow)?;
                let sql = SET_SEQUENCE_SQL;
                connection.prepare_cached(FORGET_SEQUENCE_SQL)?.execute([name])?;
                connection.prepare_cached(sql)?.execute((name, last))?;
            }
            (table, [Value::Integer(key)], row) => {
                keys.entry(table.to_owned()).or_default().push((*key, row.is_some()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Fills the full-text tables again from the rows.
    pub(super) fn fill_full_text(&self, connection: &Connection) -> rusqlite::Result<()> {
        for derived in &self.derived {
            let name = quote(&[derived.table]);
            connection
                .execute(&format!("INSERT INTO {name} ({name}) VALUES ('delete-all')"), [])?;
            connection.execute_batch(derived.fill_sql)?;
        }
        Ok(())
    }

    /// Returns the full-text tables.
    pub(super) fn derived(&self) -> &[DerivedFtsTable] {
        &self.derived
    }
}

impl FollowedTable {
    fn find(connection: &Connection, name: String) -> rusqlite::Result<Self> {
        let columns = connection
            .prepare(TABLE_COLUMNS_SQL)?
            .query_map([&name], |row| Ok((row.get("name")?, row.get("pk")?)))?
            .collect::<rusqlite::Result<Vec<(String, i64)>>>()?;
        let mut key: Vec<_> = columns.iter().filter(|(_, position)| *position > 0).collect();
        key.sort_by_key(|(_, position)| *position);
        let key: Vec<&str> = key.into_iter().map(|(column, _)| column.as_str()).collect();
        let other: Vec<&str> = columns
            .iter()
            .filter(|(_, position)| *position == 0)
            .map(|(column, _)| column.as_str())
            .collect();
        let has_sequence = connection.prepare(HAS_SEQUENCE_SQL)?.exists([&name])?;
        Ok(Self::new(name, &key, &other, has_sequence))
    }

    fn new(name: String, key: &[&str], other: &[&str], has_sequence: bool) -> Self {
        let (table, changed) = (quote(&[&name]), quote(&["changed_", &name]));
        let both: Vec<&str> = key.iter().chain(other).copied().collect();
        let list = |prefix: &str, columns: &[&str]| {
            let quoted = columns.iter().map(|column| format!("{prefix}{}", quote(&[column])));
            quoted.collect::<Vec<_>>().join(", ")
        };
        let same = |prefix: &str| {
            let equal = key.iter().enumerate().map(|(index, column)| {
                let right = if prefix.is_empty() {
                    format!("?{}", index + 1)
                } else {
                    format!("{prefix}{}", quote(&[column]))
                };
                format!("stored.{} = {right} COLLATE BINARY", quote(&[column]))
            });
            equal.collect::<Vec<_>>().join(" AND ")
        };
        let present = key.first().map_or_else(String::new, |column| quote(&[column]));
        let (keys, others) = (list("changed.", key), list("stored.", other));
        let comma = if other.is_empty() { "" } else { ", " };
        let values: Vec<String> = (1..=both.len()).map(|number| format!("?{number}")).collect();
        Self {
            key: key.iter().map(|column| (*column).to_owned()).collect(),
            has_sequence,
            changes_sql: format!(
                "SELECT stored.{present} IS NOT NULL, {keys}{comma}{others} \
                 FROM (SELECT DISTINCT * FROM temp.{changed}) AS changed \
                 LEFT JOIN main.{table} AS stored ON {}",
                same("changed.")
            ),
            all_sql: format!(
                "SELECT 1, {}{comma}{others} FROM main.{table} AS stored",
                list("stored.", key)
            ),
            insert_sql: format!(
                "INSERT OR REPLACE INTO main.{table} ({}) VALUES ({})",
                list("", &both),
                values.join(", ")
            ),
            delete_sql: format!("DELETE FROM main.{table} AS stored WHERE {}", same("")),
            forget_sql: format!("DELETE FROM temp.{changed}"),
            name,
        }
    }

    /// Adds the rows of a statement: whether the row exists, its key, its other columns.
    fn read_entries(
        &self,
        connection: &Connection,
        sql: &str,
        entries: &mut Vec<Entry>,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (mut key, mut content) = (Vec::new(), Vec::new());
            for column in 1..=self.key.len() {
                encode_value(row.get_ref(column)?, &mut key);
            }
            let exists: bool = row.get(0)?;
            if exists {
                for column in self.key.len() + 1..columns {
                    encode_value(row.get_ref(column)?, &mut content);
                }
            }
            let row = exists.then_some(content);
            entries.push(Entry { table: self.name.clone(), key, row });
        }
        Ok(())
    }

    fn apply(
        &self,
        connection: &Connection,
        key: &[Value],
        row: Option<&[u8]>,
    ) -> Result<(), ApplyError> {
        let Some(row) = row else {
            connection.prepare_cached(&self.delete_sql)?.execute(params_from_iter(key))?;
            return Ok(());
        };
        let row = decode_values(row)?;
        let mut statement = connection.prepare_cached(&self.insert_sql)?;
        if statement.parameter_count() != key.len() + row.len() {
            return Err(DamagedRow.into());
        }
        let values = key.iter().chain(&row).map(|value| value as &dyn ToSql);
        statement.execute(params_from_iter(values))?;
        Ok(())
    }
}

/// Creates temporary triggers that collect the keys of changed rows in a temporary table. It has no
/// constraint, because a conflict clause of the statement that fires a trigger applies there too.
fn record_changes(connection: &Connection, name: &str, key: &[String]) -> rusqlite::Result<()> {
    let (table, changed) = (quote(&[name]), quote(&["changed_", name]));
    let columns = key.iter().map(|column| quote(&[column])).collect::<Vec<_>>().join(", ");
    let record = |row: &str| {
        let values = key.iter().map(|column| format!("{row}.{}", quote(&[column])));
        let values = values.collect::<Vec<_>>().join(", ");
        format!("INSERT INTO {changed} VALUES ({values});")
    };
    let (new, old) = (record("NEW"), record("OLD"));
    let trigger = |event: &str, body: &str| {
        let trigger = quote(&["changed_", name, "_", event]);
        format!("CREATE TEMP TRIGGER {trigger} AFTER {event} ON main.{table} BEGIN {body} END;")
    };
    connection.execute_batch(&format!(
        "CREATE TEMP TABLE {changed} ({columns}); {} {} {}",
        trigger("INSERT", &new),
        trigger("DELETE", &old),
        trigger("UPDATE", &format!("{old} {new}")),
    ))
}

fn read_sequence(connection: &Connection, table: &str) -> rusqlite::Result<Option<Entry>> {
    let mut statement = connection.prepare_cached(SEQUENCE_SQL)?;
    let mut rows = statement.query([table])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut content = Vec::new();
    encode_value(row.get_ref("seq")?, &mut content);
    let key = encode(&[Value::Text(table.to_owned())]);
    Ok(Some(Entry { table: SEQUENCE_TABLE.to_owned(), key, row: Some(content) }))
}

fn encode(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        encode_value(value.into(), &mut bytes);
    }
    bytes
}

/// Quotes an identifier, which consists of `parts`.
fn quote(parts: &[&str]) -> String {
    format!("\"{}\"", parts.concat().replace('"', "\"\""))
}

/// Continues while results are `Ok`, and keeps the first error.
pub(super) fn keep_error<E>(result: Result<(), E>, error: &mut Option<E>) -> ControlFlow<()> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(failed) => {
            *error = Some(failed);
            ControlFlow::Break(())
        }
    }
}
