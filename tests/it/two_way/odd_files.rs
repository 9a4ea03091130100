//! Changes of notes whose files are odd: each changes the lines that were asked for and no others, what a
//! file cannot hold is said and not written, and undoing restores every byte.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

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
    "---\ntags: x, y\n---\ntext\n",
    "---\ntags: \"x, y\"\n---\ntext\n",
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
        for line in text.lines() {
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
    for (name, before) in &files {
        change_odd_file(&vault, &client, name, before);
    }
    // The library and the files agree.
    let before: BTreeSet<Vec<u8>> = vault.files().iter().map(|name| vault.bytes(name)).collect();
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let after: BTreeSet<Vec<u8>> = vault.files().iter().map(|name| vault.bytes(name)).collect();
    assert_eq!(after, before);
    let undone = vault.library.run(&["undo", "--client", "agent", "--since", "1h"]);
    assert!(!undone.stdout.contains("kept"), "{undone:?}");
    for (name, bytes) in &files {
        assert_eq!(lossy(&vault.bytes(name)), lossy(bytes), "{name}");
        assert_eq!(&vault.bytes(name), bytes, "{name}");
    }
    assert_eq!(vault.files().len(), files.len() + 2);
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Appends to a note, tags and untags it, and changes its title.
fn change_odd_file(vault: &Vault, client: &impl McpClient, name: &str, bytes: &[u8]) {
    let is_wide = name == "wide.md";
    let text = || {
        let bytes = vault.bytes(name);
        if !is_wide {
            return lossy(&bytes);
        }
        let units = bytes.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
    };
    let stem = name.rsplit_once('/').map_or(name, |(_, name)| name).rsplit_once('.').unwrap().0;
    let note = note_titled(client, stem);
    let before = text();
    let appended = append(client, &note, "Added line.");
    assert_eq!(appended["file_problem"], Value::Null, "{name}: {appended}");
    let (removed, added) = differing_lines(&before, &text());
    let line = if name.starts_with("graph/") { "- Added line." } else { "Added line." };
    assert!(removed.is_empty() && added == [line], "{name}: {:?}", text());
    assert_eq!(text().ends_with('\n'), before.ends_with('\n'), "{name}");

    let before = text();
    let tagged = tag(client, &note, &json!({ "add": ["zebra"] }));
    let after = text();
    let (removed, added) = differing_lines(&before, &after);
    if tagged["file_problem"].is_null() {
        assert!(
            removed.len() <= 1 && added.iter().any(|line| line.contains("zebra")),
            "{name}: {after}"
        );
        let is_asked =
            |line: &String| line.contains("zebra") || ["---", "tags:"].contains(&line.as_str());
        assert!(added.iter().all(is_asked), "{name}: {after}");
    } else {
        assert_eq!(after, before, "{name}: {tagged}");
    }
    let untagged = tag(client, &note, &json!({ "remove": ["zebra"] }));
    assert_eq!(untagged["file_problem"], Value::Null, "{name}: {untagged}");
    let (removed, added) = differing_lines(&before, &text());
    // A list that is written with spaces gets commas; a comment alone is no front matter.
    assert!(removed == added || name == "odd 31.md", "{name}: {:?}", text());

    let before = text();
    let titled = update(client, &note, &json!({ "title": "New: title" }));
    let after = text();
    let (removed, added) = differing_lines(&before, &after);
    if titled["file_problem"].is_null() {
        assert!(added.iter().any(|line| line.contains("New: title")), "{name}: {after}");
        let is_asked = |line: &String| line.contains("New: title") || line == "---";
        assert!(added.iter().all(is_asked), "{name}: {after}");
        let has_title_lines =
            removed.len() == 3 && removed.iter().any(|line| line.contains("a long"));
        assert!(removed.len() <= 1 || has_title_lines, "{name}: {after}");
    } else {
        assert_eq!(after, before, "{name}: {titled}");
    }
    assert!(!bytes.is_empty() || !text().is_empty());
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
