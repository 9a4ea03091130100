//! The queue in front of the audit log and the thread that writes it.

use std::{
    fmt, io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use vademecum_core::{
    audit::{AuditEntry, AuditLog, AuditRecorder},
    config,
};
use vademecum_store::{DataFolder, StoreError};

use super::{AuditStore, batch::AuditBatch, delivery::AuditDelivery, spool::AuditSpool};

/// Maximum number of queued entries; further entries are dropped and counted.
const QUEUE_CAPACITY: usize = 4_096;
/// Time to collect entries before they are written.
const FLUSH_INTERVAL: Duration = Duration::from_millis(250);
/// Interval between removals of old entries.
const RETENTION_INTERVAL: Duration = Duration::from_hours(1);
/// Maximum time to wait for the last entries at exit.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between attempts to queue a flush request while the queue is full.
const FLUSH_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Queue of the audit log. A thread writes the entries in batches; if the queue is full, entries are
/// dropped, counted, and noted in the log as a gap. The thread starts with the first entry.
struct AuditQueue {
    settings: config::Audit,
    data: DataFolder,
    /// `None` if the thread could not be started.
    writer: OnceLock<Option<WriterHandle>>,
    lost: Arc<AtomicU64>,
}

struct WriterHandle {
    messages: SyncSender<Message>,
    thread: Thread,
}

enum Message {
    Entry(Box<AuditEntry>),
    /// Dropped once all entries before it are written.
    Flush(SyncSender<()>),
}

impl fmt::Debug for AuditQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AuditQueue")
            .field("folder", &self.data.path())
            .finish_non_exhaustive()
    }
}

/// Opens the audit log in a data folder; it records nothing if the settings disable it.
pub fn open_audit_log(settings: &config::Audit, data: impl Into<DataFolder>) -> AuditLog {
    let queue = || -> Arc<dyn AuditRecorder> {
        Arc::new(AuditQueue {
            settings: settings.clone(),
            data: data.into(),
            writer: OnceLock::new(),
            lost: Arc::default(),
        })
    };
    AuditLog::new(settings.enabled.then(queue))
}

impl AuditRecorder for AuditQueue {
    fn record(&self, entry: AuditEntry) {
        let message = Message::Entry(Box::new(entry));
        let is_queued =
            self.writer().is_some_and(|writer| writer.messages.try_send(message).is_ok());
        if !is_queued {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn records_arguments(&self) -> bool {
        self.settings.queries
    }

    fn flush(&self) {
        if let Some(Some(writer)) = self.writer.get() {
            writer.flush();
        }
    }

    fn lost_entries(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl AuditQueue {
    /// Returns the writer, which is started by the first call.
    fn writer(&self) -> Option<&WriterHandle> {
        self.writer.get_or_init(|| self.start_writer()).as_ref()
    }

    fn start_writer(&self) -> Option<WriterHandle> {
        match self.try_start_writer() {
            Ok(handle) => Some(handle),
            Err(error) => {
                tracing::error!(%error, "audit thread could not be started");
                None
            }
        }
    }

    fn try_start_writer(&self) -> io::Result<WriterHandle> {
        let (messages, queued) = sync_channel(QUEUE_CAPACITY);
        let spooling = match (AuditSpool::of(&self.data), AuditSpool::of(&self.data)) {
            (Some(spool), Some(delivered)) => {
                Some((spool, AuditDelivery::start(delivered, &self.data, &self.settings)?))
            }
            _ => None,
        };
        let writer = LogWriter {
            store: AuditStore::new(&self.data),
            spooling,
            settings: self.settings.clone(),
            lost: Arc::clone(&self.lost),
            noted_lost: 0,
            next_removal: Instant::now(),
            is_failing: false,
        };
        let spawned =
            thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(&queued))?;
        Ok(WriterHandle { messages, thread: spawned.thread().clone() })
    }
}

impl Drop for AuditQueue {
    fn drop(&mut self) {
        if let Some(Some(writer)) = self.writer.get() {
            writer.flush();
        }
    }
}

impl WriterHandle {
    fn flush(&self) {
        let until = Instant::now() + FLUSH_TIMEOUT;
        let (sender, done) = sync_channel(0);
        let mut message = Message::Flush(sender);
        while let Err(TrySendError::Full(unsent)) = self.messages.try_send(message) {
            if Instant::now() >= until {
                return;
            }
            message = unsent;
            self.thread.unpark();
            thread::sleep(FLUSH_RETRY_INTERVAL);
        }
        self.thread.unpark();
        // Disconnects when the entries are written; entries not written in time are lost.
        let _is_done = done.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

/// State of the writer thread.
struct LogWriter {
    store: AuditStore,
    /// Place for entries on their way to the archive, if there is one, and their delivery.
    spooling: Option<(AuditSpool, AuditDelivery)>,
    settings: config::Audit,
    lost: Arc<AtomicU64>,
    /// Number of lost entries that the log notes as gaps.
    noted_lost: u64,
    next_removal: Instant,
    is_failing: bool,
}

impl LogWriter {
    /// Writes entries in batches until all senders are dropped.
    fn run(mut self, queued: &Receiver<Message>) {
        if let Some((_, delivery)) = &self.spooling {
            delivery.deliver(None);
        }
        while let Ok(first) = queued.recv() {
            if matches!(first, Message::Entry(_)) {
                // Parked, not waiting for the queue, so that senders need not wake this thread.
                thread::park_timeout(FLUSH_INTERVAL);
            }
            let (mut batch, mut waiting) = (AuditBatch::default(), Vec::new());
            for message in std::iter::once(first).chain(queued.try_iter().take(QUEUE_CAPACITY)) {
                match message {
                    Message::Entry(entry) => batch.push(*entry),
                    Message::Flush(done) => waiting.push(done),
                }
            }
            self.write(batch);
            if let Some((_, delivery)) = &self.spooling {
                waiting.drain(..).for_each(|done| delivery.deliver(Some(done)));
            }
            drop(waiting);
        }
    }

    /// Appends a batch. On its way to an archive it is kept on this disk first, because this program
    /// may be killed while it waits.
    fn append(&self, batch: &AuditBatch, remove_old: bool) -> Result<(), StoreError> {
        let Some((spool, delivery)) = &self.spooling else {
            return self.store.append(batch, &self.settings, remove_old);
        };
        match spool.keep(batch, &self.settings) {
            Ok(()) => {
                delivery.deliver(None);
                Ok(())
            }
            Err(error) => {
                tracing::warn!(?error, "entries of the audit log cannot be kept on this disk");
                self.store.append(batch, &self.settings, remove_old)
            }
        }
    }

    fn write(&mut self, mut batch: AuditBatch) {
        let calls = batch.call_count();
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > self.noted_lost {
            batch.push_gap(lost - self.noted_lost);
        }
        if batch.entries.is_empty() {
            return;
        }
        let now = Instant::now();
        let remove_old = now >= self.next_removal;
        match self.append(&batch, remove_old) {
            Ok(()) => {
                self.noted_lost = lost;
                self.is_failing = false;
                if remove_old {
                    self.next_removal = now + RETENTION_INTERVAL;
                }
            }
            Err(error) => {
                self.lost.fetch_add(calls, Ordering::Relaxed);
                if !self.is_failing {
                    tracing::error!(?error, "the audit log cannot be written; entries are lost");
                }
                self.is_failing = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{AuditFilter, AuditRow},
        *,
    };
    use vademecum_core::audit::AuditOutcome;

    fn rows(folder: &std::path::Path) -> Vec<AuditRow> {
        let mut rows = Vec::new();
        let store = AuditStore::new(folder);
        store.for_each(&AuditFilter::default(), |row| rows.push(row)).unwrap();
        rows
    }

    fn call() -> AuditEntry {
        AuditEntry::new("tools/call", "http", AuditOutcome::Ok)
    }

    #[test]
    fn entries_are_written_when_log_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let log = open_audit_log(&config::Audit::default(), folder.path());
        (0..3).for_each(|_| log.record(call()));
        drop(log);
        assert_eq!(rows(folder.path()).len(), 3);
    }

    #[test]
    fn disabled_log_creates_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let settings = config::Audit { enabled: false, ..config::Audit::default() };
        let log = open_audit_log(&settings, folder.path());
        log.record(call());
        log.flush();
        assert!(!log.is_enabled() && log.lost_gauge().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn lost_entries_are_counted_and_noted_as_gap() {
        let folder = tempfile::tempdir().unwrap();
        let log = open_audit_log(&config::Audit::default(), folder.path());
        let many = u64::try_from(3 * QUEUE_CAPACITY).unwrap();
        (0..many).for_each(|_| log.record(call()));
        log.flush();
        // The gap is noted together with the next entry.
        log.record(call());
        log.flush();
        let lost = log.lost_entries();
        assert!(lost > 0);
        let rows = rows(folder.path());
        let noted: i64 = rows.iter().filter(|row| row.method == "gap").map(|row| row.count).sum();
        assert_eq!(u64::try_from(noted).unwrap(), lost);
        let written = rows.iter().filter(|row| row.method == "tools/call").count();
        assert_eq!(u64::try_from(written).unwrap() + lost, many + 1);
    }

    #[test]
    fn unwritable_log_counts_lost_entries() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("audit.db"), "not a database").unwrap();
        let log = open_audit_log(&config::Audit::default(), folder.path());
        (0..3).for_each(|_| log.record(call()));
        log.flush();
        assert_eq!(log.lost_entries(), 3);
    }
}
