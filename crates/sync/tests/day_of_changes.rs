//! A measurement, not run with the tests: the CPU time of syncing the changes of a day in a library of
//! 100,000 notes.
//!
//! `cargo test -p vademecum-sync --test day_of_changes -- --ignored --nocapture`

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::print_stdout, reason = "the measurement is printed")]

use std::{fs, path::Path, sync::Arc, time::Instant};

use vademecum_model::{Change, ChangeAuthor, Draft, DraftBody, Edit, ItemId, NoteDraft};
use vademecum_notes::Notes;
use vademecum_source::{Source, SourceError};
use vademecum_store::{Database, Durability, Store, Writer};
use vademecum_sync::{FolderOptions, SyncReport, SyncedDatabase, SyncedLibrary, sync_folder};
use vademecum_vault::journal::apply_change;

/// Number of notes of the library.
const NOTES: usize = 100_000;
/// Number of changes of a day.
const CHANGES: usize = 200;

fn open(folder: &Path) -> SyncedLibrary {
    fs::create_dir_all(folder).unwrap();
    let stores = [Arc::new(Store::new(Database::Chacha, folder))];
    let sources: [Arc<dyn Source>; 1] = [Arc::new(Notes)];
    SyncedLibrary { folder: folder.to_owned(), databases: SyncedDatabase::all(&sources, &stores) }
}

fn write(library: &SyncedLibrary, changes: &[Change]) {
    let author = ChangeAuthor::default();
    let apply = |writer: &Writer<'_>| {
        changes
            .iter()
            .try_for_each(|change| apply_change(&Notes, writer, change, &author).map(drop))
    };
    library.databases[0]
        .store()
        .write(Durability::Full, apply)
        .map_err(|error: SourceError| error)
        .unwrap();
}

/// Returns the CPU time of this process in seconds.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

/// Returns the greatest resident memory of this process in megabytes.
fn peak_megabytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1_024
}

fn timed(what: &str, work: impl FnOnce() -> SyncReport) {
    let (cpu, begun) = (cpu_seconds(), Instant::now());
    let report = work();
    println!(
        "{what}: {:.2} s CPU, {:.2} s, sent {}, received {}, peak {} MB",
        cpu_seconds() - cpu,
        begun.elapsed().as_secs_f64(),
        report.sent,
        report.received,
        peak_megabytes()
    );
}

#[test]
#[ignore = "a measurement"]
fn day_of_changes_in_a_large_library() {
    let home = tempfile::tempdir().unwrap();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let [one, two] = ["one", "two"].map(|name| open(&home.path().join(name)));
    for part in 0..NOTES / 1_000 {
        let notes: Vec<Change> = (0..1_000).map(|number| note(part * 1_000 + number)).collect();
        write(&one, &notes);
    }
    let own = FolderOptions::default();
    timed("first sync of a machine", || sync_folder(&one, &shared, &own).unwrap());
    let key_file = Some(one.folder.join("sync.key"));
    let other = FolderOptions { key_file, ..FolderOptions::default() };
    timed("first sync of the other", || sync_folder(&two, &shared, &other).unwrap());
    timed("nothing changed", || sync_folder(&one, &shared, &own).unwrap());
    let edits: Vec<Change> = (0..CHANGES).map(|number| append(number * 331)).collect();
    write(&one, &edits);
    timed("a day's changes are written", || sync_folder(&one, &shared, &own).unwrap());
    timed("a day's changes are read", || sync_folder(&two, &shared, &other).unwrap());
}

fn note(number: usize) -> Change {
    let body = DraftBody::Note(NoteDraft {
        title: format!("Note {number}"),
        content: format!("A thimble and n{number}. {}", "Rye bread rises overnight. ".repeat(20)),
        ..NoteDraft::default()
    });
    let (origin, digest) = (String::new(), String::new());
    Change::Add(Box::new(Draft { origin, digest, id: Some(format!("n{number}")), body }))
}

fn append(number: usize) -> Change {
    let id = ItemId::Text(format!("n{number}"));
    Change::Edit { id, version: None, edit: Edit::Append("One more line.".to_owned()) }
}
