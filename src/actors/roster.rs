//! Which libraries are in use and which conversations go on.
//!
//! The roster hands out the address of a session only to the principal that it
//! belongs to, because that principal is part of the key it is kept under.

use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::prelude::*;
use dashmap::{DashMap, Entry};
use uuid::Uuid;
use vademecum_kit::source::Source;

use super::{CallError, Library, Session, Tldw, session::Memory};
use crate::{
    auth::{Principal, UserId},
    config::{Limits, Sessions},
    embed::Embeddings,
    mcp::Scope,
    telemetry::Metrics,
};

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
    /// What one call may cost.
    pub limits: Limits,
    /// What is remembered of a conversation.
    pub sessions: Sessions,
}

/// Which libraries are in use and which conversations go on.
pub struct Roster {
    shelf: Shelf,
    metrics: Metrics,
    pub(super) libraries: DashMap<UserId, Library>,
    pub(super) seats: DashMap<(Principal, Scope), Seat>,
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

    /// The principal's own library.
    pub fn library(&self, principal: &Principal) -> Library {
        let user = principal.user();
        let start = || {
            let id = user.as_str();
            let tldw = self.shelf.tldw.as_ref();
            let folder =
                tldw.map_or_else(|| self.shelf.users.join(id), |tldw| tldw.mirror_folder(id));
            let patience = self.shelf.limits.patience();
            let tldw = tldw.map(|tldw| (tldw, id));
            let embeddings = self.shelf.embeddings.as_ref();
            let sources = &self.shelf.sources;
            Library::start(&folder, sources, patience, tldw, embeddings, &self.metrics)
        };
        self.libraries.entry(user.clone()).or_insert_with(start).clone()
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

    /// Forgets the conversations that lie idle.
    pub fn sweep(&self) {
        let idle = self.shelf.sessions.idle();
        self.seats.retain(|_, seat| seat.used.elapsed() <= idle);
    }

    /// How long a conversation may lie idle.
    pub fn idle(&self) -> Duration {
        self.shelf.sessions.idle()
    }

    fn seat(&self, key: (Principal, Scope)) -> Memory {
        if self.seats.len() >= self.shelf.sessions.most.get() {
            self.make_room();
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

    fn make_room(&self) {
        let longest_unused = self
            .seats
            .iter()
            .min_by_key(|entry| entry.value().used)
            .map(|entry| entry.key().clone());
        if let Some(key) = longest_unused {
            self.seats.remove(&key);
        }
    }
}
