//! The thread that moves kept entries to the log in the archive. It may wait for the archive, which
//! must not hold up the thread that keeps them.

use std::{
    io, iter,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel},
    thread,
    time::{Duration, Instant},
};

use vademecum_core::config;
use vademecum_store::DataFolder;

use super::{AuditStore, spool::AuditSpool};

/// Interval between attempts to deliver kept entries while there are no others.
const DELIVERY_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between removals of old entries.
const RETENTION_INTERVAL: Duration = Duration::from_hours(1);

/// Handle of the thread, which ends when the handle is dropped.
pub(super) struct AuditDelivery {
    requests: Sender<Option<SyncSender<()>>>,
}

/// State of the thread.
struct Delivery {
    spool: AuditSpool,
    log: AuditStore,
    data: DataFolder,
    settings: config::Audit,
    next_removal: Instant,
    is_failing: bool,
}

impl AuditDelivery {
    /// Starts the thread. It delivers what a program before has kept.
    pub(super) fn start(
        spool: AuditSpool,
        data: &DataFolder,
        settings: &config::Audit,
    ) -> io::Result<Self> {
        let (requests, received) = channel();
        let delivery = Delivery {
            spool,
            log: AuditStore::new(data),
            data: data.clone(),
            settings: settings.clone(),
            next_removal: Instant::now(),
            is_failing: false,
        };
        let thread = thread::Builder::new().name("audit delivery".to_owned());
        thread.spawn(move || delivery.run(&received))?;
        Ok(Self { requests })
    }

    /// Has the thread deliver the kept entries. `done` is dropped after the attempt.
    pub(super) fn deliver(&self, done: Option<SyncSender<()>>) {
        // Without the thread, the next program delivers them.
        drop(self.requests.send(done));
    }
}

impl Delivery {
    fn run(mut self, requests: &Receiver<Option<SyncSender<()>>>) {
        loop {
            let first = match requests.recv_timeout(DELIVERY_INTERVAL) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let waiting: Vec<_> = iter::once(first).chain(requests.try_iter()).flatten().collect();
            self.deliver();
            drop(waiting);
        }
    }

    /// Delivers the kept entries, unless the archive is lost.
    fn deliver(&mut self) {
        if self.data.archive().is_none_or(|archive| archive.status().is_lost()) {
            return;
        }
        let remove_old = Instant::now() >= self.next_removal;
        match self.spool.deliver(&self.log, &self.settings, remove_old) {
            Ok(has_delivered) => {
                self.is_failing = false;
                if has_delivered && remove_old {
                    self.next_removal = Instant::now() + RETENTION_INTERVAL;
                }
            }
            Err(error) => {
                if !self.is_failing {
                    tracing::warn!(
                        ?error,
                        "entries of the audit log are kept here until the archive takes them"
                    );
                }
                self.is_failing = true;
            }
        }
    }
}
