//! Which collections there are, and who may see them.
//!
//! The catalogue is a table of `server.db`: which file holds a collection is
//! read there for every request, so that all processes change to a new file at
//! the same moment.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Row, named_params};
use vademecum_collections::{Access, Collection, Filter, Scope};
use vademecum_kit::{
    model::{Deadline, SourceName, Timestamp},
    store::{Database, Durability, Store},
};

use super::{CollectionError, files, sql};
use vademecum_core::auth::{Principal, UserId};

/// How long a look at the catalogue may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long it is taken for known whether there are any collections.
const MOMENT: Duration = Duration::from_secs(1);

/// The collections of a server.
#[derive(Debug)]
pub struct Catalogue {
    store: Store,
    folder: PathBuf,
    /// Those that were opened, by file.
    open: Mutex<HashMap<String, Collection>>,
    /// Whether there were any, and when that was.
    some: Mutex<Option<(bool, Instant)>>,
}

/// A collection as the catalogue has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number, which is that of its source.
    pub source_id: i64,
    /// Its name, which is that of its source.
    pub name: String,
    /// Whose it is; everybody's, if nobody's.
    pub owner: Option<String>,
    /// The file that holds it, in the folder of collections.
    pub file: String,
    /// What it is made of and how, as JSON.
    pub plan: String,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
}

/// A collection that a principal may see, and what of it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// What the catalogue says.
    pub record: Record,
    /// The collection.
    pub collection: Collection,
    /// What of it may be seen.
    pub access: Access,
}

impl Opened {
    /// What of it counts, with a filter.
    pub fn scope(&self, filter: &Filter) -> Scope {
        Scope { filter: filter.clone(), access: self.access.clone() }
    }
}

impl Catalogue {
    /// The collections in this data folder. Nothing is opened yet.
    pub fn new(data: &Path) -> Self {
        Self {
            store: Store::new(Database::Server, data),
            folder: data.join("collections"),
            open: Mutex::default(),
            some: Mutex::default(),
        }
    }

    /// The data folder that they belong to.
    pub fn data(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// The folder that the files are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All collections, by number. Looks into a file.
    pub fn list(&self) -> Result<Vec<Record>, CollectionError> {
        // Who only reads should not make a file.
        if !self.store.path().exists() {
            return Ok(Vec::new());
        }
        self.store
            .read(Deadline::after(PATIENCE), |reader| Ok(reader.all(sql::LIST, &[], record)?))
    }

    /// The collection of that name, whoever may see it. Looks into a file.
    pub fn named(&self, name: &str) -> Result<Option<Record>, CollectionError> {
        let mut records = self.list()?.into_iter();
        Ok(records.find(|record| record.name.eq_ignore_ascii_case(name)))
    }

    /// The collections that a principal may see, by number. Looks into a file.
    pub fn visible(&self, principal: &Principal) -> Result<Vec<Opened>, CollectionError> {
        let records = self.list()?;
        self.forget_all_but(&records);
        let mine = |record: &Record| {
            record.owner.as_ref().is_none_or(|owner| owner == principal.user().as_str())
        };
        let open = |record: Record| Opened {
            collection: self.open(&record.file),
            access: access(principal),
            record,
        };
        Ok(records.into_iter().filter(mine).map(open).collect())
    }

    /// Whether there are any collections, as of a moment ago.
    pub fn has_some(&self) -> bool {
        let now = Instant::now();
        let mut some = self.some.lock().unwrap_or_else(PoisonError::into_inner);
        match *some {
            Some((known, at)) if now.duration_since(at) < MOMENT => known,
            Some(_) | None => {
                let known = self.list().is_ok_and(|records| !records.is_empty());
                *some = Some((known, now));
                known
            }
        }
    }

    /// A collection that a principal may see, by name.
    pub fn find(&self, principal: &Principal, name: &str) -> Result<Opened, CollectionError> {
        let mut visible = self.visible(principal)?.into_iter();
        visible
            .find(|opened| opened.record.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| CollectionError::Unknown(name.to_owned()))
    }

    /// The files that no collection uses, but for those being built. Looks into files.
    pub fn unused(&self) -> Result<Vec<PathBuf>, CollectionError> {
        files::unused(&self.folder, &self.list()?, Timestamp::now())
    }

    /// The collection in a file of the folder. Nothing is opened yet.
    pub fn open(&self, file: &str) -> Collection {
        let mut open = self.lock();
        let new = || Collection::at(self.folder.join(file));
        open.entry(file.to_owned()).or_insert_with(new).clone()
    }

    /// Adds a collection, and tells its number.
    pub fn add(
        &self,
        name: &str,
        owner: Option<&UserId>,
        file: &str,
        plan: &str,
    ) -> Result<i64, CollectionError> {
        check_name(name)?;
        let parameters = named_params! {
            ":name": name, ":owner": owner.map(UserId::as_str), ":file": file, ":plan": plan,
            ":now": Timestamp::now(),
        };
        let added = self.store.write(Durability::Full, |writer| {
            Ok::<_, CollectionError>(
                writer.first(sql::INSERT, parameters, |row| row.get("source_id"))?,
            )
        })?;
        added.ok_or_else(|| CollectionError::Taken(name.to_owned()))
    }

    /// From now on the collection is what its record says: all processes see
    /// the new file from their next request on.
    pub fn swap(&self, record: &Record) -> Result<(), CollectionError> {
        let parameters = named_params! {
            ":source_id": record.source_id, ":owner": record.owner, ":file": record.file,
            ":plan": record.plan, ":now": Timestamp::now(),
        };
        self.store.write(Durability::Full, |writer| {
            writer.run(sql::SWAP, parameters)?;
            Ok(())
        })
    }

    /// Takes a collection out of the catalogue. Its file stays.
    pub fn remove(&self, source_id: i64) -> Result<(), CollectionError> {
        self.store.write(Durability::Full, |writer| {
            writer.run(sql::DELETE, named_params! { ":source_id": source_id })?;
            Ok(())
        })
    }

    /// Closes files that no collection is in any more, once nobody reads them.
    fn forget_all_but(&self, records: &[Record]) {
        self.lock().retain(|file, _| records.iter().any(|record| record.file == *file));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Collection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of a collection a principal may see.
fn access(principal: &Principal) -> Access {
    if principal.sees_everything() {
        return Access::Everything;
    }
    Access::Tags(principal.tags().iter().map(|tag| tag.as_str().to_owned()).collect())
}

pub(super) fn check_name(name: &str) -> Result<(), CollectionError> {
    // A user's name leads out of no folder either.
    let safe = name.parse::<UserId>().is_ok() && name.parse::<SourceName>().is_err();
    if safe { Ok(()) } else { Err(CollectionError::Name(name.chars().take(100).collect())) }
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        source_id: row.get("source_id")?,
        name: row.get("name")?,
        owner: row.get("owner")?,
        file: row.get("file")?,
        plan: row.get("plan")?,
        updated_at: row.get("updated_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::auth::desktop;

    #[test]
    fn a_catalogue_that_is_only_read_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let ada = desktop("ada".parse().unwrap());
        assert!(Catalogue::new(folder.path()).visible(&ada).unwrap().is_empty());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_collection_is_its_owners_or_everybodys() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::new(folder.path());
        let (ada, bob) = ("ada".parse().unwrap(), "bob".parse().unwrap());
        catalogue.add("docs", None, "docs.1.db", "{}").unwrap();
        catalogue.add("adas", Some(&ada), "adas.1.db", "{}").unwrap();
        let names = |user: &UserId| -> Vec<String> {
            let visible = catalogue.visible(&desktop(user.clone())).unwrap();
            visible.into_iter().map(|opened| opened.record.name).collect()
        };
        assert_eq!(
            (names(&ada), names(&bob)),
            (vec!["docs".into(), "adas".into()], vec!["docs".to_owned()])
        );
        assert!(matches!(
            catalogue.add("DOCS", None, "x.db", "{}"),
            Err(CollectionError::Taken(_))
        ));
        assert!(matches!(catalogue.find(&desktop(bob), "adas"), Err(CollectionError::Unknown(_))));
        for name in ["", "../x", "notes", "collections", "a b"] {
            assert!(catalogue.add(name, None, "x.db", "{}").is_err(), "{name}");
        }
    }
}
