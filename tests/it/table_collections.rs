//! End-to-end tests of collections built from tables on each engine: mapping of rows, detection of
//! new, changed and removed rows, and consistency after interrupted syncs.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vademecum_actors::collections::{Catalogue, VisibleCollection};
use vademecum_core::auth::local_principal;
use vademecum_model::Deadline;

use crate::support::{AllEngines, CommandOutput, McpClient, PROFILES, Server, vademecum_command};

/// SQL that creates ten posts with scores 2 to 11. The last one is hidden.
pub(crate) const POSTS_SQL: &str = "CREATE TABLE posts (`Id` integer PRIMARY KEY, `Title` varchar(100), \
    `Body` varchar(1000), `Tags` varchar(100), `score` integer, `CreaionDate` varchar(30), \
    `Changed` integer, `hidden` integer);\n\
    INSERT INTO posts (`Id`) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10);\n\
    UPDATE posts SET `Title` = 'A bight', `Body` = 'Tie a bight in the rope.', `Tags` = '<rope>', \
    `score` = `Id` + 1, `CreaionDate` = '2024-01-02 03:04:05', `Changed` = `Id`, \
    `hidden` = CASE WHEN `Id` = 10 THEN 1 ELSE 0 END;\n";

/// Returns the settings of the collections `posts_lite`, `posts_maria` and `posts_pg`. `more` is
/// added to each.
pub(crate) fn collection_settings(more: &str) -> String {
    let of = |profile: &str| {
        format!(
            "[[collections]]\nname = \"posts_{profile}\"\nprofile = \"{profile}\"\n\
             table = \"posts\"\npk_column = \"Id\"\n{more}\n[collections.doc_map]\n\
             doc_id = {{ format = \"{profile}:{{Id}}\" }}\n\
             title = {{ concat = [{{ col = \"Title\" }}, {{ lit = \" #\" }}, {{ col = \"Id\" }}] }}\n\
             body = {{ concat = [{{ col = \"Body\" }}] }}\n\
             metadata = {{ pick = [\"Id\", \"Tags\", \"score\", \"CreaionDate\"], \
             rename = {{ CreaionDate = \"CreationDate\" }} }}\n"
        )
    };
    PROFILES.map(of).concat()
}

fn run_collection_command(trio: &AllEngines, arguments: &[&str], settings: &str) -> CommandOutput {
    let file = trio.write_settings(settings);
    let config = ["--config", file.to_str().unwrap()];
    trio.library.run(&[&["collection"], arguments, &config].concat())
}

/// Synchronizes all collections and returns the report of each.
pub(crate) fn sync_all(trio: &AllEngines, settings: &str) -> Vec<Value> {
    let done = run_collection_command(trio, &["sync", "--json"], settings);
    assert_eq!(done.code, 0, "{done:?}");
    let reports = done.parse_json().as_array().unwrap().clone();
    assert_eq!(reports.len(), PROFILES.len(), "{reports:?}");
    reports
}

/// Serves the collections with the settings of the last sync.
fn serve(trio: &AllEngines) -> Server {
    let settings = trio.library.file_path("settings.toml");
    trio.library.serve_with(&["--config", settings.to_str().unwrap()])
}

/// Returns the numbers of new, updated, unchanged and removed documents.
fn counts(report: &Value) -> [u64; 4] {
    ["new", "updated", "unchanged", "gone"].map(|name| report[name].as_u64().unwrap())
}

fn open_collection(trio: &AllEngines, profile: &str) -> VisibleCollection {
    let catalogue = Catalogue::new(&trio.library.data_folder());
    catalogue
        .find_visible(&local_principal("local".parse().unwrap()), &format!("posts_{profile}"))
        .unwrap()
}

fn one_minute_deadline() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

/// Returns the sync cursor of a collection and the error of the last sync, if it failed.
fn sync_state(trio: &AllEngines, profile: &str) -> (Value, Option<String>) {
    let opened = open_collection(trio, profile);
    let collection = &opened.collection;
    let read = collection.read(one_minute_deadline(), |reader| {
        collection.sync_state(reader, opened.record.source_id)
    });
    let state = read.unwrap();
    (serde_json::from_str(&state.cursor_json.unwrap()).unwrap(), state.last_error)
}

/// Returns the ids of all documents, sorted.
fn document_ids(trio: &AllEngines, profile: &str) -> Vec<String> {
    let opened = open_collection(trio, profile);
    let collection = &opened.collection;
    let read = collection.read(one_minute_deadline(), |reader| {
        collection.content_hashes(reader, opened.record.source_id)
    });
    let mut names: Vec<String> = read.unwrap().into_keys().collect();
    names.sort();
    names
}

#[test]
fn rows_become_documents_according_to_doc_map() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let whole = "where = \"\"\nchunking = { enabled = false }";
    for report in sync_all(&trio, &collection_settings(whole)) {
        assert_eq!(counts(&report), [10, 0, 0, 0], "{report}");
        assert_eq!((&report["documents"], &report["chunks"]), (&json!(10), &json!(10)));
        assert_eq!((&report["vectors"], &report["skipped"]), (&json!(0), &json!([])));
    }
    let server = serve(&trio);
    for (profile, engine) in PROFILES.into_iter().zip(["sqlite", "mysql", "postgres"]) {
        let id = format!("{profile}:3");
        let read = server.client().call_tool("rag.get_docs", &json!({ "doc_ids": [id] }));
        let document = &read["docs"][0];
        assert_eq!(document["pk_json"], json!({ "Id": 3 }), "{profile}");
        assert_eq!(
            (&document["title"], &document["body"]),
            (&json!("A bight #3"), &json!("Tie a bight in the rope."))
        );
        let metadata =
            json!({ "Id": 3, "Tags": "<rope>", "score": 4, "CreationDate": "2024-01-02 03:04:05" });
        assert_eq!(document["metadata"], metadata);
        let arguments = json!({ "query": "bight", "k": 20, "filters": {
            "source_names": [format!("posts_{profile}")], "tags_any": ["rope"], "min_score": 4,
            "created_after": "2024-01-01",
        }});
        let found = server.client().call_tool("rag.search_fts", &arguments);
        let found = found["results"].as_array().unwrap();
        assert!(found.iter().any(|hit| hit["chunk_id"] == format!("{id}#0")), "{found:?}");
        assert_eq!(found.len(), 8);
        let collection = open_collection(&trio, profile).collection;
        let sources = collection
            .read(one_minute_deadline(), |reader| collection.list_sources(reader))
            .unwrap();
        assert_eq!(sources[0].source.backend_type, engine);
        assert!(sources[0].source.doc_map_json.contains("\"pick\""), "{sources:?}");
    }
    let shown = run_collection_command(&trio, &["show", "posts_pg"], "");
    assert!(shown.stdout.contains("table: posts (profile pg)\n"), "{shown:?}");
    for report in sync_all(
        &trio,
        &collection_settings("chunking = { enabled = false }\nwhere = \"score >= 7\""),
    ) {
        assert_eq!((counts(&report), &report["documents"]), ([0, 0, 5, 5], &json!(5)), "{report}");
    }
}

#[test]
fn full_sync_detects_new_changed_and_removed_rows() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    sync_all(&trio, &collection_settings(""));
    trio.execute(
        "UPDATE posts SET `Body` = 'Tie a hitch.' WHERE `Id` = 3;\nDELETE FROM posts WHERE `Id` = 4;\n\
         INSERT INTO posts (`Id`, `Title`, `Body`) VALUES (11, 'A bend', 'Tie a bend.');\n",
    );
    for report in sync_all(&trio, &collection_settings("")) {
        assert_eq!(
            (counts(&report), &report["rebuilt"]),
            ([1, 1, 8, 1], &json!(false)),
            "{report}"
        );
    }
    let server = serve(&trio);
    for (query, count) in [("hitch", 3), ("bend", 3), ("bight", 27)] {
        let found =
            server.client().call_tool("rag.search_fts", &json!({ "query": query, "k": 50 }));
        assert_eq!(found["results"].as_array().unwrap().len(), count, "{query}");
    }
    for report in sync_all(&trio, &collection_settings("access_tags = [\"team:a\"]")) {
        assert_eq!(counts(&report), [0, 10, 0, 0], "tags are part of the document hash: {report}");
    }
}

#[test]
fn cursor_sync_reads_marked_rows_and_all_keys() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let settings = collection_settings("where = \"hidden = 0\"\ncursor = { column = \"Changed\" }");
    for report in sync_all(&trio, &settings) {
        assert_eq!(counts(&report), [9, 0, 0, 0], "{report}");
    }
    for profile in PROFILES {
        assert_eq!(sync_state(&trio, profile), (json!({ "column": "Changed", "value": 9 }), None));
    }
    trio.execute(
        "UPDATE posts SET `Body` = 'Tie a hitch.', `Changed` = 11 WHERE `Id` = 3;\n\
         UPDATE posts SET `Body` = 'Nobody is told.' WHERE `Id` = 6;\n\
         DELETE FROM posts WHERE `Id` = 4;\n\
         UPDATE posts SET `hidden` = 0 WHERE `Id` = 10;\n\
         INSERT INTO posts (`Id`, `Title`, `Body`, `Changed`, `hidden`) \
         VALUES (11, 'A bend', 'Tie a bend.', 12, 0), (12, 'A knot', 'Tie it.', NULL, 0);\n",
    );
    for report in sync_all(&trio, &settings) {
        assert_eq!(counts(&report), [3, 1, 7, 1], "{report}");
    }
    let server = serve(&trio);
    let found = |query: &str| {
        let found =
            server.client().call_tool("rag.search_fts", &json!({ "query": query, "k": 50 }));
        found["results"].as_array().unwrap().len()
    };
    assert_eq!((found("hitch"), found("bend"), found("nobody told")), (3, 3, 0));
    for profile in PROFILES {
        assert_eq!(sync_state(&trio, profile).0["value"], 12, "{profile}");
    }
    let everything = settings.replace("{Id}", "{Id}!");
    for report in sync_all(&trio, &everything) {
        assert_eq!(
            counts(&report),
            [11, 0, 0, 11],
            "a changed doc_map forces a full sync: {report}"
        );
    }
    assert_eq!(found("nobody told"), 3);
}

#[test]
fn failed_sync_changes_only_last_error() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let settings = collection_settings("cursor = { column = \"Changed\" }");
    sync_all(&trio, &settings);
    let before = PROFILES.map(|profile| document_ids(&trio, profile));
    trio.execute(
        "INSERT INTO posts (`Id`, `Changed`) VALUES (11, 11);\nALTER TABLE posts RENAME TO gone;\n",
    );
    let done = run_collection_command(&trio, &["sync"], &settings);
    assert_eq!(done.code, 1, "{done:?}");
    for profile in PROFILES {
        assert!(done.stderr.contains(&format!("`posts_{profile}` stays as it was")), "{done:?}");
        let (cursor, error) = sync_state(&trio, profile);
        assert_eq!(cursor["value"], 10);
        assert!(error.unwrap().contains("stays as it was"), "{profile}");
    }
    assert_eq!(PROFILES.map(|profile| document_ids(&trio, profile)), before);
    trio.execute("ALTER TABLE gone RENAME TO posts;\n");
    for report in sync_all(&trio, &settings) {
        assert_eq!(counts(&report), [1, 0, 10, 0], "{report}");
    }
    assert_eq!(sync_state(&trio, "pg"), (json!({ "column": "Changed", "value": 11 }), None));
}

#[test]
fn sync_reads_every_row_for_any_key_type() {
    let numbers = "CREATE TABLE posts (`Id` bigint PRIMARY KEY, `Title` varchar(100), \
        `Body` varchar(1000), `Tags` varchar(100), `score` integer, `CreaionDate` varchar(30));\n";
    let words = numbers.replace("bigint", "varchar(50)");
    for (table, number) in [(numbers, true), (&words, false)] {
        let trio = AllEngines::with_statements(table);
        let keys: Vec<String> = (0..600_i64)
            .map(|at| match (number, at % 3) {
                (true, _) => (9_007_199_254_740_700 + at).to_string(),
                (false, 0) => format!("'Key {at} o''clock'"),
                (false, 1) => format!("'ä {at}'"),
                (false, _) => format!("'{at}'"),
            })
            .collect();
        let rows: Vec<String> = keys.iter().map(|key| format!("({key}, 'Tie it.')")).collect();
        trio.execute(&format!("INSERT INTO posts (`Id`, `Body`) VALUES {};\n", rows.join(", ")));
        for report in sync_all(&trio, &collection_settings("")) {
            assert_eq!(counts(&report), [600, 0, 0, 0], "{report}");
        }
        for profile in PROFILES {
            let mut expected: Vec<String> = keys
                .iter()
                .map(|key| format!("{profile}:{}", key.trim_matches('\'').replace("''", "'")))
                .collect();
            expected.sort();
            assert_eq!(document_ids(&trio, profile), expected, "{profile}");
        }
        for report in sync_all(&trio, &collection_settings("")) {
            assert_eq!(counts(&report), [0, 0, 600, 0], "{report}");
        }
    }
}

#[test]
fn invalid_collection_settings_are_refused_without_data_loss() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    sync_all(&trio, &collection_settings(""));
    let doubled = collection_settings("")
        .replace("pk_column = \"Id\"", "pk_column = \"Tags\"")
        .replace("{Id}", "{Tags}");
    let unknown = collection_settings("").replace("col = \"Body\"", "col = \"Boddy\"");
    for (settings, reason) in [(doubled, "unique"), (unknown, "Boddy")] {
        let done = run_collection_command(&trio, &["sync"], &settings);
        assert_eq!(done.code, 1, "{done:?}");
        for profile in PROFILES {
            let error =
                done.stderr.lines().find(|line| line.contains(&format!("`posts_{profile}`")));
            assert!(error.unwrap().contains(reason), "{done:?}");
            assert_eq!(document_ids(&trio, profile).len(), 10);
        }
    }
    for (more, reason) in [
        ("where = \"1 = 1; DROP TABLE posts\"", "semicolon"),
        ("where = \"Id IN (SELECT 1)\"", "sub-select"),
        ("folders = [\"/tmp\"]", "exclude each other; remove one of them"),
    ] {
        let done = run_collection_command(&trio, &["sync"], &collection_settings(more));
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(reason), "{done:?}");
    }
    let nowhere = collection_settings("").replace("profile = \"pg\"", "profile = \"cellar\"");
    let done = run_collection_command(&trio, &["sync"], &nowhere);
    assert!(done.code == 1 && done.stderr.contains("profile does not exist"), "{done:?}");
    assert_eq!(trio.query_count("pg", "SELECT count(*) FROM posts"), 10);
}

#[test]
fn unchanged_rows_keep_their_vectors() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let stub = "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 32\n";
    let settings = format!("{stub}{}", collection_settings(""));
    for report in sync_all(&trio, &settings) {
        assert_eq!((&report["vectors"], &report["embedding_error"]), (&json!(10), &Value::Null));
    }
    trio.execute("UPDATE posts SET `Body` = 'Tie a hitch.' WHERE `Id` = 3;\n");
    for report in sync_all(&trio, &settings) {
        assert_eq!((counts(&report), &report["vectors"]), ([0, 1, 9, 0], &json!(10)), "{report}");
    }
}

/// Starts a full rebuild of `posts_lite` in another process.
fn spawn_rebuild(trio: &AllEngines, settings: &Path) -> Child {
    vademecum_command()
        .args(["collection", "sync", "posts_lite", "--rebuild", "--config"])
        .arg(settings)
        .arg("--data")
        .arg(trio.library.data_folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the total size in bytes of the files of `posts_lite` with a higher number than the given
/// file.
fn size_of_newer_files(trio: &AllEngines, file: &str) -> u64 {
    let number = |name: &str| -> Option<u64> {
        name.strip_prefix("posts_lite.")?.split_once(".db")?.0.parse().ok()
    };
    let entries = fs::read_dir(trio.library.data_folder().join("collections")).unwrap();
    let files = entries.map(|entry| entry.unwrap()).filter(|entry| {
        let found = number(entry.file_name().to_str().unwrap());
        found.is_some_and(|it| it > number(file).unwrap())
    });
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

#[test]
fn killed_sync_leaves_collection_intact() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    trio.execute_on(
        "lite",
        "WITH RECURSIVE more (n) AS (SELECT 11 UNION ALL SELECT n + 1 FROM more WHERE n < 3000) \
         INSERT INTO posts (`Id`, `Body`) SELECT n, 'Tie a bight in the rope.' FROM more;\n",
    );
    let file = trio.write_settings(&collection_settings("cursor = { column = \"Changed\" }"));
    let sync = |arguments: &[&str]| {
        let config = ["--json", "--config", file.to_str().unwrap()];
        trio.library
            .run_build(&[&["collection", "sync", "posts_lite"], arguments, &config].concat())
    };
    assert_eq!(sync(&[]).parse_json()[0]["documents"], 3_000);
    for bytes in [0, 1, 300_000] {
        let before = open_collection(&trio, "lite").record.file;
        trio.execute_on(
            "lite",
            "UPDATE posts SET `Changed` = `Changed` + 1, `Body` = `Body` || ' Again.';\n",
        );
        let cursor = sync_state(&trio, "lite").0;
        let mut killed = spawn_rebuild(&trio, &file);
        let begun = Instant::now();
        while size_of_newer_files(&trio, &before) < bytes && killed.try_wait().unwrap().is_none() {
            assert!(
                begun.elapsed() < Duration::from_mins(2),
                "the sync did not write enough in time"
            );
            thread::yield_now();
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(document_ids(&trio, "lite").len(), 3_000, "{bytes}");
        if open_collection(&trio, "lite").record.file == before {
            assert_eq!(sync_state(&trio, "lite").0, cursor, "{bytes}");
        }
    }
    let done = sync(&["--rebuild"]);
    assert_eq!((done.code, &done.parse_json()[0]["documents"]), (0, &json!(3_000)), "{done:?}");
    let opened = open_collection(&trio, "lite");
    assert_eq!(opened.collection.store().check_integrity().unwrap().problems, []);
    assert_eq!(
        size_of_newer_files(&trio, &opened.record.file),
        0,
        "files of killed syncs are removed"
    );
}
