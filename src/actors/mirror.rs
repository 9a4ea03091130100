//! A store that follows a database of tldw.
//!
//! Whoever wants to read asks first whether the store is in step. A look costs a
//! few file attributes; only if they have changed does a thread of its own read
//! what is new. Who asks waits a moment for it and then reads what is there, so
//! that neither a long change nor a busy tldw holds anybody up
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
use vademecum_kit::{
    model::SourceName,
    source::{Source, SourceError},
    store::{Database, Store},
};
use vademecum_tldw::{File, Identity, TldwError, User, Vanished, follow, the_user};

use super::chain;

/// How long a reader waits for a store that was never in step. It is less than
/// half of what a call may take, so that the reason arrives in time.
const FIRST: Duration = Duration::from_secs(2);
/// How long a reader waits for what has changed.
const MOMENT: Duration = Duration::from_millis(250);
/// How many times the time of a round passes before the next one: whoever writes
/// all the time costs no more than a fifth of a processor.
const PAUSE: u32 = 4;

/// The tldw directory that libraries are served from.
#[derive(Clone, Debug)]
pub struct Tldw {
    folder: PathBuf,
    mirrors: PathBuf,
    only: Option<User>,
}

impl Tldw {
    /// Serves every user of the directory to whoever has the same name. Mirrors
    /// are kept below `data`.
    pub fn of_many(folder: &Path, data: &Path) -> Result<Self, TldwError> {
        vademecum_tldw::users(folder)?;
        Ok(Self::new(folder, data, None))
    }

    /// Serves one user of the directory: the one of that id, or the only one.
    pub fn of_one(folder: &Path, data: &Path, id: Option<&str>) -> Result<Self, TldwError> {
        let user = the_user(folder, id)?;
        Ok(Self::new(folder, data, Some(user)))
    }

    fn new(folder: &Path, data: &Path, only: Option<User>) -> Self {
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_os_str().as_encoded_bytes());
        let mirrors = data.join("mirrors").join(name.simple().to_string());
        Self { folder: folder.to_owned(), mirrors, only }
    }

    /// Where the stores of a library are that follows the user `id`.
    pub(crate) fn mirror_folder(&self, id: &str) -> PathBuf {
        self.mirrors.join(self.only.as_ref().map_or(id, User::id))
    }

    /// What follows the databases of the user `id` in these stores.
    pub(crate) fn mirrors(
        &self,
        id: &str,
        stores: impl Iterator<Item = (Database, Arc<Store>)>,
        sources: &[Arc<dyn Source>],
    ) -> Vec<Arc<Mirror>> {
        let mirror = |(database, store)| {
            let own = sources.iter().filter(|source| source.database() == database);
            let mut sources: Vec<_> = own.cloned().collect();
            // A conversation is held with a character that must be there before.
            sources.sort_by_key(|source| source.name() != SourceName::Characters);
            Arc::new(Mirror {
                tldw: self.clone(),
                id: id.to_owned(),
                database,
                store,
                sources,
                state: Mutex::default(),
                told: watch::Sender::new(Told::default()),
            })
        };
        stores.map(mirror).collect()
    }
}

/// A store that follows a database of tldw.
#[derive(Debug)]
pub(crate) struct Mirror {
    tldw: Tldw,
    id: String,
    database: Database,
    store: Arc<Store>,
    sources: Vec<Arc<dyn Source>>,
    state: Mutex<State>,
    told: watch::Sender<Told>,
}

#[derive(Debug, Default)]
struct State {
    user: Option<User>,
    /// The state of the file that the store is in step with.
    seen: Option<Identity>,
    /// Whether there was no file to be in step with.
    absent: bool,
    /// The round that is going on.
    round: Option<u64>,
    /// When the next round may begin.
    next: Option<Instant>,
}

/// What is known of the last rounds.
#[derive(Debug, Default)]
struct Told {
    /// How many rounds are over.
    rounds: u64,
    /// Whether the store was ever in step.
    was_in_step: bool,
    /// Items that were read in this round, of how many.
    progress: (usize, usize),
    /// Why the last round failed.
    failed: Option<String>,
}

impl Mirror {
    /// Whether it follows this store.
    pub(crate) fn is_of(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    /// Waits until the store is in step with the database, if that does not take
    /// long; says why it cannot be read.
    pub(crate) async fn ready(self: &Arc<Self>) -> Result<(), SourceError> {
        let mirror = Arc::clone(self);
        // A look that broke off is the next one's business.
        let round = tokio::task::spawn_blocking(move || mirror.look()).await.ok().flatten();
        if let Some(round) = round {
            let mut told = self.told.subscribe();
            let patience = if told.borrow().was_in_step { MOMENT } else { FIRST };
            // Who has waited long enough sees what is there.
            drop(timeout(patience, told.wait_for(|told| told.rounds >= round)).await);
        }
        let told = self.told.borrow();
        match (&told.failed, told.was_in_step) {
            (Some(reason), _) => Err(SourceError::Unavailable(reason.clone())),
            (None, true) => Ok(()),
            (None, false) => Err(SourceError::Unavailable(still_reading(told.progress))),
        }
    }

    /// Begins a round if the database has changed. Answers with the round that is
    /// worth waiting for.
    pub(crate) fn look(self: &Arc<Self>) -> Option<u64> {
        let mut state = self.state();
        if state.round.is_some() {
            return state.round;
        }
        if state.next.is_some_and(|next| Instant::now() < next) {
            return None;
        }
        let file = self.file(&mut state);
        let now = file.as_ref().ok().and_then(|path| Identity::of(path.as_ref()?).ok());
        let is_same = match &file {
            Ok(None) => state.absent,
            Ok(Some(_)) | Err(_) => now.is_some() && state.seen == now,
        };
        if is_same {
            return None;
        }
        let round = self.told.borrow().rounds + 1;
        let mirror = Arc::clone(self);
        let run = move || mirror.run(file);
        // A thread of its own: a process that ends does not wait for it.
        match thread::Builder::new().name("mirror".to_owned()).spawn(run) {
            Ok(_) => {
                state.round = Some(round);
                Some(round)
            }
            Err(error) => {
                tracing::error!(%error, "no thread can be started");
                None
            }
        }
    }

    /// The database's file, if it has one; the user is looked for until found.
    fn file(&self, state: &mut State) -> Result<Option<PathBuf>, TldwError> {
        let user = match (&self.tldw.only, &state.user) {
            (Some(user), _) | (None, Some(user)) => user.clone(),
            (None, None) => the_user(&self.tldw.folder, Some(&self.id))?,
        };
        let file = user.file(self.database);
        state.user = Some(user);
        Ok(file)
    }

    fn run(self: Arc<Self>, file: Result<Option<PathBuf>, TldwError>) {
        let begun = Instant::now();
        let catch_up = || file.and_then(|file| self.catch_up(file.as_deref()));
        let broke_off = |_| Err(TldwError::BrokeOff { path: self.tldw.folder.clone() });
        let done = catch_unwind(AssertUnwindSafe(catch_up)).unwrap_or_else(broke_off);
        let mut state = self.state();
        state.round = None;
        state.next = Some(Instant::now() + begun.elapsed() * PAUSE);
        state.absent = matches!(done, Ok(None));
        state.seen = done.as_ref().ok().cloned().flatten().filter(Identity::is_certain);
        drop(state);
        self.told.send_modify(|told| {
            told.rounds += 1;
            let failed = match done {
                Ok(_) => None,
                // It is read again soon; until then, what there is stays true.
                Err(TldwError::Restless { .. }) if told.was_in_step => None,
                Err(error) => Some(chain(&error)),
            };
            if let Some(reason) = failed.as_ref().filter(|_| told.failed != failed) {
                tracing::warn!(user.id = %self.id, reason, "a database of tldw cannot be followed");
            }
            told.was_in_step |= failed.is_none();
            told.failed = failed;
        });
    }

    /// Brings the store in step, and tells with which state of the database.
    fn catch_up(&self, path: Option<&Path>) -> Result<Option<Identity>, TldwError> {
        let Some(user) = self.state().user.clone() else { return Ok(None) };
        let Some(path) = path else { return self.without_file(&user) };
        let file = File::open(path, self.database)?;
        for source in &self.sources {
            let mut tell = |done, of| {
                self.told.send_if_modified(|told| {
                    told.progress = (done, of);
                    false
                });
            };
            let followed =
                follow(&user, &file, &self.store, &**source, Vanished::Remove, &mut tell)?;
            for problem in &followed.problems {
                tracing::warn!(place = problem.place, reason = problem.reason, "left out");
            }
            tracing::debug!(
                source = %source.name(),
                new = followed.new,
                updated = followed.updated,
                removed = followed.removed,
                "followed tldw"
            );
        }
        Ok(Some(file.identity().clone()))
    }

    /// A database that is not there yet has nothing in it. One that was there may
    /// come back, and what it held is not forgotten.
    fn without_file(&self, user: &User) -> Result<Option<Identity>, TldwError> {
        if self.store.path().exists() {
            for source in &self.sources {
                if !self.store.origins(source.name(), "")?.is_empty() {
                    return Err(TldwError::Gone { path: user.folder().to_owned() });
                }
            }
        }
        Ok(None)
    }

    /// Nothing that holds this lock can leave it half-changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing can be changed in the store.
    pub(crate) fn refusal(&self) -> SourceError {
        SourceError::Refused(format!(
            "this library is served from the tldw databases in {}, which are only read; change \
             it in tldw, or copy it with `vademecum import tldw` and serve the copy",
            self.tldw.folder.display()
        ))
    }
}

fn still_reading((done, of): (usize, usize)) -> String {
    format!("its tldw database is being read for the first time, {done} of {of}; ask again soon")
}
