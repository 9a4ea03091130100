//! End-to-end tests of serving tldw databases, which must never be modified.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    HttpClient, Library, McpClient, SOURCES, Server, TldwDirectory, TldwVariant, folder_snapshot,
};

/// Serves a directory with a single user.
pub(crate) fn serve(library: &Library, tldw: &TldwDirectory) -> Server {
    library.serve_with(&["--tldw", tldw.path_str()])
}

/// Serves a directory to many users.
fn serve_many(library: &Library, tldw: &TldwDirectory) -> Server {
    library.serve_multi_user(&format!("[storage]\ntldw = {:?}\n", tldw.path_str()))
}

pub(crate) fn search_uris(client: &HttpClient<'_>, query: &str) -> Vec<String> {
    let mut uris = client.search_uris("knowledge.search", &json!({ "query": query, "limit": 50 }));
    uris.sort();
    uris
}

/// Repeats a request until its result is right, for at most 10 seconds. Changes by tldw are picked
/// up with a short delay.
pub(crate) fn wait_for<T>(request: impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let answer = request();
        if is_right(&answer) || begun.elapsed() > Duration::from_secs(10) {
            return answer;
        }
    }
}

pub(crate) fn full_item(client: &HttpClient<'_>, source: &str, id: &Value) -> Value {
    client.get_item(source, id, &json!({ "mode": "full" }))
}

#[test]
fn every_generation_served_unmodified_with_its_identifiers() {
    for generation in TldwVariant::ALL {
        let (library, tldw) = (Library::new(), TldwDirectory::new(generation, &["1"]));
        let before = folder_snapshot(tldw.path());
        assert_eq!(before.len(), 3, "{generation:?}");
        let server = serve(&library, &tldw);
        let client = server.client();
        let lanterns =
            ["characters://7", "chats://c-1#m-1", "media://11", "notes://n-1", "prompts://21"];
        let found = search_uris(&client, "lantern");
        let found: Vec<&str> = found.iter().map(|uri| uri.trim_end_matches("#m-1")).collect();
        let expected = lanterns.map(|uri| uri.trim_end_matches("#m-1"));
        assert_eq!(found, expected, "{generation:?}");
        for source in SOURCES {
            let hit = client.only_hit(&format!("{source}.search"), &json!({ "query": "lantern" }));
            let item = full_item(&client, source, &hit["id"]);
            assert!(item["content"].to_string().contains("lantern"), "{source}: {item}");
        }
        drop(server.kill_and_read_log());
        assert_eq!(folder_snapshot(tldw.path()), before, "{generation:?}");
    }
}

#[test]
fn items_hidden_by_tldw_are_not_found() {
    for generation in TldwVariant::ALL {
        let (library, tldw) = (Library::new(), TldwDirectory::new(generation, &["1"]));
        let server = serve(&library, &tldw);
        let client = server.client();
        // These words occur only in deleted, trashed, staged or unselected items, and in stale
        // index entries.
        for word in ["ashes", "wraith"] {
            assert_eq!(search_uris(&client, word), [""; 0], "{generation:?} {word}");
        }
        assert!(
            client.expect_tool_error("notes.get", &json!({ "note_id": "n-2" })).contains("n-2")
        );
        assert!(client.expect_tool_error("media.get", &json!({ "media_id": 12 })).contains("12"));
        assert!(
            client
                .expect_tool_error("chats.get", &json!({ "conversation_id": "c-2" }))
                .contains("c-2")
        );
    }
}

#[test]
fn items_keep_all_their_fields() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let note = client.only_hit("notes.search", &json!({ "query": "quay" }));
    assert_eq!((&note["title"], &note["tags"]), (&json!("Harbour"), &json!(["sea"])));
    assert_eq!(note["created_at"], "2026-01-02T08:00:00.000Z");
    assert_eq!(note["last_modified"], "2026-01-03T08:00:00.000Z");
    let card = full_item(&client, "characters", &json!(7));
    for part in ["Ahoy.", "keeper", "calm"] {
        assert!(card.to_string().contains(part), "{part}: {card}");
    }
    for (word, field) in [
        ("ahoy", "alternate_greetings"),
        ("whisper", "post_history_instructions"),
        ("fog", "character_book"),
    ] {
        let hit = client.only_hit("characters.search", &json!({ "query": word }));
        assert_eq!(hit["loc"]["field"], field, "{hit}");
    }
    let held = json!({ "query": "lantern", "character_id": 7 });
    assert_eq!(client.only_hit("chats.search", &held)["title"], "Night watch");
    // The name of a prompt may be a number; the identifier takes precedence.
    let prompt = client.only_hit("prompts.search", &json!({ "query": "describe" }));
    assert_eq!((&prompt["title"], &prompt["tags"]), (&json!("3"), &json!(["light"])));
    let media = client.only_hit("media.search", &json!({ "query": "fresnel" }));
    assert_eq!(media["url"], "https://example.org/fresnel");
    assert_eq!(media["created_at"], "2026-01-07T09:00:00.000Z");
    let media = full_item(&client, "media", &json!(11));
    assert!(media["attachments"].to_string().contains("Light bends well."), "{media}");
}

#[test]
fn messages_sorted_by_time_in_any_notation() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Chatbook, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let conversation = full_item(&client, "chats", &json!("c-1"));
    let messages = conversation["content"]["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages.iter().map(|message| &message["message_id"]).collect();
    assert_eq!(ids, ["m-1", "m-2", "m-3"]);
    assert_eq!(messages[0]["timestamp"], "2026-01-05T10:00:00.000Z");
    let fork = client.only_hit("chats.search", &json!({ "query": "brass" }));
    assert_eq!(fork["conversation_id"], "c-3");
}

#[test]
fn chunks_use_code_point_offsets_of_tldw() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::LegacyServer, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": "東京" }));
    assert_eq!(hit["loc"]["chunk_index"], 1, "{hit}");
    let retrieval = json!({ "mode": "chunk", "loc": hit["loc"] });
    let chunk = client.get_item("media", &json!(11), &retrieval);
    assert_eq!(chunk["content"], "glows. 東京 harbour at dusk.", "{chunk}");
    // The overlap of neighbouring chunks is included once.
    let retrieval = json!({ "mode": "chunk_with_siblings", "loc": hit["loc"] });
    let both = client.get_item("media", &json!(11), &retrieval);
    assert_eq!(both["content"], "Größe zählt: the lantern glows. 東京 harbour at dusk.", "{both}");
}

#[test]
fn newest_transcript_read_in_every_format() {
    for generation in TldwVariant::ALL {
        let (library, tldw) = (Library::new(), TldwDirectory::new(generation, &["1"]));
        let server = serve(&library, &tldw);
        let client = server.client();
        let spoken =
            client.call_tool("media.transcript", &json!({ "media_id": 14, "format": "json" }));
        let text = spoken.to_string();
        assert!(text.contains("The tower answers.") && !text.contains("older run"), "{spoken}");
        assert!(text.contains("1.5") && text.contains("\"en\""), "{spoken}");
        let plain =
            client.call_tool("media.transcript", &json!({ "media_id": 15, "format": "json" }));
        assert!(plain.to_string().contains("Said without times."), "{plain}");
    }
}

#[test]
fn changes_by_tldw_are_found_shortly_after() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    assert_eq!(search_uris(&client, "gull"), [""; 0]);
    let running = tldw.open_database("1", 0);
    let write = |sql: &str| running.execute_batch(sql).unwrap();
    write("INSERT INTO notes (id, title, content) VALUES ('n-9', 'Birds', 'A gull.')");
    let gull = || search_uris(&client, "gull");
    assert_eq!(wait_for(gull, |found| !found.is_empty()), ["notes://n-9"]);
    write("UPDATE notes SET content = 'A heron.', version = version + 1 WHERE id = 'n-9'");
    assert_eq!(
        wait_for(|| search_uris(&client, "heron"), |found| !found.is_empty()),
        ["notes://n-9"]
    );
    assert_eq!(gull(), [""; 0]);
    write("INSERT INTO note_keywords VALUES ('n-9', 1)");
    let sea = json!({ "query": "heron", "filters": { "notes": { "keywords": ["sea"] } } });
    let tagged = || client.search_uris("knowledge.search", &sea);
    assert_eq!(wait_for(tagged, |found| !found.is_empty()), ["notes://n-9"]);
    write("UPDATE notes SET deleted = 1, version = version + 1 WHERE id = 'n-9'");
    assert_eq!(wait_for(|| search_uris(&client, "heron"), Vec::is_empty), [""; 0]);
    write("UPDATE notes SET deleted = 0, version = version + 1 WHERE id = 'n-9'");
    assert_eq!(
        wait_for(|| search_uris(&client, "heron"), |found| !found.is_empty()),
        ["notes://n-9"]
    );
}

#[test]
fn replica_follows_changes_deletions_and_undeletions() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Chatbook, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    assert_eq!(search_uris(&client, "brass").len(), 1);
    tldw.execute_sql(
        "1",
        0,
        "INSERT INTO messages (id, conversation_id, sender, content, timestamp)
         VALUES ('m-9', 'c-3', 'Orla', 'A gull does.', '2026-01-06 10:00:01');
         UPDATE messages SET is_selected_variant = 1 - is_selected_variant WHERE id IN ('m-3', 'm-7');",
    );
    let gull = wait_for(|| search_uris(&client, "gull"), |found| !found.is_empty());
    assert_eq!(gull, ["chats://c-3#m-9"]);
    let chosen = wait_for(|| search_uris(&client, "ashes"), |found| !found.is_empty());
    assert_eq!(chosen, ["chats://c-1#m-7"]);
    tldw.execute_sql("1", 0, "UPDATE conversations SET deleted = 1, version = 2 WHERE id = 'c-3'");
    assert_eq!(wait_for(|| search_uris(&client, "gull"), Vec::is_empty), [""; 0]);
    tldw.execute_sql("1", 0, "UPDATE conversations SET deleted = 0, version = 3 WHERE id = 'c-3'");
    let gull = wait_for(|| search_uris(&client, "gull"), |found| !found.is_empty());
    assert_eq!(gull, ["chats://c-3#m-9"]);
    tldw.execute_sql("1", 0, "UPDATE character_cards SET deleted = 1, version = 2 WHERE id = 7");
    let cards = || client.search_uris("characters.search", &json!({ "query": "lantern" }));
    assert_eq!(wait_for(cards, Vec::is_empty), [""; 0]);
    tldw.execute_sql("1", 1, "UPDATE Media SET is_trash = 1, version = 2 WHERE id = 11");
    assert_eq!(wait_for(|| search_uris(&client, "dusk"), Vec::is_empty), [""; 0]);
    tldw.execute_sql("1", 1, "UPDATE Media SET is_trash = 0, version = 3 WHERE id = 11");
    assert_eq!(
        wait_for(|| search_uris(&client, "dusk"), |found| !found.is_empty()),
        ["media://11"]
    );
    tldw.execute_sql("1", 2, "DELETE FROM Prompts WHERE id = 21");
    assert_eq!(wait_for(|| search_uris(&client, "describe"), Vec::is_empty), [""; 0]);
}

#[test]
fn subscriber_notified_when_tldw_changes_item() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.open_session();
    let mut news = client.open_notification_stream();
    let note = json!({ "uri": "notes://n-1" });
    assert!(client.call_method("resources/read", &note).to_string().contains("quay"));
    assert_eq!(client.call_method("resources/subscribe", &note), json!({}));
    tldw.execute_sql("1", 0, "UPDATE notes SET content = 'A gull.', version = 2 WHERE id = 'n-1'");
    assert_eq!(news.expect_message()["params"]["uri"], "notes://n-1");
    assert!(client.call_method("resources/read", &note).to_string().contains("gull"));
}

#[test]
fn running_tldw_is_read_with_log_unmodified() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let running = tldw.open_database("1", 0);
    running
        .execute_batch("INSERT INTO notes (id, title, content) VALUES ('n-9', 'Birds', 'A gull.')")
        .unwrap();
    let before = folder_snapshot(tldw.path());
    assert_eq!(before.len(), 5, "the log and its index must exist");
    let server = serve(&library, &tldw);
    assert_eq!(search_uris(&server.client(), "gull"), ["notes://n-9"]);
    drop(server.kill_and_read_log());
    assert_eq!(folder_snapshot(tldw.path()), before);
}

#[test]
fn log_of_killed_tldw_is_read_unmodified() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let killed = TldwDirectory::new(TldwVariant::Server, &["1"]);
    let running = tldw.open_database("1", 0);
    running
        .execute_batch("INSERT INTO notes (id, title, content) VALUES ('n-9', 'Birds', 'A gull.')")
        .unwrap();
    let (from, to) = (tldw.database_path("1", 0), killed.database_path("1", 0));
    for suffix in ["", "-wal", "-shm"] {
        let beside = |path: &std::path::Path| format!("{}{suffix}", path.display());
        fs::copy(beside(&from), beside(&to)).unwrap();
    }
    let before = folder_snapshot(killed.path());
    let server = serve(&library, &killed);
    assert_eq!(search_uris(&server.client(), "gull"), ["notes://n-9"]);
    drop(server.kill_and_read_log());
    assert_eq!(folder_snapshot(killed.path()), before);
}

#[test]
fn uncheckpointed_log_is_reported_as_reason() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let killed = TldwDirectory::new(TldwVariant::Server, &["1"]);
    let running = tldw.open_database("1", 0);
    running.execute_batch("UPDATE notes SET version = 2").unwrap();
    let wal = |tldw: &TldwDirectory| format!("{}-wal", tldw.database_path("1", 0).display());
    fs::copy(wal(&tldw), wal(&killed)).unwrap();
    let before = folder_snapshot(killed.path());
    let server = serve(&library, &killed);
    let client = server.client();
    let found = client.tool_result("knowledge.search", &json!({ "query": "lantern" }));
    let text = found.to_string();
    assert!(text.contains("media://11") && text.contains("prompts://21"), "{found}");
    assert!(!text.contains("notes://") && text.contains("is not checkpointed"), "{found}");
    let refused = client.expect_tool_error("notes.get", &json!({ "note_id": "n-1" }));
    assert!(refused.contains("ChaChaNotes.db is not checkpointed"), "{refused}");
    assert_eq!(folder_snapshot(killed.path()), before);
    // The database is readable again as soon as tldw has checkpointed it.
    fs::remove_file(wal(&killed)).unwrap();
    assert_eq!(
        wait_for(|| search_uris(&client, "quay"), |found| !found.is_empty()),
        ["notes://n-1"]
    );
}

#[test]
fn incompatible_database_error_names_missing_column() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    tldw.execute_sql("1", 1, "ALTER TABLE Transcripts RENAME TO Other");
    let server = serve(&library, &tldw);
    let refused = server.client().expect_tool_error("media.get", &json!({ "media_id": 11 }));
    assert!(refused.contains("no column `id` in a table `Transcripts`"), "{refused}");
    fs::write(tldw.database_path("1", 2), "This is no database, however long it may be.").unwrap();
    let refused =
        server.client().expect_tool_error("prompts.get", &json!({ "prompt_id_or_name": "3" }));
    assert!(refused.contains("user_prompts_v2_5a17.sqlite"), "{refused}");
    assert_eq!(search_uris(&server.client(), "quay"), ["notes://n-1"]);
}

#[test]
fn missing_database_is_empty_but_vanished_one_fails() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let (file, aside) = (tldw.database_path("1", 2), tldw.path().join("aside"));
    fs::rename(&file, &aside).unwrap();
    let server = serve(&library, &tldw);
    let client = server.client();
    let describe = || client.call_tool("prompts.search", &json!({ "query": "describe" }));
    for _ in 0..2 {
        assert_eq!(describe()["results"], json!([]));
    }
    fs::rename(&aside, &file).unwrap();
    let found = wait_for(describe, |found| found["results"][0].is_object());
    assert_eq!(found["results"][0]["uri"], "prompts://21");
    fs::rename(&file, &aside).unwrap();
    let arguments = json!({ "prompt_id_or_name": "21" });
    let missed = || client.tool_result("prompts.get", &arguments).to_string();
    let reason = wait_for(missed, |reason| reason.contains("was deleted or moved"));
    assert!(reason.contains("was deleted or moved"), "{reason}");
}

#[test]
fn ambiguous_or_unknown_tldw_user_is_refused() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1", "7"]));
    let done = library.run(&["serve", "--listen", "127.0.0.1:0", "--tldw", tldw.path_str()]);
    assert!(done.code == 1 && done.stderr.contains("several users, 1, 7"), "{done:?}");
    let done = library.run(&["mcp", "--user", "8", "--tldw", tldw.path_str()]);
    assert!(done.code == 1 && done.stderr.contains("no user `8`"), "{done:?}");
    let empty = tempfile::tempdir().unwrap();
    let done = library.run(&["mcp", "--tldw", empty.path().to_str().unwrap()]);
    assert!(done.code == 1 && done.stderr.contains("holds no databases of tldw"), "{done:?}");
    tldw.execute_sql("7", 0, "UPDATE notes SET content = 'A gull.'");
    let pipe = library.open_stdio_with(&["--user", "7", "--tldw", tldw.path_str()]);
    assert_eq!(pipe.search_uris("knowledge.search", &json!({ "query": "gull" })), ["notes://n-1"]);
}

#[test]
fn each_user_is_served_only_own_items() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1", "7"]));
    tldw.execute_sql("7", 0, "UPDATE notes SET content = 'A gull.'");
    let (one, seven, ada) =
        (library.create_key("1"), library.create_key("7"), library.create_key("ada"));
    let server = serve_many(&library, &tldw);
    let client = |key: &str| server.client().with_bearer_token(key);
    assert_eq!(search_uris(&client(&seven), "gull"), ["notes://n-1"]);
    assert_eq!(search_uris(&client(&one), "gull"), [""; 0]);
    assert_eq!(search_uris(&client(&one), "quay"), ["notes://n-1"]);
    assert_eq!(search_uris(&client(&seven), "quay"), [""; 0]);
    let refused = client(&ada).expect_tool_error("notes.get", &json!({ "note_id": "n-1" }));
    assert!(refused.contains("tldw has no user `ada`"), "{refused}");
}

#[test]
fn import_into_tldw_library_is_refused() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let settings =
        library.write_file("settings.toml", format!("storage.tldw = {:?}", tldw.path_str()));
    let note = library.write_file("note.md", "A gull.");
    let (settings, note) = (settings.to_str().unwrap(), note.to_str().unwrap());
    let before = folder_snapshot(tldw.path());
    for what in [["notes", note], ["tldw", tldw.path_str()]] {
        let done = library.run(&["import", what[0], what[1], "--config", settings]);
        assert!(done.code == 1 && done.stderr.contains("only read"), "{done:?}");
    }
    let found = library.run(&["search", "lantern", "--json", "--config", settings]).parse_json();
    assert_eq!(found["total_estimated"], 5, "{found}");
    assert_eq!(folder_snapshot(tldw.path()), before);
}

/// Copies databases and returns the numbers of new, updated, unchanged and skipped items.
fn import_tldw(library: &Library, arguments: &[&str]) -> [u64; 4] {
    let done = library.run(&[&["import", "tldw", "--json"], arguments].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    let skipped = summary["skipped"].as_array().unwrap().len();
    let count = |name: &str| summary[name].as_u64().unwrap();
    [count("new"), count("updated"), count("unchanged"), u64::try_from(skipped).unwrap()]
}

#[test]
fn repeated_copy_keeps_identifiers_and_updates_items() {
    for generation in TldwVariant::ALL {
        let (library, tldw) = (Library::new(), TldwDirectory::new(generation, &["1"]));
        let before = folder_snapshot(tldw.path());
        assert_eq!(import_tldw(&library, &[tldw.path_str()]), [9, 0, 0, 0], "{generation:?}");
        assert_eq!(import_tldw(&library, &[tldw.path_str()]), [0, 0, 9, 0], "{generation:?}");
        assert_eq!(folder_snapshot(tldw.path()), before, "{generation:?}");
        tldw.execute_sql(
            "1",
            0,
            "UPDATE notes SET content = 'A gull.', version = 2 WHERE id = 'n-1'",
        );
        assert_eq!(import_tldw(&library, &[tldw.path_str()]), [0, 1, 8, 0], "{generation:?}");
        // Items deleted in the original remain in the copy.
        tldw.execute_sql("1", 2, "UPDATE Prompts SET deleted = 1");
        assert_eq!(import_tldw(&library, &[tldw.path_str()]), [0, 0, 8, 0], "{generation:?}");
        let server = library.serve();
        let client = server.client();
        assert_eq!(search_uris(&client, "gull describe"), ["notes://n-1", "prompts://21"]);
        assert_eq!(search_uris(&client, "ashes wraith"), [""; 0]);
        let held = json!({ "query": "watch", "character_id": 7, "by": "title" });
        assert_eq!(client.only_hit("chats.search", &held)["conversation_id"], "c-1");
    }
}

#[test]
fn copy_summary_has_fields_of_import_summary() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let note = library.write_file("note.md", "A gull.");
    let summary =
        |arguments: &[&str]| library.run(&[&["import", "--json"], arguments].concat()).parse_json();
    let (copied, imported) =
        (summary(&["tldw", tldw.path_str()]), summary(&[note.to_str().unwrap()]));
    let keys = |summary: &Value| summary.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&copied), keys(&imported));
    assert_eq!((&copied["files"], &copied["dry_run"]), (&json!(3), &json!(false)), "{copied}");
    let characters = &copied["sources"]["characters"];
    assert_eq!(
        (&characters["new"], &characters["formats"][0]),
        (&json!(2), &json!("tldw databases"))
    );
    let done = library.run(&["import", "tldw", tldw.path_str()]);
    assert!(done.stdout.contains("characters: 0 new, 0 updated, 2 unchanged"), "{done:?}");
    assert!(done.stdout.contains("3 files, 0 skipped; "), "{done:?}");
}

#[test]
fn copies_of_two_users_coexist() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1", "7"]));
    let done = library.run(&["import", "tldw", tldw.path_str()]);
    assert!(done.code == 1 && done.stderr.contains("several users, 1, 7"), "{done:?}");
    assert_eq!(import_tldw(&library, &[tldw.path_str(), "--tldw-user", "1"]), [9, 0, 0, 0]);
    assert_eq!(import_tldw(&library, &[tldw.path_str(), "--tldw-user", "7"]), [9, 0, 0, 0]);
    let server = library.serve();
    assert_eq!(search_uris(&server.client(), "quay").len(), 2);
    // Each conversation refers to its own user's copy of the character.
    let cards = server.client().call_tool("characters.search", &json!({ "query": "orla" }));
    for card in cards["results"].as_array().unwrap() {
        let held = json!({ "query": "lights", "character_id": card["id"] });
        server.client().only_hit("chats.search", &held);
    }
    assert_eq!(
        import_tldw(&library, &[tldw.path_str(), "--user", "7"]),
        [9, 0, 0, 0],
        "into the library of that user"
    );
}
