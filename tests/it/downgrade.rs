//! A library of a newer version of the program is refused: each kind of database is named with what to
//! install, and none is changed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use serde_json::json;
use walkdir::WalkDir;

use crate::support::{Library, McpClient};

/// A schema that no version of the program has yet.
const NEWER_SCHEMA: i64 = 9_000;

/// Makes a database one of a newer version, and returns its bytes.
fn make_newer(path: &Path) -> Vec<u8> {
    #[expect(clippy::disallowed_methods, reason = "a database of a later version")]
    let database = Connection::open(path).unwrap();
    let application: i64 =
        database.pragma_query_value(None, "application_id", |row| row.get(0)).unwrap();
    assert_eq!(application, 0x5641_4445, "{} is no database of the program", path.display());
    database.pragma_update(None, "user_version", NEWER_SCHEMA).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(database);
    fs::read(path).unwrap()
}

/// Returns the path of a database in the data folder.
fn find(library: &Library, name: &str) -> PathBuf {
    let mut files =
        WalkDir::new(library.data_folder()).into_iter().map(|it| it.unwrap().into_path());
    files
        .find(|path| path.file_name().is_some_and(|it| it == name))
        .unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn newer_databases_are_refused_with_what_to_install() {
    for (file, command) in [
        ("chacha.db", &["get", "notes://1"][..]),
        ("media.db", &["get", "media://1"]),
        ("prompts.db", &["get", "prompts://1"]),
        ("imports.db", &["sources"]),
        ("server.db", &["user", "list"]),
        ("audit.db", &["audit"]),
    ] {
        let library = Library::with_lanterns();
        assert_eq!(library.run(&["user", "add", "ada"]).code, 0);
        for kind in ["media", "prompts"] {
            library.import_paths(kind, &[&fixtures(kind)], &[]);
        }
        let path = find(&library, file);
        let bytes = make_newer(&path);
        let is_backed_up = ["chacha.db", "media.db", "prompts.db"].contains(&file);
        let copy = library.file_path("copy");
        let backup = ["backup", copy.to_str().unwrap()];
        let more = is_backed_up.then_some(&backup[..]);
        for line in [Some(command), Some(&["check"]), more].into_iter().flatten() {
            let done = library.run(line);
            let text = done.stdout.clone() + &done.stderr;
            assert_ne!(done.code, 0, "{file} {line:?}: {text}");
            for part in [
                file,
                "newer version of Vademecum",
                env!("CARGO_PKG_VERSION"),
                "install the latest version",
            ] {
                assert!(text.contains(part), "{file} {line:?}, {part}: {text}");
            }
            assert_eq!(fs::read(&path).unwrap(), bytes, "{file} {line:?}");
        }
        assert!(!copy.exists());
    }
}

fn fixtures(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(kind)
}

#[test]
fn client_learns_that_the_library_is_newer() {
    let library = Library::with_lanterns();
    let path = find(&library, "chacha.db");
    let bytes = make_newer(&path);
    let client = library.open_stdio();
    for (tool, arguments) in [
        ("notes.search", json!({ "query": "lantern" })),
        ("knowledge.get", json!({ "uri": "notes://1" })),
    ] {
        let answer = client.tool_result(tool, &arguments).to_string();
        for part in ["newer version of Vademecum", "install the latest version on the server"] {
            assert!(answer.contains(part), "{tool}: {answer}");
        }
    }
    drop(client);
    assert_eq!(fs::read(path).unwrap(), bytes);
}
