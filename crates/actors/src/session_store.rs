//! Conversations by principal and scope: running session actors, and the state of resting ones.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher as _, RandomState},
    mem,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use actix::{WeakAddr, prelude::*};
use dashmap::DashMap;
use vademecum_core::{
    auth::{Principal, UserId},
    config::Sessions,
};
use vademecum_mcp::Scope;

use super::{
    CallError, Library, Session,
    aggregator::Aggregator,
    session::{RestIfIdle, StoredEntry, UseAggregator},
    session_state::SessionState,
    shown_items::ShownItems,
};

/// Time without a request after which the actor of a session is stopped and its state kept here.
const REST_AFTER: Duration = Duration::from_secs(30);

/// Maximum number of conversations of which it is remembered that they were dropped.
const MAX_DROPPED: usize = 100_000;

/// Key of a conversation. Two principals never share one, whatever scope they name.
pub(super) type SessionKey = (Principal, Scope);

/// Store of all conversations.
pub(super) struct SessionStore {
    limits: Sessions,
    entries: DashMap<SessionKey, SessionEntry>,
    /// Hashes of the conversations that were dropped and may go on.
    dropped: DashMap<u64, ()>,
    /// More were dropped than are remembered.
    dropped_more: AtomicBool,
    hasher: RandomState,
    /// Conversations may have begun on another server.
    is_shared: bool,
}

/// Entry of a conversation.
struct SessionEntry {
    residence: Residence,
    last_used: Instant,
}

/// Location of the state of a conversation.
enum Residence {
    /// In the running actor.
    Actor { session: Addr<Session>, aggregator: WeakAddr<Aggregator> },
    /// Here, until the next request.
    Store(SessionState),
}

/// Entry of a running session.
#[derive(Debug)]
struct KeyInStore {
    store: Weak<SessionStore>,
    key: SessionKey,
}

impl StoredEntry for KeyInStore {
    fn rest(&self, actor: &Addr<Session>, state: &mut SessionState) -> bool {
        self.store.upgrade().is_some_and(|store| store.rest(&self.key, actor, state))
    }
}

impl fmt::Debug for SessionStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sessions = self.entries.len();
        formatter.debug_struct("SessionStore").field("sessions", &sessions).finish_non_exhaustive()
    }
}

impl SessionStore {
    /// Creates an empty store.
    pub(super) fn new(limits: Sessions, is_shared: bool) -> Self {
        Self {
            limits,
            entries: DashMap::new(),
            dropped: DashMap::new(),
            dropped_more: AtomicBool::new(false),
            hasher: RandomState::new(),
            is_shared,
        }
    }

    /// Returns the number of conversations.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the idle timeout of conversations.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.limits.idle_timeout()
    }

    /// Returns an empty state with the configured limits.
    pub(super) fn new_state(&self) -> SessionState {
        SessionState::new(self.limits.seen_uris.get(), self.limits.recent_queries)
    }

    /// Returns the state of a conversation that begins, or goes on after its state was lost. Then it is
    /// not known what it was shown.
    fn first_state(&self, key: &SessionKey) -> SessionState {
        let is_lost = match key.1 {
            Scope::Handle(_) => false,
            Scope::Session(_) | Scope::OpenAi(_) => {
                self.is_shared
                    || self.dropped_more.load(Ordering::Relaxed)
                    || self.dropped.contains_key(&self.hasher.hash_one(key))
            }
        };
        let shown = is_lost.then(|| Box::new(ShownItems::unknown()));
        let mut state = self.new_state();
        state.shown = shown;
        state
    }

    /// Remembers that the state of a conversation is lost.
    fn note_drop(&self, key: &SessionKey) {
        if self.dropped.len() < MAX_DROPPED {
            self.dropped.insert(self.hasher.hash_one(key), ());
        } else {
            self.dropped_more.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the session actor of a conversation, started if it rests. Its messages go to the
    /// aggregator of `library`. A handle must have been created before; other scopes start a
    /// conversation when first used.
    pub(super) fn open(
        self: &Arc<Self>,
        key: &SessionKey,
        library: &Library,
    ) -> Result<Addr<Session>, CallError> {
        let idle = self.idle_timeout();
        if let Some(mut entry) = self.entries.get_mut(key)
            && entry.last_used.elapsed() <= idle
        {
            return Ok(self.activate(key, &mut entry, library));
        }
        match &key.1 {
            Scope::Handle(handle) => Err(CallError::UnknownSession(handle.clone())),
            Scope::Session(_) | Scope::OpenAi(_) => {
                self.insert(key.clone());
                // Another request may have evicted it in between.
                let new = || SessionEntry::resting(self.first_state(key));
                let mut entry = self.entries.entry(key.clone()).or_insert_with(new);
                Ok(self.activate(key, &mut entry, library))
            }
        }
    }

    /// Adds a conversation, unless one with this key is in use. At the limits, the least recently
    /// used one makes room.
    pub(super) fn insert(&self, key: SessionKey) {
        let limits = &self.limits;
        if self.entries.len() >= limits.most.min(limits.most_per_user).get() {
            self.evict(key.0.user());
        }
        let fresh = self.first_state(&key);
        let mut entry = self.entries.entry(key).or_insert_with(|| SessionEntry::resting(fresh));
        if entry.last_used.elapsed() > self.idle_timeout() {
            self.note_drop(entry.key());
            *entry = SessionEntry::resting(self.first_state(entry.key()));
        }
        entry.last_used = Instant::now();
    }

    /// Drops a conversation.
    pub(super) fn remove(&self, key: &SessionKey) {
        self.entries.remove(key);
    }

    /// Drops all conversations of a user.
    pub(super) fn remove_user(&self, user: &UserId) {
        self.entries.retain(|(principal, _), _| principal.user() != user);
    }

    /// Drops conversations that are idle for the idle timeout, and asks the actors of those without
    /// a request for [`REST_AFTER`] to stop.
    pub(super) fn remove_idle(&self) {
        let idle = self.idle_timeout();
        self.entries.retain(|key, entry| {
            let is_kept = entry.last_used.elapsed() <= idle;
            if !is_kept {
                self.note_drop(key);
            }
            is_kept
        });
        for entry in &self.entries {
            if let Residence::Actor { session, .. } = &entry.residence
                && entry.last_used.elapsed() >= REST_AFTER
            {
                session.do_send(RestIfIdle);
            }
        }
    }

    /// Takes over the state of an actor that is about to stop. Returns `false` if the conversation
    /// was used within [`REST_AFTER`] or has another actor; then the state stays where it is.
    pub(super) fn rest(
        &self,
        key: &SessionKey,
        actor: &Addr<Session>,
        state: &mut SessionState,
    ) -> bool {
        let Some(mut entry) = self.entries.get_mut(key) else { return true };
        let is_same = match &entry.residence {
            Residence::Actor { session, .. } => session == actor,
            Residence::Store(_) => false,
        };
        if !is_same || entry.last_used.elapsed() < REST_AFTER {
            return false;
        }
        entry.residence = Residence::Store(mem::replace(state, self.new_state()));
        true
    }

    fn activate(
        self: &Arc<Self>,
        key: &SessionKey,
        entry: &mut SessionEntry,
        library: &Library,
    ) -> Addr<Session> {
        entry.last_used = Instant::now();
        let current = library.aggregator();
        if let Residence::Actor { session, aggregator } = &mut entry.residence {
            if session.connected() {
                if aggregator.upgrade().as_ref() != Some(current) {
                    *aggregator = current.downgrade();
                    session.do_send(UseAggregator(current.downgrade()));
                }
                return session.clone();
            }
            tracing::error!(user.id = %key.0.user(), "session actor panicked and is restarted");
            self.note_drop(key);
        }
        let resting = mem::replace(&mut entry.residence, Residence::Store(self.new_state()));
        let state = match resting {
            Residence::Store(state) => state,
            Residence::Actor { .. } => self.first_state(key),
        };
        let stored = KeyInStore { store: Arc::downgrade(self), key: key.clone() };
        let session = library.start_session(state, Some(Box::new(stored)));
        let aggregator = current.downgrade();
        entry.residence = Residence::Actor { session: session.clone(), aggregator };
        session
    }

    /// Evicts the least recently used conversation: of this user if they reached their limit, or,
    /// if the total limit is reached, of the user with the most conversations.
    fn evict(&self, user: &UserId) {
        let mut counts: HashMap<UserId, usize> = HashMap::new();
        for entry in &self.entries {
            *counts.entry(entry.key().0.user().clone()).or_default() += 1;
        }
        let own = counts.get(user).copied().unwrap_or(0);
        let user = if own >= self.limits.most_per_user.get() {
            user
        } else if counts.values().sum::<usize>() >= self.limits.most.get() {
            let most = counts.iter().max_by_key(|(_, count)| **count);
            most.map_or(user, |(user, _)| user)
        } else {
            return;
        };
        let least_recent = self
            .entries
            .iter()
            .filter(|entry| entry.key().0.user() == user)
            .min_by_key(|entry| entry.value().last_used)
            .map(|entry| entry.key().clone());
        if let Some(key) = least_recent {
            self.note_drop(&key);
            self.entries.remove(&key);
        }
    }
}

impl SessionEntry {
    fn resting(state: SessionState) -> Self {
        Self { residence: Residence::Store(state), last_used: Instant::now() }
    }
}

#[cfg(test)]
impl SessionStore {
    /// Makes the last use of all conversations that much older.
    pub(super) fn age(&self, by: Duration) {
        for mut entry in self.entries.iter_mut() {
            entry.last_used = entry.last_used.checked_sub(by).expect("the clock has run that long");
        }
    }

    /// Returns the number of conversations whose actor runs.
    pub(super) fn running_actors(&self) -> usize {
        let runs = |entry: &SessionEntry| matches!(entry.residence, Residence::Actor { .. });
        self.entries.iter().filter(|entry| runs(entry)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that one resting conversation may take before it has shown anything.
    const MAX_RESTING_BYTES: usize = 1_100;

    #[test]
    fn dropped_conversation_no_longer_knows_what_it_showed() {
        let most = std::num::NonZeroUsize::MIN;
        let store = SessionStore::new(Sessions { most, ..Sessions::default() }, false);
        let ada = vademecum_core::auth::local_principal("ada".parse().unwrap());
        let key = |id: &str| (ada.clone(), Scope::OpenAi(id.to_owned()));
        let is_unknown = |id: &str| {
            store.insert(key(id));
            let entry = store.entries.get(&key(id)).unwrap();
            match &entry.residence {
                Residence::Store(state) => state.shown.is_some(),
                Residence::Actor { .. } => panic!("no actor runs"),
            }
        };
        assert!(!is_unknown("one") && !is_unknown("two"), "they begin");
        assert!(is_unknown("one"), "it was dropped for the second one");
        let shared = SessionStore::new(Sessions::default(), true);
        shared.insert(key("one"));
        let entry = shared.entries.get(&key("one")).unwrap();
        assert!(matches!(&entry.residence, Residence::Store(state) if state.shown.is_some()));
    }

    #[test]
    fn resting_session_stays_within_memory_bound() {
        // A scope of 36 characters and a user of 64 are allocated beside the entry; the map keeps
        // at most 8/7 slots for an entry, doubled when it grows.
        let slot = size_of::<(SessionKey, SessionEntry)>() + 1;
        assert!(slot * 16 / 7 + 36 + 64 <= MAX_RESTING_BYTES, "{slot}");
    }
}
