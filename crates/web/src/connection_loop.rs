//! Message loop of a persistent connection: messages arrive in order and are processed
//! concurrently.

use std::sync::Arc;

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use tracing::Instrument as _;
use vademecum_core::telemetry::RequestId;
use vademecum_mcp::{
    InFlightBytes, MessageCost, Outbound, OutboundMessage, Peer, Service, SessionId,
};

use super::ServerState;

/// Minimum capacity of the outbound queue; when it is full, progress messages are dropped.
const MIN_OUTBOUND_CAPACITY: u32 = 16;
/// Maximum number of queued calls per connection before reading stops.
const MAX_QUEUED_CALLS: u32 = 48;
/// Maximum number of immediate replies that wait for the client before reading stops.
const MAX_IMMEDIATE_REQUESTS: u32 = 64;
/// Maximum number of subscriptions per connection. More are rejected, because subscriptions may
/// never end.
const MAX_SUBSCRIPTIONS: u32 = 16;

/// State of a persistent connection. Dropping it cancels all its work.
///
/// Queues are bounded: when there is no free slot, the connection stops reading. Immediate requests
/// have slots of their own, so pings and cancellations do not wait for slow calls.
pub(crate) struct ConnectionLoop {
    service: Service,
    peer: Peer,
    outbound: Outbound,
    answers: mpsc::Sender<OutboundMessage>,
    call_slots: MessageSlots,
    immediate_slots: MessageSlots,
    subscription_slots: MessageSlots,
    tasks: JoinSet<()>,
    /// Session that ends with the connection.
    own_session: Option<SessionId>,
}

/// Limited number of slots for one class of messages.
struct MessageSlots {
    semaphore: Arc<Semaphore>,
    capacity: u32,
}

impl MessageSlots {
    fn new(most: u32) -> Self {
        Self { semaphore: Arc::new(Semaphore::new(most as usize)), capacity: most }
    }

    async fn acquire_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.semaphore).acquire_owned().await.ok()
    }

    fn try_acquire_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.semaphore).try_acquire_owned().ok()
    }

    async fn wait_until_free(&self) {
        drop(self.semaphore.acquire_many(self.capacity).await);
    }
}

impl ConnectionLoop {
    /// Starts the loop and returns the receiver of outgoing messages. If `peer` names no session,
    /// the connection gets its own. Returns `None` if the named session does not exist.
    pub(crate) fn start(
        server_state: &ServerState,
        mut peer: Peer,
    ) -> Option<(Self, mpsc::Receiver<OutboundMessage>)> {
        let service = server_state.service.clone();
        let own = peer.session.is_none().then(|| service.connect_session(&peer.principal));
        let session = peer.session.take().or_else(|| own.clone())?;
        // Headers of the upgrade request do not describe individual messages.
        peer.headers = None;
        let at_once = server_state.max_concurrent_calls.get();
        let (answers, out) = mpsc::channel(at_once.max(MIN_OUTBOUND_CAPACITY) as usize);
        let link = Outbound::from_sender(answers.clone());
        if !service.add_listener(&session, &peer.principal, link.clone()) {
            return None;
        }
        peer.session = Some(session);
        peer.call_permits = Some(Arc::new(Semaphore::new(at_once as usize)));
        let calls = MessageSlots::new(at_once.saturating_add(MAX_QUEUED_CALLS));
        let (light, lasting, work) = (
            MessageSlots::new(MAX_IMMEDIATE_REQUESTS),
            MessageSlots::new(MAX_SUBSCRIPTIONS),
            JoinSet::new(),
        );
        Some((
            Self {
                service,
                peer,
                outbound: link,
                answers,
                call_slots: calls,
                immediate_slots: light,
                subscription_slots: lasting,
                tasks: work,
                own_session: own,
            },
            out,
        ))
    }

    /// Starts processing a message. Waits for a free slot, which slows down clients that send too
    /// fast or do not read replies. `in_flight` are the bytes of the message, and then of the reply.
    pub(crate) async fn dispatch(&mut self, message: String, in_flight: InFlightBytes) {
        while self.tasks.try_join_next().is_some() {}
        let place = match Service::message_cost(&message) {
            MessageCost::NoReply => {
                drop(self.service.handle(&self.peer, &message, &self.outbound).await);
                return;
            }
            MessageCost::Immediate => self.immediate_slots.acquire_slot().await,
            MessageCost::Queued => self.call_slots.acquire_slot().await,
            MessageCost::LongLived => {
                let place = self.subscription_slots.try_acquire_slot();
                if place.is_none() {
                    if let Some(refusal) =
                        Service::subscription_rejection(&message, MAX_SUBSCRIPTIONS as usize)
                    {
                        self.send_message(refusal).await;
                    }
                    return;
                }
                place
            }
        };
        let (service, peer, link) =
            (self.service.clone(), self.peer.clone(), self.outbound.clone());
        let answers = self.answers.clone();
        let span = RequestId::generate().span();
        let work = async move {
            if let Some(text) = service.handle(&peer, &message, &link).await.message {
                drop(message);
                let in_flight = Some(in_flight.for_reply(text.len()));
                // Sending fails only if the connection is closed.
                drop(answers.send(OutboundMessage { text, in_flight }).await);
            }
            drop(place);
        };
        self.tasks.spawn_local(work.instrument(span));
    }

    /// Returns an empty count of bytes in flight.
    pub(crate) fn bytes_in_flight(&self) -> InFlightBytes {
        self.service.bytes_in_flight(&self.peer.principal)
    }

    /// Sends a message that is not a reply to a request.
    pub(crate) async fn send_message(&self, message: String) {
        // Sending fails only if the connection is closed.
        drop(self.answers.send(message.into()).await);
    }

    /// Waits until all pending requests are answered.
    pub(crate) async fn wait_until_idle(&self) {
        self.call_slots.wait_until_free().await;
        self.immediate_slots.wait_until_free().await;
    }
}

impl Drop for ConnectionLoop {
    fn drop(&mut self) {
        if let Some(session) = &self.own_session {
            self.service.end_session(session, &self.peer.principal);
        }
    }
}
