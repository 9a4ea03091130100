//! A connection that stays: messages come in one after the other and are
//! worked on side by side.

use std::sync::Arc;

use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use tracing::Instrument as _;

use super::Door;
use crate::{
    mcp::{Link, Peer, Service, SessionId},
    telemetry::RequestId,
};

/// What is going on on a connection. When it goes, so does all work for it.
pub(crate) struct Talk {
    service: Service,
    peer: Peer,
    link: Link,
    answers: mpsc::Sender<String>,
    calls: Arc<Semaphore>,
    at_once: u32,
    work: JoinSet<()>,
    /// The session that ends with the connection.
    own: Option<SessionId>,
}

impl Talk {
    /// Begins; what goes out comes out of the receiver. Without a session in
    /// `peer`, the connection is one by itself.
    pub(crate) fn begin(door: &Door, mut peer: Peer) -> Option<(Self, mpsc::Receiver<String>)> {
        let service = door.service.clone();
        let own = peer.session.is_none().then(|| service.connect(&peer.principal));
        let session = peer.session.take().or_else(|| own.clone())?;
        // What is said of a message in headers is not said here.
        peer.mirror = None;
        let at_once = door.concurrent_calls.get();
        let (answers, out) = mpsc::channel(at_once as usize);
        let link = Link::shared(answers.clone());
        if !service.listen(&session, &peer.principal, link.clone()) {
            return None;
        }
        peer.session = Some(session);
        let calls = Arc::new(Semaphore::new(at_once as usize));
        let work = JoinSet::new();
        Some((Self { service, peer, link, answers, calls, at_once, work, own }, out))
    }

    /// Begins to work on a message. Waits while too many calls are worked on:
    /// that is what holds back a client that is too fast.
    pub(crate) async fn hear(&mut self, message: String) {
        while self.work.try_join_next().is_some() {}
        let turn = if Service::takes_turn(&message) {
            Arc::clone(&self.calls).acquire_owned().await.ok()
        } else {
            None
        };
        let (service, peer, link) = (self.service.clone(), self.peer.clone(), self.link.clone());
        let answers = self.answers.clone();
        let span = RequestId::mint().span();
        let work = async move {
            if let Some(answer) = service.handle(&peer, &message, &link).await.message {
                // Nobody is left to be told if the connection is closed.
                drop(answers.send(answer).await);
            }
            drop(turn);
        };
        self.work.spawn_local(work.instrument(span));
    }

    /// Says something that no message asked for.
    pub(crate) async fn say(&self, message: String) {
        // Nobody is left to be told if the connection is closed.
        drop(self.answers.send(message).await);
    }

    /// Waits until all calls are answered.
    pub(crate) async fn finish(&mut self) {
        drop(self.calls.acquire_many(self.at_once).await);
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(session) = &self.own {
            self.service.end(session, &self.peer.principal);
        }
    }
}
