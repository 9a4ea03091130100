//! Limits of open connections: for each address and in all.
//!
//! At a limit, the connection that has been idle for longest is closed in favour of the new one, so
//! that connections that are only kept open lock out no other client. A connection is idle while
//! none of its requests is in progress; streams and `WebSocket`s are requests.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use actix_web::{
    Error,
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    middleware::Next,
    web::Bytes,
};
use futures_util::task::AtomicWaker;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use vademecum_core::config::Server;

/// Maximum time that a new connection waits while all others are in use.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Limits of open connections, shared by all workers. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimiter(Arc<Limiter>);

#[derive(Debug)]
struct Limiter {
    max_connections: usize,
    max_per_address: usize,
    /// Addresses of proxies, whose connections belong to many clients.
    proxies: Vec<IpAddr>,
    started_at: Instant,
    open: Mutex<OpenConnections>,
    /// Notified when a connection is closed or becomes idle.
    room: Arc<Notify>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next_id: u64,
    by_id: HashMap<u64, OpenConnection>,
    per_address: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct OpenConnection {
    address: Option<IpAddr>,
    activity: Arc<ConnectionActivity>,
}

/// Limit that prevents a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReachedLimit {
    PerAddress,
    InAll,
}

impl ConnectionLimiter {
    /// Creates a limiter from the settings. The limit for an address does not apply to proxies.
    pub(crate) fn new(settings: &Server, proxies: &[IpAddr]) -> Self {
        Self(Arc::new(Limiter {
            max_connections: settings.max_connections.get(),
            max_per_address: settings.connections_per_address.get(),
            proxies: proxies.to_vec(),
            started_at: Instant::now(),
            open: Mutex::default(),
            room: Arc::default(),
        }))
    }

    /// Counts a new connection, and closes another one if necessary. Waits while all connections
    /// are in use. Returns `None` if the address has too many connections in use, or the wait took
    /// too long.
    pub(crate) async fn open(&self, peer: Option<IpAddr>) -> Option<ConnectionSlot> {
        let is_client = |address: &IpAddr| !self.0.proxies.contains(address);
        let address = peer.map(|peer| peer.to_canonical()).filter(is_client).map(network_of);
        let admitted = async {
            loop {
                match self.try_open(address) {
                    Ok(slot) => return Some(slot),
                    Err(ReachedLimit::PerAddress) => return None,
                    Err(ReachedLimit::InAll) => self.0.room.notified().await,
                }
            }
        };
        timeout(MAX_WAIT, admitted).await.ok().flatten()
    }

    fn try_open(&self, address: Option<IpAddr>) -> Result<ConnectionSlot, ReachedLimit> {
        let limiter = &self.0;
        let mut open = limiter.open.lock().unwrap_or_else(PoisonError::into_inner);
        let here = address.and_then(|address| open.per_address.get(&address).copied());
        if here.is_some_and(|count| count >= limiter.max_per_address) {
            if !open.close_idle(|other| other.address == address) {
                return Err(ReachedLimit::PerAddress);
            }
        } else if open.by_id.len() >= limiter.max_connections && !open.close_idle(|_| true) {
            return Err(ReachedLimit::InAll);
        }
        let activity = Arc::new(ConnectionActivity {
            requests: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            last_used_ms: AtomicU64::new(0),
            waker: AtomicWaker::new(),
            room: Arc::clone(&limiter.room),
        });
        let slot = ConnectionSlot {
            id: open.insert(OpenConnection { address, activity: Arc::clone(&activity) }),
            activity,
            limiter: Arc::clone(limiter),
        };
        drop(open);
        slot.record_use(Instant::now());
        Ok(slot)
    }
}

impl OpenConnections {
    fn insert(&mut self, connection: OpenConnection) -> u64 {
        if let Some(address) = connection.address {
            *self.per_address.entry(address).or_default() += 1;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.by_id.insert(id, connection);
        id
    }

    fn remove(&mut self, id: u64) -> Option<OpenConnection> {
        let connection = self.by_id.remove(&id)?;
        if let Some(address) = connection.address
            && let Some(count) = self.per_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.per_address.remove(&address);
            }
        }
        Some(connection)
    }

    /// Closes the connection that has been idle for longest, among those that `applies` accepts.
    /// Returns `false` if all of them are in use.
    fn close_idle(&mut self, applies: impl Fn(&OpenConnection) -> bool) -> bool {
        let idle = self.by_id.iter().filter(|(_, it)| it.activity.is_idle() && applies(it));
        let oldest = idle.min_by_key(|(id, it)| (it.activity.last_used_ms(), **id));
        let closed = oldest.map(|(id, _)| *id).and_then(|id| self.remove(id));
        if let Some(OpenConnection { activity, .. }) = &closed {
            activity.close();
        }
        closed.is_some()
    }
}

/// Returns the network of an address, as one client can have many addresses in IPv6: its /64.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

/// The place of one open connection; dropping it makes room.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    id: u64,
    activity: Arc<ConnectionActivity>,
    limiter: Arc<Limiter>,
}

impl ConnectionSlot {
    /// Returns the activity of the connection, for its requests.
    pub(crate) fn activity(&self) -> Arc<ConnectionActivity> {
        Arc::clone(&self.activity)
    }

    /// Records that bytes were read or written.
    pub(crate) fn record_use(&self, now: Instant) {
        let elapsed = now.duration_since(self.limiter.started_at).as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.activity.last_used_ms.store(elapsed, Ordering::Relaxed);
    }

    /// Records whether the client has stopped to accept data. Until the write timeout, its
    /// connection is in use.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.activity.is_blocked.store(is_blocked, Ordering::Relaxed);
    }

    /// Returns whether the connection has to close. If not, `waker` is woken once it has to.
    pub(crate) fn poll_closed(&self, waker: &Waker) -> bool {
        self.activity.waker.register(waker);
        self.activity.is_closed.load(Ordering::Acquire)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.limiter.open.lock().unwrap_or_else(PoisonError::into_inner).remove(self.id);
        self.limiter.room.notify_one();
    }
}

/// Use of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionActivity {
    /// Requests whose response is not complete.
    requests: AtomicUsize,
    is_blocked: AtomicBool,
    is_closed: AtomicBool,
    /// Time of the last read or write, in milliseconds since the start of the server.
    last_used_ms: AtomicU64,
    waker: AtomicWaker,
    room: Arc<Notify>,
}

impl ConnectionActivity {
    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0 && !self.is_blocked.load(Ordering::Relaxed)
    }

    fn last_used_ms(&self) -> u64 {
        self.last_used_ms.load(Ordering::Relaxed)
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// A request in progress, which keeps its connection open.
#[derive(Debug)]
struct ActiveRequest(Arc<ConnectionActivity>);

impl ActiveRequest {
    fn begin(activity: &Arc<ConnectionActivity>) -> Self {
        activity.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
        self.0.room.notify_one();
    }
}

/// Middleware that marks a connection as in use until its response is complete.
pub(crate) async fn track_request(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let active = request.conn_data::<Arc<ConnectionActivity>>().map(ActiveRequest::begin);
    let response = next.call(request).await?;
    Ok(response.map_body(|_, body| TrackedBody { body: body.boxed(), _active: active }))
}

/// A response body that keeps its connection in use.
struct TrackedBody {
    body: BoxBody,
    _active: Option<ActiveRequest>,
}

impl MessageBody for TrackedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use futures_util::FutureExt as _;

    use super::*;

    fn limiter(max_connections: usize, connections_per_address: usize) -> ConnectionLimiter {
        let number = |number| NonZeroUsize::new(number).unwrap();
        let settings = Server {
            max_connections: number(max_connections),
            connections_per_address: number(connections_per_address),
            ..Server::default()
        };
        ConnectionLimiter::new(&settings, &["10.0.0.1".parse().unwrap()])
    }

    fn open(limiter: &ConnectionLimiter, address: &str) -> Option<ConnectionSlot> {
        limiter.open(Some(address.parse().unwrap())).now_or_never().flatten()
    }

    fn is_closed(slot: &ConnectionSlot) -> bool {
        slot.poll_closed(Waker::noop())
    }

    #[actix::test]
    async fn longest_idle_connection_makes_room() {
        let limiter = limiter(100, 3);
        let slots: Vec<_> = (0..3).map(|_| open(&limiter, "192.0.2.1").unwrap()).collect();
        let other = open(&limiter, "192.0.2.2").unwrap();
        let busy = ActiveRequest::begin(&slots[0].activity());
        slots[1].record_use(Instant::now() + Duration::from_secs(1));
        let new = open(&limiter, "192.0.2.1").unwrap();
        assert_eq!(slots.iter().map(is_closed).collect::<Vec<_>>(), [false, false, true]);
        let active = [&slots[1], &new].map(|slot| ActiveRequest::begin(&slot.activity()));
        assert!(open(&limiter, "192.0.2.1").is_none(), "all are in use");
        drop(busy);
        assert!(open(&limiter, "192.0.2.1").is_some());
        assert!(is_closed(&slots[0]) && !is_closed(&slots[1]) && !is_closed(&other));
        drop(active);
    }

    #[actix::test]
    async fn connection_waits_while_all_others_are_in_use() {
        let limiter = limiter(2, 2);
        let slots = ["192.0.2.1", "192.0.2.2"].map(|address| open(&limiter, address).unwrap());
        let [first, second] = slots.map(|slot| (ActiveRequest::begin(&slot.activity()), slot));
        let peer = Some("192.0.2.3".parse().unwrap());
        let mut waiting = Box::pin(limiter.open(peer));
        assert!((&mut waiting).now_or_never().is_none());
        let (request, slot) = first;
        drop(request);
        assert!(waiting.await.is_some() && is_closed(&slot), "an idle connection makes room");
        let waiting = limiter.open(peer);
        drop(second);
        assert!(waiting.await.is_some());
    }

    #[actix::test]
    async fn limit_of_address_spares_proxies_and_covers_networks() {
        let limiter = limiter(100, 1);
        let proxied = [(); 5].map(|()| open(&limiter, "10.0.0.1").unwrap());
        let mapped = open(&limiter, "::ffff:10.0.0.1").unwrap();
        let first = open(&limiter, "2001:db8:0:1::1").unwrap();
        let neighbour = open(&limiter, "2001:db8:0:2::1").unwrap();
        let second = open(&limiter, "2001:db8:0:1:ffff::2").unwrap();
        assert!(is_closed(&first) && !is_closed(&second) && !is_closed(&neighbour));
        assert!(!proxied.iter().any(is_closed) && !is_closed(&mapped));
        drop((first, second, neighbour, mapped, proxied));
        let open = limiter.0.open.lock().unwrap();
        assert!(open.by_id.is_empty() && open.per_address.is_empty(), "{open:?}");
    }
}
