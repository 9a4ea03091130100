//! Where the blocking work of one library is done: by few threads, in the
//! order in which it comes.
//!
//! Five sources that are asked at once would wake five threads on two cores;
//! here the second half of the work is done by whoever has finished the first.
//! It also bounds what one user can occupy.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use vademecum_kit::store::begin_turn;

/// Threads that work for one library at the same time. The second comes when
/// the first has long been at one piece of work: for five short ones waking it
/// costs more than it helps.
const HANDS: usize = 2;
/// How long is long.
const LONG: Duration = Duration::from_micros(500);

/// Answers are handed over together while there is more to do, but never later
/// than this: waking the event loop for each costs more than a rare query.
const LATEST: Duration = Duration::from_micros(500);

/// Pieces of work that wait at most. The calls of a user are counted before they
/// come here, and none makes more than a few; but what nobody waits for any more is
/// only passed over when its turn comes.
const MOST: usize = 4_096;

/// Hands over an answer.
type Answer = Box<dyn FnOnce() + Send>;
type Job = Box<dyn FnOnce() -> Answer + Send>;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The work panicked.
    BrokenOff,
    /// Too much work was waiting already.
    Full,
}

/// The work of one library that is waiting, and how many are at it.
#[derive(Default)]
pub(crate) struct Desk(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// What is done and not handed over yet.
    done: Vec<Answer>,
    hands: usize,
    /// Since when somebody has been at work, without a break.
    busy: Option<Instant>,
    /// When a piece of work was taken last.
    taken: Option<Instant>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    /// How many pieces of work are waiting.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Does `work` beside the event loop.
    pub(crate) fn give<T, W>(
        self: &Arc<Self>,
        work: W,
    ) -> impl Future<Output = Result<T, Undone>> + 'static + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        let taken = self.put(Box::new(move || {
            let done = work();
            // Nobody waits any more when the deadline has passed.
            Box::new(move || drop(sender.send(done)))
        }));
        let desk = Arc::clone(self);
        async move {
            taken?;
            let mut patience = LONG;
            loop {
                if let Ok(done) = tokio::time::timeout(patience, &mut receiver).await {
                    return done.map_err(|_| Undone::BrokenOff);
                }
                // Nobody else may come by to see that this waits for long work,
                // or is done and waits to be handed over.
                desk.hand_over(None);
                desk.help(&mut desk.lock());
                patience *= 2;
            }
        }
    }

    /// How many hands are at work.
    pub(crate) fn working(&self) -> usize {
        self.lock().hands
    }

    fn put(self: &Arc<Self>, job: Job) -> Result<(), Undone> {
        let mut state = self.lock();
        if state.waiting.len() >= MOST {
            return Err(Undone::Full);
        }
        state.waiting.push_back(job);
        self.help(&mut state);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets another hand help if there is none, or if the work is long.
    fn help(self: &Arc<Self>, state: &mut State) {
        let long = state.taken.is_some_and(|taken| taken.elapsed() > LONG);
        if !state.waiting.is_empty() && (state.hands == 0 || (long && state.hands < HANDS)) {
            state.hands += 1;
            state.taken = Some(Instant::now());
            let desk = Arc::clone(self);
            tokio::task::spawn_blocking(move || desk.work());
        }
    }

    fn work(self: Arc<Self>) {
        let mut handed_over = Instant::now();
        let mut done = None;
        while let Some(job) = self.next(done.take()) {
            done = catch_unwind(AssertUnwindSafe(job)).ok();
            if done.is_none() {
                tracing::error!("a piece of work broke off");
            }
            if handed_over.elapsed() > LATEST {
                self.hand_over(done.take());
                handed_over = Instant::now();
            }
        }
        self.hand_over(None);
    }

    /// Hands over what is done.
    fn hand_over(&self, last: Option<Answer>) {
        let done = std::mem::take(&mut self.lock().done);
        done.into_iter().chain(last).for_each(|answer| answer());
    }

    /// Puts away what is done, and takes the next job; without one, this thread
    /// is done.
    fn next(self: &Arc<Self>, done: Option<Answer>) -> Option<Job> {
        let mut state = self.lock();
        state.done.extend(done);
        let job = state.waiting.pop_front();
        if job.is_none() {
            state.hands -= 1;
            if state.hands == 0 {
                state.busy = None;
            }
            return None;
        }
        // After long work the rest is likely to be long as well.
        self.help(&mut state);
        let now = Instant::now();
        state.taken = Some(now);
        begin_turn(*state.busy.get_or_insert(now));
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn all_work_is_done_by_a_bounded_number_of_threads() {
        let desk = Arc::new(Desk::default());
        let answers: Vec<_> = (0..50)
            .map(|number| desk.give(move || (number, std::thread::current().id())))
            .collect();
        let mut threads = std::collections::HashSet::new();
        for (number, answer) in answers.into_iter().enumerate() {
            let (done, thread) = answer.await.unwrap();
            assert_eq!(done, number);
            threads.insert(thread);
        }
        assert!(threads.len() <= HANDS);
        assert_eq!(desk.waiting(), 0);
    }

    #[actix::test]
    async fn short_work_does_not_wait_for_long_work() {
        let desk = Arc::new(Desk::default());
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let before = desk.give(|| 6);
        let long = desk.give(move || wait.recv());
        let after = desk.give(|| 7);
        assert_eq!((before.await, after.await), (Ok(6), Ok(7)));
        drop(done);
        assert!(long.await.unwrap().is_err());
    }

    #[actix::test]
    async fn a_desk_is_busy_until_nothing_is_left_to_do() {
        let desk = Arc::new(Desk::default());
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let long = desk.give(move || wait.recv());
        let after = {
            let desk = Arc::clone(&desk);
            Arc::clone(&desk).give(move || desk.lock().busy).await
        };
        assert!(after.unwrap().is_some_and(|since| since.elapsed() >= LONG));
        drop(done);
        assert!(long.await.unwrap().is_err());
        // The thread looks once more for work before it is done.
        while desk.working() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(desk.lock().busy.is_none());
    }

    #[actix::test]
    async fn work_that_breaks_off_costs_itself_only() {
        let desk = Arc::new(Desk::default());
        for _ in 0..HANDS * 2 {
            let broken = desk.give(|| panic!("on purpose"));
            assert_eq!(broken.await, Err(Undone::BrokenOff));
        }
        assert_eq!(desk.give(|| 7).await, Ok(7));
    }

    #[actix::test]
    async fn no_more_work_waits_than_there_is_room_for() {
        let desk = Arc::new(Desk::default());
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let given: Vec<_> = (0..=HANDS + MOST)
            .map(|_| {
                let wait = Arc::clone(&wait);
                desk.give(move || wait.lock().unwrap().recv())
            })
            .collect();
        assert!(desk.waiting() <= MOST);
        drop(done);
        let mut refused = 0;
        for answer in given {
            refused += usize::from(answer.await == Err(Undone::Full));
        }
        // As many as there are hands may have been begun by then.
        assert!((1..=HANDS + 1).contains(&refused), "{refused}");
    }
}
