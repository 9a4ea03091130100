//! Erases the copies that this server has of the libraries of removed users.

use std::{sync::Arc, time::Duration};

use vademecum_accounts::ErasureWatch;
use vademecum_actors::UserRegistry;

/// Interval between checks for removed users.
const ERASURE_INTERVAL: Duration = Duration::from_millis(500);

/// Erases copies until the task is aborted. Fails quietly while the archive cannot be reached: removed
/// users are not known then.
pub(super) async fn erase_copies(mut watch: ErasureWatch, registry: Arc<UserRegistry>) {
    let mut rounds = tokio::time::interval(ERASURE_INTERVAL);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        let registry = Arc::clone(&registry);
        let erased = tokio::task::spawn_blocking(move || {
            let erased = watch.erase(|user| registry.erase_copy(user));
            (watch, erased)
        });
        let Ok((returned, erased)) = erased.await else { return };
        watch = returned;
        if let Err(error) = erased {
            tracing::debug!(%error, "copies of removed users are not erased yet");
        }
    }
}
