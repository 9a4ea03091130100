//! End-to-end tests of suspended and removed users, and of the life of keys.

use std::thread;

use serde_json::json;

use crate::support::{Library, McpClient, ReceivedFrame, wait_until};

fn library_of_ada() -> Library {
    let library = Library::new();
    library.import_for_user("ada", "notes", "note.md", "amethyst");
    library
}

#[test]
fn suspended_user_loses_sessions_until_resumed() {
    let library = library_of_ada();
    let (key, other) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    let session = server.client().with_bearer_token(&key).initialize_session();
    let bystander = server.client().with_bearer_token(&other).initialize_session();
    let stream = session.open_notification_stream();
    let socket = server.open_websocket_with_token(&key);
    let begun = std::time::Instant::now();
    assert_eq!(library.run(&["user", "suspend", "ada"]).code, 0);
    let refused = session.ping();
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("suspended"), "{refused:?}");
    assert!(library.run(&["user", "list"]).stdout.contains("ada\t"), "the user stays");
    assert_eq!(stream.remaining_messages(), Vec::<serde_json::Value>::new(), "the stream ends");
    assert!(matches!(socket.read_frame(), ReceivedFrame::Closed(_)));
    // The next keep-alive would check the credentials after 15 s.
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    assert_eq!(bystander.ping().status, 200);
    assert_eq!(library.run(&["user", "resume", "ada"]).code, 0);
    assert_eq!(session.ping().status, 404, "the session is over");
    let client = server.client().with_bearer_token(&key);
    let search = json!({ "query": "amethyst" });
    assert_eq!(client.search_uris("knowledge.search", &search).len(), 1);
    let unknown = library.run(&["user", "suspend", "bob"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no user `bob`"), "{unknown:?}");
}

#[test]
fn suspended_user_cannot_be_reached_by_delegation() {
    let library = library_of_ada();
    library.create_key("ada");
    let key = library.create_key_with("gateway", &["--delegating"]);
    let server = library.serve_multi_user("");
    assert_eq!(library.run(&["user", "suspend", "ada"]).code, 0);
    let client = || server.client().with_bearer_token(&key);
    assert_eq!(client().with_header("x-user-id", "ada").ping().status, 403);
    assert_eq!(client().ping().status, 200);
    assert_eq!(library.run(&["user", "suspend", "gateway"]).code, 0);
    assert_eq!(client().ping().status, 403);
}

#[test]
fn removed_user_leaves_library_aside() {
    let library = library_of_ada();
    let key = library.create_key("ada");
    library.create_key("eve");
    let server = library.serve_multi_user("");
    let folder = library.data_folder().join("users/ada");
    assert_eq!(server.client().with_bearer_token(&key).ping().status, 200);
    let unconfirmed = library.run(&["user", "remove", "ada"]);
    assert!(unconfirmed.code == 1 && unconfirmed.stderr.contains("--yes"), "{unconfirmed:?}");
    assert_eq!(server.client().with_bearer_token(&key).ping().status, 200);
    let removed = library.run(&["user", "remove", "ada", "--yes"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(server.client().with_bearer_token(&key).ping().status, 401);
    assert!(!folder.exists());
    let kept = library.data_folder().join("removed").read_dir().unwrap().next().unwrap().unwrap();
    assert!(kept.path().join("chacha.db").exists());
    assert!(removed.stdout.contains(kept.path().to_str().unwrap()), "{removed:?}");
    let again = library.create_key("ada");
    let client = server.client().with_bearer_token(&again);
    let search = json!({ "query": "amethyst" });
    assert!(client.search_uris("knowledge.search", &search).is_empty(), "a new user is empty");
    let deleted = library.run(&["user", "remove", "ada", "--yes", "--delete-library"]);
    assert!(deleted.code == 0 && !folder.exists(), "{deleted:?}");
    assert_eq!(library.data_folder().join("removed").read_dir().unwrap().count(), 1);
}

#[test]
fn rotated_key_works_and_old_one_ends() {
    let library = library_of_ada();
    let old = library.create_key_with("ada", &["--name", "laptop"]);
    let id = &old[4..20];
    let server = library.serve_multi_user("");
    let status = |key: &str| server.client().with_bearer_token(key).ping().status;
    let rotate = |more: &[&str]| {
        let done = library.run(&[&["key", "rotate", id], more].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.trim().to_owned()
    };
    let second = rotate(&["--grace", "1h"]);
    assert!(second != old && second.starts_with(&old[..21]), "{second}");
    assert_eq!((status(&old), status(&second)), (200, 200));
    let third = rotate(&[]);
    assert_eq!((status(&old), status(&second), status(&third)), (401, 401, 200));
    let unknown = library.run(&["key", "rotate", "0123456789abcdef"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no key"), "{unknown:?}");
}

#[test]
fn key_list_shows_last_use_and_expiry() {
    let library = library_of_ada();
    let key = library.create_key("ada");
    library.create_key_with("eve", &["--expires", "never"]);
    let listed = library.run(&["key", "list"]).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].contains("\tnever used\t") && lines[0].contains("\texpires "), "{listed}");
    assert!(lines[1].contains("\tdoes not expire\t"), "{listed}");
    let server = library.serve_multi_user("");
    assert_eq!(server.client().with_bearer_token(&key).ping().status, 200);
    let is_recorded = || library.run(&["key", "list"]).stdout.contains("\tused 2");
    assert!((0..100).any(|_| is_recorded()));
}

#[test]
fn users_that_differ_in_case_have_different_folders() {
    let library = Library::new();
    for (user, word) in [("ada", "amethyst"), ("ADA", "emerald"), ("Ada", "feldspar")] {
        library.import_for_user(user, "notes", "note.md", word);
    }
    let users = || -> Vec<String> {
        let entries = library.data_folder().join("users").read_dir().unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(users(), ["ada", "ada~1", "ada~7"], "the names differ on a disk that ignores case");
    for (user, word) in [("ada", "amethyst"), ("ADA", "emerald"), ("Ada", "feldspar")] {
        let found = library.run(&["search", word, "--user", user]).stdout;
        assert!(found.contains(word), "{user}: {found}");
        let other = library.run(&["search", "stone amethyst emerald feldspar", "--user", user]);
        assert_eq!(other.stdout.matches("notes://").count(), 1, "{other:?}");
    }
    let backup = library.file_path("backup");
    let done = library.run(&["backup", backup.to_str().unwrap(), "--all-users"]);
    assert_eq!(done.code, 0, "{done:?}");
    let checked = library.run(&["check"]);
    assert!(checked.stdout.contains("ada~7") && checked.code == 0, "{checked:?}");
    std::fs::remove_dir_all(library.data_folder()).unwrap();
    let restored = library.run(&["restore", backup.to_str().unwrap()]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert_eq!(users(), ["ada", "ada~1", "ada~7"]);
    assert!(library.run(&["search", "emerald", "--user", "ADA"]).stdout.contains("emerald"));
}

#[test]
fn library_from_before_keeps_its_folder() {
    let library = Library::new();
    library.import_for_user("ada", "notes", "note.md", "amethyst");
    let users = library.data_folder().join("users");
    std::fs::rename(users.join("ada"), users.join("Ada")).unwrap();
    assert!(library.run(&["search", "amethyst", "--user", "Ada"]).stdout.contains("amethyst"));
    let key = library.create_key("Ada");
    let server = library.serve_multi_user("");
    let client = server.client().with_bearer_token(&key);
    let search = json!({ "query": "amethyst" });
    assert_eq!(client.search_uris("knowledge.search", &search).len(), 1);
    let other = library.run(&["search", "amethyst", "--user", "ada"]);
    assert!(!other.stdout.contains("notes://"), "{other:?}");
    assert!(!users.join("ada").exists(), "{other:?}");
}

#[test]
fn writing_stops_at_quota_of_items() {
    let library = Library::new();
    let (key, other) = (
        library.create_key_with("ada", &["--scope", "write"]),
        library.create_key_with("eve", &["--scope", "write"]),
    );
    let server = library.serve_multi_user("[tools]\nwrite = true\n[quotas]\nmax_items = 3");
    let client = server.client().with_bearer_token(&key);
    let note = json!({ "title": "Note", "content": "amethyst" });
    let added: Vec<_> = (0..3).map(|_| client.call_tool("notes.create", &note)).collect();
    let problem = client.expect_tool_error("notes.create", &note);
    assert!(problem.contains("3 of 3 items") && problem.contains("user quota"), "{problem}");
    server.client().with_bearer_token(&other).call_tool("notes.create", &note);
    let settings = library.file_path("settings.toml");
    let checked = library.run(&["check", "--config", settings.to_str().unwrap()]);
    assert!(checked.stdout.contains("warning: use of ada"), "{checked:?}");
    assert!(checked.stdout.contains("3 of 3 items"), "{checked:?}");
    client.call_tool("notes.delete", &json!({ "note_id": added[0]["id"] }));
    wait_until("room in the quota", || {
        client.tool_result("notes.create", &note)["isError"] == false
    });
    assert_eq!(library.run(&["user", "quota", "ada", "--items", "0"]).code, 0);
    (0..3).for_each(|_| drop(client.call_tool("notes.create", &note)));
}

#[test]
fn concurrent_writers_share_quota_of_items() {
    let library = Library::new();
    let key = library.create_key_with("ada", &["--scope", "write"]);
    let server = library.serve_multi_user("[tools]\nwrite = true\n[quotas]\nmax_items = 10");
    let write = || {
        let client = server.client().with_bearer_token(&key);
        let note = json!({ "title": "Note", "content": "amethyst" });
        let added =
            (0..10).filter(|_| client.tool_result("notes.create", &note)["isError"] == false);
        added.count()
    };
    let added: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(added, 10);
}

#[test]
fn writing_stops_at_quota_of_bytes() {
    let library = Library::new();
    let key = library.create_key_with("ada", &["--scope", "write"]);
    assert_eq!(library.run(&["user", "quota", "ada", "--bytes", "2000000"]).code, 0);
    let server = library.serve_multi_user("[tools]\nwrite = true");
    let client = server.client().with_bearer_token(&key);
    let text = "amethyst ".repeat(20_000);
    let write = |number: usize| {
        let document = json!({ "title": format!("Book {number}"), "content": text });
        client.tool_result("media.add", &document)
    };
    let results: Vec<_> = (0..40).map(write).collect();
    let refused = results.last().unwrap();
    assert_eq!(refused["isError"], true, "{refused}");
    let problem = refused["content"][0]["text"].as_str().unwrap();
    assert!(problem.contains("of 2000000 bytes"), "{problem}");
    let added = results.iter().filter(|it| it["isError"] == false).count();
    assert!((2..20).contains(&added), "{added}");
}
