//! Sessions that any of several servers continues.
//!
//! The server that opens a session stores its record. Another server that is asked for the session
//! fetches it, and looks again from time to time whether it has ended. Subscriptions belong to the
//! process in which they were made: elsewhere, or after its end, their session is over, so that the
//! client opens another one and subscribes again.

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
    fn save(
        &self,
        owner: &UserId,
        id: &SessionId,
        record: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), Unreachable>;

    /// Returns a record; `None` if there is none, and `Err` if the place cannot be reached.
    fn load(&self, owner: &UserId, id: &SessionId) -> Result<Option<Vec<u8>>, Unreachable>;

    /// Removes a record, if there is one.
    fn remove(&self, owner: &UserId, id: &SessionId);

    /// Removes all records of a user, so that the user's sessions end on every server.
    fn remove_user(&self, owner: &UserId);
}

/// How old knowledge of a record may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// A moment old: a session that ended elsewhere may be answered for as long.
    Recent,
    /// Read now.
    Now,
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
    /// Process that has subscriptions of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subscribed_at: Option<String>,
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
    pub(crate) fn save(
        &self,
        sessions: &ProtocolSessions,
        id: &SessionId,
        owner: &Principal,
    ) -> Result<(), Unreachable> {
        self.remove_evicted(sessions);
        let Some(record) = sessions.find_session(id, owner) else { return Ok(()) };
        let has_subscriptions = !record.channel.watched_resources.is_empty();
        let stored = StoredRecord {
            owner: owner.digest(),
            client: record.client.name.to_string(),
            revision: record.revision.date().to_owned(),
            capabilities: record.capabilities,
            defaults: record.defaults,
            subscribed_at: has_subscriptions.then(|| sessions.process.clone()),
        };
        if let Ok(bytes) = serde_json::to_vec(&stored) {
            self.records.save(owner.user(), id, bytes, sessions.limits.idle_timeout)?;
            sessions.note_shared(id, Instant::now(), true);
        }
        Ok(())
    }

    /// Fetches the record of a session that this server does not know, ends one that has ended
    /// elsewhere or has subscriptions there, and extends the lifetime of one in use.
    pub(crate) fn refresh(
        &self,
        sessions: &ProtocolSessions,
        id: &SessionId,
        owner: &Principal,
        freshness: Freshness,
    ) {
        let now = Instant::now();
        let shared_times = sessions.shared_times(id, owner);
        let is_recent =
            |at: Instant| freshness == Freshness::Recent && at.elapsed() < RECHECK_INTERVAL;
        if let Some(times) = shared_times
            && times.is_none_or(|(checked_at, _)| is_recent(checked_at))
        {
            return;
        }
        let stored = self.records.load(owner.user(), id).map(|bytes| {
            let stored = bytes.map(|bytes| serde_json::from_slice::<StoredRecord>(&bytes).ok());
            let is_here = |stored: &StoredRecord| {
                let at = stored.subscribed_at.as_ref();
                stored.owner == owner.digest() && at.is_none_or(|at| *at == sessions.process)
            };
            stored.flatten().filter(is_here)
        });
        match (stored, shared_times) {
            (Ok(Some(stored)), None) => {
                if let Some(handshake) = stored.into_handshake() {
                    sessions.adopt(id, owner, handshake, now);
                    self.remove_evicted(sessions);
                }
            }
            (Ok(Some(_)), Some(times)) => {
                sessions.note_shared(id, now, false);
                let saved_at = times.map(|(_, saved_at)| saved_at);
                if saved_at.is_none_or(|at| at.elapsed() > sessions.limits.idle_timeout / 4) {
                    self.save(sessions, id, owner).ok();
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
    use crate::{
        SessionLimits,
        limits::admission::{AdmissionControl, AdmissionLimits},
    };
    use vademecum_core::auth::local_principal;

    #[derive(Debug, Default)]
    struct MemoryRecords(Mutex<HashMap<(UserId, SessionId), Vec<u8>>>);

    impl MemoryRecords {
        fn lock(&self) -> MutexGuard<'_, HashMap<(UserId, SessionId), Vec<u8>>> {
            self.0.lock().unwrap()
        }
    }

    impl SessionRecords for MemoryRecords {
        fn save(
            &self,
            owner: &UserId,
            id: &SessionId,
            record: Vec<u8>,
            _: Duration,
        ) -> Result<(), Unreachable> {
            assert!(record.len() < 1_024);
            self.lock().insert((owner.clone(), id.clone()), record);
            Ok(())
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
        let id = here.open_session(&ada, None);
        let handshake = HandshakeResult {
            client: Client { name: "n".repeat(256).into() },
            revision: ProtocolVersion::from_date("2025-03-26").unwrap(),
            capabilities: ClientCapabilities { elicitation: true, ..Default::default() },
            defaults: RequestDefaults::default(),
        };
        here.record_handshake(&id, handshake);
        shared.save(&here, &id, &ada).unwrap();
        let eve = local_principal("eve".parse().unwrap());
        shared.refresh(&there, &id, &eve, Freshness::Recent);
        assert!(there.find_session(&id, &eve).is_none());
        shared.refresh(&there, &id, &ada, Freshness::Recent);
        let found = there.find_session(&id, &ada).unwrap();
        assert_eq!((found.client.name.len(), found.revision.date()), (256, "2025-03-26"));
        assert!(found.capabilities.elicitation);
    }

    #[test]
    fn evicted_session_has_no_record() {
        let records = Arc::new(MemoryRecords::default());
        let shared = SharedSessions { records: Arc::clone(&records) as Arc<dyn SessionRecords> };
        let (here, ada) = (sessions(), local_principal("ada".parse().unwrap()));
        let ids: Vec<SessionId> = (0..25).map(|_| here.open_session(&ada, None)).collect();
        for id in &ids {
            shared.save(&here, id, &ada).unwrap();
        }
        assert_eq!(records.lock().len(), 10, "the others were evicted before they were stored");
        for _ in 0..3 {
            let id = here.open_session(&ada, None);
            shared.save(&here, &id, &ada).unwrap();
        }
        assert_eq!(records.lock().len(), 10);
    }

    #[test]
    fn session_that_ended_elsewhere_ends() {
        let shared = SharedSessions { records: Arc::new(MemoryRecords::default()) };
        let here = sessions();
        let ada = local_principal("ada".parse().unwrap());
        let id = here.open_session(&ada, None);
        shared.save(&here, &id, &ada).unwrap();
        shared.records.remove(ada.user(), &id);
        shared.refresh(&here, &id, &ada, Freshness::Recent);
        assert!(here.find_session(&id, &ada).is_some(), "it was seen a moment ago");
        here.note_shared(&id, Instant::now().checked_sub(RECHECK_INTERVAL * 2).unwrap(), false);
        shared.refresh(&here, &id, &ada, Freshness::Recent);
        assert!(here.find_session(&id, &ada).is_none());
        let stdio = here.open_connection_session(&ada);
        shared.refresh(&here, &stdio, &ada, Freshness::Recent);
        assert!(here.find_session(&stdio, &ada).is_some(), "it is not shared");
    }

    #[test]
    fn session_with_subscriptions_is_over_elsewhere() {
        let shared = SharedSessions { records: Arc::new(MemoryRecords::default()) };
        let (here, there, later) = (sessions(), sessions(), sessions());
        let ada = local_principal("ada".parse().unwrap());
        let id = here.open_session(&ada, None);
        shared.save(&here, &id, &ada).unwrap();
        shared.refresh(&there, &id, &ada, Freshness::Now);
        assert!(there.find_session(&id, &ada).is_some());
        let watched = &here.find_session(&id, &ada).unwrap().channel.watched_resources;
        let admission = AdmissionControl::new(AdmissionLimits::default());
        let permit = watched.reserve("note://1", ada.user(), &admission).unwrap();
        watched.watch("note://1", None, permit, &admission).unwrap();
        shared.save(&here, &id, &ada).unwrap();
        shared.refresh(&here, &id, &ada, Freshness::Now);
        assert!(here.find_session(&id, &ada).is_some(), "it goes on here");
        for other in [&there, &later] {
            shared.refresh(other, &id, &ada, Freshness::Now);
            assert!(other.find_session(&id, &ada).is_none(), "its notices would be missing");
        }
        watched.unwatch("note://1");
        shared.save(&here, &id, &ada).unwrap();
        shared.refresh(&later, &id, &ada, Freshness::Recent);
        assert!(later.find_session(&id, &ada).is_some());
    }
}
