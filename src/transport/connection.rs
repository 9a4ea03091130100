//! One connection, which is cut off when the other side takes nothing, or nothing
//! moves, for too long; and how much of what goes out it has taken.

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

/// Bytes that wait for a client before more are held back.
const MOST_WAITING: u64 = 256 * 1_024;

/// How long a connection may stand still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// While something waits that the other side does not take.
    pub(crate) blocked: Duration,
    /// While nothing goes in or out.
    pub(crate) idle: Duration,
}

/// How many connections there are.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<AtomicUsize>);

impl Connections {
    /// How many there are now.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// One connection.
pub(crate) struct Connection<S> {
    stream: S,
    patience: Patience,
    /// When something went in or out last.
    moved: Instant,
    /// Since when the other side has taken nothing of what waits.
    blocked: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    outflow: Arc<Outflow>,
    connections: Connections,
}

impl<S> Connection<S> {
    /// A connection that has just been opened.
    pub(crate) fn new(stream: S, patience: Patience, connections: Connections) -> Self {
        connections.0.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        Self {
            stream,
            patience,
            moved: now,
            blocked: None,
            timer: Box::pin(sleep_until(now + patience.idle)),
            outflow: Arc::default(),
            connections,
        }
    }

    /// What went out of it.
    pub(crate) fn outflow(&self) -> Arc<Outflow> {
        Arc::clone(&self.outflow)
    }

    /// Fails when it has stood still for too long, and else is called again then.
    fn stand_still(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        loop {
            let idle = self.moved + self.patience.idle;
            let blocked = self.blocked.map(|since| since + self.patience.blocked);
            let end = blocked.map_or(idle, |blocked| blocked.min(idle));
            if Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // Most timers are never reached: they are set anew when they ring.
            if self.timer.is_elapsed() || self.timer.deadline() > end {
                self.timer.as_mut().reset(end);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
        }
    }

    /// Notes how a write went.
    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(count)) => {
                (self.moved, self.blocked) = (Instant::now(), None);
                self.outflow.took(count);
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.blocked.get_or_insert_with(Instant::now);
                self.stand_still(cx)?;
                Poll::Pending
            }
        }
    }
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        self.connections.0.fetch_sub(1, Ordering::Relaxed);
        self.outflow.end();
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
            self.stand_still(cx)?;
            return Poll::Pending;
        }
        ready!(read)?;
        self.moved = Instant::now();
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
        self.wrote(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What went out of a connection, for whoever sends messages over it: what lies
/// between is bounded in bytes, not only in messages.
#[derive(Debug, Default)]
pub(crate) struct Outflow {
    taken: AtomicU64,
    is_over: AtomicBool,
    news: Notify,
}

impl Outflow {
    fn took(&self, count: usize) {
        self.taken.fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        self.news.notify_one();
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.news.notify_one();
    }

    /// Waits until there is room for more, or nobody takes anything any more. `sent` counts what one sender has sent,
    /// and is set anew whenever all of it was taken: other bytes go out as well.
    pub(crate) async fn room(&self, sent: &mut u64) {
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            *sent = taken.max(*sent);
            if *sent - taken < MOST_WAITING || self.is_over.load(Ordering::Relaxed) {
                return;
            }
            self.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LONG: Duration = Duration::from_hours(1);
    const SHORT: Duration = Duration::from_millis(1);

    #[actix::test]
    async fn who_takes_nothing_is_cut_off() {
        let (stream, _other) = duplex(10);
        let connections = Connections::default();
        let patience = Patience { blocked: SHORT, idle: LONG };
        let mut connection = Connection::new(stream, patience, connections.clone());
        assert_eq!(connections.count(), 1);
        connection.write_all(b"0123456789").await.unwrap();
        let error = connection.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(connection);
        assert_eq!(connections.count(), 0);
    }

    #[actix::test]
    async fn a_connection_on_which_nothing_moves_is_cut_off() {
        let (stream, mut other) = duplex(10);
        let patience = Patience { blocked: LONG, idle: SHORT };
        let mut connection = Connection::new(stream, patience, Connections::default());
        other.write_all(b"7").await.unwrap();
        assert_eq!(connection.read_u8().await.unwrap(), b'7');
        let error = connection.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[actix::test]
    async fn there_is_room_for_more_when_what_was_sent_is_taken() {
        use futures_util::FutureExt as _;

        let outflow = Outflow::default();
        let mut sent = 0;
        outflow.room(&mut sent).await;
        sent += MOST_WAITING + 7;
        assert!(outflow.room(&mut sent).now_or_never().is_none());
        outflow.took(8);
        outflow.room(&mut sent).await;
        // More went out than this sender sent: that is not held against it.
        outflow.took(1 << 20);
        outflow.room(&mut sent).await;
        assert_eq!(sent, (1 << 20) + 8);
        sent += MOST_WAITING;
        outflow.end();
        outflow.room(&mut sent).await;
    }
}
