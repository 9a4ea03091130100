//! Migration of the rows in an archive to the schema of this program.

use std::collections::HashSet;

use rusqlite::Connection;
use vademecum_store::{
    ArchiveError, Entry, Followed, Follower as _, Head, StoreError, WriteId, open_temporary,
};

use crate::{
    followed_tables::{FollowedTables, FtsKeys, keep_error},
    follower::ArchiveFollower,
};

impl ArchiveFollower {
    /// Migrates all rows in a temporary database and stores them as one write. If another server is
    /// faster, nothing is stored; the caller follows again.
    pub(super) fn upgrade(&self, head: Head) -> Result<(), StoreError> {
        let connection = open_temporary()?;
        let known = usize::try_from(head.schema).unwrap_or(usize::MAX);
        let migrations = self.database.migrations();
        for migration in migrations.iter().take(known) {
            connection.execute_batch(migration)?;
        }
        let before = self.load_rows(&connection)?;
        for migration in migrations.iter().skip(known) {
            connection.execute_batch(migration)?;
        }
        let mut entries = FollowedTables::find(&connection)?.all_entries(&connection)?;
        let after: HashSet<(String, Vec<u8>)> =
            entries.iter().map(|entry| (entry.table.clone(), entry.key.clone())).collect();
        let removed = before.into_iter().filter(|row| !after.contains(row));
        entries.extend(removed.map(|(table, key)| Entry { table, key, row: None }));
        let (part, write) = (self.part(), WriteId::random());
        self.archive().put(part, head, write, self.database.schema(), &entries)?;
        Ok(())
    }

    /// Returns the rows that a new database has.
    pub(super) fn initial_rows(&self) -> Result<Vec<Entry>, StoreError> {
        let connection = open_temporary()?;
        for migration in self.database.migrations() {
            connection.execute_batch(migration)?;
        }
        Ok(FollowedTables::find(&connection)?.all_entries(&connection)?)
    }

    /// Stores all rows in an empty database, and returns their tables and keys.
    fn load_rows(&self, connection: &Connection) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let tables = FollowedTables::find(connection)?;
        tables.clear(connection)?;
        let (mut rows, mut failure, mut keys) = (Vec::new(), None, FtsKeys::new());
        let part = self.part();
        let loaded = self.archive().since(part, Head::default(), &mut |entry| {
            if tables.has_table(&entry.table) && entry.row.is_some() {
                rows.push((entry.table.clone(), entry.key.clone()));
            }
            keep_error(tables.apply(connection, entry, &mut keys), &mut failure)
        })?;
        match (loaded, failure) {
            (Followed::To(_), None) => Ok(rows),
            (_, failure) => {
                let reason = failure.map_or_else(String::new, |error| error.to_string());
                Err(ArchiveError::Refused(format!("rows cannot be migrated: {reason}")).into())
            }
        }
    }
}
