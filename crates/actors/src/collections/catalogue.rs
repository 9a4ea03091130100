//! The catalogue of collections, and their visibility to users.
//!
//! The catalogue is a table of `server.db`. The file of a collection is looked up there for every
//! request, so that all processes switch to a new file at the same moment.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Row, named_params};
use vademecum_collections::{Access, Collection, DocumentFilter, Scope};
use vademecum_core::{
    auth::{Principal, UserId},
    config::UrlTemplate,
};
use vademecum_model::{CancelFlag, CorpusStatistics, Deadline, SourceName, Timestamp};
use vademecum_replication::{ArchivedStore, Upload};
use vademecum_search::FtsQuery;
use vademecum_store::{DataFolder, Database, Durability, FileState, PartName, Store};

use super::{
    CollectionError, CollectionRecord, CollectionRights, CollectionSpec,
    build_claim::BuildClaim,
    collection_files,
    generation_lease::{self, GenerationLease, LeaseError},
    rights::ConfiguredCollections,
    shown_names::ShownNames,
    sql,
};

/// Timeout of reading the catalogue.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of times that the catalogue is read because a file was replaced meanwhile.
const MAX_LEASE_ATTEMPTS: usize = 4;
/// Timeout of finding out whether a principal may see any collection.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which that is cached.
const VISIBILITY_CACHE_TTL: Duration = Duration::from_secs(1);
/// Maximum number of principals for whom that is cached.
const MAX_CACHED_PRINCIPALS: usize = 1_000;

/// The collections of a server.
#[derive(Debug)]
pub struct Catalogue {
    data: DataFolder,
    store: Store,
    collections_folder: PathBuf,
    /// Open collections, by file name, each with a lease on its file.
    open_file: Mutex<HashMap<String, Collection>>,
    /// Whether a principal may see any collection, and when that was determined.
    cached_visibility: Mutex<HashMap<Principal, (bool, Instant)>>,
    /// Collections of the settings, whose rights hold before those of the catalogue.
    configured: ConfiguredCollections,
    shown_names: ShownNames,
}

/// The file of a collection was replaced and removed, or is missing.
#[derive(Debug)]
struct ReplacedFile;

/// A collection that a principal may see, with the access rights to its documents.
#[derive(Clone, Debug)]
pub struct VisibleCollection {
    /// Row of the catalogue.
    pub record: CollectionRecord,
    /// Database of the collection.
    pub collection: Collection,
    /// Access rights of the principal.
    pub access: Access,
    /// Web addresses of its documents, if the settings say them.
    pub(super) url: Option<UrlTemplate>,
}

impl VisibleCollection {
    /// Returns the cached statistics of a query; `None` if they are not cached, or if rules hide
    /// documents, which the cache includes.
    pub fn cached_statistics(&self, query: &FtsQuery) -> Option<CorpusStatistics> {
        match self.access {
            Access::Everything | Access::Tags(_) => self.collection.cached_statistics(query),
            Access::Nothing | Access::Restricted { .. } => None,
        }
    }

    /// Returns the search scope: the filter and the access rights.
    pub fn scope(&self, filter: &DocumentFilter) -> Scope {
        Scope { filter: filter.clone(), access: self.access.clone() }
    }
}

impl Catalogue {
    /// Creates the catalogue of a data folder. No file is opened yet.
    pub fn new(data: impl Into<DataFolder>) -> Self {
        let data = data.into();
        Self {
            store: data.server_store(Database::Server),
            collections_folder: data.path().join("collections"),
            data,
            open_file: Mutex::default(),
            cached_visibility: Mutex::default(),
            configured: ConfiguredCollections::default(),
            shown_names: ShownNames::default(),
        }
    }

    /// Returns the data folder, in which the catalogue and the collections are.
    pub fn data(&self) -> &DataFolder {
        &self.data
    }

    /// Returns the path of the data folder.
    pub fn data_folder(&self) -> &Path {
        self.data.path()
    }

    /// Returns the collection in a file, which is opened on first use.
    fn collection_at(&self, path: PathBuf) -> Collection {
        Collection::in_store(self.data.collection_store(path))
    }

    /// Returns the folder with the databases of the collections.
    pub fn folder(&self) -> &Path {
        &self.collections_folder
    }

    /// Returns all collections, ordered by number. Reads a database.
    pub fn list_records(&self) -> Result<Vec<CollectionRecord>, CollectionError> {
        self.list_records_until(Deadline::after(READ_TIMEOUT))
    }

    fn list_records_until(
        &self,
        deadline: Deadline,
    ) -> Result<Vec<CollectionRecord>, CollectionError> {
        // A read must not create the database.
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        self.store.read(deadline, |reader| Ok(reader.query_all(sql::LIST, &[], parse_record)?))
    }

    /// Returns the collection of that name, ignoring case and visibility. Reads a database.
    pub fn find_record(&self, name: &str) -> Result<Option<CollectionRecord>, CollectionError> {
        let mut records = self.list_records()?.into_iter();
        Ok(records.find(|record| record.name.eq_ignore_ascii_case(name)))
    }

    /// Sets the collections of the settings. Their rights hold from now on; collections whose section
    /// is missing are closed.
    pub(super) fn set_configured(&self, specs: Vec<CollectionSpec>) {
        self.configured.set(specs);
        self.lock_visibility().clear();
    }

    /// Returns the collections of the settings.
    pub(super) fn configured_specs(&self) -> Arc<[CollectionSpec]> {
        self.configured.specs()
    }

    /// Returns the present rights to a collection, or `None` if it is closed, because its section was
    /// removed from the settings.
    pub fn rights(&self, record: &CollectionRecord) -> Option<CollectionRights> {
        self.configured.rights(record)
    }

    /// Returns the collections that a principal may see, ordered by number: those of which it sees a
    /// document. Reads their databases. `cancel` is that of the request.
    pub fn list_visible(
        &self,
        principal: &Principal,
        cancel: &CancelFlag,
    ) -> Result<Vec<VisibleCollection>, CollectionError> {
        let deadline = Deadline::after(READ_TIMEOUT).with_cancellation(cancel);
        Ok(self.visible_collections(principal, &deadline)?.collect())
    }

    fn visible_collections(
        &self,
        principal: &Principal,
        deadline: &Deadline,
    ) -> Result<impl Iterator<Item = VisibleCollection>, CollectionError> {
        let rules = principal.access();
        let documents = rules.document_access();
        let visible = move |(record, collection): (CollectionRecord, Collection)| {
            let rights = self.rights(&record)?;
            if !rights.permit_user(principal) || !rules.permits_collection(&record.name) {
                return None;
            }
            let access = rights.document_access(principal, documents.as_deref(), &record);
            let record = CollectionRecord { owner: rights.owner, ..record };
            let url = self.configured.url_template(&record.name);
            Some(VisibleCollection { record, collection, access, url })
        };
        let visible = self.lease_collections(deadline)?.into_iter().filter_map(visible);
        Ok(visible.filter(|it| self.shown_names.is_shown(principal, it, deadline)))
    }

    /// Returns whether a principal may see any collection; also if the catalogue cannot be read at
    /// once, because tools must not be missing on a busy server. The result is cached for one second.
    pub fn has_visible(&self, principal: &Principal) -> bool {
        let now = Instant::now();
        let is_fresh = |(_, at): &&(bool, Instant)| now.duration_since(*at) < VISIBILITY_CACHE_TTL;
        if let Some((known, _)) = self.lock_visibility().get(principal).filter(is_fresh) {
            return *known;
        }
        let deadline = Deadline::after(VISIBILITY_TIMEOUT);
        let visible = self.visible_collections(principal, &deadline);
        let known = !visible.is_ok_and(|mut visible| visible.next().is_none());
        let mut cached = self.lock_visibility();
        if cached.len() >= MAX_CACHED_PRINCIPALS {
            cached.clear();
        }
        cached.insert(principal.clone(), (known, now));
        known
    }

    /// Returns a collection that a principal may see, by name, ignoring case.
    pub fn find_visible(
        &self,
        principal: &Principal,
        name: &str,
    ) -> Result<VisibleCollection, CollectionError> {
        let mut visible = self.list_visible(principal, &CancelFlag::default())?.into_iter();
        visible
            .find(|opened| opened.record.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| CollectionError::Unknown(name.to_owned()))
    }

    /// Returns the database files that no collection uses, except those of running builds. Reads
    /// the folder and the catalogue.
    pub fn unused_files(&self) -> Result<Vec<PathBuf>, CollectionError> {
        collection_files::unused_files(&self.collections_folder, &self.list_records()?)
    }

    /// Returns the collection in a file of the folder. The file is not opened yet.
    pub fn open(&self, file: &str) -> Collection {
        match self.open_leased(file) {
            Ok(collection) => collection,
            // The file is missing, or was replaced meanwhile.
            Err(ReplacedFile) => self.collection_at(self.collections_folder.join(file)),
        }
    }

    /// Closes the files of this process that the catalogue no longer refers to. Each is removed
    /// when its last reader leaves. Failures are logged.
    pub fn close_replaced(&self) {
        match self.list_records() {
            Ok(records) => self.close_unlisted(&records),
            Err(error) => tracing::warn!(%error, "cannot close old files of collections"),
        }
    }

    /// Removes the caches of searches in open collections that were not used for this time. The codes
    /// of vectors stay. Blocks.
    pub fn remove_unused_caches(&self, min_age: Duration) {
        let open: Vec<Collection> = self.lock_open().values().cloned().collect();
        for collection in open {
            collection.store().remove_unused_caches(min_age);
        }
    }

    /// Returns all records with their collections. If a file was replaced and removed since the
    /// records were read, they are read again.
    fn lease_collections(
        &self,
        deadline: &Deadline,
    ) -> Result<Vec<(CollectionRecord, Collection)>, CollectionError> {
        let mut records = self.list_records_until(deadline.clone())?;
        for _ in 0..MAX_LEASE_ATTEMPTS {
            self.close_unlisted(&records);
            let leased: Result<Vec<_>, _> =
                records.iter().map(|record| self.open_leased(&record.file)).collect();
            if let Ok(leased) = leased {
                return Ok(records.into_iter().zip(leased).collect());
            }
            let before =
                std::mem::replace(&mut records, self.list_records_until(deadline.clone())?);
            if before == records {
                break;
            }
        }
        // A file is missing although the catalogue refers to it: reading it finds no documents.
        let open = |record: CollectionRecord| {
            let collection = self.open(&record.file);
            (record, collection)
        };
        Ok(records.into_iter().map(open).collect())
    }

    fn open_leased(&self, file: &str) -> Result<Collection, ReplacedFile> {
        let mut open = self.lock_open();
        if let Some(collection) = open.get(file) {
            return Ok(collection.clone());
        }
        let path = self.collections_folder.join(file);
        let may_be_created = collection_files::is_initial(file) || self.data.archive().is_some();
        if self.data.archive().is_some() && path.exists() {
            self.remove_leftover(&path);
        }
        if may_be_created && !path.exists() {
            // Readers find a file without documents, which exists for as long as they use it. If
            // another server built the collection, the first read fetches it.
            create_empty(&self.collection_at(path.clone()));
        }
        let collection = match GenerationLease::acquire(&path) {
            Ok(lease) => self.collection_at(path).with_lease(lease),
            Err(LeaseError::Gone) => return Err(ReplacedFile),
            Err(LeaseError::Unavailable(error)) => {
                tracing::debug!(file = %path.display(), %error, "a collection has no lease");
                self.collection_at(path)
            }
        };
        open.insert(file.to_owned(), collection.clone());
        Ok(collection)
    }

    /// Removes the file of a build that was interrupted before it was stored in the archive, if the
    /// archive has rows under its name: those of another server. They are fetched into a new file.
    fn remove_leftover(&self, path: &Path) {
        let store = self.data.collection_store(path.to_owned());
        let is_own = matches!(store.file_state(), Ok(FileState::Own | FileState::Uploading(_)));
        if is_own && store.has_archived_rows().is_ok_and(|has_rows| has_rows) {
            tracing::info!(file = %path.display(), "the file of an interrupted build is replaced");
            generation_lease::retire(path);
        }
    }

    /// Claims the build of a collection among all servers of an archive, or returns
    /// [`CollectionError::Busy`]. Without an archive it always succeeds. The caller holds the lock of
    /// the collection on this server.
    pub(super) fn claim_build(&self, name: &str) -> Result<Option<BuildClaim>, CollectionError> {
        let Some(followed) = self.data.archive() else { return Ok(None) };
        let record = self.find_record(name)?;
        let least = collection_files::next_number(&self.collections_folder, name, record.as_ref())?;
        BuildClaim::acquire(Arc::clone(followed.archive()), name, least).map(Some)
    }

    /// Stores a file that was just built in the archive, if there is one, so that other servers can
    /// fetch it.
    pub(super) fn upload(&self, name: &str, file: &str) -> Result<(), CollectionError> {
        let store = self.data.collection_store(self.collections_folder.join(file));
        match store.upload()? {
            Upload::Stored(_) | Upload::Unchanged => Ok(()),
            Upload::Occupied | Upload::Unequal => Err(CollectionError::Busy(name.to_owned())),
        }
    }

    /// Removes a file that is no longer in use from the archive, if there is one. Servers that still
    /// read it keep their copies. Failures are logged.
    pub(super) fn remove_upload(&self, file: &str) {
        let Some(followed) = self.data.archive() else { return };
        let part = PartName { user: String::new(), part: format!("collection/{file}") };
        if let Err(error) = followed.archive().remove_part(&part) {
            tracing::warn!(%error, "cannot remove a replaced collection from the archive");
        }
    }

    /// Inserts a collection and returns its number. Fails if the name is invalid or taken.
    pub fn insert_record(
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
                writer.query_first(sql::INSERT, parameters, |row| row.get("source_id"))?,
            )
        })?;
        added.ok_or_else(|| CollectionError::NameTaken(name.to_owned()))
    }

    /// Replaces the file of a collection by a newer one, and its owner and plan. All processes use the
    /// new file from their next request on. Returns the replaced file. Fails with
    /// [`CollectionError::TakenOver`] if the collection has a newer file already, or was removed.
    pub(super) fn publish(&self, record: &CollectionRecord) -> Result<String, CollectionError> {
        let source = named_params! { ":source_id": record.source_id };
        let parameters = named_params! {
            ":source_id": record.source_id, ":owner": record.owner, ":file": record.file,
            ":plan": record.plan, ":now": Timestamp::now(),
        };
        let number = collection_files::file_number(&record.file);
        self.store.write(Durability::Full, |writer| {
            let current: Option<String> =
                writer.query_first(sql::FILE, source, |row| row.get("file"))?;
            let older = current.filter(|file| collection_files::file_number(file) < number);
            let replaced = older.ok_or_else(|| CollectionError::TakenOver(record.name.clone()))?;
            writer.execute(sql::SWAP, parameters)?;
            Ok(replaced)
        })
    }

    /// Updates owner and plan of a collection. Returns `false`, and changes nothing, if the collection
    /// has another file than `record`, or was removed.
    pub(super) fn update_plan(&self, record: &CollectionRecord) -> Result<bool, CollectionError> {
        let parameters = named_params! {
            ":source_id": record.source_id, ":owner": record.owner, ":file": record.file,
            ":plan": record.plan, ":now": Timestamp::now(),
        };
        self.store
            .write(Durability::Full, |writer| Ok(writer.execute(sql::UPDATE, parameters)? > 0))
    }

    /// Removes a collection from the catalogue. Its file stays.
    pub fn remove_record(&self, source_id: i64) -> Result<(), CollectionError> {
        self.store.write(Durability::Full, |writer| {
            writer.execute(sql::DELETE, named_params! { ":source_id": source_id })?;
            Ok(())
        })
    }

    /// Drops collections whose file is no longer in the catalogue; each file is closed after its
    /// last reader.
    fn close_unlisted(&self, records: &[CollectionRecord]) {
        let is_listed = |file: &String| records.iter().any(|record| record.file == *file);
        let closed: Vec<_> = self.lock_open().extract_if(|file, _| !is_listed(file)).collect();
        // Closing takes time, so the lock is released before.
        drop(closed);
    }

    fn lock_visibility(&self) -> MutexGuard<'_, HashMap<Principal, (bool, Instant)>> {
        self.cached_visibility.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<String, Collection>> {
        self.open_file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the database of a collection without documents. Failures are logged: reading it fails
/// likewise.
fn create_empty(collection: &Collection) {
    if let Err(error) = collection.store().checkpoint() {
        let path = collection.store().path();
        tracing::warn!(file = %path.display(), %error, "cannot create the file of a collection");
    }
}

pub(super) fn check_name(name: &str) -> Result<(), CollectionError> {
    // The rules for user names also exclude path traversal.
    let safe = name.parse::<UserId>().is_ok() && name.parse::<SourceName>().is_err();
    if safe { Ok(()) } else { Err(CollectionError::InvalidName(name.chars().take(100).collect())) }
}

fn parse_record(row: &Row<'_>) -> rusqlite::Result<CollectionRecord> {
    Ok(CollectionRecord {
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
    use vademecum_core::auth::local_principal;

    #[test]
    fn catalogue_read_creates_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let ada = local_principal("ada".parse().unwrap());
        assert!(
            Catalogue::new(folder.path())
                .list_visible(&ada, &CancelFlag::default())
                .unwrap()
                .is_empty()
        );
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn unbuilt_collection_stays_readable_when_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::new(folder.path());
        let initial = collection_files::initial_file_name("docs");
        catalogue.insert_record("docs", None, &initial, "{}").unwrap();
        let ada = local_principal("ada".parse().unwrap());
        let opened = catalogue.find_visible(&ada, "docs").unwrap().collection;
        // The first build ends.
        let record = catalogue.find_record("docs").unwrap().unwrap();
        let record = CollectionRecord { file: "docs.1.db".to_owned(), ..record };
        assert_eq!(catalogue.publish(&record).unwrap(), initial);
        let late = catalogue.publish(&record);
        assert!(matches!(late, Err(CollectionError::TakenOver(_))), "a newer file stays");
        catalogue.close_replaced();
        collection_files::remove_unused(catalogue.folder(), "docs", Some(&record)).unwrap();
        let count = |collection: &Collection| {
            let deadline = Deadline::after(READ_TIMEOUT);
            collection.read(deadline, |reader| collection.count_by_source(reader)).unwrap().len()
        };
        assert_eq!(count(&opened), 0);
        drop(opened);
        assert!(!catalogue.folder().join(initial).exists(), "its last reader has left");
    }

    #[test]
    fn collection_is_visible_to_owner_or_all() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::new(folder.path());
        let (ada, bob) = ("ada".parse().unwrap(), "bob".parse().unwrap());
        catalogue.insert_record("docs", None, "docs.1.db", "{}").unwrap();
        catalogue.insert_record("adas", Some(&ada), "adas.1.db", "{}").unwrap();
        let names = |user: &UserId| -> Vec<String> {
            let principal = local_principal(user.clone());
            let visible = catalogue.list_visible(&principal, &CancelFlag::default()).unwrap();
            visible.into_iter().map(|opened| opened.record.name).collect()
        };
        assert_eq!(
            (names(&ada), names(&bob)),
            (vec!["docs".into(), "adas".into()], vec!["docs".to_owned()])
        );
        assert!(matches!(
            catalogue.insert_record("DOCS", None, "x.db", "{}"),
            Err(CollectionError::NameTaken(_))
        ));
        assert!(matches!(
            catalogue.find_visible(&local_principal(bob), "adas"),
            Err(CollectionError::Unknown(_))
        ));
        for name in ["", "../x", "notes", "collections", "a b"] {
            assert!(catalogue.insert_record(name, None, "x.db", "{}").is_err(), "{name}");
        }
    }
}
