//! End-to-end tests of the import of files: format detection, repeated imports, renamed and deleted
//! files, dry runs, interruption and watching.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Stdio},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::support::{
    Library, McpClient, character_card, claude_conversation, prompts_csv, vademecum_command,
};

fn run_import(library: &Library, arguments: &[&str]) -> Value {
    let done = library.run(&[&["import", "--json"], arguments].concat());
    assert_eq!(done.code, 0, "{done:?}");
    done.parse_json()
}

fn source_outcomes(library: &Library) -> Vec<(String, String)> {
    let sources = library.run(&["sources", "--json"]).parse_json();
    let name = |file: &Value| {
        let path = Path::new(file["path"].as_str().unwrap()).to_owned();
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let outcome = |file: &Value| file["outcome"].as_str().unwrap().to_owned();
    sources.as_array().unwrap().iter().map(|file| (name(file), outcome(file))).collect()
}

fn owned_pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(one, other)| (one.to_owned(), other.to_owned())).into()
}

/// Sets the modification time of a file to one minute ago.
fn backdate(path: &Path) {
    let then = SystemTime::now() - Duration::from_mins(1);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

/// Writes a folder with a file for each source, one unsupported file and one malformed file, and
/// returns its path.
fn write_mixed_folder(library: &Library) -> String {
    library.write_file("in/Bread.md", "Rye with a thimble.");
    library.write_file("in/talk.srt", "1\n00:00:01,000 --> 00:00:02,000\nA thimble.\n");
    let conversation = claude_conversation("Sewing", [("human", "A thimble.")]);
    library.write_file("in/chats.json", json!([conversation]).to_string());
    library.write_file("in/card.json", character_card("Ida", "Has a thimble."));
    library.write_file("in/prompts.csv", prompts_csv([("Tailor", "Find the thimble.")]));
    library.write_file("in/picture.bin", "no text");
    library.write_file("in/broken.srt", "no cues");
    for file in fs::read_dir(library.file_path("in")).unwrap() {
        backdate(&file.unwrap().path());
    }
    library.file_path("in").to_str().unwrap().to_owned()
}

#[test]
fn content_determines_source_and_every_file_is_counted() {
    let library = Library::new();
    let folder = write_mixed_folder(&library);
    let summary = run_import(&library, &[&folder]);
    assert_eq!((&summary["files"], &summary["new"]), (&json!(6), &json!(5)), "{summary}");
    assert_eq!((&summary["passed"], &summary["missing"]), (&json!(1), &json!([])));
    for source in ["notes", "media", "chats", "characters", "prompts"] {
        assert_eq!(summary["sources"][source]["new"], 1, "{source}: {summary}");
        assert_eq!(summary["sources"][source]["formats"].as_array().unwrap().len(), 1);
    }
    let skipped = &summary["skipped"];
    assert!(skipped[0]["path"].as_str().unwrap().ends_with("broken.srt"), "{skipped}");
    let found = library.run(&["search", "thimble", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 5, "{found}");
    let expected = [
        ("Bread.md", "imported"),
        ("broken.srt", "skipped"),
        ("card.json", "imported"),
        ("chats.json", "imported"),
        ("picture.bin", "passed"),
        ("prompts.csv", "imported"),
        ("talk.srt", "imported"),
    ];
    assert_eq!(source_outcomes(&library), owned_pairs(expected));
    let output = library.run(&["sources", &folder, "--only", "skipped"]).stdout;
    assert!(output.contains("broken.srt: ") && output.contains("subtitle"), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

#[test]
fn unsupported_json_is_listed_with_reason() {
    let library = Library::new();
    library.write_file("in/Bread.md", "Rye.");
    library.write_file("in/settings.json", r#"{"theme": "dark"}"#);
    library.write_file("in/torn.json", "{\n  \"theme\": \n}");
    let folder = library.file_path("in").to_str().unwrap().to_owned();
    for _ in 0..2 {
        let summary = run_import(&library, &[&folder]);
        assert_eq!((&summary["passed"], &summary["skipped"]), (&json!(2), &json!([])), "{summary}");
    }
    let output = library.run(&["sources", &folder, "--only", "passed"]).stdout;
    let skipped_lines: Vec<&str> = output.lines().collect();
    assert!(
        skipped_lines[0].contains("settings.json: unrecognised JSON format"),
        "{skipped_lines:?}"
    );
    assert!(skipped_lines[1].contains("torn.json: not valid JSON: "), "{skipped_lines:?}");
    assert!(skipped_lines[1].contains("line 3 column 1"), "{skipped_lines:?}");
}

#[test]
fn summary_uses_singular_and_omits_empty_sources() {
    let library = Library::new();
    let note = library.write_file("in/Bread.md", "Rye.");
    let done = library.run(&["import", note.to_str().unwrap()]);
    assert!(done.stdout.contains("\n1 file, 0 skipped; "), "{done:?}");
    library.write_file("in/broken.srt", "no cues");
    let done = library.run(&["import", library.file_path("in").to_str().unwrap()]);
    assert!(done.stdout.contains("notes: ") && !done.stdout.contains("media"), "{done:?}");
    assert!(done.stdout.contains("\n2 files, 1 skipped; "), "{done:?}");
    let run_to_folder = |command: &str| {
        library.run(&[command, library.file_path(command).to_str().unwrap()]).stdout
    };
    assert!(
        run_to_folder("export").contains("1 note, 0 media documents, 0 chats"),
        "{}",
        run_to_folder("export")
    );
    let output = run_to_folder("backup");
    assert!(
        output.contains(": 1 note, 0 chats") && output.contains("backed up 1 database to"),
        "{output}"
    );
    let backup = library.file_path("backup");
    let output = library.run(&["restore", backup.to_str().unwrap(), "--force"]).stdout;
    assert!(output.contains("restored 1 database to"), "{output}");
}

#[test]
fn repeated_import_changes_nothing_and_reports_the_same() {
    let library = Library::new();
    let folder = write_mixed_folder(&library);
    let first = run_import(&library, &[&folder]);
    let again = run_import(&library, &[&folder]);
    assert_eq!((&again["new"], &again["updated"]), (&json!(0), &json!(0)), "{again}");
    assert_eq!((&again["unchanged"], &again["bytes"]), (&json!(5), &json!(0)), "{again}");
    for field in ["files", "passed", "skipped"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    // A file that was modified in place is read again even if its length is unchanged.
    let note = library.write_file("in/Bread.md", "Rye with a thumble.");
    backdate(&note);
    fs::write(&note, "Rye with a thamble.").unwrap();
    let changed = run_import(&library, &[&folder]);
    assert_eq!((&changed["updated"], &changed["unchanged"]), (&json!(1), &json!(4)), "{changed}");
}

#[test]
fn dry_run_reports_correctly_and_saves_nothing() {
    let library = Library::new();
    let folder = write_mixed_folder(&library);
    let summary = run_import(&library, &["--dry-run", &folder]);
    assert_eq!((&summary["dry_run"], &summary["new"]), (&json!(true), &json!(5)), "{summary}");
    assert!(!library.data_folder().join("users").exists(), "a dry run must not create the library");
    run_import(&library, &[&folder]);
    library.write_file("in/Bread.md", "Oats now.");
    library.write_file("in/New.md", "A new one.");
    let summary = run_import(&library, &["--dry-run", &folder]);
    let counts = ["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 4], "{summary}");
    let found = library.run(&["search", "oats", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 0);
    let really = run_import(&library, &[&folder]);
    let counts = ["new", "updated", "unchanged"].map(|name| really[name].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 4], "{really}");
}

#[test]
fn renamed_file_keeps_its_item() {
    let library = Library::new();
    let note = library.import_file("notes", "vault/Bread.md", "Rye with a thimble.");
    let folder = note.parent().unwrap().to_str().unwrap().to_owned();
    run_import(&library, &["notes", &folder]);
    let hit =
        |query: &str| library.run(&["search", query, "--json"]).parse_json()["results"][0].clone();
    let before = hit("thimble");
    fs::create_dir(note.with_file_name("deep")).unwrap();
    fs::rename(&note, note.with_file_name("deep").join("Loaf.md")).unwrap();
    let summary = run_import(&library, &["notes", &folder]);
    assert_eq!((&summary["new"], &summary["updated"]), (&json!(0), &json!(1)), "{summary}");
    assert_eq!(summary["missing"], json!([]), "{summary}");
    let after = hit("thimble");
    assert_eq!((&after["uri"], &after["title"]), (&before["uri"], &json!("Loaf")));
    assert_eq!(source_outcomes(&library), owned_pairs([("Loaf.md", "imported")]));
}

#[test]
fn deleted_file_is_reported_and_item_kept() {
    let library = Library::new();
    let folder = write_mixed_folder(&library);
    run_import(&library, &[&folder]);
    for name in ["Bread.md", "picture.bin", "broken.srt"] {
        fs::remove_file(library.file_path("in").join(name)).unwrap();
    }
    for _ in 0..2 {
        let summary = run_import(&library, &[&folder]);
        let missing = summary["missing"].as_array().unwrap();
        assert!(missing.len() == 1 && missing[0].as_str().unwrap().ends_with("Bread.md"));
        assert_eq!((&summary["skipped"], &summary["passed"]), (&json!([]), &json!(0)));
    }
    let output = library.run(&["import", &folder]);
    assert!(output.stderr.contains("Bread.md") && output.stderr.contains("missing"), "{output:?}");
    assert_eq!(library.run(&["search", "rye", "--json"]).parse_json()["total_estimated"], 1);
    let missing = library.run(&["sources", "--only", "missing"]).stdout;
    assert!(missing.contains("Bread.md") && missing.lines().count() == 1, "{missing}");
    // The restored file is the same item again.
    library.write_file("in/Bread.md", "Rye with a thimble.");
    let back = run_import(&library, &[&folder]);
    assert_eq!((&back["new"], &back["missing"]), (&json!(0), &json!([])), "{back}");
}

#[cfg(unix)]
#[test]
fn interrupted_import_is_completed_by_the_next() {
    let library = Library::new();
    for number in 0..1_500 {
        let text = format!("Note {number} about thimbles. {}", "Word after word. ".repeat(20));
        backdate(&library.write_file(&format!("in/{number}.md"), text));
    }
    let folder = library.file_path("in").to_str().unwrap().to_owned();
    let mut process = vademecum_command()
        .args(["import", "notes", &folder, "--data", library.data_folder().to_str().unwrap()])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Kills the process as soon as it has written something.
    let begun = || library.data_folder().join("users/local/imports.db-wal").exists();
    while !begun() && process.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let summary = run_import(&library, &["notes", &folder]);
    let sum: u64 = ["new", "unchanged"].iter().map(|name| summary[*name].as_u64().unwrap()).sum();
    assert_eq!((sum, &summary["updated"]), (1_500, &json!(0)), "{summary}");
    let again = run_import(&library, &["notes", &folder]);
    assert_eq!((&again["unchanged"], &again["bytes"]), (&json!(1_500), &json!(0)), "{again}");
    let server = library.serve();
    let found = server.client().call_tool("notes.search", &json!({ "query": "thimbles" }));
    assert_eq!(found["total_estimated"], 1_500);
}

/// A running import with `--watch`, and its output line by line.
struct WatchedImport {
    process: Child,
    output_lines: Lines<BufReader<ChildStdout>>,
}

impl WatchedImport {
    fn start(library: &Library, folder: &str) -> Self {
        Self::start_with(library, &["notes", "--json", folder])
    }

    fn start_with(library: &Library, arguments: &[&str]) -> Self {
        let data = library.data_folder();
        let mut process = vademecum_command()
            .args(["import", "--watch"])
            .args(arguments)
            .arg("--data")
            .arg(data)
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output_lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, output_lines }
    }

    /// Reads the next summary and returns the numbers of new, updated and removed items.
    fn next_counts(&mut self) -> [u64; 3] {
        let summary: Value =
            serde_json::from_str(&self.output_lines.next().unwrap().unwrap()).unwrap();
        let removed = summary["removed"].as_array().unwrap().len();
        let [new, updated] = ["new", "updated"].map(|name| summary[name].as_u64().unwrap());
        [new, updated, removed.try_into().unwrap()]
    }
}

impl Drop for WatchedImport {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn watch_applies_changes_of_folder() {
    let library = Library::new();
    let first = library.write_file("in/First.md", "A thimble.");
    let folder = first.parent().unwrap().to_str().unwrap().to_owned();
    let mut watching = WatchedImport::start(&library, &folder);
    assert_eq!(watching.next_counts(), [1, 0, 0]);
    let server = library.serve();
    let client = server.client();
    let hits = |query: &str| {
        let found = client.call_tool("notes.search", &json!({ "query": query }));
        found["results"].as_array().unwrap().clone()
    };
    let second = library.write_file("in/deep/Second.md", "A needle.");
    assert_eq!(watching.next_counts(), [1, 0, 0]);
    let needle = hits("needle").remove(0);
    fs::write(&second, "A needle and thread.").unwrap();
    assert_eq!(watching.next_counts(), [0, 1, 0]);
    assert_eq!(hits("thread")[0]["uri"], needle["uri"]);
    fs::rename(&second, first.with_file_name("Third.md")).unwrap();
    assert_eq!(watching.next_counts(), [0, 1, 0]);
    let third = hits("thread").remove(0);
    assert_eq!((&third["uri"], &third["title"]), (&needle["uri"], &json!("Third")));
    fs::remove_file(first).unwrap();
    assert_eq!(watching.next_counts(), [0, 0, 1]);
    assert!(hits("thimble").is_empty() && hits("thread").len() == 1);
    assert_eq!(source_outcomes(&library), owned_pairs([("Third.md", "imported")]));
    // A folder that is suddenly empty is most likely not mounted.
    drop(watching);
    fs::remove_file(library.file_path("in/Third.md")).unwrap();
    assert_eq!(WatchedImport::start(&library, &folder).next_counts(), [0, 0, 0]);
    assert_eq!(source_outcomes(&library), owned_pairs([("Third.md", "missing")]));
    assert_eq!(hits("thread").len(), 1);
}

#[test]
fn watch_removes_bookmark_gone_from_file() {
    let bookmarks = |names: &[&str]| {
        let link = |name: &&str| format!("<DT><A HREF=\"https://example.org/{name}\">{name}</A>\n");
        let links: String = names.iter().map(link).collect();
        format!("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL>{links}</DL>")
    };
    let library = Library::new();
    let path = library.write_file("in/b.html", bookmarks(&["thimble", "anvil"]));
    let folder = path.parent().unwrap().to_str().unwrap().to_owned();
    let mut watching = WatchedImport::start_with(&library, &["--json", &folder]);
    assert_eq!(watching.next_counts(), [2, 0, 0]);
    let count = |word: &str| {
        library.run(&["search", word, "--json"]).parse_json()["total_estimated"].clone()
    };
    fs::write(&path, bookmarks(&["thimble", "needle"])).unwrap();
    assert_eq!(watching.next_counts(), [1, 0, 0]);
    assert_eq!(["thimble", "anvil", "needle"].map(count), [1, 0, 1].map(|hits| json!(hits)));
    fs::write(&path, bookmarks(&["thimble"])).unwrap();
    let line = watching.output_lines.next().unwrap().unwrap();
    let dropped = serde_json::from_str::<Value>(&line).unwrap()["dropped"][0].clone();
    assert_eq!((&dropped["items"], &dropped["removed"]), (&json!(1), &json!(true)), "{dropped}");
    assert_eq!(["thimble", "needle"].map(count), [1, 0].map(|hits| json!(hits)));
}

#[test]
fn watch_prints_changed_files() {
    let library = Library::new();
    let first = library.write_file("in/First.md", "A thimble.");
    let folder = first.parent().unwrap().to_str().unwrap().to_owned();
    let mut watching = WatchedImport::start_with(&library, &["notes", &folder]);
    // Reads the output of one pass over the files, which ends with the summary line.
    let mut next_lines = || -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(" skipped; ")) {
            lines.push(watching.output_lines.next().unwrap().unwrap());
        }
        lines
    };
    assert!(next_lines()[0].starts_with("notes: 1 new"));
    let second = library.write_file("in/Second.md", "A needle.");
    assert_eq!(next_lines()[0], format!("new {}", second.display()));
    fs::write(&second, "A needle and thread.").unwrap();
    let lines = next_lines();
    assert_eq!(lines[0], format!("updated {}", second.display()));
    assert!(lines[1].starts_with("notes: 0 new, 1 updated, 1 unchanged"), "{lines:?}");
}

#[test]
fn import_preserves_files_and_escapes_names() {
    let library = Library::new();
    let name = "in/a\u{202e}dm.srt";
    let path = library.write_file(name, "no cues");
    backdate(&path);
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let done = library.run(&["import", path.parent().unwrap().to_str().unwrap()]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("a\u{fffd}dm.srt") && !done.stderr.contains('\u{202e}'));
    assert_eq!(
        before,
        (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap())
    );
}

#[test]
fn sources_lists_only_files_of_the_user() {
    let library = Library::new();
    let note = library.write_file("Bread.md", "Rye.");
    let path = note.to_str().unwrap();
    library.run(&["import", "notes", path, "--user", "ada"]);
    let sources = library.run(&["sources", "--json", "--user", "eve"]).parse_json();
    assert_eq!(sources, json!([]));
    let sources = library.run(&["sources", "--json", "--user", "ada"]).parse_json();
    assert_eq!(sources[0]["items"].as_array().unwrap().len(), 1, "{sources}");
}
