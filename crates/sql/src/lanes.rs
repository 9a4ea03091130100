//! Fair use of the connections of a profile: cheap statements do not wait for slow ones.
//!
//! The cost of a statement is unknown until it has run. Most connections form the main lane, where
//! a statement may take its whole timeout. The others form the short lane, for statements that
//! arrive while the main lane is full: each gets a time slice, and one that exceeds its slice is
//! cancelled and runs again, which is possible because reads change nothing. After three slices it
//! waits for the main lane. Users take turns: the user with the fewest running statements is next
//! (ADR 29).

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::oneshot, time};

use vademecum_core::auth::UserId;

/// Time slices of the attempts in the short lane.
const FIRST_SLICE: Duration = Duration::from_millis(50);
const SECOND_SLICE: Duration = Duration::from_millis(500);
const THIRD_SLICE: Duration = Duration::from_secs(3);

/// One connection of this many belongs to the short lane, and at least one of two.
const CONNECTIONS_PER_SHORT: usize = 4;

/// Sizes of the lanes for the statements on `SQLite` files of all profiles.
const SQLITE_MAIN: usize = 3;
const SQLITE_SHORT: usize = 3;

/// The connections of a profile, divided into two lanes.
#[derive(Clone, Debug)]
pub(crate) struct StatementLanes {
    shared: Arc<Mutex<LaneState>>,
}

/// Attempt to run a statement; it decides which lanes the statement may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attempt {
    /// Main lane, or a first slice in the short lane.
    First,
    /// Main lane, or a longer slice in the short lane.
    Second,
    /// Main lane, or an even longer slice in the short lane: the server may be so busy that cheap
    /// statements take long.
    Third,
    /// Main lane only: the statement is slow, or cannot be repeated.
    MainOnly,
}

/// Right to use one connection. Dropping it lets the next statement run.
#[derive(Debug)]
pub(crate) struct LanePermit {
    lane: Lane,
    user: UserId,
    shared: Arc<Mutex<LaneState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Main,
    Short(Attempt),
}

#[derive(Debug)]
struct LaneState {
    free_main: usize,
    free_short: usize,
    /// Number of attempts after the first that may still begin. At most all but one of the short lane
    /// run at a time, so that first attempts never wait for a long slice.
    free_long_slices: usize,
    /// Number of running statements by user.
    running: HashMap<UserId, usize>,
    /// Waiting statements, in order of arrival.
    waiting: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    user: UserId,
    attempt: Attempt,
    /// When the statement arrived, before its first attempt.
    arrival: Instant,
    grant: oneshot::Sender<LanePermit>,
}

impl Attempt {
    /// Returns the attempt after this one.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::Third,
            Self::Third | Self::MainOnly => Self::MainOnly,
        }
    }
}

impl StatementLanes {
    /// Divides this number of connections. A single connection is the main lane.
    pub(crate) fn new(connections: usize) -> Self {
        let short = if connections < 2 { 0 } else { (connections / CONNECTIONS_PER_SHORT).max(1) };
        Self::with_sizes(connections - short, short)
    }

    /// Creates lanes for the statements on `SQLite` files of all profiles. They share the processor
    /// and the memory of this machine, so that few may be slow.
    pub(crate) fn for_sqlite() -> Self {
        Self::with_sizes(SQLITE_MAIN, SQLITE_SHORT)
    }

    fn with_sizes(main: usize, short: usize) -> Self {
        let state = LaneState {
            free_main: main,
            free_short: short,
            free_long_slices: short.saturating_sub(1),
            running: HashMap::new(),
            waiting: Vec::new(),
        };
        Self { shared: Arc::new(Mutex::new(state)) }
    }

    /// Waits until `user` may run a statement, which arrived at a time. Returns `None` after
    /// `timeout`.
    pub(crate) async fn acquire(
        &self,
        user: &UserId,
        attempt: Attempt,
        arrival: Instant,
        timeout: Duration,
    ) -> Option<LanePermit> {
        let (grant, granted) = oneshot::channel();
        lock(&self.shared).waiting.push(Waiter { user: user.clone(), attempt, arrival, grant });
        grant_permits(&self.shared);
        time::timeout(timeout, granted).await.ok()?.ok()
    }
}

impl LanePermit {
    /// Returns the time slice of the statement; `None` if it may take its whole timeout.
    pub(crate) fn time_slice(&self) -> Option<Duration> {
        match self.lane {
            Lane::Main | Lane::Short(Attempt::MainOnly) => None,
            Lane::Short(Attempt::First) => Some(FIRST_SLICE),
            Lane::Short(Attempt::Second) => Some(SECOND_SLICE),
            Lane::Short(Attempt::Third) => Some(THIRD_SLICE),
        }
    }
}

impl Drop for LanePermit {
    fn drop(&mut self) {
        lock(&self.shared).release(self.lane, &self.user);
        grant_permits(&self.shared);
    }
}

impl LaneState {
    /// Takes the next statement that can run, and its lane. Statements whose caller stopped waiting
    /// are removed.
    fn take_next(&mut self) -> Option<(Waiter, Lane)> {
        self.waiting.retain(|waiter| !waiter.grant.is_closed());
        let (at, lane) = self.next_in_main_lane().or_else(|| self.next_in_short_lane())?;
        let waiter = self.waiting.remove(at);
        match lane {
            Lane::Main => self.free_main -= 1,
            Lane::Short(attempt) => {
                self.free_short -= 1;
                self.free_long_slices -= usize::from(attempt != Attempt::First);
            }
        }
        *self.running.entry(waiter.user.clone()).or_default() += 1;
        Some((waiter, lane))
    }

    /// Returns the position of the oldest statement of the user with the fewest running ones.
    fn next_in_main_lane(&self) -> Option<(usize, Lane)> {
        let waiting = self.waiting.iter().enumerate().filter(|_| self.free_main > 0);
        let next =
            waiting.min_by_key(|(at, waiter)| (self.running_of(&waiter.user), waiter.arrival, *at));
        next.map(|(at, _)| (at, Lane::Main))
    }

    /// Returns the position of a first attempt, or else of a later one: of the statement that arrived
    /// last, because the older ones are more likely to be slow, of the user with the fewest running statements.
    fn next_in_short_lane(&self) -> Option<(usize, Lane)> {
        let may_run = |attempt: Attempt| match attempt {
            Attempt::First => self.free_short > 0,
            Attempt::Second | Attempt::Third => self.free_short > 0 && self.free_long_slices > 0,
            Attempt::MainOnly => false,
        };
        let waiting = self.waiting.iter().enumerate();
        let next =
            waiting.filter(|(_, waiter)| may_run(waiter.attempt)).min_by_key(|(at, waiter)| {
                (waiter.attempt, self.running_of(&waiter.user), Reverse((waiter.arrival, *at)))
            });
        next.map(|(at, waiter)| (at, Lane::Short(waiter.attempt)))
    }

    fn running_of(&self, user: &UserId) -> usize {
        self.running.get(user).copied().unwrap_or_default()
    }

    fn release(&mut self, lane: Lane, user: &UserId) {
        match lane {
            Lane::Main => self.free_main += 1,
            Lane::Short(attempt) => {
                self.free_short += 1;
                self.free_long_slices += usize::from(attempt != Attempt::First);
            }
        }
        if let Some(count) = self.running.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(user);
            }
        }
    }
}

/// Grants permits while statements can run.
fn grant_permits(shared: &Arc<Mutex<LaneState>>) {
    loop {
        // The lock is released before the permit is sent: a permit that cannot be delivered is
        // dropped, which locks again.
        let next = lock(shared).take_next();
        let Some((Waiter { user, attempt: _, arrival: _, grant }, lane)) = next else { return };
        drop(grant.send(LanePermit { lane, user, shared: Arc::clone(shared) }));
    }
}

/// Locks the state, ignoring poisoning: no code path leaves it half-changed.
fn lock(shared: &Mutex<LaneState>) -> MutexGuard<'_, LaneState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    /// Polls once: a permit, or `None` if the statement waits.
    fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
        future.now_or_never()
    }

    /// Fills the main lane with statements of `ada`.
    async fn fill_main_lane(lanes: &StatementLanes, count: usize) -> Vec<LanePermit> {
        let ada = user("ada");
        let mut permits = Vec::new();
        for _ in 0..count {
            permits.push(lanes.acquire(&ada, Attempt::First, Instant::now(), LONG).await.unwrap());
        }
        assert!(permits.iter().all(|permit| permit.time_slice().is_none()));
        permits
    }

    #[tokio::test]
    async fn full_main_lane_leaves_short_lane_free() {
        for (connections, main, short) in [(1, 1, 0), (2, 1, 1), (4, 3, 1), (8, 6, 2)] {
            let lanes = StatementLanes::new(connections);
            let _main = fill_main_lane(&lanes, main).await;
            let mut sliced = Vec::new();
            for _ in 0..short {
                let permit = lanes
                    .acquire(&user("bob"), Attempt::First, Instant::now(), LONG)
                    .await
                    .unwrap();
                assert_eq!(permit.time_slice(), Some(FIRST_SLICE));
                sliced.push(permit);
            }
            let soon = Duration::from_millis(1);
            assert!(
                lanes.acquire(&user("bob"), Attempt::First, Instant::now(), soon).await.is_none()
            );
        }
    }

    #[tokio::test]
    async fn second_attempts_leave_one_short_connection_free() {
        let lanes = StatementLanes::new(8);
        let _main = fill_main_lane(&lanes, 6).await;
        let ada = user("ada");
        let second = lanes.acquire(&ada, Attempt::Second, Instant::now(), LONG).await.unwrap();
        assert_eq!(second.time_slice(), Some(SECOND_SLICE));
        let mut other = Box::pin(lanes.acquire(&ada, Attempt::Second, Instant::now(), LONG));
        let mut slow = Box::pin(lanes.acquire(&ada, Attempt::MainOnly, Instant::now(), LONG));
        assert!(poll_once(&mut other).is_none() && poll_once(&mut slow).is_none());
        let first = lanes.acquire(&ada, Attempt::First, Instant::now(), LONG).await.unwrap();
        assert_eq!(first.time_slice(), Some(FIRST_SLICE));
        drop(first);
        assert!(poll_once(&mut other).is_none() && poll_once(&mut slow).is_none());
        drop(second);
        assert!(poll_once(&mut other).is_some() && poll_once(&mut slow).is_none());
    }

    #[tokio::test]
    async fn user_with_fewest_statements_runs_next() {
        let lanes = StatementLanes::new(4);
        let mut main = fill_main_lane(&lanes, 3).await;
        let (ada, bob) = (user("ada"), user("bob"));
        let mut waiting: Vec<_> = (0..3)
            .map(|_| Box::pin(lanes.acquire(&ada, Attempt::MainOnly, Instant::now(), LONG)))
            .collect();
        let mut last = Box::pin(lanes.acquire(&bob, Attempt::MainOnly, Instant::now(), LONG));
        assert!(waiting.iter_mut().chain([&mut last]).all(|it| poll_once(it).is_none()));
        drop(main.pop());
        let of_bob = poll_once(&mut last).unwrap().unwrap();
        drop(main.pop());
        assert!(poll_once(&mut waiting[0]).is_some(), "the oldest of the same user is next");
        drop(of_bob);
    }

    #[tokio::test]
    async fn newest_first_attempt_gets_next_slice() {
        let lanes = StatementLanes::new(2);
        let _main = fill_main_lane(&lanes, 1).await;
        let ada = user("ada");
        let short = lanes.acquire(&ada, Attempt::First, Instant::now(), LONG).await.unwrap();
        let mut older = Box::pin(lanes.acquire(&ada, Attempt::First, Instant::now(), LONG));
        let mut newer = Box::pin(lanes.acquire(&ada, Attempt::First, Instant::now(), LONG));
        assert!(poll_once(&mut older).is_none() && poll_once(&mut newer).is_none());
        drop(short);
        assert!(poll_once(&mut older).is_none() && poll_once(&mut newer).is_some());
    }

    #[tokio::test]
    async fn permit_of_lost_caller_is_passed_on() {
        let lanes = StatementLanes::new(1);
        let mut main = fill_main_lane(&lanes, 1).await;
        let ada = user("ada");
        let mut lost = Box::pin(lanes.acquire(&ada, Attempt::First, Instant::now(), LONG));
        let mut kept = Box::pin(lanes.acquire(&ada, Attempt::First, Instant::now(), LONG));
        assert!(poll_once(&mut lost).is_none() && poll_once(&mut kept).is_none());
        // The permit is sent to the first caller, who stops waiting before taking it.
        main.clear();
        drop(lost);
        assert!(poll_once(&mut kept).is_some());
    }

    #[tokio::test]
    async fn statement_that_arrived_last_precedes_at_every_attempt() {
        let lanes = StatementLanes::new(8);
        let _main = fill_main_lane(&lanes, 6).await;
        let (ada, now) = (user("ada"), Instant::now());
        let second = lanes.acquire(&ada, Attempt::Second, now, LONG).await.unwrap();
        let cheap = now + Duration::from_secs(1);
        let mut newer = Box::pin(lanes.acquire(&ada, Attempt::Second, cheap, LONG));
        assert!(poll_once(&mut newer).is_none());
        let mut older = Box::pin(lanes.acquire(&ada, Attempt::Second, now, LONG));
        assert!(poll_once(&mut older).is_none());
        drop(second);
        assert!(poll_once(&mut older).is_none() && poll_once(&mut newer).is_some());
    }
}
