//! Tests of edits of parts of a note: at a heading or a block, of quoted text, and of properties.

use serde_json::{Value, json};

use super::{Vault, append, note_titled, tag};
use crate::{
    faults::{rng, round_count},
    support::{McpClient, SeededRng},
    writing::{WRITE_ENABLED, read_note},
};

/// Settings with write tools and without rate limits.
const UNLIMITED: &str = "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\n\
                         calls_per_tool_per_minute = 0";

/// A note as a simple editor sees it.
#[derive(Default)]
struct Reference {
    properties: Vec<(String, String)>,
    start: Vec<String>,
    sections: Vec<Vec<String>>,
    end: &'static str,
}

impl Reference {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        if !self.properties.is_empty() {
            lines.push("---".to_owned());
            lines.extend(self.properties.iter().map(|(name, value)| format!("{name}: {value}")));
            lines.push("---".to_owned());
        }
        lines.extend(self.start.iter().rev().cloned());
        lines.push("# Note".to_owned());
        for (number, section) in self.sections.iter().enumerate() {
            lines.push(String::new());
            lines.push(format!("## Section {number}"));
            lines.extend(section.iter().cloned());
        }
        lines.iter().flat_map(|line| [line.as_str(), self.end]).collect()
    }

    /// Makes a random edit, and returns the call that makes it in the library.
    fn edit(&mut self, number: usize, rng: &mut SeededRng) -> (&'static str, Value) {
        let line = format!("line {number}. ^b{number}");
        let section = rng.next_below(self.sections.len());
        let name = format!("property{}", rng.next_below(4));
        match rng.next_below(6) {
            0 => {
                self.start.push(line.clone());
                ("notes.append", json!({ "content": line, "at": "start" }))
            }
            1 => {
                self.sections[section].push(line.clone());
                ("notes.append", json!({ "content": line, "at": format!("## Section {section}") }))
            }
            2 => {
                let lines = &mut self.sections[section];
                let at = rng.next_below(lines.len());
                let block = lines[at].rsplit_once('^').unwrap().1.to_owned();
                lines.insert(at + 1, line.clone());
                ("notes.append", json!({ "content": line, "at": format!("^{block}") }))
            }
            3 => {
                let lines = &mut self.sections[section];
                let at = rng.next_below(lines.len());
                let old = lines[at].clone();
                let new = old.replacen("line", "changed line", 1);
                lines[at].clone_from(&new);
                ("notes.update", json!({ "replace": [{ "old": old, "new": new }] }))
            }
            4 => {
                let value = format!("value {number}");
                match self.properties.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => known.clone_from(&value),
                    None => self.properties.push((name.clone(), value.clone())),
                }
                ("notes.update", json!({ "properties": { name: value } }))
            }
            _ => {
                self.properties.retain(|(known, _)| *known != name);
                ("notes.update", json!({ "properties": { name: null } }))
            }
        }
    }
}

#[test]
fn random_edits_equal_those_of_reference_editor() {
    let mut rng = rng();
    for end in ["\n", "\r\n"] {
        let sections = (0..4).map(|number| vec![format!("line of {number}. ^s{number}")]).collect();
        let mut reference = Reference { sections, end, ..Reference::default() };
        let vault = Vault::open(&[("Note.md", &reference.text()), ("b.md", "b")], &[]);
        let server = vault.library.serve_with_settings(UNLIMITED);
        let client = server.client();
        let note = note_titled(&client, "Note");
        // 100 edits, or 500 in long runs.
        for number in 0..usize::try_from(round_count() * 10).unwrap().min(250) {
            let (tool, mut arguments) = reference.edit(number, &mut rng);
            arguments["note_id"] = note["id"].clone();
            if tool == "notes.update" {
                arguments["version"] = read_note(&client, &note["id"]).1.into();
            }
            let written = client.call_tool(tool, &arguments);
            assert_eq!(written["file_problem"], Value::Null, "{arguments}: {written}");
            assert_eq!(vault.read("Note.md"), reference.text(), "{arguments}");
        }
        assert_eq!(read_note(&client, &note["id"]).0, reference.text());
    }
}

#[test]
fn line_of_long_note_is_changed_in_one_kilobyte() {
    let lines: Vec<String> = (0..4_500)
        .map(|line| format!("line {line} of a note that is very long indeed\n"))
        .collect();
    let text = format!("# Long\n{}", lines.concat());
    assert!(text.len() > 190_000);
    let vault = Vault::open(&[("a.md", &text), ("b.md", "b")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "Long");
    let replace = json!({ "old": "line 2345 of", "new": "line two of" });
    let change = json!({ "note_id": note["id"], "version": 1, "replace": [replace] });
    let reply = client.tool_result("notes.update", &change);
    assert!(
        reply["isError"] == false && reply.to_string().len() + change.to_string().len() <= 1_024
    );
    assert_eq!(vault.read("a.md"), text.replace("line 2345 of", "line two of"));
    let stale = client.expect_tool_error("notes.update", &change);
    assert!(stale.contains("at version 2, not 1"), "{stale}");
}

#[test]
fn wrong_edits_of_parts_change_nothing() {
    let text = "# A\none one\n## Log\n- x ^b1\n\n# B\n## Log\n";
    let vault = Vault::open(&[("a.md", text), ("b.md", "b")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    for (tool, arguments, reason) in [
        ("notes.append", json!({ "content": "x", "at": "Log" }), "several headings"),
        ("notes.append", json!({ "content": "x", "at": "None" }), "no heading `None`"),
        ("notes.append", json!({ "content": "x", "at": "^b2" }), "no block `^b2`"),
        ("notes.append", json!({ "content": "x", "at": "" }), "expected end, start"),
        ("notes.append", json!({ "content": "x", "at": "^b1", "version": 7 }), "not 7"),
        ("notes.update", json!({ "replace": [{ "old": "one", "new": "x" }] }), "several places"),
        ("notes.update", json!({ "replace": [{ "old": "two", "new": "x" }] }), "does not have"),
        ("notes.update", json!({ "replace": [], "properties": {} }), "nothing would change"),
        (
            "notes.update",
            json!({ "content": "x", "replace": [{ "old": "x", "new": "y" }] }),
            "not both",
        ),
        ("notes.update", json!({ "properties": { "Tags": ["x"] } }), "arguments of their own"),
        ("notes.update", json!({ "properties": { "x": { "y": 1 } } }), "cannot be set"),
    ] {
        let mut arguments = arguments;
        arguments["note_id"] = note["id"].clone();
        if tool == "notes.update" {
            arguments["version"] = 1.into();
        }
        let refused = client.expect_tool_error(tool, &arguments);
        assert!(refused.contains(reason), "{arguments}: {refused}");
    }
    assert_eq!(vault.read("a.md"), text);
}

#[test]
fn parts_are_quoted_as_they_are_shown() {
    // Links to pictures elsewhere are not shown to agents as they are.
    let text = "# A\n![x](https://example.org/x.png) and one\ntwo\u{200b}\n";
    let vault = Vault::open(&[("a.md", text), ("b.md", "b")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    let (shown, version) = read_note(&client, &note["id"]);
    assert_ne!(shown, text);
    let replace = json!([{ "old": "two", "new": "three" }]);
    let change = json!({ "note_id": note["id"], "version": version, "replace": replace });
    client.call_tool("notes.update", &change);
    assert!(vault.read("a.md").starts_with("# A\n![x](https://example.org/x.png) and one\nthree"));
    tag(&client, &note, &json!({ "add": ["x"] }));
    append(&client, &note, "more");
    assert!(vault.read("a.md").contains("![x](https://example.org/x.png) and one\n"));
}
