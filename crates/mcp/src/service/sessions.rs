//! Sessions of the service: their begin, their listeners, their copies for other servers and their end.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::{
    Freshness, Outbound, Scope, Service, SessionId, Unreachable,
    session::shared_sessions::SharedSessions,
};
use vademecum_core::auth::{Principal, UserId};

impl Service {
    /// Opens the session of a persistent connection. The caller ends it when the connection closes.
    pub fn connect_session(&self, principal: &Principal) -> SessionId {
        self.sessions.open_connection_session(principal)
    }

    /// Returns `true` if the session exists and belongs to this principal.
    pub fn has_session(&self, id: &SessionId, principal: &Principal) -> bool {
        self.sessions.find_session(id, principal).is_some()
    }

    /// Adds a stream for the server-initiated messages of a session. Returns `false` if there is no
    /// such session.
    pub fn add_listener(&self, id: &SessionId, principal: &Principal, outbound: Outbound) -> bool {
        match self.sessions.find_session(id, principal) {
            Some(record) => {
                record.channel.add_listener(outbound);
                true
            }
            None => false,
        }
    }

    /// Fetches a session that another server opened, or finds out that it has ended or has
    /// subscriptions elsewhere. Without shared sessions it does nothing.
    pub async fn refresh_session(
        &self,
        id: Option<&SessionId>,
        principal: &Principal,
        freshness: Freshness,
    ) {
        let (Some(id), Some(shared)) = (id.cloned(), self.shared_sessions()) else { return };
        let (sessions, principal) = (Arc::clone(&self.sessions), principal.clone());
        let refreshed = spawn_blocking(move || {
            shared.refresh(&sessions, &id, &principal, freshness);
        })
        .await;
        if let Err(error) = refreshed {
            tracing::error!(%error, "a shared session could not be read");
        }
    }

    /// Stores a session that was just opened for other servers.
    pub(crate) async fn share_session(&self, id: SessionId, principal: &Principal) {
        let Some(shared) = self.shared_sessions() else { return };
        let (sessions, principal) = (Arc::clone(&self.sessions), principal.clone());
        let saved = spawn_blocking(move || shared.save(&sessions, &id, &principal)).await;
        // Other servers do not know a session that could not be stored.
        if let Err(error) = saved {
            tracing::error!(%error, "a session could not be shared");
        }
    }

    /// Notes for other servers whether a session has subscriptions. Fails if they cannot learn of it
    /// although they know the session.
    pub(crate) async fn share_subscriptions(
        &self,
        id: Option<&SessionId>,
        principal: &Principal,
    ) -> Result<(), Unreachable> {
        let (Some(id), Some(shared)) = (id.cloned(), self.shared_sessions()) else { return Ok(()) };
        if self.sessions.shared_times(&id, principal).flatten().is_none() {
            return Ok(());
        }
        let (sessions, principal) = (Arc::clone(&self.sessions), principal.clone());
        let saved = spawn_blocking(move || shared.save(&sessions, &id, &principal)).await;
        saved.map_err(|error| {
            tracing::error!(%error, "subscriptions could not be shared");
            Unreachable
        })?
    }

    fn shared_sessions(&self) -> Option<SharedSessions> {
        self.options.session_records.clone().map(|records| SharedSessions { records })
    }

    /// Removes what other servers know of a session, or of all sessions of a user.
    fn forget_shared(&self, owner: &UserId, id: Option<&SessionId>) {
        let Some(SharedSessions { records }) = self.shared_sessions() else { return };
        let (owner, id) = (owner.clone(), id.cloned());
        drop(spawn_blocking(move || match id {
            Some(id) => records.remove(&owner, &id),
            None => records.remove_user(&owner),
        }));
    }

    /// Ends a session and drops its conversation state. Returns `false` if there is no such
    /// session.
    pub fn end_session(&self, id: &SessionId, principal: &Principal) -> bool {
        let ended = self.sessions.end_session(id, principal);
        if ended {
            self.forget_shared(principal.user(), Some(id));
            self.handler.forget_scope(principal, &Scope::Session(id.clone()));
        }
        ended
    }

    /// Ends all sessions of a user. Open connections are notified by
    /// [`ended_users`](Self::ended_users).
    pub fn end_user_sessions(&self, user: &UserId) {
        self.sessions.end_user_sessions(user);
        self.forget_shared(user, None);
        self.ended_users.send_modify(|count| *count += 1);
    }
}
