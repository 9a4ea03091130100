//! How many calls are worked on at the same time, for each user and in all, and
//! how many may wait for their turn.
//!
//! A call takes the turns of its connection, of its user and of the server, in
//! this order: whoever waits for the server holds no more than a user may have.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dashmap::DashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Failure;
use vademecum_core::auth::UserId;

/// What a message makes the server do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Nothing that is answered: it is told something.
    Silent,
    /// Something that is answered at once.
    Light,
    /// Work.
    Heavy,
    /// Telling news for as long as the client likes.
    Lasting,
}

impl Weight {
    pub(super) fn of(method: &str) -> Self {
        match method {
            "tools/call"
            | "resources/read"
            | "resources/subscribe"
            | "prompts/list"
            | "prompts/get"
            | "completion/complete" => Self::Heavy,
            "subscriptions/listen" => Self::Lasting,
            _ => Self::Light,
        }
    }
}

/// How much is worked on at the same time, and how much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Calls of one user that are worked on.
    pub running_per_user: usize,
    /// Calls of one user that wait.
    pub waiting_per_user: usize,
    /// Calls of all users that are worked on.
    pub running: usize,
    /// Calls of all users that wait.
    pub waiting: usize,
    /// How long a call waits for its turn.
    pub patience: Duration,
    /// How long a call may take with all its waiting.
    pub longest: Duration,
    /// Connections and subscriptions of one user that last.
    pub connections_per_user: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            running_per_user: 32,
            waiting_per_user: 1_000,
            running: 256,
            waiting: 4_000,
            patience: Duration::from_secs(30),
            longest: Duration::from_mins(2),
            connections_per_user: 1_024,
        }
    }
}

/// Who is worked for, and who waits.
#[derive(Debug)]
pub(crate) struct Admission {
    capacity: Capacity,
    users: DashMap<UserId, Arc<User>>,
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct User {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    connections: Arc<Semaphore>,
}

/// The right of a call to be worked on. Dropping it lets the next one begin.
#[derive(Debug)]
pub(crate) struct Turn {
    _connection: Option<OwnedSemaphorePermit>,
    _user: OwnedSemaphorePermit,
    _server: OwnedSemaphorePermit,
    /// Whoever is worked for is known.
    _known: Arc<User>,
}

/// The right of a connection or subscription to last. Dropping it makes room.
#[derive(Debug)]
pub struct Held {
    _permit: OwnedSemaphorePermit,
    _known: Arc<User>,
}

impl Default for Admission {
    fn default() -> Self {
        Self::new(Capacity::default())
    }
}

impl Admission {
    /// Nobody is there yet.
    pub(crate) fn new(capacity: Capacity) -> Self {
        let running = Arc::new(Semaphore::new(capacity.running.min(Semaphore::MAX_PERMITS)));
        Self { capacity, users: DashMap::new(), running, waiting: AtomicUsize::new(0) }
    }

    /// How long a call may take with all its waiting.
    pub(crate) fn longest(&self) -> Duration {
        self.capacity.longest
    }

    /// Waits for the turn of a call of a user. `connection` has the turns of the
    /// connection that it came over, if that is one that stays.
    pub(crate) async fn turn(
        &self,
        user: &UserId,
        connection: Option<&Arc<Semaphore>>,
    ) -> Result<Turn, Failure> {
        let known = self.user(user);
        if let Some(turn) = self.at_once(&known, connection) {
            return Ok(turn);
        }
        let crowded = || Failure::crowded(known.waiting.load(Ordering::Relaxed));
        let _place =
            Place::take(&known.waiting, self.capacity.waiting_per_user).ok_or_else(crowded)?;
        let _place = Place::take(&self.waiting, self.capacity.waiting).ok_or_else(Failure::busy)?;
        let mut has_own = false;
        let wait = async {
            let connection = match connection {
                Some(turns) => Some(Arc::clone(turns).acquire_owned().await.ok()?),
                None => None,
            };
            let own = Arc::clone(&known.running).acquire_owned().await.ok()?;
            has_own = true;
            let server = Arc::clone(&self.running).acquire_owned().await.ok()?;
            Some(Turn {
                _connection: connection,
                _user: own,
                _server: server,
                _known: Arc::clone(&known),
            })
        };
        match tokio::time::timeout(self.capacity.patience, wait).await {
            Ok(Some(turn)) => Ok(turn),
            Ok(None) | Err(_) if has_own => Err(Failure::busy()),
            Ok(None) | Err(_) => Err(crowded()),
        }
    }

    /// Lets a connection or a subscription last, unless the user has too many.
    pub(crate) fn hold(&self, user: &UserId) -> Result<Held, Failure> {
        let known = self.user(user);
        match Arc::clone(&known.connections).try_acquire_owned() {
            Ok(permit) => Ok(Held { _permit: permit, _known: known }),
            Err(_) => Err(Failure::connected(self.capacity.connections_per_user)),
        }
    }

    /// Forgets users for whom nothing is going on.
    pub(crate) fn sweep(&self) {
        // Whatever goes on holds what is known of its user.
        self.users.retain(|_, user| Arc::strong_count(user) > 1);
    }

    /// Calls that are worked on.
    pub(crate) fn running(&self) -> usize {
        self.capacity.running.saturating_sub(self.running.available_permits())
    }

    /// Calls that wait for their turn.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Connections and subscriptions that last.
    pub(crate) fn held(&self) -> usize {
        let most = self.capacity.connections_per_user;
        let of = |user: &User| most.saturating_sub(user.connections.available_permits());
        self.users.iter().map(|entry| of(entry.value())).sum()
    }

    fn user(&self, user: &UserId) -> Arc<User> {
        if let Some(known) = self.users.get(user) {
            return Arc::clone(&known);
        }
        let new = || Arc::new(User::new(&self.capacity));
        Arc::clone(&self.users.entry(user.clone()).or_insert_with(new))
    }

    fn at_once(&self, known: &Arc<User>, connection: Option<&Arc<Semaphore>>) -> Option<Turn> {
        let connection = match connection {
            Some(turns) => Some(Arc::clone(turns).try_acquire_owned().ok()?),
            None => None,
        };
        Some(Turn {
            _connection: connection,
            _user: Arc::clone(&known.running).try_acquire_owned().ok()?,
            _server: Arc::clone(&self.running).try_acquire_owned().ok()?,
            _known: Arc::clone(known),
        })
    }
}

impl User {
    fn new(capacity: &Capacity) -> Self {
        let turns = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            running: turns(capacity.running_per_user),
            waiting: AtomicUsize::new(0),
            connections: turns(capacity.connections_per_user),
        }
    }
}

/// A place among those who wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let one_more = |waiting: usize| (waiting < most).then_some(waiting + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Self(count))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::Kind;

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    fn admission(capacity: Capacity) -> Admission {
        Admission::new(Capacity { patience: Duration::from_hours(1), ..capacity })
    }

    #[actix::test]
    async fn a_user_waits_for_their_own_calls_only() {
        let (ada, eve) = (user("ada"), user("eve"));
        let admission = admission(Capacity { running_per_user: 1, ..Capacity::default() });
        let first = admission.turn(&ada, None).await.unwrap();
        let mut second = Box::pin(admission.turn(&ada, None));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!((admission.running(), admission.waiting()), (1, 1));
        let other = admission.turn(&eve, None).await.unwrap();
        drop(first);
        second.await.unwrap();
        drop(other);
        assert_eq!((admission.running(), admission.waiting()), (0, 0));
    }

    #[actix::test]
    async fn whoever_finds_no_place_to_wait_is_refused_for_what_is_full() {
        let (ada, eve) = (user("ada"), user("eve"));
        let capacity = Capacity {
            running_per_user: 1,
            waiting_per_user: 1,
            running: 2,
            waiting: 1,
            ..Capacity::default()
        };
        let admission = admission(capacity);
        let _running =
            (admission.turn(&ada, None).await.unwrap(), admission.turn(&eve, None).await.unwrap());
        let mut waiting = Box::pin(admission.turn(&ada, None));
        assert!(waiting.as_mut().now_or_never().is_none());
        let refused = admission.turn(&ada, None).await.unwrap_err();
        assert!(matches!(refused.kind, Kind::TooMany(_)), "{refused:?}");
        let refused = admission.turn(&eve, None).await.unwrap_err();
        assert!(matches!(refused.kind, Kind::Busy(_)), "{refused:?}");
    }

    #[actix::test]
    async fn a_call_that_waited_too_long_is_refused_and_leaves_its_place() {
        let ada = user("ada");
        let capacity =
            Capacity { running_per_user: 1, patience: Duration::ZERO, ..Capacity::default() };
        let admission = Admission::new(capacity);
        let _running = admission.turn(&ada, None).await.unwrap();
        assert!(matches!(admission.turn(&ada, None).await.unwrap_err().kind, Kind::TooMany(_)));
        assert_eq!(admission.waiting(), 0);
    }

    #[actix::test]
    async fn a_connection_has_turns_of_its_own() {
        let ada = user("ada");
        let admission = admission(Capacity::default());
        let turns = Arc::new(Semaphore::new(1));
        let first = admission.turn(&ada, Some(&turns)).await.unwrap();
        assert!(admission.turn(&ada, Some(&turns)).now_or_never().is_none());
        assert!(admission.turn(&ada, None).now_or_never().is_some());
        drop(first);
        admission.turn(&ada, Some(&turns)).await.unwrap();
    }

    #[actix::test]
    async fn connections_are_counted_for_each_user_and_users_are_forgotten() {
        let admission = admission(Capacity { connections_per_user: 1, ..Capacity::default() });
        let held = admission.hold(&user("ada")).unwrap();
        admission.hold(&user("ada")).unwrap_err();
        let _other = admission.hold(&user("eve")).unwrap();
        assert_eq!(admission.held(), 2);
        drop(held);
        admission.sweep();
        assert_eq!((admission.users.len(), admission.held()), (1, 1));
        admission.hold(&user("ada")).unwrap();
    }
}
