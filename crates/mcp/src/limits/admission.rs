//! Admission control: limits concurrent and queued calls per user and in total. A call acquires the
//! permits of its connection, its user and the server, in this order. A call that waits for the
//! server therefore never holds more than one user's share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use dashmap::DashMap;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::Failure;
use vademecum_core::auth::UserId;

/// Processing cost of a message, by its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageCost {
    /// Notification or response: it gets no reply.
    NoReply,
    /// Request that is answered at once, without queueing.
    Immediate,
    /// Request that needs a call permit.
    Queued,
    /// Subscription that stays open until the client cancels it.
    LongLived,
}

impl MessageCost {
    pub(crate) fn of_method(method: &str) -> Self {
        match method {
            "tools/call"
            | "resources/list"
            | "resources/directory/read"
            | "resources/read"
            | "skills/list"
            | "skills/get"
            | "vademecum/recall"
            | "resources/subscribe"
            | "prompts/list"
            | "prompts/get"
            | "completion/complete" => Self::Queued,
            "subscriptions/listen" => Self::LongLived,
            _ => Self::Immediate,
        }
    }
}

/// Limits for concurrent and queued calls and open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Maximum concurrent calls per user.
    pub max_running_per_user: usize,
    /// Maximum queued calls per user.
    pub max_waiting_per_user: usize,
    /// Maximum concurrent calls of all users.
    pub max_running: usize,
    /// Maximum queued calls of all users.
    pub max_waiting: usize,
    /// Maximum time that a call waits for its permits.
    pub queue_timeout: Duration,
    /// Maximum duration of a call, queueing included.
    pub call_timeout: Duration,
    /// Maximum open connections and subscription streams per user.
    pub max_connections_per_user: usize,
    /// Maximum resources that one session or stream is subscribed to.
    pub max_subscriptions_per_session: usize,
    /// Maximum resources that all sessions and streams of a user are subscribed to.
    pub max_subscriptions_per_user: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            max_running_per_user: 32,
            max_waiting_per_user: 1_000,
            max_running: 256,
            max_waiting: 4_000,
            queue_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_mins(2),
            max_connections_per_user: 1_024,
            max_subscriptions_per_session: 100,
            max_subscriptions_per_user: 1_000,
        }
    }
}

/// Pause after a check of subscribed resources, in multiples of its duration: subscriptions of one
/// user take at most a tenth of a core.
const CHECK_PAUSE_FACTOR: u32 = 9;
/// Maximum duration of this pause.
const MAX_CHECK_PAUSE: Duration = Duration::from_secs(30);
/// Pause before another attempt if the user's queue of calls is full.
const CHECK_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Semaphores and queue counters of the server and of each user.
#[derive(Debug)]
pub(crate) struct AdmissionControl {
    pub(crate) limits: AdmissionLimits,
    users: DashMap<UserId, Arc<UserSlots>>,
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct UserSlots {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    connections: Arc<Semaphore>,
    subscriptions: Arc<Semaphore>,
    /// Earliest time of the next check of subscribed resources.
    next_check: Arc<Mutex<Instant>>,
}

/// Permission to run one call. Dropping it releases the permits.
#[derive(Debug)]
pub(crate) struct CallPermit {
    _connection: Option<OwnedSemaphorePermit>,
    _user: OwnedSemaphorePermit,
    _server: OwnedSemaphorePermit,
    /// Keeps the user's entry from being removed.
    _user_slots: Arc<UserSlots>,
}

/// Permission to keep a connection, stream or subscription open. Dropping it releases the permit.
#[derive(Debug)]
pub struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    _user_slots: Arc<UserSlots>,
}

/// Permission to check the subscribed resources of one session. Dropping it starts the pause before
/// the user's next check.
#[derive(Debug)]
pub(crate) struct CheckPermit {
    started_at: Instant,
    next_check: OwnedMutexGuard<Instant>,
    _call: CallPermit,
}

impl Drop for CheckPermit {
    fn drop(&mut self) {
        let pause = self.started_at.elapsed() * CHECK_PAUSE_FACTOR;
        *self.next_check = Instant::now() + pause.min(MAX_CHECK_PAUSE);
    }
}

impl Default for AdmissionControl {
    fn default() -> Self {
        Self::new(AdmissionLimits::default())
    }
}

impl AdmissionControl {
    /// Creates an admission control without users.
    pub(crate) fn new(limits: AdmissionLimits) -> Self {
        let running = Arc::new(Semaphore::new(limits.max_running.min(Semaphore::MAX_PERMITS)));
        Self { limits, users: DashMap::new(), running, waiting: AtomicUsize::new(0) }
    }

    /// Waits for the permits of one call. `connection` is the semaphore of a persistent connection
    /// that the call came over. Fails when a queue is full or the wait times out.
    pub(crate) async fn acquire_call_permit(
        &self,
        user: &UserId,
        connection: Option<&Arc<Semaphore>>,
    ) -> Result<CallPermit, Failure> {
        let slots = self.user_slots(user);
        if let Some(permit) = self.try_acquire_call_permit(&slots, connection) {
            return Ok(permit);
        }
        let too_many_calls = || Failure::too_many_calls(slots.waiting.load(Ordering::Relaxed));
        let _slot = QueueSlot::try_acquire(&slots.waiting, self.limits.max_waiting_per_user)
            .ok_or_else(too_many_calls)?;
        let _slot = QueueSlot::try_acquire(&self.waiting, self.limits.max_waiting)
            .ok_or_else(Failure::server_busy)?;
        let mut has_own = false;
        let wait = async {
            let connection = match connection {
                Some(permits) => Some(Arc::clone(permits).acquire_owned().await.ok()?),
                None => None,
            };
            let own = Arc::clone(&slots.running).acquire_owned().await.ok()?;
            has_own = true;
            let server = Arc::clone(&self.running).acquire_owned().await.ok()?;
            Some(CallPermit {
                _connection: connection,
                _user: own,
                _server: server,
                _user_slots: Arc::clone(&slots),
            })
        };
        match tokio::time::timeout(self.limits.queue_timeout, wait).await {
            Ok(Some(permit)) => Ok(permit),
            Ok(None) | Err(_) if has_own => Err(Failure::server_busy()),
            Ok(None) | Err(_) => Err(too_many_calls()),
        }
    }

    /// Acquires a permit for an open connection or subscription. Fails when the user has reached
    /// the limit.
    pub(crate) fn acquire_connection_permit(
        &self,
        user: &UserId,
    ) -> Result<ConnectionPermit, Failure> {
        let slots = self.user_slots(user);
        match Arc::clone(&slots.connections).try_acquire_owned() {
            Ok(permit) => Ok(ConnectionPermit { _permit: permit, _user_slots: slots }),
            Err(_) => Err(Failure::too_many_connections(self.limits.max_connections_per_user)),
        }
    }

    /// Acquires a permit for one more subscribed resource. Fails when the user has reached the limit.
    pub(crate) fn acquire_subscription_permit(
        &self,
        user: &UserId,
    ) -> Result<ConnectionPermit, Failure> {
        let slots = self.user_slots(user);
        let max = self.limits.max_subscriptions_per_user;
        let permit = Arc::clone(&slots.subscriptions).try_acquire_owned();
        let permit = permit.map_err(|_| Failure::too_many_subscriptions("user", max))?;
        Ok(ConnectionPermit { _permit: permit, _user_slots: slots })
    }

    /// Waits until subscribed resources of this user may be checked for changes. Checks of one user
    /// run one after another, each as a call, with pauses that are proportional to their duration.
    pub(crate) async fn acquire_check_permit(&self, user: &UserId) -> CheckPermit {
        let next_check = Arc::clone(&self.user_slots(user).next_check).lock_owned().await;
        if *next_check > Instant::now() {
            tokio::time::sleep_until((*next_check).into()).await;
        }
        loop {
            if let Ok(call) = self.acquire_call_permit(user, None).await {
                return CheckPermit { started_at: Instant::now(), next_check, _call: call };
            }
            tokio::time::sleep(CHECK_RETRY_INTERVAL).await;
        }
    }

    /// Removes users without calls or connections.
    pub(crate) fn remove_idle_users(&self) {
        // Every permit holds a reference to its user's entry.
        self.users.retain(|_, user| Arc::strong_count(user) > 1);
    }

    /// Returns the number of running calls.
    pub(crate) fn running(&self) -> usize {
        self.limits.max_running.saturating_sub(self.running.available_permits())
    }

    /// Returns the number of queued calls.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections and subscriptions of all users.
    pub(crate) fn open_connections(&self) -> usize {
        let max = self.limits.max_connections_per_user;
        let of = |user: &UserSlots| max.saturating_sub(user.connections.available_permits());
        self.users.iter().map(|entry| of(entry.value())).sum()
    }

    fn user_slots(&self, user: &UserId) -> Arc<UserSlots> {
        if let Some(slots) = self.users.get(user) {
            return Arc::clone(&slots);
        }
        let new = || Arc::new(UserSlots::new(&self.limits));
        Arc::clone(&self.users.entry(user.clone()).or_insert_with(new))
    }

    fn try_acquire_call_permit(
        &self,
        slots: &Arc<UserSlots>,
        connection: Option<&Arc<Semaphore>>,
    ) -> Option<CallPermit> {
        let connection = match connection {
            Some(permits) => Some(Arc::clone(permits).try_acquire_owned().ok()?),
            None => None,
        };
        Some(CallPermit {
            _connection: connection,
            _user: Arc::clone(&slots.running).try_acquire_owned().ok()?,
            _server: Arc::clone(&self.running).try_acquire_owned().ok()?,
            _user_slots: Arc::clone(slots),
        })
    }
}

impl UserSlots {
    fn new(limits: &AdmissionLimits) -> Self {
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            running: permits(limits.max_running_per_user),
            waiting: AtomicUsize::new(0),
            connections: permits(limits.max_connections_per_user),
            subscriptions: permits(limits.max_subscriptions_per_user),
            next_check: Arc::new(Mutex::new(Instant::now())),
        }
    }
}

/// One occupied place in a queue; dropping it decrements the counter.
struct QueueSlot<'a>(&'a AtomicUsize);

impl<'a> QueueSlot<'a> {
    fn try_acquire(count: &'a AtomicUsize, max: usize) -> Option<Self> {
        let one_more = |waiting: usize| (waiting < max).then_some(waiting + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Self(count))
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::FailureKind;

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    fn admission(limits: AdmissionLimits) -> AdmissionControl {
        AdmissionControl::new(AdmissionLimits { queue_timeout: Duration::from_hours(1), ..limits })
    }

    #[actix::test]
    async fn user_waits_for_own_calls_only() {
        let (ada, eve) = (user("ada"), user("eve"));
        let admission =
            admission(AdmissionLimits { max_running_per_user: 1, ..AdmissionLimits::default() });
        let first = admission.acquire_call_permit(&ada, None).await.unwrap();
        let mut second = Box::pin(admission.acquire_call_permit(&ada, None));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!((admission.running(), admission.waiting()), (1, 1));
        let other = admission.acquire_call_permit(&eve, None).await.unwrap();
        drop(first);
        second.await.unwrap();
        drop(other);
        assert_eq!((admission.running(), admission.waiting()), (0, 0));
    }

    #[actix::test]
    async fn full_queue_rejects_call_and_names_limit() {
        let (ada, eve) = (user("ada"), user("eve"));
        let limits = AdmissionLimits {
            max_running_per_user: 1,
            max_waiting_per_user: 1,
            max_running: 2,
            max_waiting: 1,
            ..AdmissionLimits::default()
        };
        let admission = admission(limits);
        let _running = (
            admission.acquire_call_permit(&ada, None).await.unwrap(),
            admission.acquire_call_permit(&eve, None).await.unwrap(),
        );
        let mut waiting = Box::pin(admission.acquire_call_permit(&ada, None));
        assert!(waiting.as_mut().now_or_never().is_none());
        let refused = admission.acquire_call_permit(&ada, None).await.unwrap_err();
        assert!(matches!(refused.kind, FailureKind::TooMany(_)), "{refused:?}");
        let refused = admission.acquire_call_permit(&eve, None).await.unwrap_err();
        assert!(matches!(refused.kind, FailureKind::Busy(_)), "{refused:?}");
    }

    #[actix::test]
    async fn timed_out_call_is_rejected_and_leaves_queue() {
        let ada = user("ada");
        let limits = AdmissionLimits {
            max_running_per_user: 1,
            queue_timeout: Duration::ZERO,
            ..AdmissionLimits::default()
        };
        let admission = AdmissionControl::new(limits);
        let _running = admission.acquire_call_permit(&ada, None).await.unwrap();
        assert!(matches!(
            admission.acquire_call_permit(&ada, None).await.unwrap_err().kind,
            FailureKind::TooMany(_)
        ));
        assert_eq!(admission.waiting(), 0);
    }

    #[actix::test]
    async fn connection_has_its_own_call_permits() {
        let ada = user("ada");
        let admission = admission(AdmissionLimits::default());
        let permits = Arc::new(Semaphore::new(1));
        let first = admission.acquire_call_permit(&ada, Some(&permits)).await.unwrap();
        assert!(admission.acquire_call_permit(&ada, Some(&permits)).now_or_never().is_none());
        assert!(admission.acquire_call_permit(&ada, None).now_or_never().is_some());
        drop(first);
        admission.acquire_call_permit(&ada, Some(&permits)).await.unwrap();
    }

    #[actix::test]
    async fn checks_of_one_user_pause_in_proportion() {
        let (ada, eve) = (user("ada"), user("eve"));
        let admission = admission(AdmissionLimits::default());
        let mut check = admission.acquire_check_permit(&ada).await;
        assert_eq!(admission.running(), 1, "a check counts as a call");
        assert!(admission.acquire_check_permit(&ada).now_or_never().is_none());
        assert!(admission.acquire_check_permit(&eve).now_or_never().is_some());
        // The check has taken two seconds.
        check.started_at -= Duration::from_secs(2);
        drop(check);
        assert_eq!(admission.running(), 0);
        let wait = *admission.user_slots(&ada).next_check.lock().await - Instant::now();
        assert!((17..=18).contains(&wait.as_secs()), "{wait:?}");
        assert!(admission.acquire_check_permit(&ada).now_or_never().is_none());
    }

    #[actix::test]
    async fn subscriptions_are_counted_per_user() {
        let limits =
            AdmissionLimits { max_subscriptions_per_user: 1, ..AdmissionLimits::default() };
        let admission = admission(limits);
        let permit = admission.acquire_subscription_permit(&user("ada")).unwrap();
        let refused = admission.acquire_subscription_permit(&user("ada")).unwrap_err();
        assert!(refused.message.contains("at most 1 subscriptions"), "{refused:?}");
        admission.acquire_subscription_permit(&user("eve")).unwrap();
        drop(permit);
        admission.acquire_subscription_permit(&user("ada")).unwrap();
    }

    #[actix::test]
    async fn connections_counted_per_user_idle_users_removed() {
        let admission = admission(AdmissionLimits {
            max_connections_per_user: 1,
            ..AdmissionLimits::default()
        });
        let permit = admission.acquire_connection_permit(&user("ada")).unwrap();
        admission.acquire_connection_permit(&user("ada")).unwrap_err();
        let _other = admission.acquire_connection_permit(&user("eve")).unwrap();
        assert_eq!(admission.open_connections(), 2);
        drop(permit);
        admission.remove_idle_users();
        assert_eq!((admission.users.len(), admission.open_connections()), (1, 1));
        admission.acquire_connection_permit(&user("ada")).unwrap();
    }
}
