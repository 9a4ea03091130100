//! Fault tests of damaged, missing and empty files: the response names the failed source, all other
//! sources answer, the log and `check` name the file, and derived data is rebuilt.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::named_params;
use serde_json::{Value, json};
use vademecum_model::Deadline;
use vademecum_store::{Database, Durability, Store, StoreError};

use super::{assert_healthy, report_lines};
use crate::{
    support::{Library, McpClient},
    writing::{WRITE_ENABLED, create_note, read_note, search_uris, writable_pipe},
};

/// Opens a database of the only user of a library.
fn open_store(library: &Library, database: Database) -> Store {
    library.store(database)
}

/// Overwrites the last leaf page of a table. The file must not be in use.
fn damage_last_page(store: &Store, table: &str) {
    let pages = "SELECT max(pageno) AS page, max(pgsize) AS size FROM dbstat
                 WHERE name = :table AND pagetype = 'leaf'";
    store.checkpoint().unwrap();
    let soon = Deadline::after(Duration::from_mins(1));
    let (page, size): (u64, u64) = store
        .read(soon, |reader| {
            reader.query_one(pages, named_params! { ":table": table }, |row| {
                let number = |name| row.get::<_, i64>(name).map(i64::unsigned_abs);
                Ok((number("page")?, number("size")?))
            })
        })
        .map_err(|error: StoreError| error)
        .unwrap();
    store.close();
    assert!(page > 1, "{table} must have a leaf page beyond the first page");
    let mut file = File::options().write(true).open(store.path()).unwrap();
    file.seek(SeekFrom::Start((page - 1) * size)).unwrap();
    file.write_all(&vec![0xff; usize::try_from(size).unwrap()]).unwrap();
}

/// Creates a library with enough notes for several pages and one media document.
fn notes_and_media_library() -> Library {
    let library = Library::with_notes((0..300).map(|number| {
        let words: Vec<String> = (0..20).map(|word| format!("w{number}x{word}")).collect();
        (format!("n{number}"), format!("# Note {number}\n\nA lantern. {}", words.join(" ")))
    }));
    library.import_file("media", "lamp.txt", "A lantern on the quay.");
    library
}

/// Searches both sources and returns the estimated total and the failed sources with their reasons.
fn search_with_failures(caller: &impl McpClient, query: &str) -> (Value, Vec<(String, String)>) {
    let mut found = caller.call_tool("knowledge.search", &json!({ "query": query, "limit": 5 }));
    let failed = found["_meta"]["failed_sources"].as_array().cloned().unwrap_or_default();
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let failed = failed.iter().map(|it| (text(it, "source"), text(it, "reason"))).collect();
    (found["total_estimated"].take(), failed)
}

fn search_lantern(caller: &impl McpClient) -> (Value, Vec<(String, String)>) {
    search_with_failures(caller, "lantern")
}

#[test]
fn damaged_fts_fails_one_source_until_repaired() {
    let library = notes_and_media_library();
    damage_last_page(&open_store(&library, Database::Chacha), "note_fts_data");
    let server = library.serve();
    // Only some of the words are on the damaged page.
    let words = (0..300).map(|number| format!("lantern w{number}x0"));
    let results = words.map(|query| (search_with_failures(&server.client(), &query), query));
    let ((total, failed), query) =
        results.into_iter().find(|((_, failed), _)| !failed.is_empty()).expect("a damaged word");
    assert_eq!(total, 1, "media must still return its hit");
    assert!(
        matches!(&failed[..], [(source, reason)] if source == "notes"
            && reason.contains("damaged") && reason.contains("vademecum check")),
        "{failed:?}"
    );
    let problem = server.client().expect_tool_error("notes.search", &json!({ "query": query }));
    assert!(problem.contains("damaged"), "{problem}");
    let log = server.kill_and_read_log();
    assert!(log.contains("chacha.db is damaged"), "{log}");

    let check = library.run(&["check"]);
    let wrong = report_lines(&check, "error");
    assert_eq!(check.code, 1, "{check:?}");
    assert!(
        !wrong.is_empty()
            && wrong.iter().all(|line| line.contains("chacha.db")
                && line.contains("note_fts")
                && line.contains("check --repair")),
        "{check:?}"
    );
    let repaired = library.run(&["check", "--repair"]);
    assert_healthy(&repaired);
    assert!(report_lines(&repaired, "repaired")[0].contains("chacha.db"), "{repaired:?}");
    assert_healthy(&library.run(&["check"]));
    let server = library.serve();
    assert_eq!(search_lantern(&server.client()), (json!(301), vec![]));
    for word in ["w0x0", "w299x19", "w150x7"] {
        assert_eq!(server.client().search_uris("notes.search", &json!({ "query": word })).len(), 1);
    }
}

#[test]
fn fts_is_repaired_while_server_runs() {
    let library = notes_and_media_library();
    let notes = open_store(&library, Database::Chacha);
    for sql in
        ["DELETE FROM note_fts WHERE rowid IN (7, 8)", "UPDATE notes SET deleted = 1 WHERE row = 9"]
    {
        notes.write(Durability::Full, |writer| writer.execute(sql, &[]).map(drop)).unwrap();
    }
    notes.close();
    let check = library.run(&["check"]);
    assert!(check.code == 1, "{check:?}");
    assert!(
        report_lines(&check, "error")[0]
            .contains("note_fts: 2 rows are not indexed, 1 index entries have no row"),
        "{check:?}"
    );
    let server = library.serve_with_settings(WRITE_ENABLED);
    assert_eq!(search_lantern(&server.client()).0, 299);
    assert_healthy(&library.run(&["check", "--repair"]));
    assert_eq!(
        search_lantern(&server.client()),
        (json!(300), vec![]),
        "the running server must see the repair immediately"
    );
    let note = create_note(&server.client(), "Mooring", "A lantern and ropes.");
    assert_eq!(search_uris(&server.client(), "ropes"), [note["uri"].as_str().unwrap()]);
    assert_eq!(search_lantern(&server.client()).0, 301);
    assert_healthy(&library.run(&["check"]));
}

#[test]
fn damaged_rows_are_reported_and_never_modified() {
    let library = notes_and_media_library();
    let media = open_store(&library, Database::Media);
    damage_last_page(&open_store(&library, Database::Chacha), "notes");
    let damaged = fs::read(library.data_folder().join("users/local/chacha.db")).unwrap();
    let healthy = fs::read(media.path()).unwrap();
    for arguments in [&["check"][..], &["check", "--repair"]] {
        let check = library.run(arguments);
        assert_eq!(check.code, 1, "{check:?}");
        let wrong = report_lines(&check, "error");
        assert!(
            wrong.iter().any(|line| line.contains("chacha.db: table notes")
                && line.contains("vademecum restore")
                && line.contains("vademecum export")),
            "{check:?}"
        );
        assert!(wrong.iter().all(|line| !line.contains("media.db")), "{check:?}");
    }
    assert_eq!(fs::read(library.data_folder().join("users/local/chacha.db")).unwrap(), damaged);
    assert_eq!(fs::read(media.path()).unwrap(), healthy);
    let server = library.serve();
    assert_eq!(
        server.client().search_uris("media.search", &json!({ "query": "lantern" })).len(),
        1
    );
    let is_reported = (0..300).any(|number| {
        let query = json!({ "query": format!("w{number}x0") });
        let result = server.client().tool_result("notes.search", &query);
        result["isError"] == true && result.to_string().contains("damaged")
    });
    assert!(is_reported, "a search that reads the damaged page must report the damage");
}

#[test]
fn damaged_text_is_restored_from_its_file() {
    let text = "# Lock\n\nThe sluice gate opens at noon, and the lock keeper rests.\n";
    let library = Library::with_notes([("lock", text)]);
    library.run(&["check", "--repair"]);
    let file = library.data_folder().join("users/local/chacha.db");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(text.len()).position(|it| it == text.as_bytes()).unwrap();
    // Two bytes, so that the digest does not tell them.
    (bytes[at + 12], bytes[at + 30]) = (b'?', 0xFF);
    fs::write(&file, bytes).unwrap();
    let check = library.run(&["check"]);
    let named = report_lines(&check, "error");
    assert!(named.iter().any(|line| line.contains("(Lock)")), "{check:?}");
    let note = library.file_path("notes/lock.md");
    assert_eq!(fs::read_to_string(&note).unwrap(), text);
    fs::write(&note, "another text").unwrap();
    assert_eq!(library.run(&["check", "--repair"]).code, 1);
    fs::write(&note, text).unwrap();
    let repaired = library.run(&["check", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(repaired.stdout.contains("was restored: from its file"), "{repaired:?}");
    let read = library.serve().client().only_hit("notes.search", &json!({ "query": "sluice" }));
    assert_eq!(read["title"], "Lock");
}

#[test]
fn changed_text_is_restored_from_last_import() {
    let lines = (0..60).map(|number| format!("Lock {number} fills in {} minutes.\n", number % 13));
    let text = format!("# Locks\n\n{}", lines.collect::<String>());
    let library = Library::with_notes([("locks", text)]);
    let pipe = writable_pipe(&library);
    let id = pipe.only_hit("notes.search", &json!({ "query": "locks" }))["id"].clone();
    let appended = "The last lock leaks.";
    pipe.call_tool("notes.append", &json!({ "note_id": id, "content": appended }));
    let (content, _) = read_note(&pipe, &id);
    drop(pipe);
    assert_eq!(library.run(&["check", "--repair"]).code, 0);
    // The file does not help any more.
    fs::remove_file(library.file_path("notes/locks.md")).unwrap();
    let file = library.data_folder().join("users/local/chacha.db");
    let damage = |part: &str| {
        let mut bytes = fs::read(&file).unwrap();
        let at = bytes.windows(content.len()).position(|it| it == content.as_bytes()).unwrap();
        let at = at + content.find(part).unwrap();
        bytes[at..at + part.len()].fill(b'?');
        fs::write(&file, bytes).unwrap();
    };
    damage("Lock 30 fills in 4 minutes.\nLock 31");
    let repaired = library.run(&["check", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    let how = "was restored: from the text of its last import";
    assert!(repaired.stdout.contains(how), "{repaired:?}");
    assert_eq!(read_note(&writable_pipe(&library), &id).0, content);
    // Only the present text has this.
    damage(appended);
    let left = library.run(&["check", "--repair"]);
    assert!(left.code == 1 && !left.stdout.contains("was restored"), "{left:?}");
}

const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n";

/// Writes settings with vectors and returns the arguments that select them.
fn write_vector_settings(library: &Library) -> [String; 2] {
    let file = library.write_file("vectors.toml", STUB_EMBEDDINGS);
    ["--config".to_owned(), file.to_str().unwrap().to_owned()]
}

/// Returns the number of notes that a vector search finds, and the reported number of missing
/// vectors.
fn vector_search_counts(library: &Library) -> (usize, Value) {
    let server = library.serve_with_settings(STUB_EMBEDDINGS);
    let query = json!({ "query": "a lantern", "mode": "vector", "limit": 100 });
    let found = server.client().call_tool("knowledge.search", &query);
    (found["results"].as_array().unwrap().len(), found["_meta"]["vectors_missing"].clone())
}

fn small_library() -> Library {
    Library::with_notes((0..5).map(|number| (format!("n{number}"), "A lantern on the quay.")))
}

#[test]
fn missing_or_damaged_vectors_are_rebuilt() {
    let library = small_library();
    let [flag, file] = write_vector_settings(&library);
    let check =
        |repair: &[&str]| library.run(&[&["check", flag.as_str(), file.as_str()], repair].concat());
    let behind = check(&[]);
    assert!(
        report_lines(&behind, "warning")
            .iter()
            .any(|line| line.contains("index.db: 5 items of the library have no current vectors")),
        "{behind:?}"
    );
    assert_eq!(vector_search_counts(&library), (5, Value::Null));
    assert_healthy(&check(&[]));
    let index = library.data_folder().join("users/local/index.db");
    let embeddings = library.data_folder().join("embeddings.db");
    let gone = |path: &Path| fs::remove_file(path).unwrap();
    let text = |path: &Path| fs::write(path, "no database at all, but a text").unwrap();
    let empty = |path: &Path| fs::write(path, "").unwrap();
    let harms: [&dyn Fn(&Path); 3] = [&gone, &text, &empty];
    for harm in harms {
        harm(&index);
        harm(&embeddings);
        assert_healthy(&check(&["--repair"]));
        let again = check(&[]);
        assert_healthy(&again);
        assert!(!again.stdout.contains("no current vectors"), "{again:?}");
        assert_eq!(vector_search_counts(&library), (5, Value::Null));
    }
    damage_last_page(&open_store(&library, Database::Index), "rag_codes");
    let wrong = check(&[]);
    assert!(wrong.code == 1 && report_lines(&wrong, "error")[0].contains("index.db"), "{wrong:?}");
    let done = check(&["--repair"]);
    assert_healthy(&done);
    assert!(
        report_lines(&done, "repaired").iter().all(|line| line.contains("index.db")),
        "{done:?}"
    );
    assert_eq!(vector_search_counts(&library), (5, Value::Null));
}

#[test]
fn vectors_in_use_are_not_repaired() {
    let library = small_library();
    let [flag, file] = write_vector_settings(&library);
    let server = library.serve_with_settings(STUB_EMBEDDINGS);
    let query = json!({ "query": "a lantern", "mode": "vector" });
    assert_eq!(server.client().search_uris("knowledge.search", &query).len(), 5);
    let index = open_store(&library, Database::Index);
    damage_last_page(&index, "rag_codes");
    let arguments = ["check", flag.as_str(), file.as_str(), "--repair"];
    let refused = library.run(&arguments);
    assert!(refused.code == 1 && refused.stdout.contains("stop the server first"), "{refused:?}");
    assert!(index.path().exists());
    drop(server.kill_and_read_log());
    assert_healthy(&library.run(&arguments));
    assert_eq!(vector_search_counts(&library), (5, Value::Null));
}

#[test]
fn empty_missing_or_invalid_file_is_named() {
    let path = |library: &Library, name: &str| -> PathBuf { library.data_folder().join(name) };
    let named = |library: &Library, level: &str, name: &str, part: &str| {
        let check = library.run(&["check"]);
        let lines = report_lines(&check, level);
        assert!(lines.iter().any(|line| line.contains(name) && line.contains(part)), "{check:?}");
        assert_eq!(check.code, i32::from(level == "error"), "{check:?}");
    };
    let library = Library::with_lanterns();
    let media = path(&library, "users/local/media.db");
    fs::write(&media, "").unwrap();
    named(&library, "warning", "media.db", "the file is empty");
    fs::write(&media, "no database at all, but a text that is long enough".repeat(20)).unwrap();
    named(&library, "error", "media.db", "vademecum restore");
    fs::remove_file(&media).unwrap();
    fs::write(path(&library, "users/local/media.db-wal"), "x").unwrap();
    named(&library, "error", "media.db", "the file is missing");
    fs::remove_file(path(&library, "users/local/media.db-wal")).unwrap();
    named(&library, "error", "media.db", "were imported into it");
    let server = library.serve();
    let (total, failed) = search_lantern(&server.client());
    assert!(total.as_u64().unwrap() > 5 && failed.is_empty(), "{total} {failed:?}");
}
