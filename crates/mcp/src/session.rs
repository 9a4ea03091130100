//! The sessions of the protocol: who opened one, with which client, and when
//! it was last used.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use dashmap::DashMap;
use uuid::Uuid;

use super::{Capabilities, Client, Defaults, Revision, live::Live};
use vademecum_core::auth::{Principal, UserId};

/// The name of a session: 122 random bits. It is a name, never a right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    fn mint() -> Self {
        Self(Uuid::new_v4().simple().to_string().into())
    }

    /// What somebody says that a session is called.
    pub fn named(text: &str) -> Self {
        Self(text.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One session.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) owner: Principal,
    pub(crate) client: Client,
    pub(crate) revision: Revision,
    pub(crate) capabilities: Capabilities,
    pub(crate) defaults: Defaults,
    pub(crate) live: Arc<Live>,
    used: Instant,
    /// Whether it lasts as long as its connection, however idle.
    connected: bool,
}

/// What a handshake agrees on.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    pub(crate) client: Client,
    pub(crate) revision: Revision,
    pub(crate) capabilities: Capabilities,
    pub(crate) defaults: Defaults,
}

/// All sessions of all users.
#[derive(Debug)]
pub struct Sessions {
    records: DashMap<SessionId, Record>,
    idle: Duration,
    most: NonZeroUsize,
    most_per_user: NonZeroUsize,
}

impl Sessions {
    /// None yet; a session ends when it lies `idle`, and there are never more
    /// than `most` besides those of connections.
    pub fn new(idle: Duration, most: NonZeroUsize) -> Self {
        Self { records: DashMap::new(), idle, most, most_per_user: most }
    }

    /// The same, with never more than so many of one user.
    #[must_use]
    pub fn of_each(self, most_per_user: NonZeroUsize) -> Self {
        Self { most_per_user, ..self }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.records.len()
    }

    /// Opens a session that ends when it lies idle.
    pub fn open(&self, owner: &Principal) -> SessionId {
        self.add(owner, false)
    }

    /// Opens the session of a connection, which lasts until it is ended: a
    /// client that keeps a line open may be silent for hours.
    pub fn connect(&self, owner: &Principal) -> SessionId {
        self.add(owner, true)
    }

    fn add(&self, owner: &Principal, connected: bool) -> SessionId {
        if !connected && self.records.len() >= self.most.min(self.most_per_user).get() {
            self.make_room(owner.user());
        }
        let record = Record {
            owner: owner.clone(),
            client: Client::default(),
            revision: Revision::NEWEST_WITH_SESSIONS,
            capabilities: Capabilities::default(),
            defaults: Defaults::default(),
            live: Arc::default(),
            used: Instant::now(),
            connected,
        };
        let id = SessionId::mint();
        self.records.insert(id.clone(), record);
        id
    }

    /// Notes what a handshake agreed on.
    pub(crate) fn introduce(&self, id: &SessionId, agreed: Introduction) {
        if let Some(mut record) = self.records.get_mut(id) {
            record.client = agreed.client;
            record.revision = agreed.revision;
            record.capabilities = agreed.capabilities;
            record.defaults = agreed.defaults;
        }
    }

    /// The session of that name, if it is this principal's and has not ended.
    pub(crate) fn find(&self, id: &SessionId, principal: &Principal) -> Option<Record> {
        let mut record = self.records.get_mut(id)?;
        if record.owner != *principal || self.is_over(&record) {
            return None;
        }
        record.used = Instant::now();
        Some(record.clone())
    }

    /// Ends a session; tells whether there was one to end.
    pub fn end(&self, id: &SessionId, principal: &Principal) -> bool {
        self.records.remove_if(id, |_, record| record.owner == *principal).is_some()
    }

    /// Ends the sessions that lie idle, and tells which.
    pub fn sweep(&self) -> Vec<(Principal, SessionId)> {
        let idle: Vec<_> = self
            .records
            .iter()
            .filter(|entry| self.is_over(entry.value()))
            .map(|entry| (entry.value().owner.clone(), entry.key().clone()))
            .collect();
        for (owner, id) in &idle {
            self.end(id, owner);
        }
        idle
    }

    fn is_over(&self, record: &Record) -> bool {
        !record.connected && record.used.elapsed() > self.idle
    }

    /// Ends the longest unused session of this user if they have as many as they
    /// may, and else, if all are too many, of the user who has most: whoever opens
    /// many ends nobody else's. Those of connections are counted there.
    fn make_room(&self, user: &UserId) {
        let mut counts: HashMap<UserId, usize> = HashMap::new();
        let idle = || self.records.iter().filter(|entry| !entry.value().connected);
        for entry in idle() {
            *counts.entry(entry.value().owner.user().clone()).or_default() += 1;
        }
        let own = counts.get(user).copied().unwrap_or(0);
        let whose = if own >= self.most_per_user.get() {
            user
        } else if counts.values().sum::<usize>() >= self.most.get() {
            let most = counts.iter().max_by_key(|(_, count)| **count);
            most.map_or(user, |(user, _)| user)
        } else {
            return;
        };
        let longest_unused = idle()
            .filter(|entry| entry.value().owner.user() == whose)
            .min_by_key(|entry| entry.value().used)
            .map(|entry| entry.key().clone());
        if let Some(id) = longest_unused {
            self.records.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::auth::desktop;

    fn sessions(idle: Duration, most: usize) -> Sessions {
        Sessions::new(idle, NonZeroUsize::new(most).unwrap())
    }

    fn user(name: &str) -> Principal {
        desktop(name.parse().unwrap())
    }

    #[test]
    fn a_session_is_found_by_its_owner_only() {
        let sessions = sessions(Duration::from_mins(1), 10);
        let id = sessions.open(&user("ada"));
        assert!(sessions.find(&id, &user("ada")).is_some());
        assert!(sessions.find(&id, &user("eve")).is_none());
        assert!(!sessions.end(&id, &user("eve")) && sessions.end(&id, &user("ada")));
        assert!(sessions.find(&id, &user("ada")).is_none());
    }

    #[test]
    fn an_idle_session_is_over() {
        let sessions = sessions(Duration::ZERO, 10);
        let id = sessions.open(&user("ada"));
        assert!(sessions.find(&id, &user("ada")).is_none());
        assert_eq!(sessions.sweep(), [(user("ada"), id)]);
    }

    #[test]
    fn a_connection_may_be_silent_for_as_long_as_it_lasts() {
        let sessions = sessions(Duration::ZERO, 1);
        let id = sessions.connect(&user("ada"));
        sessions.open(&user("ada"));
        assert!(sessions.sweep().iter().all(|(_, swept)| *swept != id));
        assert!(sessions.find(&id, &user("ada")).is_some());
        assert!(sessions.end(&id, &user("ada")));
    }

    #[test]
    fn there_are_never_more_sessions_than_allowed() {
        let sessions = sessions(Duration::from_mins(1), 2);
        let ids: Vec<_> = (0..3).map(|_| sessions.open(&user("ada"))).collect();
        let alive: Vec<_> =
            ids.iter().map(|id| sessions.find(id, &user("ada")).is_some()).collect();
        assert_eq!(alive, [false, true, true]);
    }

    #[test]
    fn whoever_opens_many_ends_their_own() {
        let four = NonZeroUsize::new(4).unwrap();
        let sessions = sessions(Duration::from_mins(1), 6).of_each(four);
        let adas = sessions.open(&user("ada"));
        let eves: Vec<_> = (0..20).map(|_| sessions.open(&user("eve"))).collect();
        assert!(sessions.find(&adas, &user("ada")).is_some());
        let alive = |id: &&SessionId| sessions.find(id, &user("eve")).is_some();
        assert_eq!(eves.iter().filter(alive).count(), 4);
        // All together are too many now, and eve has most of them.
        let others = [sessions.open(&user("bob")), sessions.open(&user("cleo"))];
        assert!(sessions.find(&adas, &user("ada")).is_some());
        assert!(sessions.find(&others[0], &user("bob")).is_some());
        assert_eq!(eves.iter().filter(alive).count(), 3);
    }
}
