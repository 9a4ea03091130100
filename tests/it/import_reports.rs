//! End-to-end tests of what an import says: files that are not read, advice, merged duplicates, and
//! items that are no longer in their files.

use std::{
    fs::{self, File},
    io::{Cursor, Write},
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::support::{CommandOutput, Library, McpClient};

/// Runs an import and returns its exit code and its summary.
fn import_json(library: &Library, arguments: &[&str]) -> (i32, Value) {
    let done = library.run(&[&["import", "--json"], arguments].concat());
    (done.code, done.parse_json())
}

/// Imports a file or folder of the library, and returns the numbers of new, updated, unchanged and
/// merged items.
fn import_counts(library: &Library, name: &str) -> [u64; 4] {
    let (code, summary) = import_json(library, &[path_text(library, name).as_str()]);
    assert_eq!(code, 0, "{summary}");
    ["new", "updated", "unchanged", "merged"].map(|name| summary[name].as_u64().unwrap())
}

fn path_text(library: &Library, name: &str) -> String {
    library.file_path(name).to_str().unwrap().to_owned()
}

fn zip_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Returns the hits of all sources for a word.
fn find_hits(library: &Library, word: &str) -> Vec<Value> {
    let server = library.serve();
    let found = server.client().call_tool("knowledge.search", &json!({ "query": word }));
    found["results"].as_array().unwrap().clone()
}

fn backdate(path: &Path) {
    let then = SystemTime::now() - Duration::from_mins(1);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn notion_export_as_delivered_is_like_its_folder() {
    let number = |digit: &str| digit.repeat(32);
    let first = format!("Export-9/Sewing {}.md", number("1"));
    let second = format!("Export-9/Sewing/Forge {}.html", number("2"));
    let pages: [(&str, &[u8]); 4] = [
        (&first, b"# Sewing\n\nTags: cloth\n\nA thimble.\n"),
        (&second, b"<html><body><h1 class=page-title>Forge</h1><p>An anvil.</body></html>"),
        ("Export-9/Tools.csv", b"tool,use\nbellows,fire\n"),
        ("Export-9/Sewing/picture.png", b"\x89PNG\r\n\x1a\n"),
    ];
    let (part_1, part_2) = (zip_archive(&pages[..1]), zip_archive(&pages[1..]));
    let delivered =
        zip_archive(&[("Export-9-Part-1.zip", &part_1), ("more/Export-9-Part-2.zip", &part_2)]);
    let (packed, unpacked) = (Library::new(), Library::new());
    packed.write_file("in/export.zip", &delivered);
    for (name, content) in pages {
        unpacked.write_file(&format!("in/{name}"), content);
    }
    for library in [&packed, &unpacked] {
        let (code, summary) = import_json(library, &[&path_text(library, "in")]);
        assert_eq!((code, &summary["new"]), (0, &json!(3)), "{summary}");
        assert_eq!(summary["sources"]["notes"]["new"], 2, "{summary}");
        for (word, source, title) in [
            ("thimble", "notes", "Sewing"),
            ("anvil", "notes", "Forge"),
            ("bellows", "media", "Tools"),
        ] {
            let hits = find_hits(library, word);
            assert_eq!((&hits[0]["source"], &hits[0]["title"]), (&json!(source), &json!(title)));
        }
        assert_eq!(import_counts(library, "in"), [0, 0, 3, 0]);
    }
    // Pages have the same identity in the archive and in the folder, tables the same content.
    packed.write_file("folder/a.csv", "x");
    for (name, content) in pages {
        packed.write_file(&format!("folder/{name}"), content);
    }
    fs::remove_file(packed.file_path("folder/a.csv")).unwrap();
    assert_eq!(import_counts(&packed, "folder"), [0, 0, 2, 1]);
    // Only notes were asked for.
    let notes = Library::new();
    notes.write_file("in/export.zip", &delivered);
    let (_, summary) = import_json(&notes, &["notes", &path_text(&notes, "in")]);
    assert_eq!(summary["new"], 2, "{summary}");
}

#[test]
fn notion_bomb_is_refused_others_imported() {
    let zeros = vec![0; 128 * 1_024 * 1_024];
    let page = format!("Zeros {}.md", "1".repeat(32));
    let bomb = zip_archive(&[(&page, &zeros)]);
    let parts: Vec<_> = (0..5).map(|part| format!("Export-9-Part-{part}.zip")).collect();
    let parts: Vec<(&str, &[u8])> =
        parts.iter().map(|name| (name.as_str(), bomb.as_slice())).collect();
    let library = Library::new();
    library.write_file("in/export.zip", zip_archive(&parts));
    library.write_file("in/note.md", "A thimble.");
    let (code, summary) = import_json(&library, &[&path_text(&library, "in")]);
    assert_eq!((code, &summary["new"]), (0, &json!(1)), "{summary}");
    assert_eq!(summary["skipped"].as_array().unwrap().len(), 1, "{summary}");
}

/// Writes three files of `OneNote`, two pictures, an unknown file and one of a Takeout.
fn write_unsupported_files(library: &Library) -> String {
    for name in ["a.one", "deep/b.one", "c.ONE"] {
        library.write_file(&format!("in/{name}"), b"\xe4\x52\x5c\x7b");
    }
    for name in ["a.jpg", "b.png"] {
        library.write_file(&format!("in/{name}"), b"\x89PNG\r\n\x1a\n");
    }
    library.write_file("in/a.xyz", "x");
    library.write_file("in/history.json", r#"[{"titleUrl": "x", "products": ["y"]}]"#);
    path_text(library, "in")
}

#[test]
fn unsupported_files_are_grouped_by_format() {
    let library = Library::new();
    let folder = write_unsupported_files(&library);
    for _ in 0..2 {
        let (code, summary) = import_json(&library, &[&folder]);
        assert_eq!((code, &summary["passed"]), (1, &json!(7)), "{summary}");
        let groups: Vec<_> = summary["unsupported"].as_array().unwrap().iter().collect();
        let groups: Vec<_> = groups.iter().map(|it| (&it["format"], &it["files"])).collect();
        let expected = [("OneNote", 3), ("pictures", 2), (".xyz", 1), ("Google Takeout", 1)];
        let expected = expected.map(|(format, files)| (json!(format), json!(files)));
        assert_eq!(groups, expected.each_ref().map(|(format, files)| (format, files)));
        let reason = summary["unsupported"][0]["reason"].as_str().unwrap();
        assert!(reason.starts_with("not supported yet; "), "{reason}");
        let nothing = summary["nothing_imported"][0].as_str().unwrap();
        let found = "found 3 OneNote, 2 pictures, 1 `.xyz` file, 1 Google Takeout";
        assert!(nothing.contains(&folder) && nothing.contains(found), "{nothing}");
    }
    let output = library.run(&["import", &folder]);
    assert!(output.code == 1 && output.stderr.contains("nothing was imported from "), "{output:?}");
    for line in ["3 OneNote: not supported yet; ", "2 pictures: not read", "1 `.xyz` file: "] {
        assert!(output.stdout.contains(line), "{line}: {output:?}");
    }
    // With one file that is read, the others are still counted.
    library.write_file("in/note.md", "A thimble.");
    let output = library.run(&["import", &folder]);
    assert!(output.code == 0 && output.stdout.contains("\n3 OneNote: "), "{output:?}");
    assert!(!output.stderr.contains("nothing was imported"), "{output:?}");
    let listed = library.run(&["sources", "--only", "passed"]).stdout;
    assert!(listed.contains("a.one: OneNote: not supported yet"), "{listed}");
}

#[test]
fn path_of_which_nothing_was_read_fails() {
    let library = Library::new();
    fs::create_dir_all(library.file_path("empty")).unwrap();
    let check = |name: &str, code: i32, part: &str| {
        let done = library.run(&["import", &path_text(&library, name)]);
        assert!(done.code == code && done.stderr.contains(part), "{name}: {done:?}");
        let (json_code, _) = import_json(&library, &[&path_text(&library, name)]);
        assert_eq!(json_code, code, "{name}");
    };
    check("empty", 1, "the folder is empty");
    library.write_file("hidden/.note.md", "A thimble.");
    check("hidden", 1, "hidden ones");
    library.write_file("torn/a.srt", "no cues");
    check("torn", 1, "found 1 file that could not be read");
    library.write_file("a.one", "x");
    check("a.one", 1, "cannot be imported: OneNote: not supported yet; ");
    library.write_file("a.enex", "<en-export>");
    check("a.enex", 1, "cannot be read as notes of Evernote (.enex): it has no notes");
    library.write_file("a.xyz", "x");
    check("a.xyz", 1, "`.xyz` file: unknown format");
    library.write_file("prompts.csv", "act,prompt\n");
    check("prompts.csv", 1, "");
    backdate(&library.write_file("good/note.md", "A thimble."));
    check("good", 0, "");
    check("good", 0, "");
    let (code, summary) = import_json(&library, &[&path_text(&library, "good")]);
    assert_eq!((code, &summary["unchanged"], &summary["bytes"]), (0, &json!(1), &json!(0)));
    let (empty, good) = (path_text(&library, "empty"), path_text(&library, "good"));
    let both = library.run(&["import", &empty, &good]);
    assert!(both.code == 0 && both.stderr.contains("the folder is empty"), "{both:?}");
}

/// Returns the commands that a message advises, without the program's name.
fn advised_commands(done: &CommandOutput) -> Vec<Vec<String>> {
    let output = format!("{}{}", done.stderr, done.stdout);
    let parts = output.split('`').skip(1).step_by(2).filter_map(|it| it.strip_prefix("vademecum "));
    let words = |command: &str| {
        let mut words = Vec::new();
        for (place, part) in command.split('\'').enumerate() {
            match place % 2 {
                1 => words.push(part.to_owned()),
                _ => words.extend(part.split_whitespace().map(str::to_owned)),
            }
        }
        words
    };
    parts.map(words).collect()
}

#[test]
fn advised_command_does_what_message_says() {
    let library = Library::new();
    let prompts = r#"{"Tailor": "Find the thimble."}"#;
    let path = library.write_file("my files/odd.json", prompts);
    let done = library.run(&["import", path.to_str().unwrap()]);
    assert!(done.code == 1 && done.stderr.contains("to force a type"), "{done:?}");
    let note =
        library.write_file("my files/note.srt", "1\n00:00:01,000 --> 00:00:02,000\nAnvil.\n");
    let wrong = library.run(&["import", "notes", note.to_str().unwrap()]);
    assert!(wrong.code == 1 && wrong.stderr.contains("to import it as media"), "{wrong:?}");
    for done in [&done, &wrong] {
        let commands = advised_commands(done);
        assert!(!commands.is_empty(), "{done:?}");
        for command in commands {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let again = library.run(&words);
            assert!(again.code == 0 && again.stdout.contains("1 new"), "{command:?}: {again:?}");
        }
    }
    // JSON that nothing reads gets no advice that would fail.
    let path = library.write_file("list.json", "[1, 2]");
    let done = library.run(&["import", path.to_str().unwrap()]);
    assert!(done.code == 1 && advised_commands(&done).is_empty(), "{done:?}");
}

#[test]
fn advice_for_unsupported_files_works() {
    let library = Library::new();
    // Evernote: HTML as notes.
    library.write_file("html/Sewing.html", "<html><head><title>Sewing</title></head><p>A thimble.");
    let html = path_text(&library, "html");
    let (_, summary) = import_json(&library, &["notes", &html]);
    assert_eq!(summary["sources"]["notes"]["new"], 1, "{summary}");
    // TextBundle and archives: unpack.
    library.write_file("unpacked/A.textbundle/text.markdown", "# Forge\nAn anvil.");
    library.write_file("unpacked/A.textbundle/info.json", r#"{"version": 2}"#);
    assert_eq!(import_counts(&library, "unpacked")[0], 1);
    // A type that does not fit: without it.
    let (code, summary) = import_json(&library, &["chats", &html]);
    let reason = summary["unsupported"][0]["reason"].as_str().unwrap();
    assert!(code == 1 && reason.contains("imports them as media"), "{summary}");
    let (_, summary) = import_json(&library, &[&html]);
    assert_eq!(summary["sources"]["media"]["new"], 1, "{summary}");
    // The list of reasons and the help.
    library.write_file("json/a.json", "[1]");
    let output = library.run(&["import", &path_text(&library, "json")]);
    assert!(output.stdout.contains("`vademecum sources --only passed`"), "{output:?}");
    let listed = library.run(&["sources", "--only", "passed"]).stdout;
    assert!(listed.contains("a.json: unrecognised JSON format"), "{listed}");
    let help = library.run(&["import", "--help"]);
    assert!(help.code == 0 && help.stdout.contains("bookmarks, PDF, EPUB"), "{help:?}");
}

#[test]
fn duplicate_content_is_called_merged() {
    let library = Library::new();
    library.write_file("one/talk.txt", "A thimble.");
    library.write_file("two/talk.txt", "A thimble.");
    let (one, two) = (path_text(&library, "one"), path_text(&library, "two"));
    let (_, summary) = import_json(&library, &["media", &one]);
    assert_eq!((&summary["new"], &summary["merged"]), (&json!(1), &json!(0)));
    for _ in 0..2 {
        let (_, summary) = import_json(&library, &["media", &one, &two]);
        let counts = ["new", "updated", "unchanged", "merged"].map(|it| summary[it].clone());
        assert_eq!(counts, [0, 0, 1, 1].map(|count| json!(count)), "{summary}");
        assert_eq!(summary["sources"]["media"]["merged"], 1, "{summary}");
    }
    let output = library.run(&["import", "media", &one, &two]).stdout;
    assert!(output.contains("1 unchanged, 1 merged with the same content"), "{output}");
    assert_eq!(find_hits(&library, "thimble").len(), 1);
    // A copy that changes becomes an item of its own.
    library.write_file("two/talk.txt", "A thimble and an anvil.");
    let (_, summary) = import_json(&library, &["media", &two]);
    assert_eq!((&summary["new"], &summary["merged"]), (&json!(1), &json!(0)), "{summary}");
    assert_eq!(find_hits(&library, "thimble").len(), 2);
}

#[test]
fn file_that_failed_is_read_with_other_limit() {
    let library = Library::new();
    let path = library.write_file("large.md", "Word. ".repeat(20_000_000));
    backdate(&path);
    // The reason shows that the file is read again although it has not changed.
    for megabytes in [16, 17] {
        let settings = format!("[import]\nfile_memory_mb = {megabytes}\n");
        let settings = library.write_file("limits.toml", settings);
        let (path, settings) = (path.to_str().unwrap(), settings.to_str().unwrap());
        let done = library.run(&["import", path, "--config", settings]);
        let reason =
            format!("needs more than {megabytes} MB; to allow more, set import.file_memory_mb");
        assert!(done.code == 1 && done.stderr.contains(&reason), "{done:?}");
    }
}

#[test]
fn many_problems_of_file_are_one_line() {
    let library = Library::new();
    let lines: Vec<String> = (0..3_000).map(|number| format!("{{\"role\": {number}\n")).collect();
    let lines = lines.concat();
    library.write_file("in/broken.jsonl", lines);
    library.write_file(
        "in/list.csv",
        "title,url,time_added,tags,status\nRye,https://a.org,1,,x\n,,,,\n",
    );
    let done = library.run(&["import", &path_text(&library, "in")]);
    let about = |name: &str| done.stderr.lines().filter(|line| line.contains(name)).count();
    assert!(about("broken.jsonl") <= 1 && about("list.csv") == 1, "{done:?}");
    assert!(
        done.stderr.contains("read in part ") && done.stdout.contains("1 read in part"),
        "{done:?}"
    );
}

#[test]
fn file_is_explained_without_being_imported() {
    let library = Library::new();
    let chat = "05/01/26, 10:00 - Ada: A thimble?\n20/01/26, 10:01 - Ben: An anvil.\n";
    library.write_file("WhatsApp Chat with Ben.txt", chat);
    let path = path_text(&library, "WhatsApp Chat with Ben.txt");
    let done = library.run(&["import", "--explain", &path]);
    assert_eq!(done.code, 0, "{done:?}");
    for part in [
        "read as chats of WhatsApp",
        "recognised by its content",
        "1 item in chats",
        "import notes",
    ] {
        assert!(done.stdout.contains(part), "{part}: {done:?}");
    }
    let listed = library.run(&["sources", "--json"]).parse_json();
    assert_eq!(listed, json!([]));
    let odd = library.write_file("odd.json", r#"{"zeta": 1, "messages": [{"role": "user"}]}"#);
    let done = library.run(&["import", "--explain", odd.to_str().unwrap()]);
    assert!(done.code == 1 && done.stdout.contains("no importer reads it"), "{done:?}");
    assert!(!done.stdout.contains("import prompts /"), "{done:?}");
}
