//! Cancellation of statements whose callers have stopped to wait, in the background.

use std::{sync::LazyLock, time::Duration};

use tokio::{runtime::Handle, sync::watch, time::timeout};

/// Each cancellation that runs has a receiver.
static RUNNING: LazyLock<watch::Sender<()>> = LazyLock::new(|| watch::Sender::new(()));

/// Runs the cancellation of a statement in the background. Returns false outside of a runtime.
pub(super) fn spawn_cancellation(cancel: impl Future<Output = ()> + Send + 'static) -> bool {
    let Ok(runtime) = Handle::try_current() else { return false };
    let running = RUNNING.subscribe();
    runtime.spawn(async move {
        cancel.await;
        drop(running);
    });
    true
}

/// Waits until the databases have received the cancellations that have begun, for at most this time.
/// A program that ends earlier leaves statements running.
pub async fn finish_cancellations(limit: Duration) {
    drop(timeout(limit, RUNNING.closed()).await);
}
