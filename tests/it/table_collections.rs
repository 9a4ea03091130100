//! Collections of tables: rows that become documents, on each engine; what is new,
//! changed or gone; and that a collection is whole at every moment.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vademecum::collections::{Catalogue, VisibleCollection};
use vademecum_core::auth::local_principal;
use vademecum_kit::model::Deadline;

use crate::program::{Caller, Done, PROFILES, Trio, program};

/// Ten posts, whose scores are 2 to 11; the last is hidden.
pub(crate) const POSTS: &str = "CREATE TABLE posts (`Id` integer PRIMARY KEY, `Title` varchar(100), \
    `Body` varchar(1000), `Tags` varchar(100), `score` integer, `CreaionDate` varchar(30), \
    `Changed` integer, `hidden` integer);\n\
    INSERT INTO posts (`Id`) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10);\n\
    UPDATE posts SET `Title` = 'A bight', `Body` = 'Tie a bight in the rope.', `Tags` = '<rope>', \
    `score` = `Id` + 1, `CreaionDate` = '2024-01-02 03:04:05', `Changed` = `Id`, \
    `hidden` = CASE WHEN `Id` = 10 THEN 1 ELSE 0 END;\n";

/// The collections `posts_lite`, `posts_maria` and `posts_pg`, with more for each.
pub(crate) fn collections(more: &str) -> String {
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

fn run(trio: &Trio, arguments: &[&str], settings: &str) -> Done {
    let file = trio.settings(settings);
    let config = ["--config", file.to_str().unwrap()];
    trio.library.run(&[&["collection"], arguments, &config].concat())
}

/// Brings all collections up to date: what became of each.
pub(crate) fn sync(trio: &Trio, settings: &str) -> Vec<Value> {
    let done = run(trio, &["sync", "--json"], settings);
    assert_eq!(done.code, 0, "{done:?}");
    let reports = done.json().as_array().unwrap().clone();
    assert_eq!(reports.len(), PROFILES.len(), "{reports:?}");
    reports
}

/// How many documents were new, updated, unchanged and gone.
fn counts(report: &Value) -> [u64; 4] {
    ["new", "updated", "unchanged", "gone"].map(|name| report[name].as_u64().unwrap())
}

fn open(trio: &Trio, profile: &str) -> VisibleCollection {
    let catalogue = Catalogue::new(&trio.library.data());
    catalogue
        .find_visible(&local_principal("local".parse().unwrap()), &format!("posts_{profile}"))
        .unwrap()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

/// The cursor of a collection, and why it could not be brought up to date.
fn state(trio: &Trio, profile: &str) -> (Value, Option<String>) {
    let opened = open(trio, profile);
    let collection = &opened.collection;
    let read =
        collection.read(soon(), |reader| collection.sync_state(reader, opened.record.source_id));
    let state = read.unwrap();
    (serde_json::from_str(&state.cursor_json.unwrap()).unwrap(), state.last_error)
}

/// The names of all documents, in order.
fn names(trio: &Trio, profile: &str) -> Vec<String> {
    let opened = open(trio, profile);
    let collection = &opened.collection;
    let read = collection
        .read(soon(), |reader| collection.content_hashes(reader, opened.record.source_id));
    let mut names: Vec<String> = read.unwrap().into_keys().collect();
    names.sort();
    names
}

#[test]
fn rows_become_documents_as_the_map_says() {
    let trio = Trio::with(POSTS);
    for report in sync(&trio, &collections("chunking = { enabled = false }")) {
        assert_eq!(counts(&report), [10, 0, 0, 0], "{report}");
        assert_eq!((&report["documents"], &report["chunks"]), (&json!(10), &json!(10)));
        assert_eq!((&report["vectors"], &report["skipped"]), (&json!(0), &json!([])));
    }
    let server = trio.library.serve();
    for (profile, engine) in PROFILES.into_iter().zip(["sqlite", "mysql", "postgres"]) {
        let id = format!("{profile}:3");
        let read = server.client().call("rag.get_docs", &json!({ "doc_ids": [id] }));
        let document = &read["docs"][0];
        assert_eq!(document["pk_json"], json!({ "Id": 3 }), "{profile}");
        assert_eq!(
            (&document["title"], &document["body"]),
            (&json!("A bight #3"), &json!("Tie a bight in the rope."))
        );
        let metadata =
            json!({ "Id": 3, "Tags": "<rope>", "score": 4, "CreationDate": "2024-01-02 03:04:05" });
        assert_eq!(document["metadata"], metadata);
        let asked = json!({ "query": "bight", "k": 20, "filters": {
            "source_names": [format!("posts_{profile}")], "tags_any": ["rope"], "min_score": 4,
            "created_after": "2024-01-01",
        }});
        let found = server.client().call("rag.search_fts", &asked);
        let found = found["results"].as_array().unwrap();
        assert!(found.iter().any(|hit| hit["chunk_id"] == format!("{id}#0")), "{found:?}");
        assert_eq!(found.len(), 8);
        let collection = open(&trio, profile).collection;
        let sources = collection.read(soon(), |reader| collection.list_sources(reader)).unwrap();
        assert_eq!(sources[0].source.backend_type, engine);
        assert!(sources[0].source.doc_map_json.contains("\"pick\""), "{sources:?}");
    }
    let shown = run(&trio, &["show", "posts_pg"], "");
    assert!(shown.stdout.contains("table: posts (profile pg)\n"), "{shown:?}");
    for report in
        sync(&trio, &collections("chunking = { enabled = false }\nwhere = \"score >= 7\""))
    {
        assert_eq!((counts(&report), &report["documents"]), ([0, 0, 5, 5], &json!(5)), "{report}");
    }
}

#[test]
fn what_is_new_changed_or_gone_is_noticed_without_a_cursor() {
    let trio = Trio::with(POSTS);
    sync(&trio, &collections(""));
    trio.run(
        "UPDATE posts SET `Body` = 'Tie a hitch.' WHERE `Id` = 3;\nDELETE FROM posts WHERE `Id` = 4;\n\
         INSERT INTO posts (`Id`, `Title`, `Body`) VALUES (11, 'A bend', 'Tie a bend.');\n",
    );
    for report in sync(&trio, &collections("")) {
        assert_eq!(
            (counts(&report), &report["rebuilt"]),
            ([1, 1, 8, 1], &json!(false)),
            "{report}"
        );
    }
    let server = trio.library.serve();
    for (query, count) in [("hitch", 3), ("bend", 3), ("bight", 27)] {
        let found = server.client().call("rag.search_fts", &json!({ "query": query, "k": 50 }));
        assert_eq!(found["results"].as_array().unwrap().len(), count, "{query}");
    }
    for report in sync(&trio, &collections("access_tags = [\"team:a\"]")) {
        assert_eq!(counts(&report), [0, 10, 0, 0], "the tags are part of a document: {report}");
    }
}

#[test]
fn with_a_cursor_only_what_it_marks_is_read_again_and_the_keys_of_all() {
    let trio = Trio::with(POSTS);
    let settings = collections("where = \"hidden = 0\"\ncursor = { column = \"Changed\" }");
    for report in sync(&trio, &settings) {
        assert_eq!(counts(&report), [9, 0, 0, 0], "{report}");
    }
    for profile in PROFILES {
        assert_eq!(state(&trio, profile), (json!({ "column": "Changed", "value": 9 }), None));
    }
    trio.run(
        "UPDATE posts SET `Body` = 'Tie a hitch.', `Changed` = 11 WHERE `Id` = 3;\n\
         UPDATE posts SET `Body` = 'Nobody is told.' WHERE `Id` = 6;\n\
         DELETE FROM posts WHERE `Id` = 4;\n\
         UPDATE posts SET `hidden` = 0 WHERE `Id` = 10;\n\
         INSERT INTO posts (`Id`, `Title`, `Body`, `Changed`, `hidden`) \
         VALUES (11, 'A bend', 'Tie a bend.', 12, 0), (12, 'A knot', 'Tie it.', NULL, 0);\n",
    );
    for report in sync(&trio, &settings) {
        assert_eq!(counts(&report), [3, 1, 7, 1], "{report}");
    }
    let server = trio.library.serve();
    let found = |query: &str| {
        let found = server.client().call("rag.search_fts", &json!({ "query": query, "k": 50 }));
        found["results"].as_array().unwrap().len()
    };
    assert_eq!((found("hitch"), found("bend"), found("nobody told")), (3, 3, 0));
    for profile in PROFILES {
        assert_eq!(state(&trio, profile).0["value"], 12, "{profile}");
    }
    let everything = settings.replace("{Id}", "{Id}!");
    for report in sync(&trio, &everything) {
        assert_eq!(counts(&report), [11, 0, 0, 11], "another map, and all is read: {report}");
    }
    assert_eq!(found("nobody told"), 3);
}

#[test]
fn a_sync_that_fails_changes_nothing_but_the_error() {
    let trio = Trio::with(POSTS);
    let settings = collections("cursor = { column = \"Changed\" }");
    sync(&trio, &settings);
    let before = PROFILES.map(|profile| names(&trio, profile));
    trio.run(
        "INSERT INTO posts (`Id`, `Changed`) VALUES (11, 11);\nALTER TABLE posts RENAME TO gone;\n",
    );
    let done = run(&trio, &["sync"], &settings);
    assert_eq!(done.code, 1, "{done:?}");
    for profile in PROFILES {
        assert!(done.stderr.contains(&format!("`posts_{profile}` stays as it was")), "{done:?}");
        let (cursor, error) = state(&trio, profile);
        assert_eq!(cursor["value"], 10);
        assert!(error.unwrap().contains("stays as it was"), "{profile}");
    }
    assert_eq!(PROFILES.map(|profile| names(&trio, profile)), before);
    trio.run("ALTER TABLE gone RENAME TO posts;\n");
    for report in sync(&trio, &settings) {
        assert_eq!(counts(&report), [1, 0, 10, 0], "{report}");
    }
    assert_eq!(state(&trio, "pg"), (json!({ "column": "Changed", "value": 11 }), None));
}

#[test]
fn every_row_of_a_long_table_is_read_whatever_its_key() {
    let numbers = "CREATE TABLE posts (`Id` bigint PRIMARY KEY, `Title` varchar(100), \
        `Body` varchar(1000), `Tags` varchar(100), `score` integer, `CreaionDate` varchar(30));\n";
    let words = numbers.replace("bigint", "varchar(50)");
    for (table, number) in [(numbers, true), (&words, false)] {
        let trio = Trio::with(table);
        let keys: Vec<String> = (0..600_i64)
            .map(|at| match (number, at % 3) {
                (true, _) => (9_007_199_254_740_700 + at).to_string(),
                (false, 0) => format!("'Key {at} o''clock'"),
                (false, 1) => format!("'ä {at}'"),
                (false, _) => format!("'{at}'"),
            })
            .collect();
        let rows: Vec<String> = keys.iter().map(|key| format!("({key}, 'Tie it.')")).collect();
        trio.run(&format!("INSERT INTO posts (`Id`, `Body`) VALUES {};\n", rows.join(", ")));
        for report in sync(&trio, &collections("")) {
            assert_eq!(counts(&report), [600, 0, 0, 0], "{report}");
        }
        for profile in PROFILES {
            let mut expected: Vec<String> = keys
                .iter()
                .map(|key| format!("{profile}:{}", key.trim_matches('\'').replace("''", "'")))
                .collect();
            expected.sort();
            assert_eq!(names(&trio, profile), expected, "{profile}");
        }
        for report in sync(&trio, &collections("")) {
            assert_eq!(counts(&report), [0, 0, 600, 0], "{report}");
        }
    }
}

#[test]
fn what_a_plan_cannot_mean_is_said_and_takes_nothing_away() {
    let trio = Trio::with(POSTS);
    sync(&trio, &collections(""));
    let doubled = collections("")
        .replace("pk_column = \"Id\"", "pk_column = \"Tags\"")
        .replace("{Id}", "{Tags}");
    let unknown = collections("").replace("col = \"Body\"", "col = \"Boddy\"");
    for (settings, reason) in [(doubled, "unique"), (unknown, "Boddy")] {
        let done = run(&trio, &["sync"], &settings);
        assert_eq!(done.code, 1, "{done:?}");
        for profile in PROFILES {
            let said =
                done.stderr.lines().find(|line| line.contains(&format!("`posts_{profile}`")));
            assert!(said.unwrap().contains(reason), "{done:?}");
            assert_eq!(names(&trio, profile).len(), 10);
        }
    }
    for (more, reason) in [
        ("where = \"1 = 1; DROP TABLE posts\"", "semicolon"),
        ("where = \"Id IN (SELECT 1)\"", "sub-select"),
        ("folders = [\"/tmp\"]", "take one of them out"),
    ] {
        let done = run(&trio, &["sync"], &collections(more));
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(reason), "{done:?}");
    }
    let nowhere = collections("").replace("profile = \"pg\"", "profile = \"cellar\"");
    let done = run(&trio, &["sync"], &nowhere);
    assert!(done.code == 1 && done.stderr.contains("profile does not exist"), "{done:?}");
    assert_eq!(trio.count("pg", "SELECT count(*) FROM posts"), 10);
}

#[test]
fn rows_get_vectors_and_keep_them_while_they_are_as_they_were() {
    let trio = Trio::with(POSTS);
    let stub = "[embeddings]\nprovider = \"stub\"\ndimensions = 32\n";
    let settings = format!("{stub}{}", collections(""));
    for report in sync(&trio, &settings) {
        assert_eq!((&report["vectors"], &report["embedding_error"]), (&json!(10), &Value::Null));
    }
    trio.run("UPDATE posts SET `Body` = 'Tie a hitch.' WHERE `Id` = 3;\n");
    for report in sync(&trio, &settings) {
        assert_eq!((counts(&report), &report["vectors"]), ([0, 1, 9, 0], &json!(10)), "{report}");
    }
}

/// Begins to sync, as another process.
fn begin(trio: &Trio, settings: &Path) -> Child {
    program()
        .args(["collection", "sync", "posts_lite", "--rebuild", "--config"])
        .arg(settings)
        .arg("--data")
        .arg(trio.library.data())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many bytes the files of a collection have that come after this one.
fn written_after(trio: &Trio, file: &str) -> u64 {
    let number = |name: &str| -> Option<u64> {
        name.strip_prefix("posts_lite.")?.split_once(".db")?.0.parse().ok()
    };
    let entries = fs::read_dir(trio.library.data().join("collections")).unwrap();
    let files = entries.map(|entry| entry.unwrap()).filter(|entry| {
        let found = number(entry.file_name().to_str().unwrap());
        found.is_some_and(|it| it > number(file).unwrap())
    });
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

#[test]
fn a_sync_that_is_killed_leaves_the_collection_whole_and_the_next_completes() {
    let trio = Trio::with(POSTS);
    trio.run_on(
        "lite",
        "WITH RECURSIVE more (n) AS (SELECT 11 UNION ALL SELECT n + 1 FROM more WHERE n < 3000) \
         INSERT INTO posts (`Id`, `Body`) SELECT n, 'Tie a bight in the rope.' FROM more;\n",
    );
    let file = trio.settings(&collections("cursor = { column = \"Changed\" }"));
    let sync = |arguments: &[&str]| {
        let config = ["--json", "--config", file.to_str().unwrap()];
        trio.library.run(&[&["collection", "sync", "posts_lite"], arguments, &config].concat())
    };
    assert_eq!(sync(&[]).json()[0]["documents"], 3_000);
    for bytes in [0, 1, 300_000] {
        let before = open(&trio, "lite").record.file;
        trio.run_on(
            "lite",
            "UPDATE posts SET `Changed` = `Changed` + 1, `Body` = `Body` || ' Again.';\n",
        );
        let cursor = state(&trio, "lite").0;
        let mut killed = begin(&trio, &file);
        let begun = Instant::now();
        while written_after(&trio, &before) < bytes && killed.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_mins(2), "the sync never came that far");
            thread::yield_now();
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(names(&trio, "lite").len(), 3_000, "{bytes}");
        if open(&trio, "lite").record.file == before {
            assert_eq!(state(&trio, "lite").0, cursor, "{bytes}");
        }
    }
    let done = sync(&["--rebuild"]);
    assert_eq!((done.code, &done.json()[0]["documents"]), (0, &json!(3_000)), "{done:?}");
    let opened = open(&trio, "lite");
    assert_eq!(opened.collection.store().check_integrity().unwrap().problems, []);
    assert_eq!(written_after(&trio, &opened.record.file), 0, "nothing is left of what was killed");
}
