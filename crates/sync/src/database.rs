//! A database of a library with its sources, which is synced on its own.

use std::{path::Path, sync::Arc};

use vademecum_model::SourceName;
use vademecum_source::Source;
use vademecum_store::{Database, Store};

/// A database and the sources that it stores.
#[derive(Debug)]
pub struct SyncedDatabase {
    store: Arc<Store>,
    sources: Vec<Arc<dyn Source>>,
}

impl SyncedDatabase {
    /// Returns the databases of a library. Of two sources in one database, the one to which the other may
    /// refer comes first: characters before conversations.
    pub fn all(sources: &[Arc<dyn Source>], stores: &[Arc<Store>]) -> Vec<Self> {
        let of = |database: Database| {
            let store = stores.iter().find(|store| store.database() == database)?;
            let mut sources: Vec<_> =
                sources.iter().filter(|it| it.database() == database).cloned().collect();
            sources.sort_by_key(|source| match source.name() {
                SourceName::Characters => 0,
                SourceName::Notes | SourceName::Media | SourceName::Prompts => 1,
                SourceName::Chats | SourceName::Collections => 2,
            });
            Some(Self { store: Arc::clone(store), sources })
        };
        Database::ALL.into_iter().filter_map(of).collect()
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the sources.
    pub fn sources(&self) -> &[Arc<dyn Source>] {
        &self.sources
    }

    /// Returns the source of this name, if it is in this database.
    pub(crate) fn source(&self, name: SourceName) -> Option<&dyn Source> {
        self.sources.iter().find(|source| source.name() == name).map(|source| &**source)
    }

    /// Returns the name of the database in files: `chacha`, `media` or `prompts`.
    pub(crate) fn name(&self) -> &'static str {
        let file = Path::new(self.store.database().file_name());
        file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}
