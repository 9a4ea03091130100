//! Verification of the digests of all rows of a file.

use std::collections::HashSet;

use rusqlite::{Connection, Row};

use super::{
    DigestedTable, Store, StoreError,
    file::{begin_immediate, open_connection},
    item_damage::find_item,
    row_digest::is_sealed,
    set_digest_writing,
};

/// The indexes of a table ?1 with their first columns.
const INDEXES_SQL: &str = "SELECT list.name, list.partial AS is_partial, info.name AS first_column \
     FROM pragma_index_list(?1) AS list, pragma_index_info(list.name) AS info \
     WHERE info.seqno = 0 AND info.name IS NOT NULL";

/// Result of verifying the rows of a file.
#[derive(Clone, Debug, Default)]
pub struct RowVerification {
    /// Number of rows whose digest fits.
    pub sound: u64,
    /// Number of rows without a digest, of an earlier version or another program.
    pub without_digest: u64,
    /// Number of digests that are damaged themselves.
    pub damaged_digests: u64,
    /// The damaged rows.
    pub damage: Vec<RowDamage>,
    /// Digests to remove: the damaged ones.
    stale: Vec<(i64, i64)>,
    /// Number of digests that do not say what rules of access depend on, as those of an earlier version.
    without_access_key: u64,
}

/// A damaged row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDamage {
    /// Table of the row.
    pub table: &'static str,
    /// Kind of the damage.
    pub kind: RowDamageKind,
    /// Source and identifier of its item, as they are stored in the row.
    pub item: Option<(String, String)>,
    /// Key in `row_digests`.
    pub(super) key: i64,
    /// Digest of the row as it was written, if it is known.
    pub(super) digest: Option<i64>,
}

/// Kind of the damage of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowDamageKind {
    /// Its values differ from those that were written.
    Changed,
    /// The row is gone.
    Missing,
    /// It has no digest, in a table where a row is missing: its key may be damaged.
    Unknown,
}

/// A digest without a row.
struct Stray {
    key: i64,
    digest: i64,
    access_key: Option<i64>,
    /// Whether the number of its row is damaged.
    is_renumbered: bool,
}

/// A row whose digest does not fit, or which has none.
pub(super) struct Misfit {
    pub(super) key: i64,
    pub(super) digest: Option<i64>,
    found: i64,
    pub(super) item: Option<(String, String)>,
}

impl RowVerification {
    /// Returns whether digests have to be written: of rows without one, or instead of damaged ones.
    pub fn lacks_digests(&self) -> bool {
        self.without_digest > 0 || self.without_access_key > 0 || !self.stale.is_empty()
    }

    fn add_table(
        &mut self,
        table: &'static DigestedTable,
        misfits: Vec<Misfit>,
        strays: &[Stray],
        item_of: impl Fn(i64) -> Option<(String, String)>,
    ) {
        let new: HashSet<i64> =
            misfits.iter().filter(|row| row.digest.is_none()).map(|row| row.found).collect();
        let mut is_missing = false;
        for Stray { key, digest, access_key, is_renumbered } in strays {
            // The key of a digest was damaged if a row without one has its value.
            if !is_sealed(*digest) || (new.contains(digest) && !is_renumbered) {
                self.damaged_digests += 1;
                self.stale.push((table.number, *key));
            } else {
                is_missing = true;
                self.damage.push(RowDamage {
                    table: table.name,
                    kind: RowDamageKind::Missing,
                    item: access_key.and_then(&item_of),
                    key: *key,
                    digest: Some(*digest),
                });
            }
        }
        for Misfit { key, digest, item, .. } in misfits {
            let kind = match digest {
                Some(digest) if is_sealed(digest) => RowDamageKind::Changed,
                Some(_) => {
                    self.damaged_digests += 1;
                    self.stale.push((table.number, key));
                    continue;
                }
                None if is_missing => RowDamageKind::Unknown,
                None => {
                    self.without_digest += 1;
                    continue;
                }
            };
            self.damage.push(RowDamage { table: table.name, kind, item, key, digest });
        }
    }
}

impl Store {
    /// Compares all rows with their digests. Rows of a file that follows an archive are compared with
    /// what this server received.
    pub fn verify_rows(&self) -> Result<RowVerification, StoreError> {
        let mut verification = RowVerification::default();
        let tables = self.database().digested_tables();
        if tables.is_empty() {
            return Ok(verification);
        }
        // Migrates the file, and refuses those of other programs.
        self.open()?;
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_connection(self.path()).map_err(failed)?;
        let snapshot = connection.unchecked_transaction().map_err(failed)?;
        for table in tables {
            let misfits = table.find_misfits(&snapshot, None).map_err(failed)?;
            let strays = table.find_strays(&snapshot, &misfits).map_err(failed)?;
            let count: i64 = snapshot
                .query_row(&table.count_sql(), [], |row| row.get("rows"))
                .map_err(failed)?;
            let unsound = u64::try_from(misfits.len()).unwrap_or(u64::MAX);
            verification.sound += count.unsigned_abs().saturating_sub(unsound);
            let item_of = |access_key| find_item(&snapshot, self.database(), access_key);
            verification.add_table(table, misfits, &strays, item_of);
            if let Some(sql) = table.access_keys_sql() {
                let sql = format!("SELECT count(*) AS digests FROM ({sql})");
                let count: i64 =
                    snapshot.query_row(&sql, [], |row| row.get("digests")).map_err(failed)?;
                verification.without_access_key += count.unsigned_abs();
            }
        }
        Ok(verification)
    }

    /// Writes the digests of rows that have none, and replaces damaged ones, as `verification` found
    /// them. Damaged rows keep the digests that they do not fit.
    pub fn write_missing_digests(&self, verification: &RowVerification) -> Result<(), StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let mut connection = open_connection(self.path()).map_err(failed)?;
        let transaction = begin_immediate(&mut connection)?;
        let sql = "DELETE FROM row_digests WHERE table_number = ?1 AND key = ?2";
        for stale in &verification.stale {
            transaction
                .prepare_cached(sql)
                .and_then(|mut it| it.execute(*stale))
                .map_err(failed)?;
        }
        for table in self.database().digested_tables() {
            let is_known =
                |it: &RowDamage| it.table != table.name || it.kind != RowDamageKind::Unknown;
            if verification.damage.iter().all(is_known) {
                transaction.execute(&table.fill_sql(), []).map_err(failed)?;
            }
            if let Some(sql) = table.access_keys_sql() {
                let number = table.number;
                let sql = format!(
                    "INSERT INTO row_digests (table_number, key, digest, access_key) \
                     SELECT {number}, key, digest, access_key FROM ({sql}) WHERE 1 \
                     ON CONFLICT (table_number, key) DO UPDATE SET access_key = excluded.access_key"
                );
                transaction.execute(&sql, []).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }

    /// Takes damaged rows as they are: they get new digests, and rows that are gone are forgotten.
    pub fn accept_damage(&self, damage: &[RowDamage]) -> Result<(), StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let mut connection = open_connection(self.path()).map_err(failed)?;
        let transaction = begin_immediate(&mut connection)?;
        for table in self.database().digested_tables() {
            let sql = "DELETE FROM row_digests WHERE table_number = ?1 AND key = ?2";
            for RowDamage { key, .. } in damage.iter().filter(|it| it.table == table.name) {
                transaction.execute(sql, [table.number, *key]).map_err(failed)?;
            }
            transaction.execute(&table.fill_sql(), []).map_err(failed)?;
        }
        set_digest_writing(&transaction, self.database(), false)?;
        transaction.commit().map_err(failed)
    }
}

impl DigestedTable {
    fn count_sql(&self) -> String {
        format!("SELECT count(*) AS rows FROM {}", self.rows_sql())
    }

    /// Returns the statement that writes the digests of rows without one.
    fn fill_sql(&self) -> String {
        let (number, rows, key) = (self.number, self.rows_sql(), self.key_sql("stored"));
        format!(
            "INSERT INTO row_digests (table_number, key, digest, access_key) \
             SELECT {number}, {key}, {}, {} FROM {rows} WHERE NOT EXISTS (\
             SELECT 1 FROM row_digests AS known \
             WHERE known.table_number = {number} AND known.key = {key})",
            self.digest_sql("stored"),
            self.access_key_sql("stored"),
        )
    }

    /// Returns the statement that selects the digests of right rows that do not say what rules of access
    /// depend on; `None` if rules do not read the table.
    fn access_keys_sql(&self) -> Option<String> {
        let (number, rows, access_key) =
            (self.number, self.rows_sql(), self.access_key_sql("stored"));
        (access_key != "NULL").then(|| {
            format!(
                "SELECT known.key AS key, known.digest AS digest, {access_key} AS access_key \
                 FROM {rows} CROSS JOIN main.row_digests AS known \
                 ON known.table_number = {number} AND known.key = {} \
                 WHERE known.access_key IS NOT {access_key} AND known.digest = {}",
                self.key_sql("stored"),
                self.digest_sql("stored"),
            )
        })
    }

    /// Returns the rows whose digest differs or does not exist, with keys after the first of `range` up
    /// to the last.
    pub(super) fn find_misfits(
        &self,
        connection: &Connection,
        range: Option<(i64, i64)>,
    ) -> rusqlite::Result<Vec<Misfit>> {
        let Self { number, source_sql, item_sql, .. } = self;
        let rows = self.rows_sql();
        let (key, found) = (self.key_sql("stored"), self.digest_sql("stored"));
        let range = range.map_or_else(String::new, |(after, last)| {
            format!(" WHERE {key} > {after} AND {key} <= {last}")
        });
        let sql = format!(
            "SELECT * FROM (SELECT {key} AS row_key, known.digest AS known_digest, {found} AS found, \
             {source_sql} AS item_source, CAST({item_sql} AS TEXT) AS item_id \
             FROM {rows} LEFT JOIN main.row_digests AS known \
             ON known.table_number = {number} AND known.key = {key}{range}) \
             WHERE known_digest IS NOT found"
        );
        let text = |row: &Row<'_>, column| -> rusqlite::Result<Option<String>> {
            let value = row.get_ref(column)?;
            Ok(value.as_bytes_or_null().ok().flatten().map(|it| String::from_utf8_lossy(it).into()))
        };
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| {
            let item = text(row, "item_source")?.zip(text(row, "item_id")?);
            Ok(Misfit {
                key: row.get("row_key")?,
                digest: row.get("known_digest")?,
                found: row.get("found")?,
                item,
            })
        })?;
        rows.collect()
    }

    /// Returns the digests of rows that are gone, or have another key.
    fn find_strays(
        &self,
        connection: &Connection,
        misfits: &[Misfit],
    ) -> rusqlite::Result<Vec<Stray>> {
        let (number, rows) = (self.number, self.rows_sql());
        let sql = format!(
            "SELECT key, digest, access_key FROM main.row_digests WHERE table_number = {number} \
             AND key NOT IN (SELECT {} FROM {rows})",
            self.key_sql("stored")
        );
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| {
            Ok(Stray {
                key: row.get("key")?,
                digest: row.get("digest")?,
                access_key: row.get("access_key")?,
                is_renumbered: false,
            })
        })?;
        let mut strays = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        for stray in &mut strays {
            let same = |row: &&Misfit| row.digest.is_none() && row.found == stray.digest;
            if let Some(row) = misfits.iter().find(same) {
                stray.is_renumbered = self.is_renumbered(connection, row.key, stray.key)?;
            }
        }
        Ok(strays)
    }

    /// Returns whether the entry of a row in an index has the number `right`, so that the number of the
    /// row is damaged and not the one of its digest.
    fn is_renumbered(
        &self,
        connection: &Connection,
        found: i64,
        right: i64,
    ) -> rusqlite::Result<bool> {
        let (Some(key), name) = (&self.row_key, self.name) else { return Ok(false) };
        let mut indexes = connection.prepare(INDEXES_SQL)?;
        let indexes = indexes.query_map([name], |row| {
            Ok((row.get("name")?, row.get("is_partial")?, row.get("first_column")?))
        })?;
        for index in indexes.collect::<rusqlite::Result<Vec<(String, bool, String)>>>()? {
            let (index, is_partial, column) = index;
            let part = if is_partial { " AND same.deleted = 0" } else { "" };
            let sql = format!(
                "SELECT 1 FROM main.{name} AS same INDEXED BY {index} WHERE same.{column} = \
                 (SELECT stored.{column} FROM main.{name} AS stored WHERE stored.{key} = ?1) \
                 AND same.{key} = ?2{part}"
            );
            // An index of other rows cannot be used.
            if let Ok(mut statement) = connection.prepare(&sql)
                && statement.exists([found, right])?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vademecum_model::{Deadline, ItemAccess, SourceName};

    use super::*;
    use crate::{Database, Durability, HealedFrom, ShownRows};

    const ADD_SQL: &str = "INSERT INTO notes (row, id, title, content, created_at, last_modified)
                           VALUES (:row, 'n' || :row, 'Bread', 'Knead the dough.', '', '')";

    fn execute(store: &Store, sql: &str) -> Result<(), StoreError> {
        store.write(Durability::Full, |writer| writer.execute(sql, &[]).map(drop))
    }

    /// Creates a store with three notes, of which each has a keyword.
    fn notes(folder: &Path) -> Store {
        let store = Store::new(Database::Chacha, folder);
        for row in 1..=3_i64 {
            let added: Result<_, StoreError> =
                store.write(Durability::Full, |writer| writer.execute(ADD_SQL, &[(":row", &row)]));
            added.unwrap();
        }
        execute(
            &store,
            "INSERT INTO keywords (id, keyword, created_at, last_modified) VALUES (1, 'rye', '', '')",
        )
        .unwrap();
        execute(&store, "INSERT INTO note_keywords SELECT id, 1, '' FROM notes").unwrap();
        store
    }

    /// Changes rows as damage does: no trigger runs.
    fn damage(store: &Store, sql: &str) {
        let connection = open_connection(store.path()).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        set_digest_writing(&connection, store.database(), true).unwrap();
        connection.execute_batch(sql).unwrap();
        set_digest_writing(&connection, store.database(), false).unwrap();
    }

    fn reads(store: &Store, id: &str) -> bool {
        let read = store.read(Deadline::after(std::time::Duration::from_mins(1)), |reader| {
            reader.verify_item(SourceName::Notes, id, ShownRows::Versions)
        });
        assert!(matches!(&read, Ok(()) | Err(StoreError::DamagedItem { .. })), "{read:?}");
        read.is_ok()
    }

    fn kinds(store: &Store) -> Vec<(&'static str, RowDamageKind)> {
        let damage = store.verify_rows().unwrap().damage;
        damage.iter().map(|it| (it.table, it.kind)).collect()
    }

    #[test]
    fn written_rows_have_digests() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        execute(&store, "UPDATE notes SET title = 'Rolls', row = 9 WHERE row = 2").unwrap();
        execute(&store, "DELETE FROM notes WHERE row = 3").unwrap();
        execute(
            &store,
            "INSERT OR REPLACE INTO imported (source, origin, digest, item, imported_at)
                         VALUES ('notes', 'o', 'd', 'n1', ''), ('notes', 'o', 'e', 'n1', '')",
        )
        .unwrap();
        let verified = store.verify_rows().unwrap();
        assert!(!verified.lacks_digests() && verified.damage.is_empty(), "{verified:?}");
        assert_eq!(verified.sound, 2 + 1 + 2 + 1);
        for database in Database::ALL {
            let of_schema = Store::new(database, folder.path()).verify_rows().unwrap();
            assert!(of_schema.damage.is_empty() && !database.digested_tables().is_empty());
        }
    }

    #[test]
    fn damaged_row_is_found_hidden_and_restored_from_digest() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        damage(&store, "UPDATE notes SET content = 'Knead tha dough.' WHERE row = 2");
        assert_eq!(kinds(&store), [("notes", RowDamageKind::Changed)]);
        assert_eq!([reads(&store, "n1"), reads(&store, "n2")], [true, false]);
        let refused = execute(&store, "UPDATE notes SET content = content || '!' WHERE row = 2");
        assert!(matches!(refused, Err(StoreError::DamagedItem { .. })), "{refused:?}");
        let found = store.verify_rows().unwrap().damage;
        assert_eq!(found[0].item, Some(("notes".to_owned(), "n2".to_owned())));
        assert_eq!(
            store.heal_rows(&found, &[], |_| Vec::new()).unwrap(),
            [Some(HealedFrom::Digest)]
        );
        assert!(reads(&store, "n2") && kinds(&store).is_empty());
        execute(&store, "UPDATE notes SET content = content || '!' WHERE row = 2").unwrap();
    }

    #[test]
    fn changed_and_missing_rows_are_restored_from_copy() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        let copy = folder.path().join("copy.db");
        store.copy_to(&copy).unwrap();
        damage(
            &store,
            "UPDATE notes SET content = 'Tea' WHERE row = 1; DELETE FROM notes WHERE row = 2;
             DELETE FROM note_keywords WHERE note_id = 'n3'",
        );
        let found = store.verify_rows().unwrap().damage;
        assert_eq!(found.len(), 3);
        assert_eq!(store.heal_rows(&found, &[], |_| Vec::new()).unwrap(), [None, None, None]);
        let healed = store.heal_rows(&found, std::slice::from_ref(&copy), |_| Vec::new()).unwrap();
        assert_eq!(healed, vec![Some(HealedFrom::Backup(copy)); 3]);
        assert_eq!(kinds(&store), []);
        assert_eq!(store.check_integrity().unwrap().problems, []);
    }

    #[test]
    fn copy_without_the_table_heals_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        let copy = folder.path().join("copy.db");
        store.copy_to(&copy).unwrap();
        let earlier = open_connection(&copy).unwrap();
        earlier.execute_batch("ALTER TABLE note_keywords RENAME TO earlier_name").unwrap();
        earlier.pragma_update(None, "journal_mode", "delete").unwrap();
        damage(&store, "DELETE FROM note_keywords WHERE note_id = 'n3'");
        let found = store.verify_rows().unwrap().damage;
        assert_eq!(found.len(), 1);
        let healed = store.heal_rows(&found, std::slice::from_ref(&copy), |_| Vec::new());
        assert_eq!(healed.unwrap(), [None]);
    }

    /// Returns the notes that a reader sees who must not see those with this tag.
    fn seen_without(store: &Store, tag: &str) -> Vec<String> {
        let mut access = ItemAccess::default();
        access.source_mut(SourceName::Notes).denied_tags = vec![tag.to_owned()];
        let restricted = store.restricted_to(std::sync::Arc::new(access));
        let seen = restricted.read(Deadline::after(std::time::Duration::from_mins(1)), |reader| {
            let sql = "SELECT id FROM notes ORDER BY row";
            reader.query_all(sql, &[], |row| row.get("id"))
        });
        seen.map_err(|error: StoreError| error).unwrap()
    }

    #[test]
    fn item_with_damaged_link_is_hidden_until_restored() {
        for sql in ["note_id = 'n!'", "keyword_id = 9", "created_at = '?'"] {
            let folder = tempfile::tempdir().unwrap();
            let store = notes(folder.path());
            execute(
                &store,
                "INSERT INTO keywords (id, keyword, created_at, last_modified)
                 VALUES (2, 'spelt', '', '')",
            )
            .unwrap();
            execute(&store, "UPDATE note_keywords SET keyword_id = 2 WHERE note_id = 'n1'")
                .unwrap();
            assert_eq!(seen_without(&store, "rye"), ["n1"], "{sql}");
            damage(&store, &format!("UPDATE note_keywords SET {sql} WHERE note_id = 'n2'"));
            assert_eq!(seen_without(&store, "rye"), ["n1"], "{sql}");
            assert_eq!([reads(&store, "n1"), reads(&store, "n2")], [true, false], "{sql}");
            let found = store.verify_rows().unwrap().damage;
            let items: Vec<_> = found.iter().filter_map(|it| it.item.clone()).collect();
            assert!(items.contains(&("notes".to_owned(), "n2".to_owned())), "{sql}: {found:?}");
            let healed = store.heal_rows(&found, &[], |_| Vec::new()).unwrap();
            if sql == "created_at = '?'" {
                // The right text is shorter, so no single byte leads to it.
                assert_eq!(healed, [None]);
                continue;
            }
            assert!(healed.iter().all(Option::is_some), "{sql}: {found:?} {healed:?}");
            assert_eq!(kinds(&store), []);
            assert!(reads(&store, "n2"), "{sql}");
            assert_eq!(seen_without(&store, "rye"), ["n1"], "{sql}");
        }
    }

    #[test]
    fn item_with_damaged_tag_or_identifier_is_hidden() {
        for sql in [
            "UPDATE keywords SET keyword = 'ryf' WHERE id = 1",
            "UPDATE keywords SET id = 7 WHERE id = 1",
            "UPDATE keywords SET deleted = 1 WHERE id = 1",
            "UPDATE notes SET id = 'n' || char(0xE9) WHERE row = 2",
            "DELETE FROM note_keywords WHERE note_id = 'n2'",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let store = notes(folder.path());
            execute(&store, "DELETE FROM note_keywords WHERE note_id = 'n1'").unwrap();
            assert_eq!(seen_without(&store, "rye"), ["n1"], "{sql}");
            damage(&store, sql);
            assert_eq!(seen_without(&store, "rye"), ["n1"], "{sql}");
        }
    }

    #[test]
    fn row_with_damaged_number_is_restored_by_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Media, folder.path());
        execute(
            &store,
            "INSERT INTO Media (id, title, type, ingestion_date, content_hash, uuid, last_modified)
             VALUES (5, 'Oats', 'email', '', '', 'u5', ''), (6, 'Rye', 'pdf', '', '', 'u6', '')",
        )
        .unwrap();
        let copy = folder.path().join("copy.db");
        store.copy_to(&copy).unwrap();
        // The number of the row 6 in the table, and not in its index.
        let mut bytes = std::fs::read(&copy).unwrap();
        let place = bytes.windows(6).position(|it| it == b"Ryepdf").unwrap();
        let number = bytes[..place].iter().rposition(|byte| *byte == 6).unwrap();
        bytes[number] = 7;
        std::fs::write(&copy, bytes).unwrap();
        let store = Store::with_path(Database::Media, copy);
        let seen = || {
            let mut access = ItemAccess::default();
            access.source_mut(SourceName::Media).denied_tags = vec!["x".to_owned()];
            let restricted = store.restricted_to(std::sync::Arc::new(access));
            let deadline = Deadline::after(std::time::Duration::from_mins(1));
            let seen: Result<Vec<i64>, StoreError> = restricted.read(deadline, |reader| {
                reader.query_all("SELECT id FROM Media", &[], |row| row.get("id"))
            });
            seen.unwrap()
        };
        let found = store.verify_rows().unwrap().damage;
        assert_eq!(
            found.iter().map(|it| (it.kind, it.key)).collect::<Vec<_>>(),
            [(RowDamageKind::Missing, 6), (RowDamageKind::Unknown, 7)]
        );
        assert_eq!(seen(), [5]);
        assert_eq!(
            store.heal_rows(&found, &[], |_| Vec::new()).unwrap(),
            vec![Some(HealedFrom::Digest); 2]
        );
        store.rebuild_indexes("Media").unwrap();
        assert_eq!(seen(), [5, 6]);
        assert_eq!(store.check_integrity().unwrap().problems, []);
    }

    #[test]
    fn row_is_verified_without_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        execute(
            &store,
            "INSERT INTO imported (source, origin, digest, item, imported_at)
             VALUES ('notes', 'file:/a', 'd', 'n1', ''), ('notes', 'file:/m', 'd', 'n2', '')",
        )
        .unwrap();
        let copy = folder.path().join("copy.db");
        store.copy_to(&copy).unwrap();
        // The origin in the row, and not in the index by item.
        let mut bytes = std::fs::read(&copy).unwrap();
        let place = bytes.windows(8).position(|it| it == b"file:/md").unwrap();
        bytes[place + 6] = b'n';
        std::fs::write(&copy, bytes).unwrap();
        let store = Store::with_path(Database::Chacha, copy);
        let found = kinds(&store);
        assert_eq!(
            found,
            [("imported", RowDamageKind::Missing), ("imported", RowDamageKind::Unknown)]
        );
        let found = store.verify_rows().unwrap().damage;
        assert_eq!(
            store.heal_rows(&found, &[], |_| Vec::new()).unwrap(),
            vec![Some(HealedFrom::Digest); 2]
        );
        assert_eq!((kinds(&store), store.check_integrity().unwrap().problems), (vec![], vec![]));
    }

    #[test]
    fn item_is_hidden_when_index_of_origins_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        execute(
            &store,
            "INSERT INTO imported (source, origin, digest, item, imported_at)
             VALUES ('notes', 'file:/a', 'd', 'n1', '')",
        )
        .unwrap();
        let copy = folder.path().join("copy.db");
        store.copy_to(&copy).unwrap();
        assert_eq!(seen_without(&Store::with_path(Database::Chacha, copy.clone()), "x").len(), 3);
        let bytes = std::fs::read(&copy).unwrap();
        // The entry of the index is source, item, origin; the row is source, origin, digest, item.
        for (text, place) in
            [("notesn1file:/a", 6), ("notesn1file:/a", 13), ("notesfile:/adn1", 11)]
        {
            let mut bytes = bytes.clone();
            let found = bytes.windows(text.len()).position(|it| it == text.as_bytes()).unwrap();
            bytes[found + place] ^= 8;
            let damaged = folder.path().join("damaged.db");
            std::fs::write(&damaged, bytes).unwrap();
            let store = Store::with_path(Database::Chacha, damaged);
            assert_eq!(seen_without(&store, "x"), ["n2", "n3"], "{text} {place}");
            assert_eq!([reads(&store, "n1"), reads(&store, "n2")], [false, true]);
        }
    }

    #[test]
    fn digests_of_earlier_version_learn_their_items() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        let connection = open_connection(store.path()).unwrap();
        connection.execute("UPDATE row_digests SET access_key = NULL", []).unwrap();
        let verified = store.verify_rows().unwrap();
        assert!(verified.lacks_digests() && verified.damage.is_empty(), "{verified:?}");
        store.write_missing_digests(&verified).unwrap();
        assert!(!store.verify_rows().unwrap().lacks_digests());
        damage(&store, "DELETE FROM note_keywords WHERE note_id = 'n2'");
        assert!(!reads(&store, "n2"));
    }

    #[test]
    fn damaged_text_is_restored_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        damage(&store, "UPDATE notes SET content = CAST(x'4B6EFF6164' AS TEXT) WHERE row = 1");
        let found = store.verify_rows().unwrap().damage;
        let heal = |text: &str| {
            let texts = |_: &RowDamage| vec![(HealedFrom::File, text.to_owned())];
            store.heal_rows(&found, &[], texts).unwrap()
        };
        assert_eq!(heal("Knead the bough."), [None]);
        assert_eq!(heal("Knead the dough."), [Some(HealedFrom::File)]);
        assert!(reads(&store, "n1") && kinds(&store).is_empty());
    }

    #[test]
    fn deleted_damaged_row_stays_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        damage(&store, "UPDATE notes SET content = 'Tea' WHERE row = 1");
        execute(&store, "UPDATE notes SET deleted = 1 WHERE row = 1").unwrap();
        assert_eq!(kinds(&store), [("notes", RowDamageKind::Changed)]);
        assert!(execute(&store, "UPDATE notes SET deleted = 0 WHERE row = 1").is_err());
        let found = store.verify_rows().unwrap().damage;
        store.accept_damage(&found).unwrap();
        assert_eq!(kinds(&store), []);
    }

    #[test]
    fn change_by_another_program_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        open_connection(store.path())
            .unwrap()
            .execute_batch(
                "UPDATE notes SET content = 'Tea' WHERE row = 1; DELETE FROM notes WHERE row = 3;
                 INSERT OR REPLACE INTO notes (row, id, title, content, created_at, last_modified)
                 VALUES (2, 'n2', 'Oats', '', '', '')",
            )
            .unwrap();
        let verified = store.verify_rows().unwrap();
        // The digests of all links of keywords are gone too, because a link was deleted.
        assert_eq!((verified.damage.len(), verified.without_digest), (0, 2 + 1));
        store.write_missing_digests(&verified).unwrap();
        let verified = store.verify_rows().unwrap();
        assert!(!verified.lacks_digests() && verified.damage.is_empty(), "{verified:?}");
    }

    #[test]
    fn background_verification_goes_on_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        damage(&store, "UPDATE notes SET content = 'Tea' WHERE row IN (1, 3)");
        let key_of = |damage: &[RowDamage]| damage.iter().map(|it| it.key).collect::<Vec<_>>();
        assert_eq!(key_of(&store.verify_next_rows(2).unwrap()), [1]);
        assert_eq!(key_of(&store.verify_next_rows(2).unwrap()), [3]);
        assert_eq!(store.damaged_rows(), 2);
        let again = Store::new(Database::Chacha, folder.path());
        let slices: Vec<_> = (0..40).map(|_| key_of(&again.verify_next_rows(1).unwrap())).collect();
        // All rows once; then the file rests, also for another process.
        assert_eq!(slices.concat(), [1, 3]);
        let other = Store::new(Database::Chacha, folder.path());
        assert!(other.verify_next_rows(9).unwrap().is_empty() && other.damaged_rows() == 0);
        other.write(Durability::Full, |writer| {
            writer.execute("UPDATE digest_state SET verified_at = NULL, verified_key = 2, verified_table = 1", &[])
        }).map_err(|error: StoreError| error).unwrap();
        assert_eq!(key_of(&other.verify_next_rows(9).unwrap()), [3], "after the second row");
    }

    #[test]
    fn damaged_digest_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = notes(folder.path());
        let connection = open_connection(store.path()).unwrap();
        // The value of one digest, and the key of another.
        connection
            .execute_batch(
                "UPDATE row_digests SET digest = digest + 65536 WHERE table_number = 1 AND key = 1;
                 UPDATE row_digests SET key = 77 WHERE table_number = 1 AND key = 2",
            )
            .unwrap();
        let verified = store.verify_rows().unwrap();
        assert_eq!((verified.damage.len(), verified.damaged_digests), (0, 2), "{verified:?}");
        assert!(reads(&store, "n1") && reads(&store, "n2"));
        store.write_missing_digests(&verified).unwrap();
        assert!(!store.verify_rows().unwrap().lacks_digests());
    }
}
