//! Which libraries are in use and which conversations go on.
//!
//! The roster hands out the address of a session only to the principal that it
//! belongs to, because that principal is part of the key it is kept under.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroUsize,
    path::PathBuf,
    sync::Arc,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use actix::prelude::*;
use dashmap::{DashMap, Entry};
use uuid::Uuid;
use vademecum_kit::source::Source;

use super::{CallError, Library, Session, Tldw, session::Memory};
use vademecum_core::{
    auth::{Principal, UserId},
    config::{Limits, Sessions},
    telemetry::Metrics,
};
use vademecum_embed::Embeddings;
use vademecum_mcp::Scope;

/// Where libraries stand, and what they are made of.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// The folder of all users.
    pub users: PathBuf,
    /// The tldw directory that they are served from instead.
    pub tldw: Option<Tldw>,
    /// The sources of every library.
    pub sources: Vec<Arc<dyn Source>>,
    /// What makes vectors, if anything does.
    pub embeddings: Option<Arc<Embeddings>>,
    /// Libraries that are open at the same time, at most.
    pub open_libraries: NonZeroUsize,
    /// What one call may cost.
    pub limits: Limits,
    /// What is remembered of a conversation.
    pub sessions: Sessions,
}

/// Which libraries are in use and which conversations go on.
pub struct Roster {
    shelf: Shelf,
    metrics: Metrics,
    libraries: DashMap<UserId, InUse>,
    seats: DashMap<(Principal, Scope), Seat>,
}

/// A library that is in use. Dropping it closes its files, as soon as the work
/// that goes on in it is done.
struct InUse {
    /// Its actors on each event loop that has served its user: a message to another
    /// one would wake another thread, and so would the answer.
    at: HashMap<ThreadId, Library>,
    used: Instant,
}

/// A conversation that goes on.
pub(super) struct Seat {
    memory: Memory,
    used: Instant,
}

impl fmt::Debug for Roster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Roster")
            .field("libraries", &self.libraries.len())
            .field("sessions", &self.seats.len())
            .finish_non_exhaustive()
    }
}

impl Roster {
    /// Nobody is there yet.
    pub fn new(shelf: Shelf) -> Self {
        let metrics = Metrics::default();
        Self { shelf, metrics, libraries: DashMap::new(), seats: DashMap::new() }
    }

    /// The same, with sources that are counted there.
    #[must_use]
    pub fn counted(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// The principal's own library, with actors on this event loop.
    pub fn library(&self, principal: &Principal) -> Library {
        let user = principal.user();
        let mut known = self.libraries.get_mut(user).unwrap_or_else(|| {
            if self.libraries.len() >= self.shelf.open_libraries.get() {
                self.close_longest_unused();
            }
            let nowhere = || InUse { at: HashMap::new(), used: Instant::now() };
            self.libraries.entry(user.clone()).or_insert_with(nowhere)
        });
        known.used = Instant::now();
        let here = thread::current().id();
        match known.at.get(&here) {
            Some(library) if library.is_running() => return library.clone(),
            Some(_) => {
                tracing::error!(user.id = %user, "a library broke off and is started again");
                known.at.clear();
            }
            None => {}
        }
        let library = match known.at.values().next() {
            Some(elsewhere) => elsewhere.here(),
            None => self.start(user),
        };
        known.at.insert(here, library.clone());
        library
    }

    fn start(&self, user: &UserId) -> Library {
        let Shelf { sources, tldw, embeddings, limits, .. } = &self.shelf;
        let tldw = tldw.as_ref().map(|tldw| (tldw, user.as_str()));
        let (folder, patience) = (self.folder(user), limits.patience());
        Library::start(&folder, sources, patience, tldw, embeddings.as_ref(), &self.metrics)
    }

    /// How many libraries are in use.
    pub fn open_libraries(&self) -> usize {
        self.libraries.len()
    }

    /// How many conversations are remembered.
    pub fn open_conversations(&self) -> usize {
        self.seats.len()
    }

    /// The libraries that are in use.
    pub(super) fn in_use(&self) -> Vec<Library> {
        self.libraries.iter().filter_map(|entry| entry.at.values().next().cloned()).collect()
    }

    /// Closes the files of all libraries: what was written lately is moved into them.
    pub fn close(&self) {
        self.in_use().iter().for_each(Library::close);
    }

    /// The folder of a user's library.
    pub fn folder(&self, user: &UserId) -> PathBuf {
        let (id, tldw) = (user.as_str(), self.shelf.tldw.as_ref());
        tldw.map_or_else(|| self.shelf.users.join(id), |tldw| tldw.mirror_folder(id))
    }

    /// The principal's conversation of that name. A handle must have been
    /// minted; the other kinds begin when they are first heard of.
    pub fn session(
        &self,
        principal: &Principal,
        scope: Option<&Scope>,
    ) -> Result<Addr<Session>, CallError> {
        let Some(scope) = scope else {
            return Ok(self.resume(principal, self.begin()));
        };
        let idle = self.shelf.sessions.idle();
        let key = (principal.clone(), scope.clone());
        if let Some(mut seat) = self.seats.get_mut(&key)
            && seat.used.elapsed() <= idle
        {
            seat.used = Instant::now();
            return Ok(self.resume(principal, seat.memory.clone()));
        }
        match scope {
            Scope::Handle(handle) => Err(CallError::UnknownSession(handle.clone())),
            Scope::Session(_) | Scope::OpenAi(_) => Ok(self.resume(principal, self.seat(key))),
        }
    }

    /// Begins a conversation and mints the handle that names it.
    pub fn mint(&self, principal: &Principal) -> String {
        let handle = Uuid::new_v4().simple().to_string();
        self.seat((principal.clone(), Scope::Handle(handle.clone())));
        handle
    }

    /// Forgets a conversation.
    pub fn forget(&self, principal: &Principal, scope: &Scope) {
        self.seats.remove(&(principal.clone(), scope.clone()));
    }

    /// Forgets the conversations that lie idle, and closes the libraries that do.
    pub fn sweep(&self) {
        let idle = self.shelf.sessions.idle();
        self.seats.retain(|_, seat| seat.used.elapsed() <= idle);
        self.libraries.retain(|_, library| library.used.elapsed() <= idle);
    }

    /// How long a conversation may lie idle.
    pub fn idle(&self) -> Duration {
        self.shelf.sessions.idle()
    }

    fn seat(&self, key: (Principal, Scope)) -> Memory {
        let sessions = &self.shelf.sessions;
        if self.seats.len() >= sessions.most.min(sessions.most_per_user).get() {
            self.make_room(key.0.user());
        }
        let memory = self.begin();
        let seat = Seat { memory: memory.clone(), used: Instant::now() };
        match self.seats.entry(key) {
            // Two requests may begin the same conversation at once.
            Entry::Occupied(mut taken) if taken.get().used.elapsed() <= self.idle() => {
                taken.get_mut().used = Instant::now();
                taken.get().memory.clone()
            }
            Entry::Occupied(mut taken) => {
                taken.insert(seat);
                memory
            }
            Entry::Vacant(free) => {
                free.insert(seat);
                memory
            }
        }
    }

    fn begin(&self) -> Memory {
        let sessions = &self.shelf.sessions;
        Memory::new(sessions.seen_uris.get(), sessions.recent_queries)
    }

    /// Goes on with what a conversation remembers, until the address is dropped.
    fn resume(&self, principal: &Principal, memory: Memory) -> Addr<Session> {
        Session::new(self.library(principal).aggregator().clone(), memory).start()
    }

    fn close_longest_unused(&self) {
        let longest_unused = self
            .libraries
            .iter()
            .min_by_key(|entry| entry.value().used)
            .map(|entry| entry.key().clone());
        if let Some(user) = longest_unused {
            self.libraries.remove(&user);
        }
    }

    /// Forgets the longest unused conversation of this user if they have as many as
    /// they may, and else, if all are too many, of the user who has most.
    fn make_room(&self, user: &UserId) {
        let sessions = &self.shelf.sessions;
        let mut counts: HashMap<UserId, usize> = HashMap::new();
        for seat in &self.seats {
            *counts.entry(seat.key().0.user().clone()).or_default() += 1;
        }
        let own = counts.get(user).copied().unwrap_or(0);
        let whose = if own >= sessions.most_per_user.get() {
            user
        } else if counts.values().sum::<usize>() >= sessions.most.get() {
            let most = counts.iter().max_by_key(|(_, count)| **count);
            most.map_or(user, |(user, _)| user)
        } else {
            return;
        };
        let longest_unused = self
            .seats
            .iter()
            .filter(|entry| entry.key().0.user() == whose)
            .min_by_key(|entry| entry.value().used)
            .map(|entry| entry.key().clone());
        if let Some(key) = longest_unused {
            self.seats.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::aggregator::Aggregator;
    use vademecum_core::{auth::desktop, config::Storage};

    #[derive(Debug, Message)]
    #[rtype(result = "()")]
    struct BreakOff;

    impl Handler<BreakOff> for Aggregator {
        type Result = ();

        fn handle(&mut self, _: BreakOff, _: &mut Self::Context) {
            panic!("on purpose");
        }
    }

    #[actix::test]
    async fn a_library_whose_actor_panicked_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let roster = Roster::new(Shelf {
            users: folder.path().to_owned(),
            tldw: None,
            sources: Vec::new(),
            embeddings: None,
            open_libraries: Storage::default().open_libraries,
            limits: Limits::default(),
            sessions: Sessions::default(),
        });
        let [ada, eve] = ["ada", "eve"].map(|name| desktop(name.parse().unwrap()));
        let (broken, other) = (roster.library(&ada), roster.library(&eve));
        broken.aggregator().send(BreakOff).await.unwrap_err();
        assert!(!broken.is_running() && other.is_running());
        assert!(roster.library(&ada).is_running());
        assert_eq!(roster.open_libraries(), 2);
    }

    #[actix::test]
    async fn each_event_loop_has_actors_of_its_own_and_the_same_stores() {
        let folder = tempfile::tempdir().unwrap();
        let roster = Arc::new(roster(&folder, 2, 60));
        let ada = desktop("ada".parse().unwrap());
        let here = roster.library(&ada);
        let (sender, there) = tokio::sync::oneshot::channel();
        let (arbiter, other) = (Arbiter::new(), (Arc::clone(&roster), ada.clone()));
        assert!(arbiter.spawn_fn(move || sender.send(other.0.library(&other.1)).unwrap()));
        let there = there.await.unwrap();
        assert!(here.aggregator() != there.aggregator());
        assert!(here.aggregator() == roster.library(&ada).aggregator());
        let mut stores = here.stores().iter().zip(there.stores());
        assert!(stores.all(|(here, there)| Arc::ptr_eq(here, there)));
        assert_eq!((roster.open_libraries(), here.stores().len()), (1, there.stores().len()));
        arbiter.stop();
    }

    fn roster(folder: &tempfile::TempDir, most: usize, idle_seconds: u32) -> Roster {
        Roster::new(Shelf {
            users: folder.path().to_owned(),
            tldw: None,
            sources: Vec::new(),
            embeddings: None,
            open_libraries: NonZeroUsize::new(most).unwrap(),
            limits: Limits::default(),
            sessions: Sessions { idle_seconds, ..Sessions::default() },
        })
    }

    fn users(roster: &Roster) -> Vec<String> {
        let mut users: Vec<_> =
            roster.libraries.iter().map(|entry| entry.key().as_str().to_owned()).collect();
        users.sort();
        users
    }

    #[actix::test]
    async fn the_longest_unused_library_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let roster = roster(&folder, 2, 60);
        for user in ["ada", "bob", "ada", "cyd"] {
            roster.library(&desktop(user.parse().unwrap()));
        }
        assert_eq!(users(&roster), ["ada", "cyd"]);
    }

    #[actix::test]
    async fn a_library_that_lies_idle_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let most = Storage::default().open_libraries.get();
        let kept = roster(&folder, most, 60);
        let closed = roster(&folder, most, 0);
        for roster in [&kept, &closed] {
            roster.library(&desktop("ada".parse().unwrap()));
            roster.sweep();
        }
        assert_eq!((users(&kept), users(&closed)), (vec!["ada".to_owned()], vec![]));
    }
}
