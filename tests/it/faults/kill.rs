//! `kill -9` at random moments: what was acknowledged is there and is found, what
//! was not finished is finished the next time.

use std::{fs, path::Path};

use serde_json::{Value, json};
use vademecum::collections::{Catalogue, VisibleCollection};
use vademecum_collections::{Access, Scope};
use vademecum_core::auth::local_principal;
use vademecum_kit::model::Deadline;

use super::{begin, is_sound, kill_at, lines, rng, rounds, size};
use crate::{
    support::{Library, McpClient, StdioClient, vademecum_command},
    writing::{WRITE_ENABLED, create_note, read_note},
};

/// Files of an import: more than go into one transaction.
const FILES: usize = 1_100;
/// Writes that are under way when a server is killed.
const WRITES: usize = 40;

fn piped(library: &Library) -> StdioClient {
    let settings = library.write_file("writing.toml", WRITE_ENABLED);
    library.open_stdio_with(&["--config", settings.to_str().unwrap()])
}

fn call(id: u64, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

#[test]
fn what_was_answered_is_there_after_the_server_was_killed_at_any_moment() {
    let (library, mut rng) = (Library::new(), rng());
    let log = create_note(&piped(&library), "Log", "Begin.");
    let (mut words, mut lines) = (Vec::new(), vec!["Begin.".to_owned()]);
    for round in 0..rounds() {
        let known = (words.len(), lines.len());
        let pipe = piped(&library);
        // Every other one changes the same note.
        for id in 0..WRITES as u64 {
            let word = format!("w{round}x{id}");
            pipe.write_line(&if id % 2 == 0 {
                call(id, "notes.create", &json!({ "title": word, "content": "A bight." }))
            } else {
                call(id, "notes.append", &json!({ "note_id": log["id"], "content": word }))
            });
        }
        let mut answers: Vec<Value> =
            (0..rng.next_below(WRITES)).map(|_| pipe.read_message()).collect();
        answers.extend(pipe.kill());
        for answer in answers {
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            let id = answer["id"].as_u64().unwrap();
            let kind = if id % 2 == 0 { &mut words } else { &mut lines };
            kind.push(format!("w{round}x{id}"));
        }
        is_sound(&library.run(&["check"]));
        let pipe = piped(&library);
        // In the last round, those of all the others as well.
        let since = |known: usize| if round + 1 == rounds() { 0 } else { known };
        for word in words.iter().skip(since(known.0)) {
            let hit = pipe.only_hit("notes.search", &json!({ "query": word }));
            assert_eq!(hit["title"], *word);
        }
        let (content, version) = read_note(&pipe, &log["id"]);
        let kept: Vec<&str> = content.lines().collect();
        assert!(lines.iter().all(|line| kept.contains(&line.as_str())), "{lines:?}: {content}");
        assert_eq!(kept.len(), usize::try_from(version).unwrap(), "each line came once");
        for line in lines.iter().skip(since(known.1).max(1)) {
            assert_eq!(
                pipe.search_uris("notes.search", &json!({ "query": line })).len(),
                1,
                "{line}"
            );
        }
    }
    assert!(words.len() + lines.len() > 1, "something was acknowledged");
}

/// Imports a folder of notes to the end; how many were new, updated and unchanged.
fn import(library: &Library, folder: &Path) -> [u64; 3] {
    let done = library.run(&["import", "notes", folder.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    assert_eq!(summary["skipped"], json!([]));
    ["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap())
}

/// A folder with many notes, each with a word of its own.
fn notes(library: &Library) -> std::path::PathBuf {
    for number in 0..FILES {
        let text = format!("# Note {number}\n\nA thimble and n{number}. {}", "Rye. ".repeat(40));
        library.write_file(&format!("many/{number}.md"), text);
    }
    library.file_path("many")
}

#[test]
fn an_import_that_is_killed_completes_when_it_is_repeated() {
    let (whole, mut rng) = (Library::new(), rng());
    let folder = notes(&whole);
    let all = FILES as u64;
    assert_eq!(import(&whole, &folder), [all, 0, 0]);
    let written = size(&whole.data_folder());
    for _ in 0..rounds() {
        let library = Library::new();
        let mut importing = begin(
            vademecum_command().args(["import", "notes"]).arg(&folder),
            &library.data_folder(),
        );
        kill_at(&mut importing, &library.data_folder(), rng.next_below(written * 5 / 4));
        is_sound(&library.run(&["check"]));
        let [new, updated, unchanged] = import(&library, &folder);
        assert_eq!((new + unchanged, updated), (all, 0), "nothing is made twice");
        assert_eq!(import(&library, &folder), [0, 0, all]);
        is_sound(&library.run(&["check"]));
        let server = library.serve();
        let found = server.client().call_tool("notes.search", &json!({ "query": "thimble" }));
        assert_eq!(found["total_estimated"], all);
        for _ in 0..10 {
            let word = format!("n{}", rng.next_below(FILES));
            assert_eq!(
                server.client().search_uris("notes.search", &json!({ "query": word })).len(),
                1
            );
        }
    }
}

fn found(library: &Library) -> VisibleCollection {
    let local = local_principal("local".parse().unwrap());
    Catalogue::new(&library.data_folder()).find_visible(&local, "kb").unwrap()
}

/// The versions that are in a collection, and how many chunks each has.
fn versions(library: &Library) -> Vec<(String, u64)> {
    let (collection, scope) = (found(library).collection, Scope::of(Access::Everything));
    let soon = Deadline::after(std::time::Duration::from_mins(1));
    let projects =
        collection.read(soon, |reader| collection.list_projects(reader, &scope)).unwrap();
    projects.into_iter().map(|(_, version, chunks)| (version, chunks)).collect()
}

/// Builds a collection to its end.
fn build(library: &Library, version: &str) {
    let docs = library.file_path("docs");
    let arguments = ["collection", "build", "kb", docs.to_str().unwrap(), "--project", "P"];
    let done = library.run(&[&arguments[..], &["--version", version, "--rebuild"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn a_build_that_is_killed_leaves_the_old_collection_whole_and_the_next_completes() {
    let (library, mut rng) = (Library::new(), rng());
    let text = "Knead the dough until it is smooth, and let it rest. ".repeat(40);
    for number in 0..150 {
        library.write_file(&format!("docs/{number}.md"), format!("# Part {number}\n\n{text}\n"));
    }
    build(&library, "first");
    let folder = library.data_folder().join("collections");
    let [(_, chunks)] = versions(&library)[..] else { panic!("one version") };
    let written = size(&folder);
    for round in 0..rounds() {
        // In its place, or in a file of its own.
        let way: &[&str] = if rng.next_below(3) == 0 { &[] } else { &["--rebuild"] };
        let mut command = vademecum_command();
        command.args(["collection", "build", "kb"]).arg(library.file_path("docs"));
        command.args(["--project", "P", "--version", &format!("{round}")]).args(way);
        let mut building = begin(&mut command, &library.data_folder());
        let before = size(&folder);
        kill_at(&mut building, &folder, before + rng.next_below(written * 5 / 4));
        let now = versions(&library);
        assert!(matches!(&now[..], [(_, count)] if *count == chunks), "{round}: {now:?}");
        is_sound(&library.run(&["check"]));
    }
    build(&library, "last");
    assert_eq!(versions(&library), [("last".to_owned(), chunks)]);
    let done = library.run(&["check", "--repair"]);
    is_sound(&done);
    let unused = Catalogue::new(&library.data_folder()).unused_files().unwrap();
    assert!(unused.is_empty(), "nothing is left of what was killed: {unused:?}");
}

/// What lies beside a backup under another name.
fn drafts(folder: &Path) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with('.')).collect()
}

#[test]
fn a_backup_that_is_killed_is_none_or_whole() {
    let (library, mut rng) = (Library::new(), rng());
    let all = FILES as u64;
    assert_eq!(import(&library, &notes(&library)), [all, 0, 0]);
    let written = size(&library.data_folder());
    for round in 0..rounds() {
        let folder = library.file_path(&format!("backups{round}"));
        fs::create_dir_all(&folder).unwrap();
        let mut command = vademecum_command();
        command.arg("backup").arg(folder.join("one"));
        let mut copying = begin(&mut command, &library.data_folder());
        kill_at(&mut copying, &folder, rng.next_below(written * 5 / 4));
        let restored = |from: &Path| {
            let other = Library::new();
            let done = other.run(&["restore", from.to_str().unwrap()]);
            if done.code == 0 {
                is_sound(&other.run(&["check"]));
                let server = other.serve();
                let found =
                    server.client().call_tool("notes.search", &json!({ "query": "thimble" }));
                assert_eq!(found["total_estimated"], all);
            }
            done
        };
        for draft in drafts(&folder) {
            let is_whole = draft.join("manifest.json").exists();
            assert_eq!(restored(&draft).code == 0, is_whole, "{}", draft.display());
        }
        if folder.join("one").exists() {
            assert_eq!(restored(&folder.join("one")).code, 0);
        } else {
            let done = library.run(&["backup", folder.join("one").to_str().unwrap()]);
            assert_eq!(done.code, 0, "{done:?}");
        }
        let check = library.run(&["check"]);
        is_sound(&check);
        assert!(lines(&check, "warning").iter().all(|line| line.contains("disk")), "{check:?}");
    }
}
