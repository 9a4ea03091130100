//! Regular work of a server that follows an archive.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::task::spawn_blocking;
use vademecum_actors::UserRegistry;
use vademecum_core::telemetry::Gauge;
use vademecum_store::{Archive, ClockOffset, Replication};

/// Interval between checks for changes of others.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between comparisons of the clocks.
const CLOCK_INTERVAL: Duration = Duration::from_mins(1);
/// Interval between removals of expired values.
const EXPIRY_INTERVAL: Duration = Duration::from_hours(1);
/// Interval between checks of the size of the copies.
const SIZE_INTERVAL: Duration = Duration::from_mins(10);

/// Checks the archive for changes of the databases in use, until the task is aborted. Logs when the
/// archive is lost and reached again.
pub(super) async fn watch_archive(archive: Arc<dyn Replication>) {
    let mut rounds = tokio::time::interval(CHECK_INTERVAL);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut was_lost, mut since_expiry) = (false, EXPIRY_INTERVAL);
    let (mut since_clock, mut was_wrong) = (CLOCK_INTERVAL, false);
    loop {
        rounds.tick().await;
        let checked = Arc::clone(&archive);
        let Ok(checked) = spawn_blocking(move || checked.check_heads()).await else { return };
        let is_lost = archive.status().is_lost();
        match checked {
            Err(error) if !was_lost => {
                tracing::warn!(%error, "answers may be behind, and changes are refused");
            }
            Ok(()) if was_lost => tracing::info!("the archive is reached again"),
            Ok(()) | Err(_) => {}
        }
        was_lost = is_lost;
        since_clock += CHECK_INTERVAL;
        if !is_lost && since_clock >= CLOCK_INTERVAL {
            since_clock = Duration::ZERO;
            was_wrong = compare_clocks(&archive, was_wrong).await;
        }
        since_expiry += CHECK_INTERVAL;
        if !is_lost && since_expiry >= EXPIRY_INTERVAL {
            since_expiry = Duration::ZERO;
            let archive = Arc::clone(&archive);
            drop(spawn_blocking(move || archive.call(Archive::remove_expired_values)));
        }
    }
}

/// Compares the clocks of this server and the archive, and logs when they begin to differ and when they
/// agree again. Returns whether they differ.
async fn compare_clocks(archive: &Arc<dyn Replication>, was_wrong: bool) -> bool {
    let measured = Arc::clone(archive);
    let Ok(Ok(offset)) = spawn_blocking(move || measured.measure_clock()).await else {
        return was_wrong;
    };
    let is_wrong = offset.exceeds_limit();
    if is_wrong && !was_wrong {
        tracing::warn!(
            offset_seconds = offset.seconds(),
            "{offset}: sessions and keys may end too early or too late"
        );
    }
    if was_wrong && !is_wrong {
        tracing::info!(offset_seconds = offset.seconds(), "the clocks agree again");
    }
    is_wrong
}

/// Removes the copies of libraries that were not used for longest while all take more than
/// `max_bytes`, until the task is aborted.
pub(super) async fn bound_copies(registry: Arc<UserRegistry>, max_bytes: u64) {
    let mut rounds = tokio::time::interval(SIZE_INTERVAL);
    loop {
        rounds.tick().await;
        let registry = Arc::clone(&registry);
        let removed = spawn_blocking(move || registry.remove_unused_copies(max_bytes)).await;
        match removed {
            Ok(Ok(0)) => {}
            Ok(Ok(count)) => tracing::info!(count, "removed copies of libraries"),
            Ok(Err(error)) => tracing::warn!(%error, "copies of libraries cannot be removed"),
            Err(_) => return,
        }
    }
}

/// Returns the gauges of following.
pub(super) fn archive_gauges(archive: &dyn Replication) -> Vec<Gauge> {
    let status = archive.status();
    let counts = status.counts();
    let total = |name, help, count: u64| {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        Gauge::from_total(name, help, count as f64)
    };
    let clock = status.clock_offset().map_or(f64::NAN, ClockOffset::seconds);
    let lag = status.silence().map_or(f64::NAN, |silence| silence.as_secs_f64());
    vec![
        Gauge::with_labels(
            "vademecum_archive_lag_seconds",
            "Time since the archive last answered.",
            vec![(Vec::new(), lag)],
        ),
        Gauge::with_labels(
            "vademecum_archive_clock_offset_seconds",
            "How far the clock of the archive is ahead of that of this server.",
            vec![(Vec::new(), clock)],
        ),
        Gauge::from_count(
            "vademecum_archive_lost",
            "1 while the archive cannot be reached.",
            usize::from(status.is_lost()),
        ),
        total("vademecum_archive_puts_total", "Writes stored in the archive.", counts.puts),
        total(
            "vademecum_archive_conflicts_total",
            "Writes repeated because another server wrote first.",
            counts.conflicts,
        ),
        total(
            "vademecum_archive_follows_total",
            "Fetches of changes of other servers.",
            counts.followed,
        ),
        total(
            "vademecum_archive_discarded_total",
            "Copies discarded because the archive did not have their state.",
            counts.discarded,
        ),
    ]
}

/// Returns the gauge of the size of all copies of libraries below `users`.
pub(super) fn cache_gauge(users: &Path) -> Gauge {
    let bytes = vademecum_actors::copies_size(users);
    #[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
    let bytes = bytes as f64;
    Gauge::with_labels(
        "vademecum_archive_cache_bytes",
        "Size of the copies of libraries on this server.",
        vec![(Vec::new(), bytes)],
    )
}
