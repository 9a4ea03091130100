//! Tables behind the server: `rag.admin.sync`, and `rag.fetch_from_source`, which
//! reads a row by its key and nothing that it may not.

use std::{thread, time::Instant};

use serde_json::{Value, json};

use crate::{
    program::{Caller, Client, PROFILES, Server, Trio},
    table_collections::{POSTS, collections, sync},
};

const ALLOWED: &str = "columns = { posts = [\"Id\", \"Title\", \"score\"] }\n";

/// A server with the three collections, which are there already.
fn serve(trio: &Trio, settings: &str) -> Server {
    sync(trio, &collections(""));
    trio.library.serve_set(&format!("{settings}{}{}", collections(""), trio.profiles(ALLOWED)))
}

fn fetch(client: &Client<'_>, arguments: &Value) -> Value {
    client.call("rag.fetch_from_source", arguments)
}

/// The code and the message of a refusal.
fn refused(client: &Client<'_>, arguments: &Value) -> (String, String) {
    let text = client.refuses("rag.fetch_from_source", arguments);
    let answer: Value = serde_json::from_str(&text).unwrap();
    let said = |name: &str| answer["error"][name].as_str().unwrap().to_owned();
    (said("code"), said("message"))
}

#[test]
fn a_row_is_read_as_it_is_now_and_what_is_not_there_says_so() {
    let trio = Trio::with(POSTS);
    let server = serve(&trio, "");
    let client = server.client();
    trio.run(
        "UPDATE posts SET `Title` = 'A hitch' WHERE `Id` = 1;\nDELETE FROM posts WHERE `Id` = 2;\n",
    );
    for (profile, engine) in PROFILES.into_iter().zip(["sqlite", "mysql", "postgres"]) {
        let [one, two] = [1, 2].map(|number| format!("{profile}:{number}"));
        let asked = json!({ "doc_ids": [one, "missing:2", two], "columns": ["Id"] });
        let answer = fetch(&client, &asked);
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &answer["truncated"]), (3, &json!(false)), "{answer}");
        assert_eq!((&rows[0]["doc_id"], &rows[0]["row"]), (&json!(one), &json!({ "Id": 1 })));
        assert_eq!(rows[0]["source_name"], format!("posts_{profile}"));
        assert_eq!(rows[0]["backend_type"], engine);
        assert!(rows[0]["source_id"].is_i64() && answer["stats"]["ms"].is_u64(), "{answer}");
        for gone in &rows[1..] {
            assert!(gone["error"].as_str().unwrap().contains("not found"), "{answer}");
        }
        let all = fetch(&client, &json!({ "doc_ids": [one] }));
        let expected = json!({ "Id": 1, "Title": "A hitch", "score": 2 });
        assert_eq!(all["rows"][0]["row"], expected, "those that are allowed, and no other");
    }
    let asked: Vec<String> = PROFILES.map(|profile| format!("{profile}:5")).into();
    let three = fetch(&client, &json!({ "doc_ids": asked, "columns": ["score"] }));
    let rows = three["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["row"] == json!({ "score": 6 })), "{three}");
}

#[test]
fn no_other_column_is_read_and_no_more_than_is_asked_for() {
    let trio = Trio::with(POSTS);
    let server = serve(&trio, "");
    let client = server.client();
    for (columns, problem) in [
        (json!(["Body"]), "`Body` of `posts` may not be read; those that may are Id, Title, score"),
        (json!(["Id", "password_hash"]), "`password_hash`"),
        (json!(["id"]), "`id`"),
        (json!(["Id`, (SELECT 1)"]), "is not the name of a column"),
        (json!(["Id\" FROM posts --"]), "is not the name of a column"),
        (json!(["*"]), "is not the name of a column"),
    ] {
        for profile in PROFILES {
            let asked = json!({ "doc_ids": [format!("{profile}:1")], "columns": columns });
            let (code, message) = refused(&client, &asked);
            assert_eq!(code, "INVALID_ARGUMENT", "{message}");
            assert!(message.contains(problem), "{message}");
        }
    }
    let ids = |profile: &str| (1..=10).chain(1..=10).map(|id| format!("{profile}:{id}")).collect();
    for profile in PROFILES {
        let ids: Vec<String> = ids(profile);
        let limited = |limits: Value| fetch(&client, &json!({ "doc_ids": ids, "limits": limits }));
        let few = limited(json!({ "max_rows": 10, "max_bytes": 200_000 }));
        assert_eq!((few["rows"].as_array().unwrap().len(), &few["truncated"]), (10, &json!(true)));
        let all = limited(json!({ "max_rows": 1_000_000, "max_bytes": 9_000_000 }));
        assert_eq!((all["rows"].as_array().unwrap().len(), &all["truncated"]), (20, &json!(false)));
        let tight = limited(json!({ "max_rows": 20, "max_bytes": 100 }));
        let rows = tight["rows"].as_array().unwrap();
        assert_eq!(tight["truncated"], true, "{profile}");
        assert!((1..=3).contains(&rows.len()), "{tight}");
        assert!(rows.iter().all(|row| row["row"].is_object()), "{tight}");
    }
    let none = trio.library.serve_set(&format!("{}{}", collections(""), trio.profiles("")));
    let asked = json!({ "doc_ids": ["pg:1"] });
    let (code, message) = refused(&none.client(), &asked);
    assert!(
        code == "NOT_CONFIGURED" && message.contains("`columns` of the profile `pg`"),
        "{message}"
    );
    assert_eq!(
        refused(&none.client(), &json!({ "doc_ids": ["pg:1"], "columns": ["Id"] })).0,
        "INVALID_ARGUMENT"
    );
}

#[test]
fn files_have_no_rows_and_a_database_that_is_away_costs_its_own_rows() {
    let trio = Trio::with(POSTS);
    let server = serve(&trio, "");
    trio.library.write("docs/a.md", "# A\n\nText.\n");
    let folder = trio.library.file("docs");
    let built = trio.library.run(&["collection", "build", "kb", folder.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let client = server.client();
    let (code, message) = refused(&client, &json!({ "doc_ids": ["kb:a.md"] }));
    assert!(code == "NOT_CONFIGURED" && message.contains("`kb` comes from files"), "{message}");
    assert_eq!(refused(&client, &json!({ "doc_ids": ["missing:1"] })).0, "NOT_FOUND");
    trio.run_on("maria", "ALTER TABLE posts RENAME TO gone;\n");
    let asked = json!({ "doc_ids": ["kb:a.md", "maria:1", "pg:1"], "columns": ["Id"] });
    let answer = fetch(&client, &asked);
    assert!(answer["rows"][0]["error"].as_str().unwrap().contains("comes from a file"), "{answer}");
    assert!(answer["rows"][1]["error"].as_str().unwrap().contains("posts"), "{answer}");
    assert_eq!(answer["rows"][2]["row"], json!({ "Id": 1 }));
}

#[test]
fn whoever_sees_a_document_reads_its_row_without_having_the_database() {
    let trio = Trio::with(POSTS);
    let admin = trio.library.key_with("root", &["--scope", "admin"]);
    let reader = trio.library.key_with("reader", &["--scope", "read"]);
    let gateway = trio.library.key_with("gateway", &["--delegating"]);
    let tagged = collections("access_tags = [\"team:rope\"]");
    let settings = format!("{tagged}{}", trio.profiles(ALLOWED));
    let server =
        trio.library.serve_many(&format!("[tools]\nrag = \"on\"\ndatabases = \"on\"\n{settings}"));
    let root = server.client().bearing(&admin);
    let begun = Instant::now();
    let job = root.call("rag.admin.sync", &json!({}));
    assert_eq!(job["accepted"], true, "{job}");
    loop {
        let stats = root.call("rag.admin.stats", &json!({}));
        let docs = |source: &Value| source["docs"] == 10 && source["last_sync"].is_string();
        if stats["sources"].as_array().unwrap().iter().filter(|it| docs(it)).count() == 3 {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{stats}");
        thread::yield_now();
    }
    let asked = json!({ "doc_ids": ["pg:1"], "columns": ["Id"] });
    let without = server.client().bearing(&reader);
    assert_eq!(refused(&without, &asked).0, "NOT_FOUND", "without the tag it is not there");
    let with = server.client().bearing(&gateway).with_header("x-session-tags", "[\"team:rope\"]");
    assert_eq!(fetch(&with, &asked)["rows"][0]["row"], json!({ "Id": 1 }));
    let query = json!({ "sql": "SELECT 1", "profile": "pg" });
    assert!(with.refuses("query", &query).contains("profile does not exist"), "it is not theirs");
}
