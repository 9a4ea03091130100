//! Bounded FIFO pool for the blocking work of one library.
//!
//! With five concurrent sources, a thread pool would wake five threads on two cores. Here few
//! threads process the queue in order, which also limits what one user can occupy.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use vademecum_kit::store::begin_work;

/// Maximum number of worker threads per library. The second starts only when the first has been
/// busy with one job for long, because waking a thread costs more than a few short jobs.
const MAX_WORKERS: usize = 2;
/// Duration after which a job counts as long.
const LONG_JOB_THRESHOLD: Duration = Duration::from_micros(500);

/// Maximum delay before results are delivered. They are delivered in batches, because waking the
/// event loop costs more than a query of a rare word.
const FLUSH_INTERVAL: Duration = Duration::from_micros(500);

/// Maximum number of queued jobs. The calls of a user are limited before, and each creates few
/// jobs; but an abandoned job stays queued until its turn.
const MAX_QUEUE: usize = 4_096;

/// Delivers the result of a job.
type JobResult = Box<dyn FnOnce() + Send>;
type Job = Box<dyn FnOnce() -> JobResult + Send>;

/// Reason why a job has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolError {
    /// The job panicked.
    Panicked,
    /// The queue is full.
    QueueFull,
}

/// Blocking pool of one library.
#[derive(Default)]
pub(crate) struct BlockingPool(Mutex<PoolState>);

#[derive(Default)]
struct PoolState {
    queue: VecDeque<Job>,
    /// Results not delivered yet.
    results: Vec<JobResult>,
    workers: usize,
    /// Time since when a worker has been busy without a break.
    busy_since: Option<Instant>,
    /// Start of the last job.
    last_started: Option<Instant>,
}

impl std::fmt::Debug for BlockingPool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl BlockingPool {
    /// Returns the number of queued jobs.
    pub(crate) fn queue_len(&self) -> usize {
        self.lock().queue.len()
    }

    /// Runs `work` on the pool.
    pub(crate) fn spawn<T, W>(
        self: &Arc<Self>,
        work: W,
    ) -> impl Future<Output = Result<T, PoolError>> + 'static + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        let taken = self.enqueue(Box::new(move || {
            let done = work();
            // The caller may have stopped waiting at its deadline.
            Box::new(move || drop(sender.send(done)))
        }));
        let desk = Arc::clone(self);
        async move {
            taken?;
            let mut patience = LONG_JOB_THRESHOLD;
            loop {
                if let Ok(done) = tokio::time::timeout(patience, &mut receiver).await {
                    return done.map_err(|_| PoolError::Panicked);
                }
                // This caller may be the only one to notice that a job is stuck behind a long one,
                // or that its result is not delivered yet.
                desk.flush_results(None);
                desk.add_worker(&mut desk.lock());
                patience *= 2;
            }
        }
    }

    /// Returns the number of running workers.
    pub(crate) fn worker_count(&self) -> usize {
        self.lock().workers
    }

    fn enqueue(self: &Arc<Self>, job: Job) -> Result<(), PoolError> {
        let mut state = self.lock();
        if state.queue.len() >= MAX_QUEUE {
            return Err(PoolError::QueueFull);
        }
        state.queue.push_back(job);
        self.add_worker(&mut state);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a worker if there is none, or another one if the current job takes long.
    fn add_worker(self: &Arc<Self>, state: &mut PoolState) {
        let long = state.last_started.is_some_and(|taken| taken.elapsed() > LONG_JOB_THRESHOLD);
        if !state.queue.is_empty() && (state.workers == 0 || (long && state.workers < MAX_WORKERS))
        {
            state.workers += 1;
            state.last_started = Some(Instant::now());
            let desk = Arc::clone(self);
            tokio::task::spawn_blocking(move || desk.run_worker());
        }
    }

    fn run_worker(self: Arc<Self>) {
        let mut handed_over = Instant::now();
        let mut done = None;
        while let Some(job) = self.next_job(done.take()) {
            done = catch_unwind(AssertUnwindSafe(job)).ok();
            if done.is_none() {
                tracing::error!("blocking job panicked");
            }
            if handed_over.elapsed() > FLUSH_INTERVAL {
                self.flush_results(done.take());
                handed_over = Instant::now();
            }
        }
        self.flush_results(None);
    }

    /// Delivers all results.
    fn flush_results(&self, last: Option<JobResult>) {
        let done = std::mem::take(&mut self.lock().results);
        done.into_iter().chain(last).for_each(|answer| answer());
    }

    /// Stores the last result and returns the next job; `None` ends the worker.
    fn next_job(self: &Arc<Self>, done: Option<JobResult>) -> Option<Job> {
        let mut state = self.lock();
        state.results.extend(done);
        let job = state.queue.pop_front();
        if job.is_none() {
            state.workers -= 1;
            if state.workers == 0 {
                state.busy_since = None;
            }
            return None;
        }
        // After a long job, the next ones are likely to be long as well.
        self.add_worker(&mut state);
        let now = Instant::now();
        state.last_started = Some(now);
        begin_work(*state.busy_since.get_or_insert(now));
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn pool_uses_bounded_number_of_threads() {
        let desk = Arc::new(BlockingPool::default());
        let answers: Vec<_> = (0..50)
            .map(|number| desk.spawn(move || (number, std::thread::current().id())))
            .collect();
        let mut threads = std::collections::HashSet::new();
        for (number, answer) in answers.into_iter().enumerate() {
            let (done, thread) = answer.await.unwrap();
            assert_eq!(done, number);
            threads.insert(thread);
        }
        assert!(threads.len() <= MAX_WORKERS);
        assert_eq!(desk.queue_len(), 0);
    }

    #[actix::test]
    async fn short_job_does_not_wait_for_long_job() {
        let desk = Arc::new(BlockingPool::default());
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let before = desk.spawn(|| 6);
        let long = desk.spawn(move || wait.recv());
        let after = desk.spawn(|| 7);
        assert_eq!((before.await, after.await), (Ok(6), Ok(7)));
        drop(done);
        assert!(long.await.unwrap().is_err());
    }

    #[actix::test]
    async fn pool_is_busy_until_queue_is_empty() {
        let desk = Arc::new(BlockingPool::default());
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let long = desk.spawn(move || wait.recv());
        let after = {
            let desk = Arc::clone(&desk);
            Arc::clone(&desk).spawn(move || desk.lock().busy_since).await
        };
        assert!(after.unwrap().is_some_and(|since| since.elapsed() >= LONG_JOB_THRESHOLD));
        drop(done);
        assert!(long.await.unwrap().is_err());
        // The worker checks the queue once more before it ends.
        while desk.worker_count() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(desk.lock().busy_since.is_none());
    }

    #[actix::test]
    async fn panicking_job_fails_only_itself() {
        let desk = Arc::new(BlockingPool::default());
        for _ in 0..MAX_WORKERS * 2 {
            let broken = desk.spawn(|| panic!("on purpose"));
            assert_eq!(broken.await, Err(PoolError::Panicked));
        }
        assert_eq!(desk.spawn(|| 7).await, Ok(7));
    }

    #[actix::test]
    async fn full_queue_rejects_jobs() {
        let desk = Arc::new(BlockingPool::default());
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let given: Vec<_> = (0..=MAX_WORKERS + MAX_QUEUE)
            .map(|_| {
                let wait = Arc::clone(&wait);
                desk.spawn(move || wait.lock().unwrap().recv())
            })
            .collect();
        assert!(desk.queue_len() <= MAX_QUEUE);
        drop(done);
        let mut refused = 0;
        for answer in given {
            refused += usize::from(answer.await == Err(PoolError::QueueFull));
        }
        // Up to as many jobs as there are workers may have started by then.
        assert!((1..=MAX_WORKERS + 1).contains(&refused), "{refused}");
    }
}
