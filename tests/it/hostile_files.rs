//! End-to-end tests of files made to break a parser, each beside a good file: the import reports
//! them with a reason, and the good files are found.

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

/// Memory limit of the program, in KiB, below the size of the largest of these files.
const MAX_MEMORY_KIB: u64 = 1_536 * 1_024;
/// Size of a text file above the limit of the import, in bytes.
const LONG_FILE_BYTES: u64 = 2 * 1_024 * 1_024 * 1_024;
/// Unpacked size of one entry of a zip bomb, in MiB.
const BOMB_ENTRY_MIB: usize = 64;
/// Nesting depth above the limit of every parser.
const NESTING_DEPTH: usize = 10_000;

/// Path and content of a file, and the expected reason. `None` is a harmless file that is imported
/// or ignored without a defect.
type HostileFile = (&'static str, Vec<u8>, Option<&'static str>);

fn deep_json() -> String {
    format!("{}1{}", "[".repeat(NESTING_DEPTH), "]".repeat(NESTING_DEPTH))
}

fn zip_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Returns an archive whose entries unpack to more than 512 MiB in total. One entry is compressed
/// and then copied.
fn zip_bomb(first: &[(&str, &[u8])], part: &str) -> Vec<u8> {
    let zeros = zip_archive(&[("zeros", &vec![b' '; BOMB_ENTRY_MIB * 1_024 * 1_024])]);
    let mut packed = ZipArchive::new(Cursor::new(zeros)).unwrap();
    let mut bomb = ZipWriter::new_append(Cursor::new(zip_archive(first))).unwrap();
    for number in 0..=512 / BOMB_ENTRY_MIB {
        let entry = packed.by_index_raw(0).unwrap();
        let name = if number == 0 { part.to_owned() } else { format!("more/{number}") };
        bomb.raw_copy_file_rename(entry, name).unwrap();
    }
    bomb.finish().unwrap().into_inner()
}

/// Returns a PNG file with a character card whose chunk length exceeds the file.
fn png_with_false_length() -> Vec<u8> {
    let mut png = png_card("chara", &character_card("Mallory", "Lies."));
    let at = png.windows(4).position(|bytes| bytes == b"tEXt").unwrap();
    png[at - 4..at].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
    png
}

/// Returns a PDF whose pages are their own parents, whose first page uses itself as content and
/// resources, and whose cross-reference table refers to itself.
fn looping_pdf() -> Vec<u8> {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[2 0 R 3 0 R 2 0 R]/Count 3/Parent 2 0 R>>",
        "<</Type/Page/Parent 3 0 R/Contents[3 0 R 3 0 R]/Resources 3 0 R/Length 3 0 R>>",
    ];
    let mut paper = "%PDF-1.4\n".to_owned();
    let mut offsets = String::new();
    for (number, object) in (1..).zip(objects) {
        writeln!(offsets, "{:010} 00000 n ", paper.len()).unwrap();
        writeln!(paper, "{number} 0 obj\n{object}\nendobj").unwrap();
    }
    let start = paper.len();
    write!(
        paper,
        "xref\n0 4\n0000000000 65535 f \n{offsets}trailer\n\
         <</Size 4/Root 1 0 R/Prev {start}>>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    paper.into_bytes()
}

/// Returns an XML file with exponential entity expansion ("billion laughs"): each entity expands to
/// ten of the previous one.
fn billion_laughs() -> Vec<u8> {
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

/// Returns a good file for each source. All contain the word `thimble`.
fn good_files() -> [(&'static str, Vec<u8>); 5] {
    let chat = json!([claude_conversation("Sewing", [("human", "Where is the thimble?")])]);
    [
        ("notes/good.md", b"# Good\nA thimble.".to_vec()),
        ("media/good.srt", b"1\n00:00:01,000 --> 00:00:02,000\nA thimble.\n\n".to_vec()),
        ("chats/good.json", chat.to_string().into_bytes()),
        ("characters/good.json", character_card("Ida", "Has a thimble.").into_bytes()),
        ("prompts/good.csv", prompts_csv([("Tailor", "Find the thimble.")]).into_bytes()),
    ]
}

fn hostile_file_cases() -> Vec<HostileFile> {
    let damaged = ["Brötchen und Käse".as_bytes(), b"\xff"].concat();
    let deep_chat = format!(
        r#"[{{"title": "Deep", "mapping": {{"a": {{"message": {{"content": {{"parts": {}}}}}}}}}}}]"#,
        deep_json()
    );
    let deep_card = format!(r#"{{"spec": "chara_card_v2", "data": {{"name": {}}}}}"#, deep_json());
    let deep_prompt = format!(r#"[{{"name": "Deep", "prompt": "x", "x": {}}}]"#, deep_json());
    let deep_podcast = format!(r#"{{"segments": [{{"startTime": 1, "body": {}}}]}}"#, deep_json());
    let deep_page = format!("<html><body>{}<p>Text.", "<div>".repeat(10 * NESTING_DEPTH));
    let escaped = json!([claude_conversation("Escaped", [("human", "Nowhere.")])]).to_string();
    let outside = zip_archive(&[("../../../escaped/conversations.json", escaped.as_bytes())]);
    let absolute = zip_archive(&[("/escaped/card.json", b"{}"), ("card.json", b"[]")]);
    vec![
        ("notes/nul.md", b"A\0thing".to_vec(), Some("byte 1 is NUL")),
        ("notes/damaged.md", damaged, Some("invalid UTF-8 at byte 19")),
        ("notes/noise.md", (1..=255).collect(), Some("binary data")),
        ("notes/empty.md", Vec::new(), None),
        ("notes/deep.md", format!("---\na: {}\n---\nDeep.", deep_json()).into_bytes(), None),
        ("notes/backwards.md", "# in\u{202e}fdp.exe\u{2066}\nText.".into(), None),
        ("media/bomb.epub", zip_bomb(&[], "mimetype"), Some("more than")),
        ("media/bomb.docx", zip_bomb(&[], "word/document.xml"), Some("as an office document")),
        ("media/cut.epub", zip_archive(&[("mimetype", b"x")])[..20].to_vec(), Some("ZIP archive")),
        ("media/loop.pdf", looping_pdf(), Some("as a PDF")),
        ("media/deep.html", deep_page.into_bytes(), Some("nests more than")),
        ("media/deep.json", deep_podcast.into_bytes(), Some("nests more than")),
        ("media/laughs.xml", billion_laughs(), None),
        ("chats/deep.json", deep_chat.into_bytes(), Some("nests more than")),
        ("chats/outside.zip", outside, None),
        ("characters/deep.json", deep_card.into_bytes(), Some("nests more than")),
        ("characters/lying.png", png_with_false_length(), Some("not a valid PNG")),
        ("characters/outside.charx", absolute, Some("not an object")),
        ("characters/bomb.charx", zip_bomb(&[], "card.json"), Some("not valid JSON")),
        ("prompts/deep.json", deep_prompt.into_bytes(), Some("nests more than")),
    ]
}

/// Creates a library with all good and hostile files beside the data folder.
fn library_with_hostile_files() -> Library {
    let library = Library::new();
    for (name, content) in good_files() {
        library.write_file(name, content);
    }
    for (name, content, _) in hostile_file_cases() {
        library.write_file(name, content);
    }
    File::create(library.file_path("notes/long.txt")).unwrap().set_len(LONG_FILE_BYTES).unwrap();
    library
}

/// Runs a command with limited memory.
fn run_with_memory_limit(library: &Library, arguments: &[&str]) -> CommandOutput {
    let data = library.data_folder();
    let program = vademecum_command();
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {MAX_MEMORY_KIB}; exec \"$0\" \"$@\""))
        .arg(program.get_program())
        .args(arguments)
        .args([Path::new("--data"), &data])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.into()
}

/// Groups reasons by file, with paths relative to the folder of the library.
fn group_by_file(
    library: &Library,
    lines: impl Iterator<Item = (String, String)>,
) -> ReasonsByFile {
    let folder = library.file_path("").canonicalize().unwrap();
    let mut reasons = ReasonsByFile::new();
    for (path, reason) in lines {
        let name = Path::new(&path).strip_prefix(&folder).unwrap().display().to_string();
        reasons.entry(name).or_default().push_str(&reason);
    }
    reasons
}

type ReasonsByFile = BTreeMap<String, String>;

fn owned_text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the reasons in the summary of an import.
fn reasons_in_summary(library: &Library, done: &CommandOutput) -> ReasonsByFile {
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    let skipped = summary["skipped"].as_array().unwrap().clone();
    group_by_file(
        library,
        skipped.iter().map(|it| (owned_text(&it["path"]), owned_text(&it["reason"]))),
    )
}

/// Returns the reasons that `sources` lists.
fn reasons_in_sources(library: &Library) -> ReasonsByFile {
    let entries = library.run(&["sources", "--json"]).parse_json();
    let mut lines = Vec::new();
    for entry in entries.as_array().unwrap() {
        for problem in entry["problems"].as_array().unwrap() {
            lines.push((owned_text(&entry["path"]), owned_text(&problem["reason"])));
        }
    }
    group_by_file(library, lines.into_iter())
}

fn assert_expected_reasons(reasons: &ReasonsByFile) {
    let mut wrong = Vec::new();
    for (name, _, expected) in hostile_file_cases() {
        let found = reasons.get(name);
        let is_right = match expected {
            Some(reason) => found.is_some_and(|found| found.contains(reason)),
            None => found.is_none_or(|found| !found.contains("failed unexpectedly")),
        };
        if !is_right {
            wrong.push((name, expected, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let long = &reasons["notes/long.txt"];
    assert!(long.contains("larger than") && long.contains("split it"), "{long}");
}

fn assert_good_files_found(library: &Library) {
    let server = library.serve();
    let client = server.client();
    for kind in SOURCES {
        let hit = client.only_hit(&format!("{kind}.search"), &json!({ "query": "thimble" }));
        assert!(!hit["uri"].is_null(), "{kind}");
    }
}

#[test]
fn hostile_files_are_reported_and_others_imported() {
    let library = library_with_hostile_files();
    let folder = library.file_path("");
    let done = run_with_memory_limit(&library, &["import", folder.to_str().unwrap(), "--json"]);
    assert_expected_reasons(&reasons_in_summary(&library, &done));
    assert_expected_reasons(&reasons_in_sources(&library));
    assert_good_files_found(&library);
    let outside = library.data_folder().join("../escaped");
    assert!(!outside.exists() && !Path::new("/escaped").exists());
}

#[test]
fn hostile_files_of_explicit_source_are_reported() {
    let library = library_with_hostile_files();
    let mut reasons = ReasonsByFile::new();
    for kind in SOURCES {
        let folder = library.file_path(kind);
        let done =
            run_with_memory_limit(&library, &["import", kind, folder.to_str().unwrap(), "--json"]);
        reasons.extend(reasons_in_summary(&library, &done));
    }
    assert_expected_reasons(&reasons);
    assert_expected_reasons(&reasons_in_sources(&library));
    assert_good_files_found(&library);
}

#[test]
fn single_hostile_file_is_rejected_with_reason() {
    let library = library_with_hostile_files();
    let mut wrong = Vec::new();
    for (name, _, reason) in hostile_file_cases() {
        let Some(reason) = reason else { continue };
        let path = library.file_path(name);
        let done = run_with_memory_limit(&library, &["import", path.to_str().unwrap()]);
        if !(done.code == 1 && done.stderr.contains(reason)) {
            wrong.push((name, done));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn symlinks_are_not_followed() {
    let library = Library::new();
    library.write_file("outside/secret.md", "An anvil.");
    library.write_file("vault/good.md", "A thimble.");
    let vault = library.file_path("vault");
    symlink(library.file_path("outside"), vault.join("folder")).unwrap();
    symlink(library.file_path("outside/secret.md"), vault.join("file.md")).unwrap();
    symlink(&vault, vault.join("round")).unwrap();
    symlink(library.file_path("nowhere"), vault.join("dangling.md")).unwrap();
    let done = run_with_memory_limit(&library, &["import", vault.to_str().unwrap(), "--json"]);
    let reasons = reasons_in_summary(&library, &done);
    for name in ["folder", "file.md", "round", "dangling.md"] {
        let reason = &reasons[&format!("vault/{name}")];
        assert!(reason.contains("links are not followed"), "{name}: {reason}");
    }
    let found = |word: &str| {
        library.run(&["search", word, "--json"]).parse_json()["total_estimated"].clone()
    };
    assert_eq!((found("thimble"), found("anvil")), (json!(1), json!(0)));
}

#[test]
fn bidirectional_control_characters_are_removed() {
    let library = Library::new();
    library.write_file("in\u{202e}gpj.md", "# An\u{202e}noitatic\u{2066}\nA thimble.");
    library.write_file("bad\u{202e}\u{7}.md", b"A\0");
    let folder = library.file_path("");
    let done = run_with_memory_limit(&library, &["import", folder.to_str().unwrap()]);
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
