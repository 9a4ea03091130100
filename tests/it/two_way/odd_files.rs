//! Changes of notes whose files are odd: each changes the lines that were asked for and no others, what a
//! file cannot hold is said and not written, and undoing restores every byte.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use super::{Vault, append, note_titled, tag, update};
use crate::{support::McpClient, writing::WRITE_ENABLED};

/// Texts of Markdown files.
const TEXTS: [&str; 56] = [
    "",
    "\n",
    "one line",
    "one line\n",
    "one\r\ntwo\r\n",
    "one\r\ntwo\nthree\n",
    "one\rtwo\r",
    "# Heading\rone\rtwo",
    "one\n\n\n",
    "  indented\n",
    "\tcode\n",
    "# Heading\ntext\n",
    "# Heading #\ntext\n",
    "# Heading \r\ntext\r\n",
    "\n\n# Heading\n",
    "#not a heading\n",
    "Heading\n=======\ntext\n",
    "---\n",
    "---\n---\n",
    "---\n---\ntext\n",
    "---\nProse.\n---\ntext\n",
    "---\nNote: see: this\n\nBuy: milk\n---\ntext\n",
    "---\nTo buy:\n- milk\n---\ntext\n",
    "----------\nrule\n",
    "***\nrule\n",
    "--- Anna: hello\n---\n",
    "---\ntitle: never closed\ntext\n",
    "---\na: 1\n...\ntext\n",
    "---\na: [1\n---\ntext\n",
    "---\n{a: 1}\n---\ntext\n",
    "---\n  a: 1\n  b: 2\n---\ntext\n",
    "---\n# only a comment\n---\ntext\n",
    "---\ntags: [x, 'y', \"z z\"] # mine\n---\ntext\n",
    "---\ntags: [x,\n  y]\n---\ntext\n",
    "---\ntags:\n  # first\n  - x\n  - 'y' # two\n\n# end\nb: 1\n---\ntext\n",
    "---\ntags:\n- x\n- x\n- X\n---\ntext\n",
    "---\r\ntags:\r\n- x\r\n---\r\ntext\r\n",
    "---\ntags: x, w\n---\ntext\n",
    "---\ntags: \"x, w\"\n---\ntext\n",
    "---\ntags: 'x'\n---\ntext\n",
    "---\ntags: &all [x]\nmore: *all\n---\ntext\n",
    "---\ntags: |\n  x\n---\ntext\n",
    "---\ntags: {a: x}\n---\ntext\n",
    "---\ntags: [x]\ntags: [y]\n---\ntext\n",
    "---\nTags: [x]\nTITLE: Old # why\n---\ntext\n",
    "---\ntag: x\nkeywords: [y]\n---\ntext\n",
    "---\ntitle: >-\n  a long\n  title\nb: 1\n---\ntext\n",
    "---\ntitle: 'it''s'\n\"quoted key\": 1\n---\n# Other\n",
    "---\ntitle:\naliases: [a, b]\ndate: 2026-01-31\n---\ntext\n",
    "---\nz: 1\na: 2\nnested:\n  tags: [inner]\n  title: inner\n---\ntext",
    "---\ntext: |\n  tags: [no]\n  ---\n---\ntext #inline\n",
    "+++\ntitle = \"Old\"\ntags = [\n  \"x\",\n  \"y\",\n]\n[extra]\ntitle = \"inner\"\n+++\ntext\n",
    "+++\ndate = 2026-01-31\n+++\n# Heading\n",
    "+++\nx = 1 = 2\n+++\ntext\n",
    "```\n# code\n```\n",
    "<!-- comment -->\n# After a comment\n- [ ] task\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
];

/// Files of other types, and those in other encodings.
fn other_files() -> Vec<(String, Vec<u8>)> {
    let wide = "\u{feff}---\ntags: [x]\n---\n# Wide\né\n".encode_utf16();
    let files: [(&str, Vec<u8>); 10] = [
        ("mark.md", "\u{feff}---\ntags: [x]\n---\ntext\n".into()),
        ("wide.md", wide.flat_map(u16::to_le_bytes).collect()),
        ("plain.txt", "---\ntags: [x]\n---\ntext\n".into()),
        ("plain without end.txt", "text".into()),
        ("list.org", "#+TITLE: Old\n#+filetags: :x:\n* Head\n".into()),
        ("headline.org", "* TODO Head :x:\ntext\n".into()),
        ("drawer.org", ":PROPERTIES:\n:ID: 1\n:END:\r\n* Head\r\n".into()),
        ("graph/pages/page.md", "tags:: [[x]], y\nicon:: z\n\n- block\n".into()),
        ("graph/pages/in block.md", "- tags:: x\n  icon:: z\n- block\n".into()),
        ("graph/pages/empty.md", "- \n".into()),
    ];
    files.map(|(name, bytes)| (name.to_owned(), bytes)).into()
}

/// Returns the lines that two texts do not share.
fn differing_lines(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let count = |text: &str| {
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        // Old programs end lines with a carriage return alone.
        for line in text.replace("\r\n", "\n").replace('\r', "\n").lines() {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
        lines
    };
    let only = |one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>| {
        let more = |(line, count): (&String, &usize)| {
            vec![line.clone(); count.saturating_sub(other.get(line).copied().unwrap_or(0))]
        };
        one.iter().flat_map(more).collect::<Vec<_>>()
    };
    let (before, after) = (count(before), count(after));
    (only(&before, &after), only(&after, &before))
}

#[test]
fn odd_files_change_in_asked_lines_only() {
    let vault = Vault::open(&[("graph/logseq/config.edn", "{}"), ("first.md", "first\n")], &[]);
    let mut files: Vec<(String, Vec<u8>)> = other_files();
    for (number, text) in TEXTS.iter().enumerate() {
        files.push((format!("odd {number}.md"), (*text).into()));
    }
    assert_eq!(files.len(), 66);
    for (name, bytes) in &files {
        vault.write(name, bytes);
    }
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    let mut problems: Vec<String> = Vec::new();
    for (name, _) in &files {
        problems.extend(change_odd_file(&vault, &client, name));
    }
    // The library and the files agree.
    let bytes = || -> BTreeMap<String, Vec<u8>> {
        vault.files().into_iter().map(|name| (name.clone(), vault.bytes(&name))).collect()
    };
    let before = bytes();
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    assert_eq!(bytes(), before);
    let undone = vault.library.run(&["undo", "--client", "agent", "--since", "1h"]);
    if undone.stdout.contains("kept") {
        problems.push(format!("{undone:?}"));
    }
    for (name, bytes) in &files {
        if vault.bytes(name) != *bytes {
            let (found, expected) = (lossy(&vault.bytes(name)), lossy(bytes));
            problems.push(format!("{name}: undone to {found:?}, was {expected:?}"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(vault.files().len(), files.len() + 2);
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the text of a file, which is UTF-16 if it is called so.
fn text_of(vault: &Vault, name: &str) -> String {
    let bytes = vault.bytes(name);
    if name != "wide.md" {
        return lossy(&bytes);
    }
    let units = bytes.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
}

/// Appends to a note, tags and untags it, and changes its title. Returns what is wrong.
fn change_odd_file(vault: &Vault, client: &impl McpClient, name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |is_right: bool, what: &str, reply: &Value| {
        if !is_right {
            problems.push(format!("{name}: {what}: {:?}, {reply}", text_of(vault, name)));
        }
    };
    let stem = name.rsplit_once('/').map_or(name, |(_, name)| name).rsplit_once('.').unwrap().0;
    let note = note_titled(client, stem);

    let before = text_of(vault, name);
    let appended = append(client, &note, "Added line.");
    let (removed, added) = differing_lines(&before, &text_of(vault, name));
    let line = if name.starts_with("graph/") { "- Added line." } else { "Added line." };
    let ends = [before.ends_with('\n'), text_of(vault, name).ends_with('\n')];
    let is_line = removed.is_empty() && added == [line] && ends[0] == ends[1];
    check(is_line && appended["file_problem"].is_null(), "append", &appended);

    let before = text_of(vault, name);
    let tagged = tag(client, &note, &json!({ "add": ["zebra"] }));
    let after = text_of(vault, name);
    let (removed, added) = differing_lines(&before, &after);
    let is_asked =
        |line: &String| line.contains("zebra") || ["---", "tags:"].contains(&line.as_str());
    let is_written = removed.len() <= 1
        && added.iter().any(|line| line.contains("zebra"))
        && added.iter().all(is_asked);
    let is_refused = !tagged["file_problem"].is_null();
    check(if is_refused { after == before } else { is_written }, "tag", &tagged);

    let untagged = tag(client, &note, &json!({ "remove": ["zebra"] }));
    let after = text_of(vault, name);
    // Comments alone are no front matter, so that an empty list stays with them.
    // An empty block goes with its last tag.
    let is_before = after == before
        || after.replace("tags: []\n", "") == before
        || before.strip_prefix("---\n---\n") == Some(&after);
    check(is_before && untagged["file_problem"].is_null(), "untag", &untagged);

    let before = text_of(vault, name);
    let titled = update(client, &note, &json!({ "title": "New: title" }));
    let after = text_of(vault, name);
    let (removed, added) = differing_lines(&before, &after);
    let is_asked = |line: &String| line.contains("New: title") || line == "---";
    // A title over several lines is replaced as a whole.
    let has_long_title = before.contains("title: >-");
    let is_written = removed.len() <= if has_long_title { 3 } else { 1 }
        && added.iter().any(|line| line.contains("New: title"))
        && added.iter().all(is_asked);
    let is_refused = !titled["file_problem"].is_null();
    check(if is_refused { after == before } else { is_written }, "title", &titled);
    problems
}

#[cfg(unix)]
#[test]
fn read_only_file_is_not_written() {
    use std::os::unix::fs::PermissionsExt;

    let vault = Vault::open(&[("a.md", "# A\none\n"), ("b.md", "# B\n")], &[]);
    let path = vault.folder().join("a.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    let refused = append(&client, &note, "two");
    assert!(refused["file_problem"].as_str().unwrap().contains("read-only"), "{refused}");
    let deleted = client.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    assert!(deleted["file_problem"].as_str().unwrap().contains("read-only"), "{deleted}");
    assert_eq!(vault.read("a.md"), "# A\none\n");
    assert_eq!(vault.files(), ["a.md", "b.md"]);
}

#[test]
fn tagging_is_one_version_with_its_text() {
    let vault = Vault::open(&[("a.md", "# A\none\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    let tagged = tag(&client, &note, &json!({ "add": ["x"] }));
    assert_eq!(tagged["version"], 2, "{tagged}");
    assert_eq!(vault.read("a.md"), "---\ntags:\n  - x\n---\n# A\none\n");
    let history = client.call_tool("knowledge.history", &json!({ "uri": note["uri"] }));
    assert_eq!(history["changes"].as_array().unwrap().len(), 1, "{history}");
    assert_eq!(history["changes"][0]["action"], "tagged");
}
