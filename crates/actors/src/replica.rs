//! Store that is kept in sync with a tldw database.
//!
//! Every read first checks whether the store is up to date. A check costs a few file attributes;
//! only if they changed does a separate thread read the changes. Readers wait briefly for it and
//! then read what is stored, so neither a long change nor a busy tldw blocks them
//! (`docs/adr/0012-tldw-in-place.md`).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::timeout};
use uuid::Uuid;
use vademecum_model::SourceName;
use vademecum_source::{Source, SourceError};
use vademecum_store::{Database, Store};
use vademecum_tldw::{
    DatabaseFingerprint, MissingItems, TldwError, TldwFile, TldwUser, find_user, sync_source,
};

use super::error_chain;

/// Time that a reader waits for a store that was never in sync. It is less than half of a call's
/// timeout, so that the reason arrives in time.
const INITIAL_SYNC_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that a reader waits for changes.
const SYNC_TIMEOUT: Duration = Duration::from_millis(250);
/// Minimum pause between rounds as a multiple of the duration of a round. It limits a constant
/// writer to a fifth of a processor.
const PAUSE_FACTOR: u32 = 4;

/// Directory of tldw that libraries are served from.
#[derive(Clone, Debug)]
pub struct TldwDirectory {
    folder: PathBuf,
    replicas_folder: PathBuf,
    single_user: Option<TldwUser>,
}

impl TldwDirectory {
    /// Serves all users of the directory to users of the same name. Replicas are stored below
    /// `data`.
    pub fn for_all_users(folder: &Path, data: &Path) -> Result<Self, TldwError> {
        vademecum_tldw::find_users(folder)?;
        Ok(Self::new(folder, data, None))
    }

    /// Serves one user of the directory: the one with this id, or the only one.
    pub fn for_one_user(folder: &Path, data: &Path, id: Option<&str>) -> Result<Self, TldwError> {
        let user = find_user(folder, id)?;
        Ok(Self::new(folder, data, Some(user)))
    }

    fn new(folder: &Path, data: &Path, only: Option<TldwUser>) -> Self {
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_os_str().as_encoded_bytes());
        let replicas = data.join("mirrors").join(name.simple().to_string());
        Self { folder: folder.to_owned(), replicas_folder: replicas, single_user: only }
    }

    /// Returns the folder with the stores of the library that replicates user `id`.
    pub(crate) fn replica_folder(&self, id: &str) -> PathBuf {
        self.replicas_folder.join(self.single_user.as_ref().map_or(id, TldwUser::id))
    }

    /// Creates the replicas of the databases of user `id`.
    pub(crate) fn replicas(
        &self,
        id: &str,
        stores: impl Iterator<Item = (Database, Arc<Store>)>,
        sources: &[Arc<dyn Source>],
    ) -> Vec<Arc<Replica>> {
        let replica = |(database, store)| {
            let own = sources.iter().filter(|source| source.database() == database);
            let mut sources: Vec<_> = own.cloned().collect();
            // Characters come first, because conversations refer to them.
            sources.sort_by_key(|source| source.name() != SourceName::Characters);
            Arc::new(Replica {
                tldw: self.clone(),
                user_id: id.to_owned(),
                database,
                store,
                sources,
                state: Mutex::default(),
                status: watch::Sender::new(SyncStatus::default()),
            })
        };
        stores.map(replica).collect()
    }
}

/// Store that is kept in sync with a tldw database.
#[derive(Debug)]
pub(crate) struct Replica {
    tldw: TldwDirectory,
    user_id: String,
    database: Database,
    store: Arc<Store>,
    sources: Vec<Arc<dyn Source>>,
    state: Mutex<ReplicaState>,
    status: watch::Sender<SyncStatus>,
}

#[derive(Debug, Default)]
struct ReplicaState {
    user: Option<TldwUser>,
    /// Identity of the file that the store is in sync with, or that exceeded a limit: neither is
    /// read again until it changes.
    synced_identity: Option<DatabaseFingerprint>,
    /// Set if the file did not exist at the last round.
    was_absent: bool,
    /// Number of the running round.
    running_round: Option<u64>,
    /// Earliest start of the next round.
    next_round_at: Option<Instant>,
}

/// Status of the completed rounds.
#[derive(Debug, Default)]
struct SyncStatus {
    /// Number of completed rounds.
    completed_rounds: u64,
    /// Set once the store was in sync.
    was_in_sync: bool,
    /// Items read in this round, and their total.
    progress: (usize, usize),
    /// Reason why the last round failed, for callers.
    failure: Option<String>,
}

impl Replica {
    /// Returns `true` if this replica writes to this very store.
    pub(crate) fn feeds_store(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    /// Waits briefly until the store is in sync. Fails if it cannot be read.
    pub(crate) async fn wait_until_synced(self: &Arc<Self>) -> Result<(), SourceError> {
        let replica = Arc::clone(self);
        // If the check panicked, the next read repeats it.
        let round =
            tokio::task::spawn_blocking(move || replica.check_for_changes()).await.ok().flatten();
        if let Some(round) = round {
            let mut status = self.status.subscribe();
            let limit =
                if status.borrow().was_in_sync { SYNC_TIMEOUT } else { INITIAL_SYNC_TIMEOUT };
            // After the timeout, read what is stored.
            drop(timeout(limit, status.wait_for(|status| status.completed_rounds >= round)).await);
        }
        let status = self.status.borrow();
        match (&status.failure, status.was_in_sync) {
            (Some(reason), _) => Err(SourceError::Unavailable(reason.clone())),
            (None, true) => Ok(()),
            (None, false) => Err(SourceError::Unavailable(first_sync_message(status.progress))),
        }
    }

    /// Starts a round if the database has changed. Returns the round to wait for, if any.
    pub(crate) fn check_for_changes(self: &Arc<Self>) -> Option<u64> {
        let mut state = self.lock_state();
        if state.running_round.is_some() {
            return state.running_round;
        }
        if state.next_round_at.is_some_and(|next| Instant::now() < next) {
            return None;
        }
        let file = self.database_file(&mut state);
        let now = file.as_ref().ok().and_then(|path| DatabaseFingerprint::of(path.as_ref()?).ok());
        let is_same = match &file {
            Ok(None) => state.was_absent,
            Ok(Some(_)) | Err(_) => now.is_some() && state.synced_identity == now,
        };
        if is_same {
            return None;
        }
        let round = self.status.borrow().completed_rounds + 1;
        let replica = Arc::clone(self);
        let run = move || replica.run_round(file);
        // A separate thread, because the runtime would wait for blocking tasks at exit.
        match thread::Builder::new().name("mirror".to_owned()).spawn(run) {
            Ok(_) => {
                state.running_round = Some(round);
                Some(round)
            }
            Err(error) => {
                tracing::error!(%error, "sync thread could not be started");
                None
            }
        }
    }

    /// Returns the path of the database, if it exists. Looks up the user until found.
    fn database_file(&self, state: &mut ReplicaState) -> Result<Option<PathBuf>, TldwError> {
        let user = match (&self.tldw.single_user, &state.user) {
            (Some(user), _) | (None, Some(user)) => user.clone(),
            (None, None) => find_user(&self.tldw.folder, Some(&self.user_id))?,
        };
        let file = user.database_path(self.database);
        state.user = Some(user);
        Ok(file)
    }

    fn run_round(self: Arc<Self>, file: Result<Option<PathBuf>, TldwError>) {
        let begun = Instant::now();
        let catch_up = || file.and_then(|file| self.sync_store(file.as_deref()));
        let broke_off = |_| Err(TldwError::ReaderPanicked { path: self.tldw.folder.clone() });
        let done = catch_unwind(AssertUnwindSafe(catch_up)).unwrap_or_else(broke_off);
        let mut state = self.lock_state();
        state.running_round = None;
        state.next_round_at = Some(Instant::now() + begun.elapsed() * PAUSE_FACTOR);
        state.was_absent = matches!(done, Ok(None));
        let identity = match &done {
            Ok(identity) => identity.clone(),
            Err(TldwError::LimitExceeded { path, .. } | TldwError::TooManyItems { path, .. }) => {
                DatabaseFingerprint::of(path).ok()
            }
            Err(_) => None,
        };
        state.synced_identity = identity.filter(DatabaseFingerprint::is_settled);
        drop(state);
        self.status.send_modify(|status| {
            status.completed_rounds += 1;
            let failed = match &done {
                Ok(_) => None,
                // The file changed while it was read. It is read again soon; until then the stored
                // data remain valid.
                Err(TldwError::ModifiedDuringRead { .. }) if status.was_in_sync => None,
                Err(error) => Some(error.public_message()),
            };
            if let (Err(error), true) = (&done, failed.is_some() && status.failure != failed) {
                let reason = error_chain(error);
                tracing::warn!(user.id = %self.user_id, reason, "tldw database could not be synchronized");
            }
            status.was_in_sync |= failed.is_none();
            status.failure = failed;
        });
    }

    /// Synchronizes the store and returns the identity of the database it is in sync with.
    fn sync_store(&self, path: Option<&Path>) -> Result<Option<DatabaseFingerprint>, TldwError> {
        let Some(user) = self.lock_state().user.clone() else { return Ok(None) };
        let Some(path) = path else { return self.sync_missing_file(&user) };
        let file = TldwFile::open(path, self.database)?;
        for source in &self.sources {
            let mut tell = |done, of| {
                self.status.send_if_modified(|status| {
                    status.progress = (done, of);
                    false
                });
            };
            let followed =
                sync_source(&user, &file, &self.store, &**source, MissingItems::Remove, &mut tell)?;
            for problem in &followed.problems {
                tracing::warn!(place = problem.item, reason = problem.reason, "skipped item");
            }
            tracing::debug!(
                source = %source.name(),
                new = followed.new,
                updated = followed.updated,
                removed = followed.removed,
                "synchronized with tldw"
            );
        }
        Ok(Some(file.identity().clone()))
    }

    /// Treats a database that never existed as empty. One that disappeared is an error, and its
    /// data are kept.
    fn sync_missing_file(&self, user: &TldwUser) -> Result<Option<DatabaseFingerprint>, TldwError> {
        if self.store.path().exists() {
            for source in &self.sources {
                if !vademecum_source::list_origins(&self.store, source.name(), "")?.is_empty() {
                    return Err(TldwError::MissingDatabase { path: user.folder().to_owned() });
                }
            }
        }
        Ok(None)
    }

    /// Locks the state, ignoring poisoning: no code path leaves it half-changed.
    fn lock_state(&self) -> MutexGuard<'_, ReplicaState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error for changes to a replica.
    pub(crate) fn read_only_error() -> SourceError {
        let reason = "this library is served from tldw databases, which are only read; change it \
                      in tldw, or copy it with `vademecum import tldw` and serve the copy";
        SourceError::Refused(reason.to_owned())
    }
}

fn first_sync_message((done, of): (usize, usize)) -> String {
    format!("its tldw database is being read for the first time, {done} of {of}; try again soon")
}
