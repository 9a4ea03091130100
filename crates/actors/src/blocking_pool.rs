//! Bounded use of the runtime's blocking threads by one library.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::{sync::Semaphore, task::spawn_blocking};
use vademecum_store::begin_work;

/// Maximum number of jobs of a library that run at the same time.
const MAX_RUNNING: usize = 2;

/// Maximum number of queued jobs. The calls of a user are limited before, and each creates few
/// jobs.
const MAX_QUEUE: usize = 4_096;

/// Reason why a job has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolError {
    /// The job panicked.
    Panicked,
    /// The queue already has the maximum number of jobs.
    QueueFull,
}

/// Blocking jobs of one library. They start in the order in which they were spawned.
#[derive(Debug)]
pub(crate) struct BlockingPool {
    permits: Arc<Semaphore>,
    /// The job that may wait for an archive.
    archive_permit: Arc<Semaphore>,
    load: Arc<PoolLoad>,
}

/// Jobs that are queued or running.
#[derive(Debug)]
struct PoolLoad {
    jobs: AtomicUsize,
    /// Time at which the first of the current jobs was spawned. A library that has been busy for
    /// long yields to others from the first moment of each job.
    busy_since: Mutex<Instant>,
}

impl PoolLoad {
    /// Counts a job until the slot is dropped. Returns the number of jobs before it.
    fn add_job(self: &Arc<Self>) -> (JobSlot, usize) {
        let before = self.jobs.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        (JobSlot(Arc::clone(self)), before)
    }

    fn busy_since(&self) -> Instant {
        *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Place of a job among the counted ones; given up when it is dropped.
struct JobSlot(Arc<PoolLoad>);

impl Drop for JobSlot {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for BlockingPool {
    fn default() -> Self {
        let load = PoolLoad { jobs: AtomicUsize::new(0), busy_since: Mutex::new(Instant::now()) };
        Self {
            permits: Arc::new(Semaphore::new(MAX_RUNNING)),
            archive_permit: Arc::new(Semaphore::new(1)),
            load: Arc::new(load),
        }
    }
}

impl BlockingPool {
    /// Returns the number of queued jobs.
    pub(crate) fn queue_len(&self) -> usize {
        self.load.jobs.load(Ordering::Relaxed).saturating_sub(self.worker_count())
    }

    /// Returns the number of running jobs.
    pub(crate) fn worker_count(&self) -> usize {
        MAX_RUNNING - self.permits.available_permits().min(MAX_RUNNING)
    }

    /// Runs `work` on a blocking thread. If the future is dropped while the job is queued, the job
    /// never starts.
    pub(crate) fn spawn<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, PoolError>> + 'static + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        self.spawn_after(None, work)
    }

    /// Runs `work`, which may wait for an archive. Such jobs run one after the other, so that the
    /// other thread remains for reads.
    pub(crate) fn spawn_archive_write<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, PoolError>> + 'static + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        self.spawn_after(Some(Arc::clone(&self.archive_permit)), work)
    }

    fn spawn_after<T, W>(
        &self,
        first: Option<Arc<Semaphore>>,
        work: W,
    ) -> impl Future<Output = Result<T, PoolError>> + 'static + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        let permits = Arc::clone(&self.permits);
        let (slot, ahead) = self.load.add_job();
        async move {
            if ahead >= MAX_QUEUE {
                return Err(PoolError::QueueFull);
            }
            // The semaphores are never closed.
            let first = match first {
                Some(first) => first.acquire_owned().await.ok(),
                None => None,
            };
            let permit = permits.acquire_owned().await.map_err(|_| PoolError::QueueFull)?;
            let job = move || {
                begin_work(slot.0.busy_since());
                let result = work();
                drop((permit, first, slot));
                result
            };
            spawn_blocking(job).await.map_err(|error| {
                tracing::error!(%error, "blocking job panicked");
                PoolError::Panicked
            })
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn pool_runs_bounded_number_of_jobs() {
        let pool = BlockingPool::default();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let jobs: Vec<_> = (0..50)
            .map(|number| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                actix::spawn(pool.spawn(move || {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    number
                }))
            })
            .collect();
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.await.unwrap(), Ok(number));
        }
        assert!(most.load(Ordering::SeqCst) <= MAX_RUNNING);
        assert_eq!((pool.queue_len(), pool.worker_count()), (0, 0));
    }

    #[actix::test]
    async fn short_job_does_not_wait_for_long_job() {
        let pool = BlockingPool::default();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let before = actix::spawn(pool.spawn(|| 6));
        let long = actix::spawn(pool.spawn(move || wait.recv()));
        let after = actix::spawn(pool.spawn(|| 7));
        assert_eq!((before.await.unwrap(), after.await.unwrap()), (Ok(6), Ok(7)));
        drop(done);
        assert!(long.await.unwrap().unwrap().is_err());
    }

    #[actix::test]
    async fn panicking_job_fails_only_itself() {
        let pool = BlockingPool::default();
        for _ in 0..MAX_RUNNING * 2 {
            let panicking = pool.spawn(|| panic!("on purpose"));
            assert_eq!(panicking.await, Err(PoolError::Panicked));
        }
        assert_eq!(pool.spawn(|| 7).await, Ok(7));
    }

    #[actix::test]
    async fn full_queue_rejects_jobs() {
        let pool = BlockingPool::default();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let jobs: Vec<_> = (0..=MAX_QUEUE)
            .map(|_| {
                let wait = Arc::clone(&wait);
                pool.spawn(move || wait.lock().unwrap().recv())
            })
            .collect();
        drop(done);
        let mut rejected = 0;
        for job in jobs {
            rejected += usize::from(job.await == Err(PoolError::QueueFull));
        }
        assert_eq!(rejected, 1);
        assert_eq!(pool.queue_len(), 0);
    }

    #[actix::test]
    async fn abandoned_job_leaves_the_queue() {
        let pool = BlockingPool::default();
        drop(pool.spawn(|| panic!("abandoned jobs do not run")));
        assert_eq!(pool.queue_len(), 0);
    }
}
