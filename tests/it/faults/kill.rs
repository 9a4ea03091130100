//! Fault tests of `kill -9` at random moments: acknowledged writes are kept and found, and
//! unfinished work is completed by the next run.

use std::{fs, path::Path};

use serde_json::{Value, json};
use vademecum_actors::collections::{Catalogue, VisibleCollection};
use vademecum_collections::{Access, Scope};
use vademecum_core::auth::local_principal;
use vademecum_model::Deadline;

use super::{
    assert_healthy, folder_size, kill_at_size, report_lines, rng, round_count, spawn_command,
};
use crate::{
    support::{Library, McpClient, StdioClient, vademecum_command},
    writing::{WRITE_ENABLED, create_note, read_note},
};

/// Number of files of an import, more than fit into one transaction.
const IMPORTED_FILES: usize = 1_100;
/// Number of writes in flight when the server is killed.
const WRITES_IN_FLIGHT: usize = 40;

fn open_pipe(library: &Library) -> StdioClient {
    let settings = library.write_file("writing.toml", WRITE_ENABLED);
    library.open_stdio_with(&["--config", settings.to_str().unwrap()])
}

fn call_message(id: u64, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

#[test]
fn acknowledged_writes_survive_killed_server() {
    let (library, mut rng) = (Library::new(), rng());
    let log = create_note(&open_pipe(&library), "Log", "Begin.");
    let (mut words, mut lines) = (Vec::new(), vec!["Begin.".to_owned()]);
    for round in 0..round_count() {
        let known = (words.len(), lines.len());
        let pipe = open_pipe(&library);
        // Every second write appends to the same note.
        for id in 0..WRITES_IN_FLIGHT as u64 {
            let word = format!("w{round}x{id}");
            pipe.write_line(&if id % 2 == 0 {
                call_message(id, "notes.create", &json!({ "title": word, "content": "A bight." }))
            } else {
                call_message(id, "notes.append", &json!({ "note_id": log["id"], "content": word }))
            });
        }
        let mut answers: Vec<Value> =
            (0..rng.next_below(WRITES_IN_FLIGHT)).map(|_| pipe.read_message()).collect();
        answers.extend(pipe.kill());
        for answer in answers {
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            let id = answer["id"].as_u64().unwrap();
            let kind = if id % 2 == 0 { &mut words } else { &mut lines };
            kind.push(format!("w{round}x{id}"));
        }
        assert_healthy(&library.run(&["check"]));
        let pipe = open_pipe(&library);
        // The last round also verifies the writes of all previous rounds.
        let since = |known: usize| if round + 1 == round_count() { 0 } else { known };
        for word in words.iter().skip(since(known.0)) {
            let hit = pipe.only_hit("notes.search", &json!({ "query": word }));
            assert_eq!(hit["title"], *word);
        }
        let (content, version) = read_note(&pipe, &log["id"]);
        let kept: Vec<&str> = content.lines().collect();
        assert!(lines.iter().all(|line| kept.contains(&line.as_str())), "{lines:?}: {content}");
        assert_eq!(
            kept.len(),
            usize::try_from(version).unwrap(),
            "each line must be appended exactly once"
        );
        for line in lines.iter().skip(since(known.1).max(1)) {
            assert_eq!(
                pipe.search_uris("notes.search", &json!({ "query": line })).len(),
                1,
                "{line}"
            );
        }
    }
    assert!(words.len() + lines.len() > 1, "at least one write must be acknowledged");
}

/// Imports a folder of notes completely and returns the numbers of new, updated and unchanged
/// items.
fn import_notes(library: &Library, folder: &Path) -> [u64; 3] {
    let done = library.run(&["import", "notes", folder.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    assert_eq!(summary["skipped"], json!([]));
    ["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap())
}

/// Writes a folder with many notes, each with a unique word, and returns its path.
fn write_notes(library: &Library) -> std::path::PathBuf {
    for number in 0..IMPORTED_FILES {
        let text = format!("# Note {number}\n\nA thimble and n{number}. {}", "Rye. ".repeat(40));
        library.write_file(&format!("many/{number}.md"), text);
    }
    library.file_path("many")
}

#[test]
fn killed_import_completes_when_repeated() {
    let (whole, mut rng) = (Library::new(), rng());
    let folder = write_notes(&whole);
    let all = IMPORTED_FILES as u64;
    assert_eq!(import_notes(&whole, &folder), [all, 0, 0]);
    let written = folder_size(&whole.data_folder());
    for _ in 0..round_count() {
        let library = Library::new();
        let mut importing = spawn_command(
            vademecum_command().args(["import", "notes"]).arg(&folder),
            &library.data_folder(),
        );
        kill_at_size(&mut importing, &library.data_folder(), rng.next_below(written * 5 / 4));
        assert_healthy(&library.run(&["check"]));
        let [new, updated, unchanged] = import_notes(&library, &folder);
        assert_eq!((new + unchanged, updated), (all, 0), "no item may be created twice");
        assert_eq!(import_notes(&library, &folder), [0, 0, all]);
        assert_healthy(&library.run(&["check"]));
        let server = library.serve();
        let found = server.client().call_tool("notes.search", &json!({ "query": "thimble" }));
        assert_eq!(found["total_estimated"], all);
        for _ in 0..10 {
            let word = format!("n{}", rng.next_below(IMPORTED_FILES));
            assert_eq!(
                server.client().search_uris("notes.search", &json!({ "query": word })).len(),
                1
            );
        }
    }
}

fn open_collection(library: &Library) -> VisibleCollection {
    let local = local_principal("local".parse().unwrap());
    Catalogue::new(&library.data_folder()).find_visible(&local, "kb").unwrap()
}

/// Returns the versions in a collection, each with its number of chunks.
fn collection_versions(library: &Library) -> Vec<(String, u64)> {
    let (collection, scope) = (open_collection(library).collection, Scope::of(Access::Everything));
    let soon = Deadline::after(std::time::Duration::from_mins(1));
    let projects =
        collection.read(soon, |reader| collection.list_projects(reader, &scope)).unwrap();
    projects.into_iter().map(|(_, version, chunks)| (version, chunks)).collect()
}

/// Builds a collection completely.
fn build_collection(library: &Library, version: &str) {
    let docs = library.file_path("docs");
    let arguments = ["collection", "build", "kb", docs.to_str().unwrap(), "--project", "P"];
    let done = library.run_build(&[&arguments[..], &["--version", version, "--rebuild"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn killed_build_keeps_previous_collection() {
    let (library, mut rng) = (Library::new(), rng());
    let text = "Knead the dough until it is smooth, and let it rest. ".repeat(40);
    for number in 0..150 {
        library.write_file(&format!("docs/{number}.md"), format!("# Part {number}\n\n{text}\n"));
    }
    build_collection(&library, "first");
    let folder = library.data_folder().join("collections");
    let [(_, chunks)] = collection_versions(&library)[..] else { panic!("one version") };
    let written = folder_size(&folder);
    for round in 0..round_count() {
        // Builds either in place or into a new file.
        let way: &[&str] = if rng.next_below(3) == 0 { &[] } else { &["--rebuild"] };
        let mut command = vademecum_command();
        command.args(["collection", "build", "kb"]).arg(library.file_path("docs"));
        command.args(["--project", "P", "--version", &format!("{round}")]).args(way);
        let mut building = spawn_command(&mut command, &library.data_folder());
        let before = folder_size(&folder);
        kill_at_size(&mut building, &folder, before + rng.next_below(written * 5 / 4));
        let now = collection_versions(&library);
        assert!(matches!(&now[..], [(_, count)] if *count == chunks), "{round}: {now:?}");
        assert_healthy(&library.run(&["check"]));
    }
    build_collection(&library, "last");
    assert_eq!(collection_versions(&library), [("last".to_owned(), chunks)]);
    let done = library.run(&["check", "--repair"]);
    assert_healthy(&done);
    let unused = Catalogue::new(&library.data_folder()).unused_files().unwrap();
    assert!(unused.is_empty(), "files of killed builds remain: {unused:?}");
}

/// Returns the hidden entries of a folder, which are backups or exports in progress.
fn unfinished_folders(folder: &Path) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with('.')).collect()
}

#[test]
fn killed_backup_is_absent_or_complete() {
    let (library, mut rng) = (Library::new(), rng());
    let all = IMPORTED_FILES as u64;
    assert_eq!(import_notes(&library, &write_notes(&library)), [all, 0, 0]);
    let written = folder_size(&library.data_folder());
    for round in 0..round_count() {
        let folder = library.file_path(&format!("backups{round}"));
        fs::create_dir_all(&folder).unwrap();
        let mut command = vademecum_command();
        command.arg("backup").arg(folder.join("one"));
        let mut copying = spawn_command(&mut command, &library.data_folder());
        kill_at_size(&mut copying, &folder, rng.next_below(written * 5 / 4));
        let restored = |from: &Path| {
            let other = Library::new();
            let done = other.run(&["restore", from.to_str().unwrap()]);
            if done.code == 0 {
                assert_healthy(&other.run(&["check"]));
                let server = other.serve();
                let found =
                    server.client().call_tool("notes.search", &json!({ "query": "thimble" }));
                assert_eq!(found["total_estimated"], all);
            }
            done
        };
        for draft in unfinished_folders(&folder) {
            let is_whole = draft.join("manifest.json").exists();
            assert_eq!(restored(&draft).code == 0, is_whole, "{}", draft.display());
        }
        if folder.join("one").exists() {
            assert_eq!(restored(&folder.join("one")).code, 0);
        } else {
            let done = library.run(&["backup", folder.join("one").to_str().unwrap()]);
            assert_eq!(done.code, 0, "{done:?}");
        }
        let done = library.run(&["backup", folder.join("next").to_str().unwrap()]);
        assert_eq!((done.code, unfinished_folders(&folder)), (0, Vec::new()), "{done:?}");
        let check = library.run(&["check"]);
        assert_healthy(&check);
        assert!(
            report_lines(&check, "warning").iter().all(|line| line.contains("disk")),
            "{check:?}"
        );
    }
}

#[test]
fn killed_export_is_absent_or_complete() {
    let (library, mut rng) = (Library::new(), rng());
    import_notes(&library, &write_notes(&library));
    let export = |folder: &Path| library.run(&["export", folder.to_str().unwrap()]);
    let whole = library.file_path("whole");
    assert_eq!(export(&whole).code, 0);
    let written = folder_size(&whole);
    for round in 0..round_count() {
        let folder = library.file_path(&format!("exports{round}"));
        fs::create_dir_all(&folder).unwrap();
        let mut command = vademecum_command();
        command.arg("export").arg(folder.join("one"));
        let mut exporting = spawn_command(&mut command, &library.data_folder());
        kill_at_size(&mut exporting, &folder, rng.next_below(written * 5 / 4));
        if folder.join("one").exists() {
            assert_eq!(folder_size(&folder.join("one")), written);
        }
        let done = export(&folder.join("next"));
        assert_eq!((done.code, unfinished_folders(&folder)), (0, Vec::new()), "{done:?}");
        assert_eq!(folder_size(&folder.join("next")), written);
    }
}
