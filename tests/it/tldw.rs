//! The databases of tldw are served as they are, and nothing of them changes.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::{Caller, Client, Generation, Library, SOURCES, Server, Tldw, state};

/// Serves the only user of a directory.
fn serve(library: &Library, tldw: &Tldw) -> Server {
    library.serve_with(&["--tldw", tldw.name()])
}

/// Serves a directory to many users.
fn serve_many(library: &Library, tldw: &Tldw) -> Server {
    library.serve_many(&format!("[storage]\ntldw = {:?}\n", tldw.name()))
}

fn search(client: &Client<'_>, query: &str) -> Vec<String> {
    let mut uris = client.uris("knowledge.search", &json!({ "query": query, "limit": 50 }));
    uris.sort();
    uris
}

/// Asks until the answer is right: what tldw writes is found a moment later.
fn soon<T>(ask: impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let answer = ask();
        if is_right(&answer) || begun.elapsed() > Duration::from_secs(10) {
            return answer;
        }
    }
}

fn full(client: &Client<'_>, source: &str, id: &Value) -> Value {
    client.item(source, id, &json!({ "mode": "full" }))
}

#[test]
fn every_generation_is_served_with_its_own_identifiers_and_without_a_trace() {
    for generation in Generation::ALL {
        let (library, tldw) = (Library::new(), Tldw::new(generation, &["1"]));
        let before = state(tldw.path());
        assert_eq!(before.len(), 3, "{generation:?}");
        let server = serve(&library, &tldw);
        let client = server.client();
        let lanterns =
            ["characters://7", "chats://c-1#m-1", "media://11", "notes://n-1", "prompts://21"];
        let found = search(&client, "lantern");
        let found: Vec<&str> = found.iter().map(|uri| uri.trim_end_matches("#m-1")).collect();
        let wanted = lanterns.map(|uri| uri.trim_end_matches("#m-1"));
        assert_eq!(found, wanted, "{generation:?}");
        for source in SOURCES {
            let hit = client.only_hit(&format!("{source}.search"), &json!({ "query": "lantern" }));
            let item = full(&client, source, &hit["id"]);
            assert!(item["content"].to_string().contains("lantern"), "{source}: {item}");
        }
        drop(server.stop());
        assert_eq!(state(tldw.path()), before, "{generation:?}");
    }
}

#[test]
fn nothing_that_tldw_does_not_show_is_ever_found() {
    for generation in Generation::ALL {
        let (library, tldw) = (Library::new(), Tldw::new(generation, &["1"]));
        let server = serve(&library, &tldw);
        let client = server.client();
        // In what is deleted, trashed, staged, not chosen, and in stale words of the index.
        for word in ["ashes", "wraith"] {
            assert_eq!(search(&client, word), [""; 0], "{generation:?} {word}");
        }
        assert!(client.refuses("notes.get", &json!({ "note_id": "n-2" })).contains("n-2"));
        assert!(client.refuses("media.get", &json!({ "media_id": 12 })).contains("12"));
        assert!(client.refuses("chats.get", &json!({ "conversation_id": "c-2" })).contains("c-2"));
    }
}

#[test]
fn what_an_item_is_made_of_arrives_whole() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let note = client.only_hit("notes.search", &json!({ "query": "quay" }));
    assert_eq!((&note["title"], &note["tags"]), (&json!("Harbour"), &json!(["sea"])));
    assert_eq!(note["created_at"], "2026-01-02T08:00:00.000Z");
    assert_eq!(note["last_modified"], "2026-01-03T08:00:00.000Z");
    let card = full(&client, "characters", &json!(7));
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
    // The name of a prompt may be a number; the identifier comes first.
    let prompt = client.only_hit("prompts.search", &json!({ "query": "describe" }));
    assert_eq!((&prompt["title"], &prompt["tags"]), (&json!("3"), &json!(["light"])));
    let media = client.only_hit("media.search", &json!({ "query": "fresnel" }));
    assert_eq!(media["url"], "https://example.org/fresnel");
    assert_eq!(media["created_at"], "2026-01-07T09:00:00.000Z");
    let media = full(&client, "media", &json!(11));
    assert!(media["attachments"].to_string().contains("Light bends well."), "{media}");
}

#[test]
fn messages_stand_in_the_order_of_their_moments_however_these_are_written() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Chatbook, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let talk = full(&client, "chats", &json!("c-1"));
    let messages = talk["content"]["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages.iter().map(|message| &message["message_id"]).collect();
    assert_eq!(ids, ["m-1", "m-2", "m-3"]);
    assert_eq!(messages[0]["timestamp"], "2026-01-05T10:00:00.000Z");
    let fork = client.only_hit("chats.search", &json!({ "query": "brass" }));
    assert_eq!(fork["conversation_id"], "c-3");
}

#[test]
fn chunks_are_those_of_tldw_with_offsets_in_code_points() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::First, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": "東京" }));
    assert_eq!(hit["loc"]["chunk_index"], 1, "{hit}");
    let retrieval = json!({ "mode": "chunk", "loc": hit["loc"] });
    let chunk = client.item("media", &json!(11), &retrieval);
    assert_eq!(chunk["content"], "glows. 東京 harbour at dusk.", "{chunk}");
    // What neighbours share is read once.
    let retrieval = json!({ "mode": "chunk_with_siblings", "loc": hit["loc"] });
    let both = client.item("media", &json!(11), &retrieval);
    assert_eq!(both["content"], "Größe zählt: the lantern glows. 東京 harbour at dusk.", "{both}");
}

#[test]
fn the_newest_transcript_is_read_in_whatever_form_it_is() {
    for generation in Generation::ALL {
        let (library, tldw) = (Library::new(), Tldw::new(generation, &["1"]));
        let server = serve(&library, &tldw);
        let client = server.client();
        let spoken = client.call("media.transcript", &json!({ "media_id": 14, "format": "json" }));
        let text = spoken.to_string();
        assert!(text.contains("The tower answers.") && !text.contains("older run"), "{spoken}");
        assert!(text.contains("1.5") && text.contains("\"en\""), "{spoken}");
        let plain = client.call("media.transcript", &json!({ "media_id": 15, "format": "json" }));
        assert!(plain.to_string().contains("Said without times."), "{plain}");
    }
}

#[test]
fn what_tldw_writes_is_found_a_moment_later() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    assert_eq!(search(&client, "gull"), [""; 0]);
    let running = tldw.running("1", 0);
    let write = |sql: &str| running.execute_batch(sql).unwrap();
    write("INSERT INTO notes (id, title, content) VALUES ('n-9', 'Birds', 'A gull.')");
    let gull = || search(&client, "gull");
    assert_eq!(soon(gull, |found| !found.is_empty()), ["notes://n-9"]);
    write("UPDATE notes SET content = 'A heron.', version = version + 1 WHERE id = 'n-9'");
    assert_eq!(soon(|| search(&client, "heron"), |found| !found.is_empty()), ["notes://n-9"]);
    assert_eq!(gull(), [""; 0]);
    write("INSERT INTO note_keywords VALUES ('n-9', 1)");
    let sea = json!({ "query": "heron", "filters": { "notes": { "keywords": ["sea"] } } });
    let tagged = || client.uris("knowledge.search", &sea);
    assert_eq!(soon(tagged, |found| !found.is_empty()), ["notes://n-9"]);
    write("UPDATE notes SET deleted = 1, version = version + 1 WHERE id = 'n-9'");
    assert_eq!(soon(|| search(&client, "heron"), Vec::is_empty), [""; 0]);
    write("UPDATE notes SET deleted = 0, version = version + 1 WHERE id = 'n-9'");
    assert_eq!(soon(|| search(&client, "heron"), |found| !found.is_empty()), ["notes://n-9"]);
}

#[test]
fn whatever_changes_follows_and_what_was_deleted_may_come_back() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Chatbook, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    assert_eq!(search(&client, "brass").len(), 1);
    tldw.write(
        "1",
        0,
        "INSERT INTO messages (id, conversation_id, sender, content, timestamp)
         VALUES ('m-9', 'c-3', 'Orla', 'A gull does.', '2026-01-06 10:00:01');
         UPDATE messages SET is_selected_variant = 1 - is_selected_variant WHERE id IN ('m-3', 'm-7');",
    );
    let gull = soon(|| search(&client, "gull"), |found| !found.is_empty());
    assert_eq!(gull, ["chats://c-3#m-9"]);
    let chosen = soon(|| search(&client, "ashes"), |found| !found.is_empty());
    assert_eq!(chosen, ["chats://c-1#m-7"]);
    tldw.write("1", 0, "UPDATE conversations SET deleted = 1, version = 2 WHERE id = 'c-3'");
    assert_eq!(soon(|| search(&client, "gull"), Vec::is_empty), [""; 0]);
    tldw.write("1", 0, "UPDATE conversations SET deleted = 0, version = 3 WHERE id = 'c-3'");
    let gull = soon(|| search(&client, "gull"), |found| !found.is_empty());
    assert_eq!(gull, ["chats://c-3#m-9"]);
    tldw.write("1", 0, "UPDATE character_cards SET deleted = 1, version = 2 WHERE id = 7");
    let cards = || client.uris("characters.search", &json!({ "query": "lantern" }));
    assert_eq!(soon(cards, Vec::is_empty), [""; 0]);
    tldw.write("1", 1, "UPDATE Media SET is_trash = 1, version = 2 WHERE id = 11");
    assert_eq!(soon(|| search(&client, "dusk"), Vec::is_empty), [""; 0]);
    tldw.write("1", 1, "UPDATE Media SET is_trash = 0, version = 3 WHERE id = 11");
    assert_eq!(soon(|| search(&client, "dusk"), |found| !found.is_empty()), ["media://11"]);
    tldw.write("1", 2, "DELETE FROM Prompts WHERE id = 21");
    assert_eq!(soon(|| search(&client, "describe"), Vec::is_empty), [""; 0]);
}

#[test]
fn whoever_subscribes_to_an_item_hears_when_tldw_changes_it() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.session();
    let mut news = client.listen();
    let note = json!({ "uri": "notes://n-1" });
    assert!(client.ask("resources/read", &note).to_string().contains("quay"));
    assert_eq!(client.ask("resources/subscribe", &note), json!({}));
    tldw.write("1", 0, "UPDATE notes SET content = 'A gull.', version = 2 WHERE id = 'n-1'");
    assert_eq!(news.message()["params"]["uri"], "notes://n-1");
    assert!(client.ask("resources/read", &note).to_string().contains("gull"));
}

#[test]
fn a_running_tldw_is_read_with_its_log_and_nothing_of_it_changes() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let running = tldw.running("1", 0);
    running
        .execute_batch("INSERT INTO notes (id, title, content) VALUES ('n-9', 'Birds', 'A gull.')")
        .unwrap();
    let before = state(tldw.path());
    assert_eq!(before.len(), 5, "a log and its index are there");
    let server = serve(&library, &tldw);
    assert_eq!(search(&server.client(), "gull"), ["notes://n-9"]);
    drop(server.stop());
    assert_eq!(state(tldw.path()), before);
}

#[test]
fn the_log_of_a_tldw_that_was_killed_is_read_and_stays() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let killed = Tldw::new(Generation::Server, &["1"]);
    let running = tldw.running("1", 0);
    running
        .execute_batch("INSERT INTO notes (id, title, content) VALUES ('n-9', 'Birds', 'A gull.')")
        .unwrap();
    let (from, to) = (tldw.file("1", 0), killed.file("1", 0));
    for suffix in ["", "-wal", "-shm"] {
        let beside = |path: &std::path::Path| format!("{}{suffix}", path.display());
        fs::copy(beside(&from), beside(&to)).unwrap();
    }
    let before = state(killed.path());
    let server = serve(&library, &killed);
    assert_eq!(search(&server.client(), "gull"), ["notes://n-9"]);
    drop(server.stop());
    assert_eq!(state(killed.path()), before);
}

#[test]
fn a_log_that_cannot_be_read_without_writing_is_the_reason_that_is_told() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let killed = Tldw::new(Generation::Server, &["1"]);
    let running = tldw.running("1", 0);
    running.execute_batch("UPDATE notes SET version = 2").unwrap();
    let wal = |tldw: &Tldw| format!("{}-wal", tldw.file("1", 0).display());
    fs::copy(wal(&tldw), wal(&killed)).unwrap();
    let before = state(killed.path());
    let server = serve(&library, &killed);
    let client = server.client();
    let found = client.result_of("knowledge.search", &json!({ "query": "lantern" }));
    let said = found.to_string();
    assert!(said.contains("media://11") && said.contains("prompts://21"), "{found}");
    assert!(!said.contains("notes://") && said.contains("is not checkpointed"), "{found}");
    let refused = client.refuses("notes.get", &json!({ "note_id": "n-1" }));
    assert!(refused.contains("ChaChaNotes.db is not checkpointed"), "{refused}");
    assert_eq!(state(killed.path()), before);
    // As soon as tldw has tidied up, it is read.
    fs::remove_file(wal(&killed)).unwrap();
    assert_eq!(soon(|| search(&client, "quay"), |found| !found.is_empty()), ["notes://n-1"]);
}

#[test]
fn a_database_of_another_kind_is_named_with_what_it_lacks() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    tldw.write("1", 1, "ALTER TABLE Transcripts RENAME TO Other");
    let server = serve(&library, &tldw);
    let refused = server.client().refuses("media.get", &json!({ "media_id": 11 }));
    assert!(refused.contains("no column `id` in a table `Transcripts`"), "{refused}");
    fs::write(tldw.file("1", 2), "This is no database, however long it may be.").unwrap();
    let refused = server.client().refuses("prompts.get", &json!({ "prompt_id_or_name": "3" }));
    assert!(refused.contains("user_prompts_v2_5a17.sqlite"), "{refused}");
    assert_eq!(search(&server.client(), "quay"), ["notes://n-1"]);
}

#[test]
fn a_database_that_is_not_there_yet_is_empty_and_one_that_vanished_is_missed() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let (file, aside) = (tldw.file("1", 2), tldw.path().join("aside"));
    fs::rename(&file, &aside).unwrap();
    let server = serve(&library, &tldw);
    let client = server.client();
    let describe = || client.call("prompts.search", &json!({ "query": "describe" }));
    for _ in 0..2 {
        assert_eq!(describe()["results"], json!([]));
    }
    fs::rename(&aside, &file).unwrap();
    let found = soon(describe, |found| found["results"][0].is_object());
    assert_eq!(found["results"][0]["uri"], "prompts://21");
    fs::rename(&file, &aside).unwrap();
    let arguments = json!({ "prompt_id_or_name": "21" });
    let missed = || client.result_of("prompts.get", &arguments).to_string();
    let said = soon(missed, |said| said.contains("is not there any more"));
    assert!(said.contains("is not there any more"), "{said}");
}

#[test]
fn who_is_served_must_be_clear() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1", "7"]));
    let done = library.run(&["serve", "--listen", "127.0.0.1:0", "--tldw", tldw.name()]);
    assert!(done.code == 1 && done.stderr.contains("several users, 1, 7"), "{done:?}");
    let done = library.run(&["mcp", "--user", "8", "--tldw", tldw.name()]);
    assert!(done.code == 1 && done.stderr.contains("no user `8`"), "{done:?}");
    let empty = tempfile::tempdir().unwrap();
    let done = library.run(&["mcp", "--tldw", empty.path().to_str().unwrap()]);
    assert!(done.code == 1 && done.stderr.contains("holds no databases of tldw"), "{done:?}");
    tldw.write("7", 0, "UPDATE notes SET content = 'A gull.'");
    let pipe = library.pipe_with(&["--user", "7", "--tldw", tldw.name()]);
    assert_eq!(pipe.uris("knowledge.search", &json!({ "query": "gull" })), ["notes://n-1"]);
}

#[test]
fn each_of_many_users_is_served_their_own_and_nothing_else() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1", "7"]));
    tldw.write("7", 0, "UPDATE notes SET content = 'A gull.'");
    let (one, seven, ada) = (library.key("1"), library.key("7"), library.key("ada"));
    let server = serve_many(&library, &tldw);
    let client = |key: &str| server.client().bearing(key);
    assert_eq!(search(&client(&seven), "gull"), ["notes://n-1"]);
    assert_eq!(search(&client(&one), "gull"), [""; 0]);
    assert_eq!(search(&client(&one), "quay"), ["notes://n-1"]);
    assert_eq!(search(&client(&seven), "quay"), [""; 0]);
    let refused = client(&ada).refuses("notes.get", &json!({ "note_id": "n-1" }));
    assert!(refused.contains("tldw has no user `ada`"), "{refused}");
}

#[test]
fn nothing_is_brought_into_a_library_that_is_served_from_tldw() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let settings = library.write("settings.toml", format!("storage.tldw = {:?}", tldw.name()));
    let note = library.write("note.md", "A gull.");
    let (settings, note) = (settings.to_str().unwrap(), note.to_str().unwrap());
    let before = state(tldw.path());
    for what in [["notes", note], ["tldw", tldw.name()]] {
        let done = library.run(&["import", what[0], what[1], "--config", settings]);
        assert!(done.code == 1 && done.stderr.contains("only read"), "{done:?}");
    }
    let found = library.run(&["search", "lantern", "--json", "--config", settings]).json();
    assert_eq!(found["total_estimated"], 5, "{found}");
    assert_eq!(state(tldw.path()), before);
}

/// Copies, and answers with how many items are new, updated, unchanged, skipped.
fn copy(library: &Library, arguments: &[&str]) -> [u64; 4] {
    let done = library.run(&[&["import", "tldw", "--json"], arguments].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.json();
    let skipped = summary["skipped"].as_array().unwrap().len();
    let count = |name: &str| summary[name].as_u64().unwrap();
    [count("new"), count("updated"), count("unchanged"), u64::try_from(skipped).unwrap()]
}

#[test]
fn a_copy_keeps_identifiers_and_is_brought_up_to_date_by_copying_again() {
    for generation in Generation::ALL {
        let (library, tldw) = (Library::new(), Tldw::new(generation, &["1"]));
        let before = state(tldw.path());
        assert_eq!(copy(&library, &[tldw.name()]), [9, 0, 0, 0], "{generation:?}");
        assert_eq!(copy(&library, &[tldw.name()]), [0, 0, 9, 0], "{generation:?}");
        assert_eq!(state(tldw.path()), before, "{generation:?}");
        tldw.write("1", 0, "UPDATE notes SET content = 'A gull.', version = 2 WHERE id = 'n-1'");
        assert_eq!(copy(&library, &[tldw.name()]), [0, 1, 8, 0], "{generation:?}");
        // What is gone there stays here: it is a copy.
        tldw.write("1", 2, "UPDATE Prompts SET deleted = 1");
        assert_eq!(copy(&library, &[tldw.name()]), [0, 0, 8, 0], "{generation:?}");
        let server = library.serve();
        let client = server.client();
        assert_eq!(search(&client, "gull describe"), ["notes://n-1", "prompts://21"]);
        assert_eq!(search(&client, "ashes wraith"), [""; 0]);
        let held = json!({ "query": "watch", "character_id": 7, "by": "title" });
        assert_eq!(client.only_hit("chats.search", &held)["conversation_id"], "c-1");
    }
}

#[test]
fn a_copy_is_summed_up_as_every_import_is() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1"]));
    let note = library.write("note.md", "A gull.");
    let summary =
        |arguments: &[&str]| library.run(&[&["import", "--json"], arguments].concat()).json();
    let (copied, imported) = (summary(&["tldw", tldw.name()]), summary(&[note.to_str().unwrap()]));
    let keys = |summary: &Value| summary.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&copied), keys(&imported));
    assert_eq!((&copied["files"], &copied["dry_run"]), (&json!(3), &json!(false)), "{copied}");
    let characters = &copied["sources"]["characters"];
    assert_eq!(
        (&characters["new"], &characters["formats"][0]),
        (&json!(2), &json!("databases of tldw"))
    );
    let done = library.run(&["import", "tldw", tldw.name()]);
    assert!(done.stdout.contains("characters: 0 new, 0 updated, 2 unchanged"), "{done:?}");
    assert!(done.stdout.contains("3 files, 0 skipped; "), "{done:?}");
}

#[test]
fn copies_of_two_users_stand_beside_each_other() {
    let (library, tldw) = (Library::new(), Tldw::new(Generation::Server, &["1", "7"]));
    let done = library.run(&["import", "tldw", tldw.name()]);
    assert!(done.code == 1 && done.stderr.contains("several users, 1, 7"), "{done:?}");
    assert_eq!(copy(&library, &[tldw.name(), "--tldw-user", "1"]), [9, 0, 0, 0]);
    assert_eq!(copy(&library, &[tldw.name(), "--tldw-user", "7"]), [9, 0, 0, 0]);
    let server = library.serve();
    assert_eq!(search(&server.client(), "quay").len(), 2);
    // Each conversation is held with its own copy of the character.
    let cards = server.client().call("characters.search", &json!({ "query": "orla" }));
    for card in cards["results"].as_array().unwrap() {
        let held = json!({ "query": "lights", "character_id": card["id"] });
        server.client().only_hit("chats.search", &held);
    }
    assert_eq!(copy(&library, &[tldw.name(), "--user", "7"]), [9, 0, 0, 0], "into their own");
}
