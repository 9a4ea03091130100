//! The databases of a data folder that follow an archive.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use vademecum_store::{
    Archive, ArchiveError, Database, DerivedFtsTable, FollowStatus, PartName, Replication, Store,
};

use crate::{FollowOptions, follower::ArchiveFollower, part_group::PartGroup};

/// Connects the stores of a data folder with an archive. Stores of one user are checked for changes
/// together.
#[derive(Debug)]
pub struct FollowedData {
    archive: Arc<dyn Archive>,
    status: Arc<FollowStatus>,
    derived: Vec<(Database, DerivedFtsTable)>,
    options: FollowOptions,
    groups: Mutex<HashMap<String, Arc<PartGroup>>>,
}

impl FollowedData {
    /// Creates the connection. `derived` are the full-text tables of each kind of database.
    pub fn new(
        archive: Arc<dyn Archive>,
        derived: Vec<(Database, DerivedFtsTable)>,
        options: FollowOptions,
    ) -> Self {
        let (status, groups) = (Arc::default(), Mutex::default());
        Self { archive, status, derived, options, groups }
    }

    fn follow_alone(&self, store: Store, part: &str) -> Store {
        let parts = || vec![PartName { user: String::new(), part: part.to_owned() }];
        let group = self.group(part.to_owned(), parts);
        self.connect(store, group, 0)
    }

    fn group(&self, name: String, parts: impl FnOnce() -> Vec<PartName>) -> Arc<PartGroup> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        // Groups that no store uses are removed before another is added.
        if !groups.contains_key(&name) {
            groups.retain(|_, group| Arc::strong_count(group) > 1);
        }
        let group = groups.entry(name).or_insert_with(|| {
            let (archive, status) = (Arc::clone(&self.archive), Arc::clone(&self.status));
            Arc::new(PartGroup::new(archive, status, parts()))
        });
        Arc::clone(group)
    }

    fn connect(&self, store: Store, group: Arc<PartGroup>, index: usize) -> Store {
        let database = store.database();
        let derived = self.derived.iter().filter(|(kind, _)| *kind == database);
        let derived = derived.map(|(_, table)| *table).collect();
        let (options, counter) = (self.options, Arc::default());
        let follower = ArchiveFollower { group, index, database, derived, options, counter };
        store.following(Arc::new(follower))
    }
}

impl Replication for FollowedData {
    fn archive(&self) -> &Arc<dyn Archive> {
        &self.archive
    }

    fn was_reached(&self) -> bool {
        self.status.was_reached()
            || self.status.try_call(|| self.archive.heads(&[server_part()])).is_ok()
    }

    fn permits_stale_reads(&self) -> bool {
        self.options.stale_reads
    }

    fn status(&self) -> &Arc<FollowStatus> {
        &self.status
    }

    fn check_heads(&self) -> Result<(), ArchiveError> {
        self.status.set_watched();
        let groups: Vec<_> = {
            let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
            // The map holds one reference.
            groups.values().filter(|group| Arc::strong_count(group) > 1).map(Arc::clone).collect()
        };
        let mut parts: Vec<_> = groups.iter().flat_map(|group| group.parts().to_owned()).collect();
        if parts.is_empty() {
            parts.push(server_part());
        }
        let began_at = Instant::now();
        let heads = self.archive.heads(&parts);
        self.status.record(&heads);
        let mut heads = heads?.into_iter();
        for group in groups {
            group.record_check(began_at, heads.by_ref().take(group.parts().len()).collect());
        }
        Ok(())
    }

    fn follow_library(&self, store: Store, user: &str) -> Store {
        let Some(index) =
            Database::LIBRARY.iter().position(|database| *database == store.database())
        else {
            return store;
        };
        let parts =
            || Database::LIBRARY.iter().map(|database| library_part(user, *database)).collect();
        let group = self.group(format!("library/{user}"), parts);
        self.connect(store, group, index)
    }

    fn follow_server(&self, store: Store) -> Store {
        let part = part_name(store.database());
        self.follow_alone(store, part)
    }

    fn follow_collection(&self, store: Store, file: &str) -> Store {
        self.follow_alone(store, &format!("collection/{file}"))
    }
}

/// Returns the name of a database of a user's library.
fn library_part(user: &str, database: Database) -> PartName {
    PartName { user: user.to_owned(), part: part_name(database).to_owned() }
}

/// Returns the name of the database with the accounts.
fn server_part() -> PartName {
    PartName { user: String::new(), part: part_name(Database::Server).to_owned() }
}

/// Returns the name of a kind of database.
fn part_name(database: Database) -> &'static str {
    match database {
        Database::Chacha => "chacha",
        Database::Media => "media",
        Database::Prompts => "prompts",
        Database::Imports => "imports",
        Database::Index => "index",
        Database::Collection => "collection",
        Database::Embeddings => "embeddings",
        Database::Server => "server",
        Database::Audit => "audit",
    }
}
