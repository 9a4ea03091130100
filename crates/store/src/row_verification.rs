//! Verification of the digests of all rows of a file.

use std::collections::HashSet;

use rusqlite::{Connection, Row};

use super::{
    DigestedTable, Store, StoreError,
    file::{begin_immediate, open_connection},
    row_digest::is_sealed,
    set_digest_writing,
};

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
        self.without_digest > 0 || !self.stale.is_empty()
    }

    fn add_table(
        &mut self,
        table: &'static DigestedTable,
        misfits: Vec<Misfit>,
        strays: &[(i64, i64)],
    ) {
        let new: HashSet<i64> =
            misfits.iter().filter(|row| row.digest.is_none()).map(|row| row.found).collect();
        let mut is_missing = false;
        for (key, digest) in strays {
            // The key of a digest was damaged if a row without one has its value.
            if !is_sealed(*digest) || new.contains(digest) {
                self.damaged_digests += 1;
                self.stale.push((table.number, *key));
            } else {
                is_missing = true;
                self.damage.push(RowDamage {
                    table: table.name,
                    kind: RowDamageKind::Missing,
                    item: None,
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
            let strays = table.find_strays(&snapshot).map_err(failed)?;
            let count: i64 = snapshot
                .query_row(&table.count_sql(), [], |row| row.get("rows"))
                .map_err(failed)?;
            let unsound = u64::try_from(misfits.len()).unwrap_or(u64::MAX);
            verification.sound += count.unsigned_abs().saturating_sub(unsound);
            verification.add_table(table, misfits, &strays);
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
        format!("SELECT count(*) AS rows FROM main.{}", self.name)
    }

    /// Returns the statement that writes the digests of rows without one.
    fn fill_sql(&self) -> String {
        let (Self { number, name, .. }, key) = (self, self.key_sql("stored"));
        format!(
            "INSERT INTO row_digests (table_number, key, digest) \
             SELECT {number}, {key}, {} FROM main.{name} AS stored WHERE NOT EXISTS (\
             SELECT 1 FROM row_digests AS known \
             WHERE known.table_number = {number} AND known.key = {key})",
            self.digest_sql("stored"),
        )
    }

    /// Returns the rows whose digest differs or does not exist, with keys after the first of `range` up
    /// to the last.
    pub(super) fn find_misfits(
        &self,
        connection: &Connection,
        range: Option<(i64, i64)>,
    ) -> rusqlite::Result<Vec<Misfit>> {
        let Self { number, name, source_sql, item_sql, .. } = self;
        let (key, found) = (self.key_sql("stored"), self.digest_sql("stored"));
        let range = range.map_or_else(String::new, |(after, last)| {
            format!(" WHERE {key} > {after} AND {key} <= {last}")
        });
        let sql = format!(
            "SELECT * FROM (SELECT {key} AS row_key, known.digest AS known_digest, {found} AS found, \
             {source_sql} AS item_source, CAST({item_sql} AS TEXT) AS item_id \
             FROM main.{name} AS stored LEFT JOIN main.row_digests AS known \
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

    /// Returns the keys and digests of rows that are gone.
    fn find_strays(&self, connection: &Connection) -> rusqlite::Result<Vec<(i64, i64)>> {
        let Self { number, name, .. } = self;
        let sql = format!(
            "SELECT key, digest FROM main.row_digests WHERE table_number = {number} \
             AND key NOT IN (SELECT {} FROM main.{name} AS stored)",
            self.key_sql("stored")
        );
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| Ok((row.get("key")?, row.get("digest")?)))?;
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vademecum_model::{Deadline, SourceName};

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
        assert_eq!(store.heal_rows(&found, &[]).unwrap(), [Some(HealedFrom::Digest)]);
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
        assert_eq!(store.heal_rows(&found, &[]).unwrap(), [None, None, None]);
        let healed = store.heal_rows(&found, std::slice::from_ref(&copy)).unwrap();
        assert_eq!(healed, vec![Some(HealedFrom::Backup(copy)); 3]);
        assert_eq!(kinds(&store), []);
        assert_eq!(store.check_integrity().unwrap().problems, []);
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
