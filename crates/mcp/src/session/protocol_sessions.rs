//! Protocol sessions: owner, client and time of last use of each.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use dashmap::DashMap;
use uuid::Uuid;

use crate::{
    Client, ClientCapabilities, ProtocolVersion, RequestDefaults, SessionId,
    session::session_channel::SessionChannel,
};
use vademecum_core::auth::{Principal, UserId};

/// A session and the values that its handshake agreed on.
#[derive(Clone, Debug)]
pub(crate) struct SessionRecord {
    pub(crate) owner: Principal,
    pub(crate) client: Client,
    pub(crate) revision: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) defaults: RequestDefaults,
    pub(crate) channel: Arc<SessionChannel>,
    last_used: Instant,
    /// The session lives as long as its connection, however long that is idle.
    is_connected: bool,
    /// The client has sent `initialize`.
    is_initialized: bool,
    /// Times at which the record that other servers use was last seen and stored; `None` if other
    /// servers do not know the session.
    shared_at: Option<(Instant, Instant)>,
}

impl SessionRecord {
    fn new(owner: &Principal, is_connected: bool) -> Self {
        Self {
            owner: owner.clone(),
            client: Client::default(),
            revision: ProtocolVersion::NEWEST_WITH_SESSIONS,
            capabilities: ClientCapabilities::default(),
            defaults: RequestDefaults::default(),
            channel: Arc::default(),
            last_used: Instant::now(),
            is_connected,
            is_initialized: false,
            shared_at: None,
        }
    }
}

/// Values agreed on by the `initialize` handshake.
#[derive(Clone, Debug)]
pub(crate) struct HandshakeResult {
    pub(crate) client: Client,
    pub(crate) revision: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) defaults: RequestDefaults,
}

/// Limits of the sessions that expire when idle; those of persistent connections are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Time after which an unused session ends.
    pub idle_timeout: Duration,
    /// Maximum number of sessions.
    pub max_sessions: NonZeroUsize,
    /// Maximum number of sessions per user.
    pub max_per_user: NonZeroUsize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_mins(30),
            max_sessions: NonZeroUsize::MIN.saturating_add(3_999),
            max_per_user: NonZeroUsize::MIN.saturating_add(999),
        }
    }
}

/// Registry of the sessions of all users. Only its owner finds a session.
#[derive(Debug)]
pub(crate) struct ProtocolSessions {
    records: DashMap<SessionId, SessionRecord>,
    pub(crate) limits: SessionLimits,
    /// Distinguishes this process from others that share sessions with it.
    pub(crate) process: String,
    /// Evicted sessions of which other servers still have records.
    evicted: Mutex<Vec<(UserId, SessionId)>>,
}

impl ProtocolSessions {
    /// Creates an empty registry.
    pub(crate) fn new(limits: SessionLimits) -> Self {
        let process = Uuid::new_v4().simple().to_string();
        Self { records: DashMap::new(), limits, process, evicted: Mutex::default() }
    }

    /// Returns the number of sessions, those of persistent connections included.
    pub(crate) fn session_count(&self) -> usize {
        self.records.len()
    }

    /// Opens a session that expires when idle.
    /// `proposed` is the id that the client names; it is used if it has the form of an id and no other principal
    /// has a session of this id.
    pub(crate) fn open_session(
        &self,
        owner: &Principal,
        proposed: Option<&SessionId>,
    ) -> SessionId {
        self.insert_session(owner, proposed, false)
    }

    /// Opens the session of a persistent connection. It never expires: the client may be silent for
    /// hours.
    pub(crate) fn open_connection_session(&self, owner: &Principal) -> SessionId {
        self.insert_session(owner, None, true)
    }

    fn insert_session(
        &self,
        owner: &Principal,
        proposed: Option<&SessionId>,
        connected: bool,
    ) -> SessionId {
        if !connected
            && self.records.len() >= self.limits.max_sessions.min(self.limits.max_per_user).get()
        {
            self.evict(owner.user());
        }
        let record = SessionRecord::new(owner, connected);
        let proposed = proposed.filter(|id| id.is_well_formed());
        if let Some(id) = proposed {
            let mut entry = self.records.entry(id.clone()).or_insert_with(|| record.clone());
            if entry.owner == *owner {
                *entry = record;
                return id.clone();
            }
        }
        let id = SessionId::generate();
        self.records.insert(id.clone(), record);
        id
    }

    /// Continues a session that another server opened.
    pub(crate) fn adopt(
        &self,
        id: &SessionId,
        owner: &Principal,
        handshake: HandshakeResult,
        at: Instant,
    ) {
        if self.records.len() >= self.limits.max_sessions.min(self.limits.max_per_user).get() {
            self.evict(owner.user());
        }
        let record =
            SessionRecord { shared_at: Some((at, at)), ..SessionRecord::new(owner, false) };
        self.records.entry(id.clone()).or_insert(record);
        self.record_handshake(id, handshake);
    }

    /// Notes when the record that other servers use was seen or stored.
    pub(crate) fn note_shared(&self, id: &SessionId, at: Instant, is_stored: bool) {
        if let Some(mut record) = self.records.get_mut(id) {
            let stored_at =
                record.shared_at.filter(|_| !is_stored).map_or(at, |(_, stored)| stored);
            record.shared_at = Some((at, stored_at));
        }
    }

    /// Returns the times at which the record that other servers use was last seen and stored, with
    /// `None` inside if they do not know the session; `None` without such a session.
    #[expect(clippy::option_option, reason = "a session that is not shared is known")]
    pub(crate) fn shared_times(
        &self,
        id: &SessionId,
        principal: &Principal,
    ) -> Option<Option<(Instant, Instant)>> {
        let record = self.records.get(id)?;
        (record.owner == *principal).then_some(record.shared_at)
    }

    /// Stores the values agreed on by the handshake.
    pub(crate) fn record_handshake(&self, id: &SessionId, handshake: HandshakeResult) {
        if let Some(mut record) = self.records.get_mut(id) {
            record.client = handshake.client;
            record.revision = handshake.revision;
            record.capabilities = handshake.capabilities;
            record.defaults = handshake.defaults;
            record.is_initialized = true;
        }
    }

    /// Returns the channels of the sessions whose clients have sent `initialize`.
    pub(crate) fn initialized_channels(&self) -> Vec<Arc<SessionChannel>> {
        let initialized = self.records.iter().filter(|entry| entry.value().is_initialized);
        initialized.map(|entry| Arc::clone(&entry.value().channel)).collect()
    }

    /// Returns the session if it belongs to this principal and has not expired, and marks it as
    /// used.
    pub(crate) fn find_session(
        &self,
        id: &SessionId,
        principal: &Principal,
    ) -> Option<SessionRecord> {
        let mut record = self.records.get_mut(id)?;
        if record.owner != *principal || self.is_expired(&record) {
            return None;
        }
        record.last_used = Instant::now();
        Some(record.clone())
    }

    /// Ends a session. Returns `false` if the principal has no such session.
    pub(crate) fn end_session(&self, id: &SessionId, principal: &Principal) -> bool {
        self.records.remove_if(id, |_, record| record.owner == *principal).is_some()
    }

    /// Ends all sessions of a user, including those of persistent connections.
    pub(crate) fn end_user_sessions(&self, user: &UserId) {
        self.records.retain(|_, record| record.owner.user() != user);
    }

    /// Removes expired sessions and returns them.
    pub(crate) fn remove_expired(&self) -> Vec<(Principal, SessionId)> {
        let idle: Vec<_> = self
            .records
            .iter()
            .filter(|entry| self.is_expired(entry.value()))
            .map(|entry| (entry.value().owner.clone(), entry.key().clone()))
            .collect();
        for (owner, id) in &idle {
            self.end_session(id, owner);
        }
        idle
    }

    fn is_expired(&self, record: &SessionRecord) -> bool {
        !record.is_connected && record.last_used.elapsed() > self.limits.idle_timeout
    }

    /// Evicts one least recently used session: of this user if they reached their limit, or, if the
    /// total limit is reached, of the user with the most sessions. A user who opens many sessions
    /// therefore evicts only their own. Sessions of persistent connections are neither counted nor
    /// evicted.
    fn evict(&self, user: &UserId) {
        let mut counts: HashMap<UserId, usize> = HashMap::new();
        let idle = || self.records.iter().filter(|entry| !entry.value().is_connected);
        for entry in idle() {
            *counts.entry(entry.value().owner.user().clone()).or_default() += 1;
        }
        let own = counts.get(user).copied().unwrap_or(0);
        let owner = if own >= self.limits.max_per_user.get() {
            user
        } else if counts.values().sum::<usize>() >= self.limits.max_sessions.get() {
            let largest = counts.iter().max_by_key(|(_, count)| **count);
            largest.map_or(user, |(user, _)| user)
        } else {
            return;
        };
        let longest_unused = idle()
            .filter(|entry| entry.value().owner.user() == owner)
            .min_by_key(|entry| entry.value().last_used)
            .map(|entry| entry.key().clone());
        let removed = longest_unused.and_then(|id| self.records.remove(&id));
        if let Some((id, record)) = removed.filter(|(_, record)| record.shared_at.is_some()) {
            self.lock_evicted().push((record.owner.user().clone(), id));
        }
    }

    /// Returns the sessions evicted since the last call of which other servers have records.
    pub(crate) fn take_evicted(&self) -> Vec<(UserId, SessionId)> {
        std::mem::take(&mut self.lock_evicted())
    }

    fn lock_evicted(&self) -> MutexGuard<'_, Vec<(UserId, SessionId)>> {
        self.evicted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::auth::local_principal;

    fn sessions(idle_timeout: Duration, max_sessions: usize) -> ProtocolSessions {
        let max_sessions = NonZeroUsize::new(max_sessions).unwrap();
        let limits = SessionLimits { idle_timeout, max_sessions, max_per_user: max_sessions };
        ProtocolSessions::new(limits)
    }

    fn user(name: &str) -> Principal {
        local_principal(name.parse().unwrap())
    }

    #[test]
    fn proposed_id_is_used_unless_it_is_taken() {
        let sessions = sessions(Duration::from_mins(1), 10);
        let wanted = SessionId::from_client("ada-on-tuesday");
        let id = sessions.open_session(&user("ada"), Some(&wanted));
        assert_eq!(id, wanted);
        let eves = sessions.open_session(&user("eve"), Some(&wanted));
        assert_ne!(eves, wanted);
        assert!(sessions.find_session(&wanted, &user("eve")).is_none());
        assert!(sessions.find_session(&wanted, &user("ada")).is_some());
        for odd in ["", "short", "has a space", "ends\n-with-line", &"x".repeat(129)] {
            let odd = SessionId::from_client(odd);
            assert_ne!(sessions.open_session(&user("ada"), Some(&odd)), odd);
        }
    }

    #[test]
    fn session_found_by_its_owner_only() {
        let sessions = sessions(Duration::from_mins(1), 10);
        let id = sessions.open_session(&user("ada"), None);
        assert!(sessions.find_session(&id, &user("ada")).is_some());
        assert!(sessions.find_session(&id, &user("eve")).is_none());
        assert!(
            !sessions.end_session(&id, &user("eve")) && sessions.end_session(&id, &user("ada"))
        );
        assert!(sessions.find_session(&id, &user("ada")).is_none());
    }

    #[test]
    fn idle_session_expires() {
        let sessions = sessions(Duration::ZERO, 10);
        let id = sessions.open_session(&user("ada"), None);
        assert!(sessions.find_session(&id, &user("ada")).is_none());
        assert_eq!(sessions.remove_expired(), [(user("ada"), id)]);
    }

    #[test]
    fn connection_session_never_expires() {
        let sessions = sessions(Duration::ZERO, 1);
        let id = sessions.open_connection_session(&user("ada"));
        sessions.open_session(&user("ada"), None);
        assert!(sessions.remove_expired().iter().all(|(_, expired)| *expired != id));
        assert!(sessions.find_session(&id, &user("ada")).is_some());
        assert!(sessions.end_session(&id, &user("ada")));
    }

    #[test]
    fn sessions_never_exceed_limit() {
        let sessions = sessions(Duration::from_mins(1), 2);
        let ids: Vec<_> = (0..3).map(|_| sessions.open_session(&user("ada"), None)).collect();
        let alive: Vec<_> =
            ids.iter().map(|id| sessions.find_session(id, &user("ada")).is_some()).collect();
        assert_eq!(alive, [false, true, true]);
    }

    #[test]
    fn user_with_many_sessions_evicts_own() {
        let mut sessions = sessions(Duration::from_mins(1), 6);
        sessions.limits.max_per_user = NonZeroUsize::new(4).unwrap();
        let adas = sessions.open_session(&user("ada"), None);
        let eves: Vec<_> = (0..20).map(|_| sessions.open_session(&user("eve"), None)).collect();
        assert!(sessions.find_session(&adas, &user("ada")).is_some());
        let alive = |id: &&SessionId| sessions.find_session(id, &user("eve")).is_some();
        assert_eq!(eves.iter().filter(alive).count(), 4);
        // The total limit is reached now, and eve has the most sessions.
        let others =
            [sessions.open_session(&user("bob"), None), sessions.open_session(&user("cleo"), None)];
        assert!(sessions.find_session(&adas, &user("ada")).is_some());
        assert!(sessions.find_session(&others[0], &user("bob")).is_some());
        assert_eq!(eves.iter().filter(alive).count(), 3);
    }
}
