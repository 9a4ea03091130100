//! Stores that follow an archive, with faults.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly, its helpers too")]

use std::{path::Path, sync::Arc, thread, time::Duration};

use vademecum_model::{CancelFlag, Deadline, Draft, DraftBody, PromptDraft, SaveOutcome};
use vademecum_prompts::Prompts;
use vademecum_replication::{ArchivedStore, Upload};
use vademecum_source::{Source, SourceError};
use vademecum_store::{
    Archive, ArchiveError, Database, Durability, Entry, FileState, Head, PartName,
    Replication as _, Store, StoreError, WriteId,
};
use vademecum_testing::{MemoryArchive, follow_archive};

fn open(folder: &Path, archive: &Arc<MemoryArchive>) -> Store {
    follow_archive(&Prompts, archive).follow_library(Store::new(Database::Prompts, folder), "ada")
}

fn draft(name: &str) -> Draft {
    let prompt = PromptDraft {
        name: name.to_owned(),
        user_prompt: Some(format!("Tell me about {name}.")),
        ..PromptDraft::default()
    };
    let (origin, digest) = (format!("test:{name}"), name.to_owned());
    Draft { origin, digest, id: None, body: DraftBody::Prompt(prompt) }
}

fn save(store: &Store, name: &str) -> Result<SaveOutcome, SourceError> {
    store.write(Durability::Full, |writer| Prompts.save_draft(writer, &draft(name)))
}

fn request() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

fn read_names(store: &Store, deadline: Deadline) -> Result<Vec<String>, StoreError> {
    store.read(deadline, |reader| {
        reader.query_all("SELECT name FROM Prompts ORDER BY name", &[], |row| row.get("name"))
    })
}

fn names(store: &Store) -> Vec<String> {
    read_names(store, request()).unwrap()
}

fn folders<const N: usize>() -> [tempfile::TempDir; N] {
    std::array::from_fn(|_| tempfile::tempdir().unwrap())
}

#[test]
fn heads_are_read_once_per_request() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there] = folders();
    let [one, other] = [open(here.path(), &archive), open(there.path(), &archive)];
    save(&one, "rye").unwrap();
    assert_eq!(names(&other), ["rye"]);
    let (deadline, before) = (request(), archive.head_reads());
    for _ in 0..5 {
        assert_eq!(read_names(&other, deadline.clone()).unwrap(), ["rye"]);
    }
    assert_eq!(archive.head_reads(), before + 1);
    save(&one, "oat").unwrap();
    assert_eq!(read_names(&other, deadline).unwrap(), ["rye"], "the request began before");
    assert_eq!(names(&other), ["oat", "rye"]);
}

#[test]
fn lost_archive_leaves_stale_reads_only() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there] = folders();
    let store = open(here.path(), &archive);
    save(&store, "rye").unwrap();
    archive.set_lost(true);
    assert_eq!(names(&store), ["rye"]);
    let refused = save(&store, "oat").unwrap_err();
    assert!(
        matches!(&refused, SourceError::Store(StoreError::Archive(ArchiveError::Unreachable(_)))),
        "{refused}"
    );
    let unknown = open(there.path(), &archive);
    assert!(matches!(read_names(&unknown, request()), Err(StoreError::Archive(_))));
    let reopened = open(here.path(), &archive);
    assert_eq!(names(&reopened), ["rye"], "a copy from before is read");
    archive.set_lost(false);
    save(&store, "oat").unwrap();
    assert_eq!(names(&store), ["oat", "rye"]);
}

#[test]
fn reply_keeps_mark_of_its_own_reads() {
    let archive = Arc::new(MemoryArchive::default());
    let [here] = folders();
    let replication = follow_archive(&Prompts, &archive);
    let follow =
        |folder: &Path| replication.follow_library(Store::new(Database::Prompts, folder), "ada");
    let store = follow(here.path());
    save(&store, "rye").unwrap();
    let read = || {
        let cancel = CancelFlag::default();
        assert_eq!(read_names(&store, request().with_cancellation(&cancel)).unwrap(), ["rye"]);
        cancel
    };
    assert!(!read().is_stale());
    archive.set_lost(true);
    let during_outage = read();
    archive.set_lost(false);
    // Another request reaches the archive before the first one is answered.
    replication.check_heads().unwrap();
    assert!(!replication.status().is_lost() && !read().is_stale());
    assert!(during_outage.is_stale(), "what was read stays old");
    // The reverse: the archive is lost after the read.
    let before_outage = read();
    archive.set_lost(true);
    assert!(replication.check_heads().is_err() && replication.status().is_lost());
    assert!(!before_outage.is_stale(), "what was read was confirmed");
    // A file that is opened during the outage.
    drop(store);
    let reopened = follow(here.path());
    let cancel = CancelFlag::default();
    read_names(&reopened, request().with_cancellation(&cancel)).unwrap();
    assert!(cancel.is_stale());
}

#[test]
fn write_without_change_is_refused_during_outage() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there] = folders();
    let replication = follow_archive(&Prompts, &archive);
    let one = replication.follow_library(Store::new(Database::Prompts, here.path()), "ada");
    let other = open(there.path(), &archive);
    save(&one, "rye").unwrap();
    assert!(matches!(save(&one, "rye"), Ok(SaveOutcome::Unchanged(_))));
    other.write(Durability::Full, |writer| Prompts.remove_origin(writer, "test:rye")).unwrap();
    archive.set_lost(true);
    let refused = save(&one, "rye").unwrap_err();
    assert!(matches!(&refused, SourceError::Store(StoreError::Archive(_))), "{refused}");
    archive.set_lost(false);
    replication.check_heads().unwrap();
    save(&one, "rye").unwrap();
    assert_eq!(names(&other), ["rye"], "it was removed elsewhere, and is saved again");
}

#[test]
fn copy_is_followed_anew_if_the_archive_goes_back() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there] = folders();
    let [one, other] = [open(here.path(), &archive), open(there.path(), &archive)];
    save(&one, "rye").unwrap();
    let before = archive.snapshot();
    save(&one, "oat").unwrap();
    assert_eq!(names(&other), ["oat", "rye"]);
    archive.restore(before.clone());
    assert_eq!(names(&one), ["rye"], "no copy answers from a future that was lost");
    save(&one, "spelt").unwrap();
    assert_eq!(names(&other), ["rye", "spelt"]);
    // The same number of writes, but others.
    archive.restore(before);
    save(&open(tempfile::tempdir().unwrap().path(), &archive), "barley").unwrap();
    assert_eq!(names(&one), ["barley", "rye"]);
    assert_eq!(names(&other), ["barley", "rye"]);
}

#[test]
fn racing_writers_lose_and_double_nothing() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there] = folders();
    let [one, other] = [open(here.path(), &archive), open(there.path(), &archive)];
    let stores = [&one, &other];
    thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                for number in 0..12 {
                    save(stores[writer % 2], &format!("{writer}-{number:02}")).unwrap();
                }
            });
        }
    });
    let all: Vec<_> =
        (0..8).flat_map(|writer| (0..12).map(move |n| format!("{writer}-{n:02}"))).collect();
    assert_eq!(names(&one), all);
    assert_eq!(names(&other), all);
}

#[test]
fn file_that_is_not_archived_is_refused_until_uploaded() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there, elsewhere] = folders();
    for (folder, name) in [(&here, "rye"), (&elsewhere, "wheat")] {
        save(&Store::new(Database::Prompts, folder.path()), name).unwrap();
    }
    let store = open(here.path(), &archive);
    assert!(matches!(read_names(&store, request()), Err(StoreError::NotArchived { .. })));
    assert!(matches!(store.upload(), Ok(Upload::Stored(rows)) if rows > 0));
    assert!(matches!(store.upload(), Ok(Upload::Unchanged)));
    let other = open(there.path(), &archive);
    assert_eq!((names(&store), names(&other)), (vec!["rye".to_owned()], vec!["rye".to_owned()]));
    assert!(matches!(open(elsewhere.path(), &archive).upload(), Ok(Upload::Occupied)));
    store.close();
    // A change without the archive would never reach it.
    save(&Store::new(Database::Prompts, here.path()), "oat").unwrap();
    assert!(matches!(
        read_names(&open(here.path(), &archive), request()),
        Err(StoreError::NotArchived { .. })
    ));
    save(&other, "spelt").unwrap();
    other.detach().unwrap();
    let alone = Store::new(Database::Prompts, there.path());
    assert_eq!(names(&alone), ["rye", "spelt"]);
    assert!(matches!(
        read_names(&open(there.path(), &archive), request()),
        Err(StoreError::NotArchived { .. })
    ));
}

#[test]
fn empty_file_opened_without_archive_follows_later() {
    let archive = Arc::new(MemoryArchive::default());
    let [here, there] = folders();
    save(&open(there.path(), &archive), "rye").unwrap();
    // As `check` does with the file of a program that was killed while it created it.
    let store = Store::new(Database::Prompts, here.path());
    std::fs::write(store.path(), "").unwrap();
    assert_eq!(store.file_state().unwrap(), FileState::Missing);
    assert!(names(&store).is_empty());
    store.close();
    assert_eq!(names(&open(here.path(), &archive)), ["rye"]);
}

#[test]
fn interrupted_upload_is_completed() {
    let archive = Arc::new(MemoryArchive::default());
    let [here] = folders();
    save(&Store::new(Database::Prompts, here.path()), "rye").unwrap();
    archive.set_lost(true);
    open(here.path(), &archive).upload().unwrap_err();
    archive.set_lost(false);
    assert!(matches!(
        read_names(&open(here.path(), &archive), request()),
        Err(StoreError::NotArchived { .. })
    ));
    let store = open(here.path(), &archive);
    assert!(matches!(store.upload(), Ok(Upload::Stored(_))));
    assert_eq!(names(&store), ["rye"]);
}

#[test]
fn rows_of_an_earlier_schema_are_migrated() {
    let text = |text: &str| [&[3, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let texts = |all: &[&str]| all.iter().flat_map(|it| text(it)).collect::<Vec<u8>>();
    let entry = |table: &str, key: Vec<u8>, row: Vec<u8>| Entry {
        table: table.to_owned(),
        key,
        row: Some(row),
    };
    // Migration 3 of prompts.db adds a column to `imported`.
    let prompt = [
        text("Baker"),
        vec![0],
        vec![0],
        vec![0],
        text("Tell me how to knead."),
        text("5f1d"),
        text("2026-01-01T00:00:00Z"),
        vec![1, 2],
        text("vademecum"),
        vec![1, 0],
        vec![0],
        vec![0],
    ];
    let entries = [
        entry("Prompts", vec![1, 14], prompt.concat()),
        entry("imported", texts(&["prompts", "test:Baker"]), texts(&["d", "7", "2026-01-01"])),
    ];
    let archive = Arc::new(MemoryArchive::default());
    let part = PartName { user: "ada".to_owned(), part: "prompts".to_owned() };
    archive.put(&part, Head::default(), WriteId::random(), 2, &entries).unwrap();
    let [here, there] = folders();
    let store = open(here.path(), &archive);
    assert_eq!(names(&store), ["Baker"]);
    let unchanged = Draft { digest: "d".to_owned(), ..draft("Baker") };
    let saved: Result<_, SourceError> =
        store.write(Durability::Full, |writer| Prompts.save_draft(writer, &unchanged));
    assert!(matches!(saved, Ok(SaveOutcome::Unchanged(_))), "{saved:?}");
    save(&open(there.path(), &archive), "oat").unwrap();
    assert_eq!(names(&store), ["Baker", "oat"]);
    let head = archive.heads(std::slice::from_ref(&part)).unwrap()[0];
    archive.put(&part, head, WriteId::random(), head.schema + 1, &[]).unwrap();
    assert!(matches!(read_names(&store, request()), Err(StoreError::NewerArchive { .. })));
}
