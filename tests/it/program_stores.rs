//! Databases and exports of other programs: every seed is read by the program, importing again changes
//! nothing, and a database is read while its program has it open.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Library, McpClient as _};

/// Formats, each with the kind of its items, a word in one of them, and the number of those that a search
/// finds.
const FORMATS: [(&str, &str, &str); 19] = [
    ("memory_server", "notes", "bern rye"),
    ("claude_mem", "notes", "seal"),
    ("engram", "notes", "straw"),
    ("mem_palace", "notes", "straw"),
    ("mem0", "notes", "oats"),
    ("claude_projects", "notes", "pump"),
    ("open_webui", "chats", "rest"),
    ("libre_chat", "chats", "rest"),
    ("lm_studio", "chats", "rest"),
    ("jan", "chats", "rest"),
    ("gemini_activity", "chats", "rest"),
    ("grok", "chats", "rest"),
    ("telegram_pages", "chats", "rest"),
    ("zotero", "media", "rises"),
    ("kobo", "media", "bran"),
    ("calendar", "media", "sow"),
    ("contacts", "media", "miller"),
    ("mastodon", "media", "loaf"),
    ("pocket_page", "media", "unread"),
];

fn seeds(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(format)
}

fn import(library: &Library, path: &Path) -> Value {
    let done = library.run(&["import", "--json", path.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    done.parse_json()
}

fn hits(library: &Library, kind: &str, query: &str) -> usize {
    let server = library.serve();
    let asked = json!({ "query": query });
    let found = server.client().call_tool(&format!("{kind}.search"), &asked);
    found["results"].as_array().unwrap().len()
}

#[test]
fn every_program_is_read_and_found() {
    for (format, kind, query) in FORMATS {
        let library = Library::new();
        // A copy: a folder of the repository holds the seeds.
        let folder = library.file_path("in").join(format);
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(seeds(format)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        let first = import(&library, &folder);
        assert!(first["new"].as_u64().unwrap() > 0, "{format}: {first}");
        assert_eq!(first["passed"], json!(0), "{format}: {first}");
        assert!(hits(&library, kind, query) > 0, "{format}: {query}");
        // The programs write the same items into another file each time.
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let moved = folder.join("again").join(name);
            fs::create_dir_all(moved.parent().unwrap()).unwrap();
            if path.is_file() {
                fs::copy(path, moved).unwrap();
            }
        }
        let second = import(&library, &folder.join("again"));
        let origins_are_files = ["open_webui", "memory_server", "mem_palace"].contains(&format);
        if !origins_are_files {
            assert_eq!(second["new"], json!(0), "{format}: {second}");
            assert_eq!(second["updated"], json!(0), "{format}: {second}");
        }
    }
}

#[test]
fn open_database_is_read_with_its_log_and_not_written() {
    let library = Library::new();
    let path = library
        .write_file("in/zotero.sqlite", fs::read(seeds("zotero").join("library.sqlite")).unwrap());
    #[expect(clippy::disallowed_methods, reason = "a database of another program")]
    let program = Connection::open(&path).unwrap();
    let change =
        "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; PRAGMA locking_mode = exclusive;
        UPDATE itemDataValues SET value = 'Spelt' WHERE valueID = 1;";
    program.execute_batch(change).unwrap();
    let folder = path.parent().unwrap();
    let snapshot = || {
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = snapshot();
    import(&library, &path);
    assert_eq!(hits(&library, "media", "spelt"), 1);
    assert!(before == snapshot(), "files of the program were changed");
    program.execute_batch("UPDATE itemDataValues SET value = 'Barley' WHERE valueID = 1").unwrap();
    program.execute_batch("PRAGMA wal_checkpoint").unwrap();
    import(&library, &path);
    assert_eq!((hits(&library, "media", "spelt"), hits(&library, "media", "barley")), (0, 1));
    // Only the log is changed.
    program.execute_batch("UPDATE itemDataValues SET value = 'Millet' WHERE valueID = 1").unwrap();
    import(&library, &path);
    assert_eq!((hits(&library, "media", "barley"), hits(&library, "media", "millet")), (0, 1));
}

#[test]
fn database_of_size_of_memory_is_read() {
    let library = Library::new();
    let path = library
        .write_file("in/KoboReader.sqlite", fs::read(seeds("kobo").join("reader.sqlite")).unwrap());
    #[expect(clippy::disallowed_methods, reason = "a database of another program")]
    let program = Connection::open(&path).unwrap();
    let fill =
        "CREATE TABLE pictures (data BLOB); INSERT INTO pictures VALUES (zeroblob(67108864));";
    program.execute_batch(fill).unwrap();
    drop(program);
    let limits = library.write_file("limits.toml", "[import]\nfile_memory_mb = 160\n");
    let done = library.run(&[
        "import",
        "--json",
        path.to_str().unwrap(),
        "--config",
        limits.to_str().unwrap(),
    ]);
    let summary = done.parse_json();
    // The import leaves out the same entries of the small database.
    let left_out = summary["skipped"].as_array().unwrap();
    assert!(left_out.iter().all(|it| it["partial"] == true), "{summary}");
    assert!(summary["new"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn stores_with_same_names_do_not_overwrite_each_other() {
    let library = Library::new();
    let memory = |fact: &str| {
        let entity = json!({
            "type": "entity", "name": "Ada", "entityType": "person", "observations": [fact],
        });
        format!("{entity}\n")
    };
    for (project, fact) in [("garden", "grows marrows"), ("kitchen", "bakes spelt")] {
        let path = library.write_file(&format!("{project}/memory.jsonl"), memory(fact));
        let done = import(&library, &path);
        assert_eq!(done["new"], json!(1), "{done}");
    }
    for word in ["marrows", "spelt"] {
        assert_eq!(hits(&library, "notes", word), 1, "{word}");
    }
}

#[test]
fn damaged_database_is_reported() {
    let library = Library::new();
    let mut bytes = fs::read(seeds("kobo").join("reader.sqlite")).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    let path = library.write_file("in/KoboReader.sqlite", bytes);
    let done = library.run(&["import", path.to_str().unwrap()]);
    assert!(done.stderr.contains("KoboReader.sqlite"), "{done:?}");
    assert!(done.stderr.contains("highlights of a Kobo reader"), "{done:?}");
}

#[test]
fn instructions_of_agents_name_their_project() {
    let library = Library::new();
    let text = "# Rules\n\nUse straw.\n";
    let path = library.write_file("in/garden/CLAUDE.md", text);
    import(&library, &path);
    let server = library.serve();
    let asked = json!({ "query": "straw", "tags": ["project/garden"] });
    let hit = server.client().call_tool("notes.search", &asked);
    let hit = hit["results"][0].clone();
    assert_eq!(hit["title"], json!("Rules (garden)"), "{hit}");
}
