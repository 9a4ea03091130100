//! Sessions that any of several servers continues.
//!
//! The server that opens a session stores its record. Another server that is asked for the session
//! fetches it, and looks again from time to time whether it has ended. Subscriptions and streams
//! belong to one server; a client opens them again.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    Client, ClientCapabilities, ProtocolVersion, RequestDefaults, SessionId,
    session::protocol_sessions::{HandshakeResult, ProtocolSessions},
};
use vademecum_core::auth::{Principal, UserId};

/// Time for which a server relies on a record that it has seen.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Place where several servers keep records of sessions. The calls block; failures are logged, and
/// count as a missing record.
pub trait SessionRecords: fmt::Debug + Send + Sync + 'static {
    /// Stores a record until `ttl` has passed.
    fn save(&self, owner: &UserId, id: &SessionId, record: Vec<u8>, ttl: Duration);

    /// Returns a record; `None` if there is none, and `Err` if the place cannot be reached.
    fn load(&self, owner: &UserId, id: &SessionId) -> Result<Option<Vec<u8>>, Unreachable>;

    /// Removes a record, if there is one.
    fn remove(&self, owner: &UserId, id: &SessionId);

    /// Removes all records of a user, so that the user's sessions end on every server.
    fn remove_user(&self, owner: &UserId);
}

/// The place of the records cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

/// A record as it is stored, at most 1 KB.
#[derive(Serialize, Deserialize)]
struct StoredRecord {
    /// Digest of the principal: a session belongs to exactly one.
    owner: String,
    client: String,
    revision: String,
    capabilities: ClientCapabilities,
    defaults: RequestDefaults,
}

/// The records of sessions that this server shares with others.
#[derive(Debug)]
pub(crate) struct SharedSessions {
    pub(crate) records: Arc<dyn SessionRecords>,
}

impl SharedSessions {
    /// Removes the records of sessions that were evicted here, so that they end everywhere, and a user
    /// has no more records than the limits allow.
    fn remove_evicted(&self, sessions: &ProtocolSessions) {
        for (user, id) in sessions.take_evicted() {
            self.records.remove(&user, &id);
        }
    }

    /// Stores the record of a session.
    pub(crate) fn save(&self, sessions: &ProtocolSessions, id: &SessionId, owner: &Principal) {
        self.remove_evicted(sessions);
        let Some(record) = sessions.find_session(id, owner) else { return };
        let stored = StoredRecord {
            owner: owner.digest(),
            client: record.client.name.to_string(),
            revision: record.revision.date().to_owned(),
            capabilities: record.capabilities,
            defaults: record.defaults,
        };
        if let Ok(bytes) = serde_json::to_vec(&stored) {
            self.records.save(owner.user(), id, bytes, sessions.limits.idle_timeout);
            sessions.note_shared(id, Instant::now(), true);
        }
    }

    /// Fetches the record of a session that this server does not know, ends one that has ended
    /// elsewhere, and extends the lifetime of one in use.
    pub(crate) fn refresh(&self, sessions: &ProtocolSessions, id: &SessionId, owner: &Principal) {
        let now = Instant::now();
        let shared_times = sessions.shared_times(id, owner);
        if let Some(times) = shared_times
            && times.is_none_or(|(checked_at, _)| checked_at.elapsed() < RECHECK_INTERVAL)
        {
            return;
        }
        match (self.records.load(owner.user(), id), shared_times) {
            (Ok(Some(bytes)), None) => {
                let stored = serde_json::from_slice::<StoredRecord>(&bytes);
                let stored = stored.ok().filter(|stored| stored.owner == owner.digest());
                if let Some(handshake) = stored.and_then(StoredRecord::into_handshake) {
                    sessions.adopt(id, owner, handshake, now);
                    self.remove_evicted(sessions);
                }
            }
            (Ok(Some(_)), Some(times)) => {
                sessions.note_shared(id, now, false);
                let saved_at = times.map(|(_, saved_at)| saved_at);
                if saved_at.is_none_or(|at| at.elapsed() > sessions.limits.idle_timeout / 4) {
                    self.save(sessions, id, owner);
                }
            }
            (Ok(None), Some(_)) => {
                sessions.end_session(id, owner);
            }
            (Ok(None), None) | (Err(Unreachable), _) => {}
        }
    }
}

impl StoredRecord {
    fn into_handshake(self) -> Option<HandshakeResult> {
        Some(HandshakeResult {
            client: Client { name: self.client.into() },
            revision: ProtocolVersion::from_date(&self.revision)?,
            capabilities: self.capabilities,
            defaults: self.defaults,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        num::NonZeroUsize,
        sync::{Mutex, MutexGuard},
    };

    use super::*;
    use crate::SessionLimits;
    use vademecum_core::auth::local_principal;

    #[derive(Debug, Default)]
    struct MemoryRecords(Mutex<HashMap<(UserId, SessionId), Vec<u8>>>);

    impl MemoryRecords {
        fn lock(&self) -> MutexGuard<'_, HashMap<(UserId, SessionId), Vec<u8>>> {
            self.0.lock().unwrap()
        }
    }

    impl SessionRecords for MemoryRecords {
        fn save(&self, owner: &UserId, id: &SessionId, record: Vec<u8>, _: Duration) {
            assert!(record.len() < 1_024);
            self.lock().insert((owner.clone(), id.clone()), record);
        }

        fn load(&self, owner: &UserId, id: &SessionId) -> Result<Option<Vec<u8>>, Unreachable> {
            Ok(self.lock().get(&(owner.clone(), id.clone())).cloned())
        }

        fn remove(&self, owner: &UserId, id: &SessionId) {
            self.lock().remove(&(owner.clone(), id.clone()));
        }

        fn remove_user(&self, owner: &UserId) {
            self.lock().retain(|(user, _), _| user != owner);
        }
    }

    fn sessions() -> ProtocolSessions {
        let max_sessions = NonZeroUsize::new(10).unwrap();
        ProtocolSessions::new(SessionLimits {
            max_sessions,
            max_per_user: max_sessions,
            ..SessionLimits::default()
        })
    }

    #[test]
    fn session_continues_at_another_server() {
        let shared = SharedSessions { records: Arc::new(MemoryRecords::default()) };
        let (here, there) = (sessions(), sessions());
        let ada = local_principal("ada".parse().unwrap());
        let id = here.open_session(&ada);
        let handshake = HandshakeResult {
            client: Client { name: "n".repeat(256).into() },
            revision: ProtocolVersion::from_date("2025-03-26").unwrap(),
            capabilities: ClientCapabilities { elicitation: true, ..Default::default() },
            defaults: RequestDefaults::default(),
        };
        here.record_handshake(&id, handshake);
        shared.save(&here, &id, &ada);
        let eve = local_principal("eve".parse().unwrap());
        shared.refresh(&there, &id, &eve);
        assert!(there.find_session(&id, &eve).is_none());
        shared.refresh(&there, &id, &ada);
        let found = there.find_session(&id, &ada).unwrap();
        assert_eq!((found.client.name.len(), found.revision.date()), (256, "2025-03-26"));
        assert!(found.capabilities.elicitation);
    }

    #[test]
    fn evicted_session_has_no_record() {
        let records = Arc::new(MemoryRecords::default());
        let shared = SharedSessions { records: Arc::clone(&records) as Arc<dyn SessionRecords> };
        let (here, ada) = (sessions(), local_principal("ada".parse().unwrap()));
        let ids: Vec<SessionId> = (0..25).map(|_| here.open_session(&ada)).collect();
        for id in &ids {
            shared.save(&here, id, &ada);
        }
        assert_eq!(records.lock().len(), 10, "the others were evicted before they were stored");
        for _ in 0..3 {
            let id = here.open_session(&ada);
            shared.save(&here, &id, &ada);
        }
        assert_eq!(records.lock().len(), 10);
    }

    #[test]
    fn session_that_ended_elsewhere_ends() {
        let shared = SharedSessions { records: Arc::new(MemoryRecords::default()) };
        let here = sessions();
        let ada = local_principal("ada".parse().unwrap());
        let id = here.open_session(&ada);
        shared.save(&here, &id, &ada);
        shared.records.remove(ada.user(), &id);
        shared.refresh(&here, &id, &ada);
        assert!(here.find_session(&id, &ada).is_some(), "it was seen a moment ago");
        here.note_shared(&id, Instant::now().checked_sub(RECHECK_INTERVAL * 2).unwrap(), false);
        shared.refresh(&here, &id, &ada);
        assert!(here.find_session(&id, &ada).is_none());
        let stdio = here.open_connection_session(&ada);
        shared.refresh(&here, &stdio, &ada);
        assert!(here.find_session(&stdio, &ada).is_some(), "it is not shared");
    }
}
