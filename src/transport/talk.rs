//! A connection that stays: messages come in one after the other and are
//! worked on side by side.

use std::sync::Arc;

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use tracing::Instrument as _;

use super::Door;
use vademecum_core::telemetry::RequestId;
use vademecum_mcp::{Link, Peer, Service, SessionId, Weight};

/// Messages that wait to be sent, before news of the moment is dropped.
const OUT: u32 = 16;
/// Calls of a connection that wait for their turn, before it is not listened to.
const WAITING: u32 = 48;
/// What is answered at once and waits to be taken by the client, before it is not
/// listened to.
const LIGHT: u32 = 64;
/// Subscriptions of a connection; more are refused, as these may never end.
const LASTING: u32 = 16;

/// What is going on on a connection. When it goes, so does all work for it.
///
/// Nothing that a client sends is queued without end: what there is no place for is
/// left unread. As there are places of their own for what is light, neither a sign
/// of life nor a cancellation waits for calls that take long.
pub(crate) struct Talk {
    service: Service,
    peer: Peer,
    link: Link,
    answers: mpsc::Sender<String>,
    calls: Places,
    light: Places,
    lasting: Places,
    work: JoinSet<()>,
    /// The session that ends with the connection.
    own: Option<SessionId>,
}

/// Places for messages of one kind.
struct Places {
    free: Arc<Semaphore>,
    most: u32,
}

impl Places {
    fn new(most: u32) -> Self {
        Self { free: Arc::new(Semaphore::new(most as usize)), most }
    }

    async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    fn take_at_once(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    async fn all_free(&self) {
        drop(self.free.acquire_many(self.most).await);
    }
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
        let (answers, out) = mpsc::channel(at_once.max(OUT) as usize);
        let link = Link::shared(answers.clone());
        if !service.listen(&session, &peer.principal, link.clone()) {
            return None;
        }
        peer.session = Some(session);
        peer.turns = Some(Arc::new(Semaphore::new(at_once as usize)));
        let calls = Places::new(at_once.saturating_add(WAITING));
        let (light, lasting, work) = (Places::new(LIGHT), Places::new(LASTING), JoinSet::new());
        Some((Self { service, peer, link, answers, calls, light, lasting, work, own }, out))
    }

    /// Begins to work on a message. Waits while there is no place for it: that is
    /// what holds back a client that is too fast, or does not take its answers.
    pub(crate) async fn hear(&mut self, message: String) {
        while self.work.try_join_next().is_some() {}
        let place = match Service::weigh(&message) {
            Weight::Silent => {
                drop(self.service.handle(&self.peer, &message, &self.link).await);
                return;
            }
            Weight::Light => self.light.take().await,
            Weight::Heavy => self.calls.take().await,
            Weight::Lasting => {
                let place = self.lasting.take_at_once();
                if place.is_none() {
                    if let Some(refusal) = Service::refuse_subscription(&message, LASTING) {
                        self.say(refusal).await;
                    }
                    return;
                }
                place
            }
        };
        let (service, peer, link) = (self.service.clone(), self.peer.clone(), self.link.clone());
        let answers = self.answers.clone();
        let span = RequestId::mint().span();
        let work = async move {
            if let Some(answer) = service.handle(&peer, &message, &link).await.message {
                // Nobody is left to be told if the connection is closed.
                drop(answers.send(answer).await);
            }
            drop(place);
        };
        self.work.spawn_local(work.instrument(span));
    }

    /// Says something that no message asked for.
    pub(crate) async fn say(&self, message: String) {
        // Nobody is left to be told if the connection is closed.
        drop(self.answers.send(message).await);
    }

    /// Waits until all calls are answered.
    pub(crate) async fn finish(&self) {
        self.calls.all_free().await;
        self.light.all_free().await;
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(session) = &self.own {
            self.service.end(session, &self.peer.principal);
        }
    }
}
