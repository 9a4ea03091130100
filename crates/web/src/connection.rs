//! Connection wrapper that enforces write and idle timeouts, counts the bytes the peer has accepted,
//! and closes an idle connection that makes room for another one.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::{Instant, Sleep, sleep_until},
};
use vademecum_accounts::CallerAccount;

use super::connection_limits::{ConnectionActivity, ConnectionSlot};

/// Maximum number of bytes sent to a client but not yet accepted by it, before senders wait.
const MAX_UNSENT_BYTES: u64 = 256 * 1_024;

/// Times after which a connection is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionTimeouts {
    /// Maximum time that a write may be blocked.
    pub(crate) write: Duration,
    /// Maximum time without bytes in either direction.
    pub(crate) idle: Duration,
}

/// Shared count of open connections.
#[derive(Clone, Debug, Default)]
pub struct ConnectionCount(Arc<AtomicUsize>);

impl ConnectionCount {
    /// Returns the number of open connections.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Connection that fails with `TimedOut` when a timeout expires, and with `ConnectionAborted` when it
/// has to make room.
pub(crate) struct Connection<S> {
    stream: S,
    timeouts: ConnectionTimeouts,
    /// Time of the last read or write.
    last_activity: Instant,
    /// Time since when writes are blocked.
    blocked_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    write_progress: Arc<WriteProgress>,
    connections: ConnectionCount,
    account: CallerAccount,
    slot: ConnectionSlot,
}

impl<S> Connection<S> {
    /// Wraps a stream that has just been opened.
    pub(crate) fn new(
        stream: S,
        timeout: ConnectionTimeouts,
        connections: ConnectionCount,
        slot: ConnectionSlot,
    ) -> Self {
        connections.0.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        Self {
            stream,
            timeouts: timeout,
            last_activity: now,
            blocked_since: None,
            timer: Box::pin(sleep_until(now + timeout.idle)),
            write_progress: Arc::default(),
            connections,
            account: CallerAccount::Unknown,
            slot,
        }
    }

    /// Sets the account that opened this connection.
    pub(crate) fn with_account(mut self, account: CallerAccount) -> Self {
        self.account = account;
        self
    }

    /// Returns the account that opened this connection.
    pub(crate) fn account(&self) -> CallerAccount {
        self.account
    }

    /// Returns the activity of this connection, for its requests.
    pub(crate) fn activity(&self) -> Arc<ConnectionActivity> {
        self.slot.activity()
    }

    /// Returns the write progress, by which senders of messages wait while much is unsent.
    pub(crate) fn outflow(&self) -> Arc<WriteProgress> {
        Arc::clone(&self.write_progress)
    }

    /// Fails if the connection has to make room or a timeout has expired. Otherwise registers
    /// wake-ups for both.
    fn check_timeouts(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.slot.poll_closed(cx.waker()) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        loop {
            let idle = self.last_activity + self.timeouts.idle;
            let blocked = self.blocked_since.map(|since| since + self.timeouts.write);
            let end = blocked.map_or(idle, |blocked| blocked.min(idle));
            if Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // Most deadlines move before they are reached, so the timer is reset only after it has
            // fired or when the deadline moves closer.
            if self.timer.is_elapsed() || self.timer.deadline() > end {
                self.timer.as_mut().reset(end);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
        }
    }

    fn record_activity(&mut self) {
        self.last_activity = Instant::now();
        self.slot.record_use(self.last_activity);
    }

    /// Records the result of a write.
    fn record_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(count)) => {
                self.record_activity();
                if self.blocked_since.take().is_some() {
                    self.slot.set_blocked(false);
                }
                self.write_progress.add_accepted(count);
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.blocked_since.get_or_insert_with(Instant::now);
                self.slot.set_blocked(true);
                self.check_timeouts(cx)?;
                Poll::Pending
            }
        }
    }
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        self.connections.0.fetch_sub(1, Ordering::Relaxed);
        self.write_progress.mark_closed();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_pending() {
            self.check_timeouts(cx)?;
            return Poll::Pending;
        }
        ready!(read)?;
        self.record_activity();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.record_write(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Write progress of a connection, for senders of messages. It bounds unsent data in bytes, not
/// only in messages.
#[derive(Debug, Default)]
pub(crate) struct WriteProgress {
    accepted_bytes: AtomicU64,
    is_closed: AtomicBool,
    changed: Notify,
}

impl WriteProgress {
    /// Records that the client has accepted bytes.
    pub(crate) fn add_accepted(&self, count: usize) {
        self.accepted_bytes.fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        self.changed.notify_one();
    }

    fn mark_closed(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Returns the number of bytes that the client has not accepted, of `sent` by one sender.
    pub(crate) fn unsent_bytes(&self, sent: u64) -> u64 {
        if self.is_closed.load(Ordering::Relaxed) {
            return 0;
        }
        sent.saturating_sub(self.accepted_bytes.load(Ordering::Relaxed))
    }

    /// Waits until the client has accepted more bytes, or the connection is closed.
    pub(crate) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }

    /// Waits until fewer than [`MAX_UNSENT_BYTES`] of one sender's data are unsent, or the
    /// connection is closed. `sent` counts the bytes of this sender. It is raised to the
    /// connection's total once everything was accepted, because other bytes are sent as well.
    pub(crate) async fn wait_for_room(&self, sent: &mut u64) {
        loop {
            let taken = self.accepted_bytes.load(Ordering::Relaxed);
            *sent = taken.max(*sent);
            if *sent - taken < MAX_UNSENT_BYTES || self.is_closed.load(Ordering::Relaxed) {
                return;
            }
            self.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use vademecum_core::config::Server;

    use super::*;
    use crate::connection_limits::ConnectionLimiter;

    const LONG: Duration = Duration::from_hours(1);
    const SHORT: Duration = Duration::from_millis(1);

    async fn open_slot() -> ConnectionSlot {
        ConnectionLimiter::new(&Server::default(), &[]).open(None).await.unwrap()
    }

    #[actix::test]
    async fn blocked_connection_times_out() {
        let (stream, _other) = duplex(10);
        let connections = ConnectionCount::default();
        let timeout = ConnectionTimeouts { write: SHORT, idle: LONG };
        let slot = open_slot().await;
        let mut connection = Connection::new(stream, timeout, connections.clone(), slot);
        assert_eq!(connections.count(), 1);
        connection.write_all(b"0123456789").await.unwrap();
        let error = connection.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(connection);
        assert_eq!(connections.count(), 0);
    }

    #[actix::test]
    async fn idle_connection_times_out() {
        let (stream, mut other) = duplex(10);
        let timeout = ConnectionTimeouts { write: LONG, idle: SHORT };
        let (count, slot) = (ConnectionCount::default(), open_slot().await);
        let mut connection = Connection::new(stream, timeout, count, slot);
        other.write_all(b"7").await.unwrap();
        assert_eq!(connection.read_u8().await.unwrap(), b'7');
        let error = connection.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[actix::test]
    async fn write_progress_has_room_after_bytes_accepted() {
        use futures_util::FutureExt as _;

        let outflow = WriteProgress::default();
        let mut sent = 0;
        outflow.wait_for_room(&mut sent).await;
        sent += MAX_UNSENT_BYTES + 7;
        assert!(outflow.wait_for_room(&mut sent).now_or_never().is_none());
        outflow.add_accepted(8);
        outflow.wait_for_room(&mut sent).await;
        // More bytes were accepted than this sender sent; they do not count against it.
        outflow.add_accepted(1 << 20);
        outflow.wait_for_room(&mut sent).await;
        assert_eq!(sent, (1 << 20) + 8);
        sent += MAX_UNSENT_BYTES;
        outflow.mark_closed();
        outflow.wait_for_room(&mut sent).await;
    }
}
