//! Files that are made to break a reader, each beside a good one: what becomes of
//! them is said, and the good one is found.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{Cursor, Write},
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::support::{
    CommandOutput, Library, McpClient, SOURCES, character_card, claude_conversation, png_card,
    prompts_csv, vademecum_command,
};

/// Most memory that the program may ask for, in KiB: less than the largest of
/// these files would take.
const MEMORY: u64 = 1_536 * 1_024;
/// The length of a text that is longer than any that is read.
const LONG: u64 = 2 * 1_024 * 1_024 * 1_024;
/// What one entry of a bomb unpacks to.
const MEBIBYTES: usize = 64;
/// More than any reader goes down.
const DEEP: usize = 10_000;

/// A file and what is said of it; nothing is said of one that does no harm.
type Case = (&'static str, Vec<u8>, Option<&'static str>);

fn deep() -> String {
    format!("{}1{}", "[".repeat(DEEP), "]".repeat(DEEP))
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// An archive whose entries unpack to more than half a gibibyte in all, packed
/// once and copied.
fn bomb(first: &[(&str, &[u8])], part: &str) -> Vec<u8> {
    let zeros = archive(&[("zeros", &vec![b' '; MEBIBYTES * 1_024 * 1_024])]);
    let mut packed = ZipArchive::new(Cursor::new(zeros)).unwrap();
    let mut bomb = ZipWriter::new_append(Cursor::new(archive(first))).unwrap();
    for number in 0..=512 / MEBIBYTES {
        let entry = packed.by_index_raw(0).unwrap();
        let name = if number == 0 { part.to_owned() } else { format!("more/{number}") };
        bomb.raw_copy_file_rename(entry, name).unwrap();
    }
    bomb.finish().unwrap().into_inner()
}

/// A picture whose chunk with the card is said to be longer than the file.
fn lying_picture() -> Vec<u8> {
    let mut png = png_card("chara", &character_card("Mallory", "Lies."));
    let at = png.windows(4).position(|bytes| bytes == b"tEXt").unwrap();
    png[at - 4..at].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
    png
}

/// A paper whose pages are their own parents, whose first page is everything it
/// refers to, and whose table of objects goes back to itself.
fn looping_paper() -> Vec<u8> {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[2 0 R 3 0 R 2 0 R]/Count 3/Parent 2 0 R>>",
        "<</Type/Page/Parent 3 0 R/Contents[3 0 R 3 0 R]/Resources 3 0 R/Length 3 0 R>>",
    ];
    let mut paper = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (number, object) in (1..).zip(objects) {
        writeln!(places, "{:010} 00000 n ", paper.len()).unwrap();
        writeln!(paper, "{number} 0 obj\n{object}\nendobj").unwrap();
    }
    let start = paper.len();
    write!(
        paper,
        "xref\n0 4\n0000000000 65535 f \n{places}trailer\n\
         <</Size 4/Root 1 0 R/Prev {start}>>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    paper.into_bytes()
}

/// Entities that are each ten of the one before.
fn laughs() -> Vec<u8> {
    let entities: Vec<String> = (1..12)
        .map(|number| {
            format!("<!ENTITY a{number} \"{}\">", format!("&a{};", number - 1).repeat(10))
        })
        .collect();
    format!(
        "<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a0 'ha'>{}]>\
         <rss version='2.0'><channel><title>&a11;</title>\
         <item><title>&a11;</title><description>Laughs.</description></item></channel></rss>",
        entities.concat()
    )
    .into_bytes()
}

/// A good file for each source; all have the word `thimble`.
fn good() -> [(&'static str, Vec<u8>); 5] {
    let chat = json!([claude_conversation("Sewing", [("human", "Where is the thimble?")])]);
    [
        ("notes/good.md", b"# Good\nA thimble.".to_vec()),
        ("media/good.srt", b"1\n00:00:01,000 --> 00:00:02,000\nA thimble.\n\n".to_vec()),
        ("chats/good.json", chat.to_string().into_bytes()),
        ("characters/good.json", character_card("Ida", "Has a thimble.").into_bytes()),
        ("prompts/good.csv", prompts_csv([("Tailor", "Find the thimble.")]).into_bytes()),
    ]
}

fn hostile() -> Vec<Case> {
    let damaged = ["Brötchen und Käse".as_bytes(), b"\xff"].concat();
    let deep_chat = format!(
        r#"[{{"title": "Deep", "mapping": {{"a": {{"message": {{"content": {{"parts": {}}}}}}}}}}}]"#,
        deep()
    );
    let deep_card = format!(r#"{{"spec": "chara_card_v2", "data": {{"name": {}}}}}"#, deep());
    let deep_prompt = format!(r#"[{{"name": "Deep", "prompt": "x", "x": {}}}]"#, deep());
    let deep_podcast = format!(r#"{{"segments": [{{"startTime": 1, "body": {}}}]}}"#, deep());
    let deep_page = format!("<html><body>{}<p>Text.", "<div>".repeat(10 * DEEP));
    let escaped = json!([claude_conversation("Escaped", [("human", "Nowhere.")])]).to_string();
    let outside = archive(&[("../../../escaped/conversations.json", escaped.as_bytes())]);
    let absolute = archive(&[("/escaped/card.json", b"{}"), ("card.json", b"[]")]);
    vec![
        ("notes/nul.md", b"A\0thing".to_vec(), Some("byte 1 is NUL")),
        ("notes/damaged.md", damaged, Some("damaged UTF-8, byte 19")),
        ("notes/noise.md", (1..=255).collect(), Some("binary data")),
        ("notes/empty.md", Vec::new(), None),
        ("notes/deep.md", format!("---\na: {}\n---\nDeep.", deep()).into_bytes(), None),
        ("notes/backwards.md", "# in\u{202e}fdp.exe\u{2066}\nText.".into(), None),
        ("media/bomb.epub", bomb(&[], "mimetype"), Some("more than")),
        ("media/bomb.docx", bomb(&[], "word/document.xml"), Some("as an office document")),
        ("media/cut.epub", archive(&[("mimetype", b"x")])[..20].to_vec(), Some("ZIP archive")),
        ("media/loop.pdf", looping_paper(), Some("as a PDF")),
        ("media/deep.html", deep_page.into_bytes(), Some("nests more than")),
        ("media/deep.json", deep_podcast.into_bytes(), Some("nests more than")),
        ("media/laughs.xml", laughs(), None),
        ("chats/deep.json", deep_chat.into_bytes(), Some("nests more than")),
        ("chats/outside.zip", outside, None),
        ("characters/deep.json", deep_card.into_bytes(), Some("nests more than")),
        ("characters/lying.png", lying_picture(), Some("not a valid PNG")),
        ("characters/outside.charx", absolute, Some("not an object")),
        ("characters/bomb.charx", bomb(&[], "card.json"), Some("not valid JSON")),
        ("prompts/deep.json", deep_prompt.into_bytes(), Some("nests more than")),
    ]
}

/// A library beside which all these files lie.
fn beset() -> Library {
    let library = Library::new();
    for (name, content) in good() {
        library.write_file(name, content);
    }
    for (name, content, _) in hostile() {
        library.write_file(name, content);
    }
    File::create(library.file_path("notes/long.txt")).unwrap().set_len(LONG).unwrap();
    library
}

/// Runs a command with as much memory as it may need.
fn run(library: &Library, arguments: &[&str]) -> CommandOutput {
    let data = library.data_folder();
    let program = vademecum_command();
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""))
        .arg(program.get_program())
        .args(arguments)
        .args([Path::new("--data"), &data])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    CommandOutput {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What was said of each file, by its name from the folder of files on.
fn reasons(library: &Library, lines: impl Iterator<Item = (String, String)>) -> Reasons {
    let folder = library.file_path("").canonicalize().unwrap();
    let mut reasons = Reasons::new();
    for (path, reason) in lines {
        let name = Path::new(&path).strip_prefix(&folder).unwrap().display().to_string();
        reasons.entry(name).or_default().push_str(&reason);
    }
    reasons
}

type Reasons = BTreeMap<String, String>;

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What the summary of an import says of each file.
fn skipped(library: &Library, done: &CommandOutput) -> Reasons {
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    let skipped = summary["skipped"].as_array().unwrap().clone();
    reasons(library, skipped.iter().map(|it| (text(&it["path"]), text(&it["reason"]))))
}

/// What is remembered of each file.
fn remembered(library: &Library) -> Reasons {
    let entries = library.run(&["sources", "--json"]).parse_json();
    let mut lines = Vec::new();
    for entry in entries.as_array().unwrap() {
        for problem in entry["problems"].as_array().unwrap() {
            lines.push((text(&entry["path"]), text(&problem["reason"])));
        }
    }
    reasons(library, lines.into_iter())
}

fn assert_each_is_named(said: &Reasons) {
    let mut wrong = Vec::new();
    for (name, _, expected) in hostile() {
        let found = said.get(name);
        let is_right = match expected {
            Some(reason) => found.is_some_and(|found| found.contains(reason)),
            None => found.is_none_or(|found| !found.contains("defect")),
        };
        if !is_right {
            wrong.push((name, expected, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let long = &said["notes/long.txt"];
    assert!(long.contains("larger than") && long.contains("split it"), "{long}");
}

fn assert_the_good_are_found(library: &Library) {
    let server = library.serve();
    let client = server.client();
    for kind in SOURCES {
        let hit = client.only_hit(&format!("{kind}.search"), &json!({ "query": "thimble" }));
        assert!(!hit["uri"].is_null(), "{kind}");
    }
}

#[test]
fn hostile_files_are_named_with_the_reason_and_the_rest_goes_in() {
    let library = beset();
    let folder = library.file_path("");
    let done = run(&library, &["import", folder.to_str().unwrap(), "--json"]);
    assert_each_is_named(&skipped(&library, &done));
    assert_each_is_named(&remembered(&library));
    assert_the_good_are_found(&library);
    let outside = library.data_folder().join("../escaped");
    assert!(!outside.exists() && !Path::new("/escaped").exists());
}

#[test]
fn hostile_files_are_named_as_well_where_their_kind_is_given() {
    let library = beset();
    let mut said = Reasons::new();
    for kind in SOURCES {
        let folder = library.file_path(kind);
        let done = run(&library, &["import", kind, folder.to_str().unwrap(), "--json"]);
        said.extend(skipped(&library, &done));
    }
    assert_each_is_named(&said);
    assert_each_is_named(&remembered(&library));
    assert_the_good_are_found(&library);
}

#[test]
fn a_hostile_file_that_is_named_alone_is_refused_in_one_line() {
    let library = beset();
    let mut wrong = Vec::new();
    for (name, _, reason) in hostile() {
        let Some(reason) = reason else { continue };
        let path = library.file_path(name);
        let done = run(&library, &["import", path.to_str().unwrap()]);
        if !(done.code == 1 && done.stderr.contains(reason)) {
            wrong.push((name, done));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_outside_of_a_folder_is_read_through_a_link() {
    let library = Library::new();
    library.write_file("outside/secret.md", "An anvil.");
    library.write_file("vault/good.md", "A thimble.");
    let vault = library.file_path("vault");
    symlink(library.file_path("outside"), vault.join("folder")).unwrap();
    symlink(library.file_path("outside/secret.md"), vault.join("file.md")).unwrap();
    symlink(&vault, vault.join("round")).unwrap();
    symlink(library.file_path("nowhere"), vault.join("dangling.md")).unwrap();
    let done = run(&library, &["import", vault.to_str().unwrap(), "--json"]);
    let said = skipped(&library, &done);
    for name in ["folder", "file.md", "round", "dangling.md"] {
        let reason = &said[&format!("vault/{name}")];
        assert!(reason.contains("is a link, which is not followed"), "{name}: {reason}");
    }
    let found = |word: &str| {
        library.run(&["search", word, "--json"]).parse_json()["total_estimated"].clone()
    };
    assert_eq!((found("thimble"), found("anvil")), (json!(1), json!(0)));
}

#[test]
fn what_would_turn_a_line_around_is_shown_without_harm() {
    let library = Library::new();
    library.write_file("in\u{202e}gpj.md", "# An\u{202e}noitatic\u{2066}\nA thimble.");
    library.write_file("bad\u{202e}\u{7}.md", b"A\0");
    let folder = library.file_path("");
    let done = run(&library, &["import", folder.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stderr.contains("is NUL"), "{done:?}");
    let listed = library.run(&["sources"]);
    for shown in [done.stdout, done.stderr, listed.stdout] {
        assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{7}']), "{shown:?}");
    }
    let server = library.serve();
    let hit = server.client().only_hit("notes.search", &json!({ "query": "thimble" }));
    assert_eq!(hit["title"], "Annoitatic");
}
