//! Slow verification of the rows of open libraries.

use std::{sync::Arc, time::Duration};

use tokio::task::spawn_blocking;
use vademecum_actors::UserRegistry;

/// Interval between the parts of the verification.
const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of rows of a database that are verified at a time.
const ROWS: u32 = 500;

/// Verifies the rows of open libraries, one database after the other, until the task is aborted.
pub(super) async fn verify_rows_slowly(registry: Arc<UserRegistry>) {
    let mut rounds = tokio::time::interval(INTERVAL);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        let registry = Arc::clone(&registry);
        if spawn_blocking(move || registry.verify_some_rows(ROWS)).await.is_err() {
            return;
        }
    }
}
