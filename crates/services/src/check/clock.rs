//! Clock check: finds files and items dated in the future.

use std::{
    fs::{self, Metadata},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use vademecum_accounts::Accounts;
use vademecum_actors::collections::Catalogue;
use vademecum_model::{Deadline, Timestamp};
use vademecum_source::Source;
use vademecum_store::Store;

use super::findings::CheckFindings;

/// Maximum difference between the clocks of machines and disks.
const MAX_CLOCK_SKEW: Duration = Duration::from_mins(5);
/// Maximum difference for imported items: their dates may have no time zone and are then read as
/// UTC.
const MAX_TIME_ZONE_SKEW: Duration = Duration::from_hours(24);
/// Maximum time to read the dates of one source.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

const CLOCK_REMEDY: &str = "correct the clock; no data is lost, but sorting by date is wrong";

/// Warns if a file was modified in the future.
pub(super) fn check_file(place: &str, about: &Metadata, findings: &mut CheckFindings) {
    let Ok(changed) = about.modified() else { return };
    if changed > SystemTime::now() + MAX_CLOCK_SKEW {
        findings.add_warning(place, "its modification time is in the future", CLOCK_REMEDY);
    }
}

/// Warns if the newest item of a source is dated in the future.
pub(super) fn check_library(
    folder: &Path,
    sources: &[Arc<dyn Source>],
    findings: &mut CheckFindings,
) {
    for source in sources {
        let store = Store::new(source.database(), folder);
        // A check must not create or initialise a file.
        if fs::metadata(store.path()).map_or(0, |about| about.len()) == 0 {
            continue;
        }
        let stats = store.read(Deadline::after(READ_TIMEOUT), |reader| source.source_stats(reader));
        store.close();
        // A read error is reported by the check of the file.
        let newest = stats.ok().and_then(|stats| stats.newest);
        if let Some(newest) = newest.filter(|newest| is_ahead(*newest, MAX_TIME_ZONE_SKEW)) {
            let what = format!("the newest of its {} has the future date {newest}", source.name());
            findings.add_warning(&store.path().display().to_string(), &what, CLOCK_REMEDY);
        }
    }
}

/// Warns if the newest user or collection is dated in the future.
pub(super) fn check_server(
    accounts: &Accounts,
    collections: &Catalogue,
    place: &str,
    findings: &mut CheckFindings,
) {
    let users = accounts.list_users().unwrap_or_default();
    let created = users.into_iter().map(|user| user.created_at);
    let records = collections.list_records().unwrap_or_default();
    let newest = created.chain(records.into_iter().filter_map(|record| record.updated_at)).max();
    if let Some(newest) = newest.filter(|newest| is_ahead(*newest, MAX_CLOCK_SKEW)) {
        findings.add_warning(
            place,
            &format!("its newest entry has the future date {newest}"),
            CLOCK_REMEDY,
        );
    }
}

fn is_ahead(moment: Timestamp, by: Duration) -> bool {
    let milliseconds = moment.as_unix_milliseconds() - Timestamp::now().as_unix_milliseconds();
    milliseconds > by.as_secs_f64() * 1_000.0
}
