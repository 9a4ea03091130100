//! Backups: made while the library is used, checked before they are put back.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::program::{Caller, Done, Library, SOURCES};

fn backup(library: &Library, name: &str, more: &[&str]) -> Done {
    library.run(&[&["backup", library.file(name).to_str().unwrap()], more].concat())
}

fn restore(library: &Library, backup: &Path, more: &[&str]) -> Done {
    library.run(&[&["restore", backup.to_str().unwrap()], more].concat())
}

/// What a search finds, with all that is said of it.
fn found(library: &Library, words: &str) -> Value {
    library.run(&["search", words, "--json", "--limit", "50"]).json()["results"].clone()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_restored_library_answers_as_it_did() {
    let library = Library::lanterns();
    let done = backup(&library, "backup", &["--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let manifest = done.json();
    assert_eq!(manifest["files"].as_array().unwrap().len(), 3);
    for kind in SOURCES {
        assert!(manifest["items"]["local"][kind].as_u64().unwrap() > 0, "{kind}: {manifest}");
    }
    let other = Library::new();
    let done = restore(&other, &library.file("backup"), &[]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(found(&other, "lantern"), found(&library, "lantern"));
    assert_eq!(other.run(&["check"]).code, 0);
    assert_eq!(names(&other.data()), ["users"]);
    // It can be written as well.
    other.import("notes", "new.md", "A thimble.");
    assert_eq!(found(&other, "thimble").as_array().unwrap().len(), 1);
}

#[test]
fn a_backup_is_whole_while_a_server_serves_and_an_import_writes() {
    let library = Library::lanterns();
    let server = library.serve();
    for number in 0..2_000 {
        library.write(&format!("many/{number}.md"), format!("# Note {number}\nA thimble."));
    }
    let many = library.file("many");
    let made = std::thread::scope(|scope| {
        let (data, many) = (library.data(), many.to_str().unwrap());
        let import = scope.spawn(move || {
            let program = env!("CARGO_BIN_EXE_vademecum");
            let arguments = ["import", "notes", many, "--data", data.to_str().unwrap()];
            std::process::Command::new(program).args(arguments).output().unwrap()
        });
        let mut made = 0;
        loop {
            let last = import.is_finished();
            let done = backup(&library, &format!("backup{made}"), &[]);
            assert_eq!(done.code, 0, "{done:?}");
            assert!(
                !server
                    .client()
                    .uris("knowledge.search", &json!({ "query": "lantern" }))
                    .is_empty()
            );
            made += 1;
            if last {
                break;
            }
        }
        assert!(import.join().unwrap().status.success());
        made
    });
    for number in 0..made {
        let other = Library::new();
        let name = library.file(&format!("backup{number}"));
        let done = restore(&other, &name, &[]);
        assert_eq!(done.code, 0, "{done:?}");
        let text = fs::read_to_string(name.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let done = backup(&other, "again", &["--json"]).json();
        assert_eq!(done["items"], manifest["items"], "what was counted is there");
    }
    let all = backup(&library, "all", &["--json"]).json();
    let before = all["items"]["local"]["notes"].as_u64().unwrap();
    assert!(before > 2_000, "{all}");
}

#[test]
fn a_library_that_is_there_is_refused_or_put_aside() {
    let library = Library::lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    library.import("notes", "new.md", "A thimble.");
    let before = found(&library, "thimble lantern");
    let done = restore(&library, &library.file("backup"), &[]);
    assert!(done.code == 1 && done.stderr.contains("--force"), "{done:?}");
    assert_eq!(found(&library, "thimble lantern"), before);
    let done = restore(&library, &library.file("backup"), &["--force", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(found(&library, "thimble"), json!([]));
    let kept = done.json()["kept"].as_str().unwrap().to_owned();
    assert_eq!(names(&Path::new(&kept).join("users")), ["local"]);
    assert!(Path::new(&kept).join("users/local/chacha.db").exists());
}

#[test]
fn a_library_that_is_served_is_not_put_aside() {
    let library = Library::lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    let server = library.serve();
    assert!(!server.client().uris("knowledge.search", &json!({ "query": "lantern" })).is_empty());
    let done = restore(&library, &library.file("backup"), &["--force"]);
    assert!(done.code == 1 && done.stderr.contains("stop the server first"), "{done:?}");
    drop(server);
    assert_eq!(restore(&library, &library.file("backup"), &["--force"]).code, 0);
}

#[test]
fn a_damaged_backup_is_refused_and_nothing_is_touched() {
    let library = Library::lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    let before = found(&library, "lantern");
    let folder = library.file("backup");
    let damaged = folder.join("users/local/media.db");
    let whole = fs::read(&damaged).unwrap();
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let refused = |part: &str| {
        let done = restore(&library, &folder, &["--force"]);
        assert!(done.code == 1 && done.stderr.contains(part), "{part}: {done:?}");
        assert_eq!(found(&library, "lantern"), before);
        assert_eq!(names(&library.data()), ["users"]);
        let other = Library::new();
        assert_eq!(restore(&other, &folder, &[]).code, 1);
        assert!(!other.data().exists());
    };
    fs::write(&damaged, bytes).unwrap();
    refused("media.db is damaged");
    fs::write(&damaged, &whole[..middle]).unwrap();
    refused("media.db is damaged");
    fs::remove_file(&damaged).unwrap();
    refused("media.db");
    fs::write(&damaged, whole).unwrap();
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let elsewhere = manifest.replace("media.db", "../media.db");
    fs::write(folder.join("manifest.json"), elsewhere).unwrap();
    refused("no database of ours");
    fs::write(folder.join("manifest.json"), "{").unwrap();
    refused("manifest.json");
    fs::remove_file(folder.join("manifest.json")).unwrap();
    refused("is no backup");
}

#[test]
fn a_backup_replaces_nothing() {
    let library = Library::lanterns();
    library.write("mine/letter.txt", "Dear Ada");
    let done = backup(&library, "mine", &[]);
    assert!(done.code == 1 && done.stderr.contains("is there already"), "{done:?}");
    assert_eq!(names(&library.file("mine")), ["letter.txt"]);
    let nothing = Library::new();
    let done = backup(&nothing, "backup", &[]);
    assert!(done.code == 1 && done.stderr.contains("nothing to back up"), "{done:?}");
    assert!(!nothing.data().exists() && !nothing.file("backup").exists());
}

#[test]
fn all_users_are_backed_up_with_their_keys() {
    let library = Library::new();
    let keys = ["ada", "bob"].map(|user| library.key(user));
    library.import_for("ada", "notes", "a.md", "A thimble.");
    library.import_for("bob", "notes", "b.md", "An anvil.");
    let one = backup(&library, "one", &["--user", "ada", "--json"]).json();
    assert_eq!(one["items"].as_object().unwrap().len(), 1);
    assert!(!library.file("one/server.db").exists(), "the keys are everybody's");
    assert_eq!(backup(&library, "all", &["--all-users"]).code, 0);
    let other = Library::new();
    assert_eq!(restore(&other, &library.file("all"), &[]).code, 0);
    let server = other.serve_many("");
    for (key, word) in keys.iter().zip(["thimble", "anvil"]) {
        let client = server.client().bearing(key);
        assert_eq!(client.uris("notes.search", &json!({ "query": word })).len(), 1, "{word}");
    }
}
