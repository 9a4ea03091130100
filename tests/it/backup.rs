//! End-to-end tests of `backup` and `restore`: a backup of a library in use is consistent, and it
//! is verified before it is restored.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Library, McpClient, SOURCES, folder_snapshot, follows_archive, vademecum_command,
};

fn backup(library: &Library, name: &str, more: &[&str]) -> CommandOutput {
    library.run(&[&["backup", library.file_path(name).to_str().unwrap()], more].concat())
}

fn restore(library: &Library, backup: &Path, more: &[&str]) -> CommandOutput {
    library.run(&[&["restore", backup.to_str().unwrap()], more].concat())
}

/// Returns the hits of a search with all their fields.
fn search_hits(library: &Library, words: &str) -> Value {
    library.run(&["search", words, "--json", "--limit", "50"]).parse_json()["results"].clone()
}

/// Returns the sorted names of the entries of a folder.
fn entry_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Asserts that a data folder has users, and of all servers only what follows an archive.
fn assert_only_users(data: &Path) {
    let mut names = entry_names(data);
    names.retain(|name| !follows_archive() || !["archive.id", "server.db"].contains(&&**name));
    assert_eq!(names, ["users"]);
}

#[test]
fn restored_library_answers_like_the_original() {
    let library = Library::with_lanterns();
    let done = backup(&library, "backup", &["--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let manifest = done.parse_json();
    assert_eq!(manifest["files"].as_array().unwrap().len(), 3);
    for kind in SOURCES {
        assert!(manifest["items"]["local"][kind].as_u64().unwrap() > 0, "{kind}: {manifest}");
    }
    let other = Library::new();
    let done = restore(&other, &library.file_path("backup"), &[]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(search_hits(&other, "lantern"), search_hits(&library, "lantern"));
    assert_eq!(other.run(&["check"]).code, 0);
    assert_only_users(&other.data_folder());
    // The restored library is writable.
    other.import_file("notes", "new.md", "A thimble.");
    assert_eq!(search_hits(&other, "thimble").as_array().unwrap().len(), 1);
}

#[test]
fn backup_is_consistent_during_serving_and_import() {
    let library = Library::with_lanterns();
    let server = library.serve();
    for number in 0..2_000 {
        library.write_file(&format!("many/{number}.md"), format!("# Note {number}\nA thimble."));
    }
    let many = library.file_path("many");
    let made = std::thread::scope(|scope| {
        let (data, many) = (library.data_folder(), many.to_str().unwrap());
        let import = scope.spawn(move || {
            let arguments = ["import", "notes", many, "--data", data.to_str().unwrap()];
            vademecum_command().args(arguments).output().unwrap()
        });
        let mut made = 0;
        loop {
            let last = import.is_finished();
            let done = backup(&library, &format!("backup{made}"), &[]);
            assert_eq!(done.code, 0, "{done:?}");
            assert!(
                !server
                    .client()
                    .search_uris("knowledge.search", &json!({ "query": "lantern" }))
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
        let name = library.file_path(&format!("backup{number}"));
        let done = restore(&other, &name, &[]);
        assert_eq!(done.code, 0, "{done:?}");
        let text = fs::read_to_string(name.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let done = backup(&other, "again", &["--json"]).parse_json();
        assert_eq!(done["items"], manifest["items"], "the restored items match the manifest");
    }
    let all = backup(&library, "all", &["--json"]).parse_json();
    let before = all["items"]["local"]["notes"].as_u64().unwrap();
    assert!(before > 2_000, "{all}");
}

#[test]
fn restore_keeps_existing_library_unless_forced() {
    let library = Library::with_lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    library.import_file("notes", "new.md", "A thimble.");
    let before = search_hits(&library, "thimble lantern");
    let done = restore(&library, &library.file_path("backup"), &[]);
    assert!(done.code == 1 && done.stderr.contains("--force"), "{done:?}");
    assert_eq!(search_hits(&library, "thimble lantern"), before);
    let done = restore(&library, &library.file_path("backup"), &["--force", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(search_hits(&library, "thimble"), json!([]));
    let kept = done.parse_json()["kept"].as_str().unwrap().to_owned();
    assert_eq!(entry_names(&Path::new(&kept).join("users")), ["local"]);
    assert!(Path::new(&kept).join("users/local/chacha.db").exists());
}

#[test]
fn restore_refuses_to_replace_a_served_library() {
    let library = Library::with_lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    let server = library.serve();
    assert!(
        !server.client().search_uris("knowledge.search", &json!({ "query": "lantern" })).is_empty()
    );
    let done = restore(&library, &library.file_path("backup"), &["--force"]);
    assert!(done.code == 1 && done.stderr.contains("stop the server first"), "{done:?}");
    drop(server);
    assert_eq!(restore(&library, &library.file_path("backup"), &["--force"]).code, 0);
}

#[test]
fn restore_rejects_damaged_backup_without_changes() {
    let library = Library::with_lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    let before = search_hits(&library, "lantern");
    let folder = library.file_path("backup");
    let damaged = folder.join("users/local/media.db");
    let whole = fs::read(&damaged).unwrap();
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let refused = |part: &str| {
        let done = restore(&library, &folder, &["--force"]);
        assert!(done.code == 1 && done.stderr.contains(part), "{part}: {done:?}");
        assert_eq!(search_hits(&library, "lantern"), before);
        assert_only_users(&library.data_folder());
        let other = Library::new();
        assert_eq!(restore(&other, &folder, &[]).code, 1);
        assert!(follows_archive() || !other.data_folder().exists());
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
    refused("unknown database `../media.db`");
    fs::write(folder.join("manifest.json"), "{").unwrap();
    refused("manifest.json");
    fs::remove_file(folder.join("manifest.json")).unwrap();
    refused("is not a backup");
}

#[test]
fn backup_refuses_existing_folder_and_empty_library() {
    let library = Library::with_lanterns();
    library.write_file("mine/letter.txt", "Dear Ada");
    let done = backup(&library, "mine", &[]);
    assert!(done.code == 1 && done.stderr.contains("exists already"), "{done:?}");
    assert_eq!(entry_names(&library.file_path("mine")), ["letter.txt"]);
    let nothing = Library::new();
    let done = backup(&nothing, "backup", &[]);
    assert!(done.code == 1 && done.stderr.contains("nothing to back up"), "{done:?}");
    assert!(follows_archive() || !nothing.data_folder().exists());
    assert!(!nothing.file_path("backup").exists());
}

#[test]
fn backup_of_all_users_includes_their_keys() {
    let library = Library::new();
    let keys = ["ada", "bob"].map(|user| library.create_key(user));
    library.import_for_user("ada", "notes", "a.md", "A thimble.");
    library.import_for_user("bob", "notes", "b.md", "An anvil.");
    let one = backup(&library, "one", &["--user", "ada", "--json"]).parse_json();
    assert_eq!(one["items"].as_object().unwrap().len(), 1);
    assert!(
        !library.file_path("one/server.db").exists(),
        "the server database holds the keys of all users"
    );
    assert_eq!(backup(&library, "all", &["--all-users"]).code, 0);
    let other = Library::new();
    assert_eq!(restore(&other, &library.file_path("all"), &["--with-keys"]).code, 0);
    let server = other.serve_multi_user("");
    for (key, word) in keys.iter().zip(["thimble", "anvil"]) {
        let client = server.client().with_bearer_token(key);
        assert_eq!(
            client.search_uris("notes.search", &json!({ "query": word })).len(),
            1,
            "{word}"
        );
    }
}

#[test]
fn verify_names_the_damaged_file() {
    let library = Library::with_lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    let folder = library.file_path("backup");
    let verify = || library.run(&["backup", "verify", folder.to_str().unwrap()]);
    let before = folder_snapshot(&folder);
    let done = verify();
    assert!(done.code == 0 && done.stdout.contains("local: "), "{done:?}");
    assert_eq!(folder_snapshot(&folder), before, "verifying changes nothing");
    let file = folder.join("users/local/prompts.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[5_000] ^= 4;
    fs::write(&file, bytes).unwrap();
    let done = verify();
    assert!(done.code == 1 && done.stderr.contains("prompts.db is damaged"), "{done:?}");
}

#[cfg(unix)]
#[test]
fn linked_database_in_a_backup_is_refused() {
    let library = Library::with_lanterns();
    assert_eq!(backup(&library, "backup", &[]).code, 0);
    let (folder, outside) = (library.file_path("backup"), library.file_path("outside"));
    let (file, users) = (folder.join("users/local/media.db"), folder.join("users/local"));
    let refused = |restored: bool| {
        let path = folder.to_str().unwrap();
        for command in [&["backup", "verify", path][..], &["restore", path, "--force"]] {
            let done = library.run(command);
            assert_eq!(done.code == 1 && done.stderr.contains("is a link"), restored, "{done:?}");
        }
    };
    fs::rename(&file, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    refused(true);
    fs::remove_file(&file).unwrap();
    fs::hard_link(&outside, &file).unwrap();
    refused(true);
    fs::remove_file(&outside).unwrap();
    fs::rename(&users, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &users).unwrap();
    refused(true);
    fs::remove_file(&users).unwrap();
    fs::rename(&outside, &users).unwrap();
    refused(false);
}
