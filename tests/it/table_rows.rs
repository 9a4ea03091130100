//! End-to-end tests of `rag.admin.sync` and `rag.fetch_from_source` on table collections, including
//! column and access restrictions.

use std::{thread, time::Instant};

use serde_json::{Value, json};

use crate::{
    support::{AllEngines, HttpClient, McpClient, PROFILES, Server},
    table_collections::{POSTS_SQL, collection_settings, sync_all},
};

const ALLOWED_COLUMNS: &str = "columns = { posts = [\"Id\", \"Title\", \"score\"] }\n";

/// Serves the three table collections, which were synchronized before.
fn serve_collections(trio: &AllEngines, settings: &str) -> Server {
    sync_all(trio, &collection_settings(""));
    trio.library.serve_with_settings(&format!(
        "{settings}{}{}",
        collection_settings(""),
        trio.profile_settings(ALLOWED_COLUMNS)
    ))
}

fn fetch_rows(client: &HttpClient<'_>, arguments: &Value) -> Value {
    client.call_tool("rag.fetch_from_source", arguments)
}

/// Calls `rag.fetch_from_source`, which must fail, and returns the code and the message of the
/// error.
fn expect_error(client: &HttpClient<'_>, arguments: &Value) -> (String, String) {
    let text = client.expect_tool_error("rag.fetch_from_source", arguments);
    let answer: Value = serde_json::from_str(&text).unwrap();
    let error_field = |name: &str| answer["error"][name].as_str().unwrap().to_owned();
    (error_field("code"), error_field("message"))
}

#[test]
fn fetch_returns_current_rows_and_errors_for_missing() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let server = serve_collections(&trio, "");
    let client = server.client();
    trio.execute(
        "UPDATE posts SET `Title` = 'A hitch' WHERE `Id` = 1;\nDELETE FROM posts WHERE `Id` = 2;\n",
    );
    for (profile, engine) in PROFILES.into_iter().zip(["sqlite", "mysql", "postgres"]) {
        let [one, two] = [1, 2].map(|number| format!("{profile}:{number}"));
        let arguments = json!({ "doc_ids": [one, "missing:2", two], "columns": ["Id"] });
        let answer = fetch_rows(&client, &arguments);
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &answer["truncated"]), (3, &json!(false)), "{answer}");
        assert_eq!((&rows[0]["doc_id"], &rows[0]["row"]), (&json!(one), &json!({ "Id": 1 })));
        assert_eq!(rows[0]["source_name"], format!("posts_{profile}"));
        assert_eq!(rows[0]["backend_type"], engine);
        assert!(rows[0]["source_id"].is_i64() && answer["stats"]["ms"].is_u64(), "{answer}");
        for gone in &rows[1..] {
            assert!(gone["error"].as_str().unwrap().contains("not found"), "{answer}");
        }
        let all = fetch_rows(&client, &json!({ "doc_ids": [one] }));
        let expected = json!({ "Id": 1, "Title": "A hitch", "score": 2 });
        assert_eq!(all["rows"][0]["row"], expected, "only the allowed columns");
    }
    let doc_ids: Vec<String> = PROFILES.map(|profile| format!("{profile}:5")).into();
    let three = fetch_rows(&client, &json!({ "doc_ids": doc_ids, "columns": ["score"] }));
    let rows = three["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["row"] == json!({ "score": 6 })), "{three}");
}

#[test]
fn fetch_enforces_column_and_size_limits() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let server = serve_collections(&trio, "");
    let client = server.client();
    for (columns, problem) in [
        (json!(["Body"]), "`Body` of `posts` is not allowed; allowed are Id, Title, score"),
        (json!(["Id", "password_hash"]), "`password_hash`"),
        (json!(["id"]), "`id`"),
        (json!(["Id`, (SELECT 1)"]), "is not the name of a column"),
        (json!(["Id\" FROM posts --"]), "is not the name of a column"),
        (json!(["*"]), "is not the name of a column"),
    ] {
        for profile in PROFILES {
            let arguments = json!({ "doc_ids": [format!("{profile}:1")], "columns": columns });
            let (code, message) = expect_error(&client, &arguments);
            assert_eq!(code, "INVALID_ARGUMENT", "{message}");
            assert!(message.contains(problem), "{message}");
        }
    }
    let ids = |profile: &str| (1..=10).chain(1..=10).map(|id| format!("{profile}:{id}")).collect();
    for profile in PROFILES {
        let ids: Vec<String> = ids(profile);
        let limited =
            |limits: Value| fetch_rows(&client, &json!({ "doc_ids": ids, "limits": limits }));
        let few = limited(json!({ "max_rows": 10, "max_bytes": 200_000 }));
        assert_eq!((few["rows"].as_array().unwrap().len(), &few["truncated"]), (10, &json!(true)));
        assert_eq!(few["omitted"], json!(ids[10..]), "{profile}");
        let all = limited(json!({ "max_rows": 1_000_000, "max_bytes": 9_000_000 }));
        assert_eq!((all["rows"].as_array().unwrap().len(), &all["truncated"]), (20, &json!(false)));
        let tight = limited(json!({ "max_rows": 20, "max_bytes": 100 }));
        let rows = tight["rows"].as_array().unwrap();
        assert_eq!(tight["truncated"], true, "{profile}");
        assert!((1..=3).contains(&rows.len()), "{tight}");
        assert!(rows.iter().all(|row| row["row"].is_object()), "{tight}");
    }
    let none = trio.library.serve_with_settings(&format!(
        "{}{}",
        collection_settings(""),
        trio.profile_settings("")
    ));
    let arguments = json!({ "doc_ids": ["pg:1"] });
    let (code, message) = expect_error(&none.client(), &arguments);
    assert!(
        code == "NOT_CONFIGURED" && message.contains("`columns` of the profile `pg`"),
        "{message}"
    );
    assert_eq!(
        expect_error(&none.client(), &json!({ "doc_ids": ["pg:1"], "columns": ["Id"] })).0,
        "INVALID_ARGUMENT"
    );
}

#[test]
fn fetch_reports_file_documents_and_failing_databases() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let server = serve_collections(&trio, "");
    trio.library.write_file("docs/a.md", "# A\n\nText.\n");
    let folder = trio.library.file_path("docs");
    let built = trio.library.run(&["collection", "build", "kb", folder.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let client = server.client();
    let (code, message) = expect_error(&client, &json!({ "doc_ids": ["kb:a.md"] }));
    assert!(code == "NOT_CONFIGURED" && message.contains("`kb` comes from files"), "{message}");
    assert_eq!(expect_error(&client, &json!({ "doc_ids": ["missing:1"] })).0, "NOT_FOUND");
    trio.execute_on("maria", "ALTER TABLE posts RENAME TO gone;\n");
    let arguments = json!({ "doc_ids": ["kb:a.md", "maria:1", "pg:1"], "columns": ["Id"] });
    let answer = fetch_rows(&client, &arguments);
    assert!(answer["rows"][0]["error"].as_str().unwrap().contains("comes from a file"), "{answer}");
    assert!(answer["rows"][1]["error"].as_str().unwrap().contains("posts"), "{answer}");
    assert_eq!(answer["rows"][2]["row"], json!({ "Id": 1 }));
}

/// Waits until the three collections have all documents.
fn await_documents(client: &HttpClient<'_>) {
    let begun = Instant::now();
    loop {
        let stats = client.call_tool("rag.admin.stats", &json!({}));
        let docs = |source: &Value| source["docs"] == 10 && source["last_sync"].is_string();
        if stats["sources"].as_array().unwrap().iter().filter(|it| docs(it)).count() == 3 {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "{stats}");
        thread::yield_now();
    }
}

#[test]
fn fetch_requires_document_and_profile_access() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let admin = trio.library.create_key_with("root", &["--scope", "admin"]);
    let reader = trio.library.create_key_with("reader", &["--scope", "read"]);
    let stranger = trio.library.create_key_with("stranger", &["--delegating"]);
    let clerk = trio.library.create_key_with("clerk", &["--delegating"]);
    let tagged = collection_settings("access_tags = [\"team:rope\"]");
    let profiles =
        trio.profile_settings(&format!("{ALLOWED_COLUMNS}users = [\"root\", \"clerk\"]\n"));
    let server = trio.library.serve_multi_user(&format!(
        "[tools]\nrag = \"on\"\ndatabases = \"on\"\n{tagged}{profiles}"
    ));
    let root = server.client().with_bearer_token(&admin);
    let job = root.call_tool("rag.admin.sync", &json!({}));
    assert_eq!(job["accepted"], true, "{job}");
    await_documents(&root);
    let arguments = json!({ "doc_ids": ["pg:1"], "columns": ["Id"] });
    let without = server.client().with_bearer_token(&reader);
    assert_eq!(
        expect_error(&without, &arguments).0,
        "NOT_FOUND",
        "without the tag the document is hidden"
    );
    let tagged = |key: &str| {
        let client = server.client().with_bearer_token(key);
        client.with_header("x-session-tags", "[\"team:rope\"]")
    };
    assert_eq!(fetch_rows(&tagged(&clerk), &arguments)["rows"][0]["row"], json!({ "Id": 1 }));
    let stranger = tagged(&stranger);
    for profile in PROFILES {
        let arguments = json!({ "doc_ids": [format!("{profile}:1")], "columns": ["Id"] });
        let (code, message) = expect_error(&stranger, &arguments);
        assert_eq!(code, "FAILED_PRECONDITION", "{message}");
        assert!(message.contains("rag.get_docs") && !message.contains("`Id`"), "{message}");
    }
    let read = stranger.call_tool("rag.get_docs", &json!({ "doc_ids": ["pg:1"] }));
    assert_eq!(read["docs"][0]["doc_id"], "pg:1", "the documents stay readable: {read}");
    let query = json!({ "sql": "SELECT 1", "profile": "pg" });
    assert!(
        stranger.expect_tool_error("query", &query).contains("profile does not exist"),
        "the profile belongs to other users"
    );
}

#[test]
fn sync_requires_profile_access() {
    let trio = AllEngines::with_statements(POSTS_SQL);
    let [owner, other] =
        ["owner", "other"].map(|user| trio.library.create_key_with(user, &["--scope", "admin"]));
    let mut profiles = trio.profile_settings("users = [\"owner\"]\n");
    profiles = profiles.replacen("users = [\"owner\"]", "users = [\"owner\", \"other\"]", 1);
    let server = trio
        .library
        .serve_multi_user(&format!("[tools]\nrag = \"on\"\n{}{profiles}", collection_settings("")));
    let other = server.client().with_bearer_token(&other);
    for profile in ["maria", "lite"] {
        let named = json!({ "source_names": [format!("posts_{profile}")] });
        let error = other.expect_tool_error("rag.admin.sync", &named);
        let part = format!("`posts_{profile}` reads a database that you may not use");
        assert!(error.contains("INVALID_ARGUMENT") && error.contains(&part), "{error}");
    }
    // All collections are those that the caller may read.
    assert_eq!(other.call_tool("rag.admin.sync", &json!({}))["accepted"], true);
    let begun = Instant::now();
    let sources = || {
        let stats = other.call_tool("rag.admin.stats", &json!({}));
        let sources = stats["sources"].as_array().unwrap().iter();
        let docs = |it: &Value| (it["source_name"].clone(), it["docs"].clone());
        sources.map(docs).collect::<Vec<_>>()
    };
    while sources() != [(json!("posts_pg"), json!(10))] {
        assert!(begun.elapsed().as_secs() < 60, "{:?}", sources());
        thread::yield_now();
    }
    let owner = server.client().with_bearer_token(&owner);
    // The first sync may still be ending.
    while owner.call_tool("rag.admin.sync", &json!({}))["accepted"] != true {
        assert!(begun.elapsed().as_secs() < 60);
    }
    await_documents(&owner);
}
