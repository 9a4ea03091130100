//! The clock: whether anything here says that it was written later than now.

use std::{
    fs::{self, Metadata},
    path::Path,
    time::{Duration, SystemTime},
};

use vademecum_kit::{
    model::{Deadline, Timestamp},
    store::Store,
};

use super::finding::Findings;
use crate::{app::App, registry};

/// How far clocks of machines and of disks may be apart.
const APART: Duration = Duration::from_mins(5);
/// How far in the future what was imported may say it was changed: times without a
/// zone are taken for UTC.
const ZONES: Duration = Duration::from_hours(24);
/// How long a look at the dates of one source may take.
const PATIENCE: Duration = Duration::from_mins(1);

const REMEDY: &str =
    "set the clock right; nothing is lost by it, but what is newest is told wrongly";

/// Looks when a file was changed.
pub(super) fn look_at_file(place: &str, about: &Metadata, findings: &mut Findings) {
    let Ok(changed) = about.modified() else { return };
    if changed > SystemTime::now() + APART {
        findings.warn(place, "it was changed later than it is now", REMEDY);
    }
}

/// Looks what the items of a library are dated.
pub(super) fn look_at_library(folder: &Path, findings: &mut Findings) {
    for source in registry::sources() {
        let store = Store::new(source.database(), folder);
        // Whoever only looks makes no file, and begins none that is empty.
        if fs::metadata(store.path()).map_or(0, |about| about.len()) == 0 {
            continue;
        }
        let held = store.read(Deadline::after(PATIENCE), |reader| source.holdings(reader));
        store.close();
        // What cannot be read was said of its file.
        let newest = held.ok().and_then(|held| held.newest);
        if let Some(newest) = newest.filter(|newest| is_ahead(*newest, ZONES)) {
            let what = format!("the newest of its {} is dated {newest}", source.name());
            findings.warn(&store.path().display().to_string(), &what, REMEDY);
        }
    }
}

/// Looks when users and collections were made.
pub(super) fn look_at_server(app: &App, place: &str, findings: &mut Findings) {
    let users = app.accounts().ok().and_then(|accounts| accounts.users().ok()).unwrap_or_default();
    let made = users.into_iter().map(|user| user.created_at);
    let records = app.collections().list().unwrap_or_default();
    let newest = made.chain(records.into_iter().filter_map(|record| record.updated_at)).max();
    if let Some(newest) = newest.filter(|newest| is_ahead(*newest, APART)) {
        findings.warn(place, &format!("its newest entry is dated {newest}"), REMEDY);
    }
}

fn is_ahead(moment: Timestamp, by: Duration) -> bool {
    let milliseconds = moment.as_unix_milliseconds() - Timestamp::now().as_unix_milliseconds();
    milliseconds > by.as_secs_f64() * 1_000.0
}
