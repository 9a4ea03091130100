//! Backups of Standard Notes: a text with JSON, also in a ZIP archive.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{NoteDraft, SourceName};

use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime, decode_text,
        json::{is_true_at, list_at, parse_entry, text_at},
        keywords::{distinct_keywords, inline_tags},
    },
};

/// Name of the file with all items in the archive.
const BACKUP_NAME: &str = "Standard Notes Backup and Import File.txt";

/// Backups of Standard Notes.
#[derive(Debug)]
pub(crate) struct StandardNotes;

impl Format for StandardNotes {
    fn id(&self) -> &'static str {
        "standard_notes"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "notes of Standard Notes (backup, .zip, .txt)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.packs(BACKUP_NAME) || sample.is_json_with(&["items", "content_type"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let packed = if input.is_zip() {
            input.unpack(|name| name.ends_with(BACKUP_NAME))?
        } else {
            Vec::new()
        };
        let bytes = packed.first().map_or(input.bytes, |file| file.bytes.as_slice());
        let text = decode_text(bytes, None)?;
        let backup: Backup = serde_json::from_str(&text)?;
        let mut parsed = ParsedFormat::default();
        let mut notes = Vec::new();
        let mut tags: HashMap<String, Vec<String>> = HashMap::new();
        let (mut encrypted, mut trashed) = (0, 0);
        for (number, json) in (1..).zip(backup.items) {
            let item = match parse_entry::<Value>(json.get()) {
                Ok(item) => item,
                Err(reason) => {
                    parsed.add_problem(format!("item {number}"), reason);
                    continue;
                }
            };
            let is_encrypted = item.get("content").is_some_and(Value::is_string);
            match text_at(&item, "/content_type") {
                "Note" if is_encrypted => encrypted += 1,
                "Note" if is_true_at(&item, "/content/trashed") => trashed += 1,
                "Note" => notes.push(item),
                "Tag" => {
                    for reference in list_at(&item, "/content/references") {
                        let of_note =
                            tags.entry(text_at(reference, "/uuid").to_owned()).or_default();
                        of_note.push(text_at(&item, "/content/title").to_owned());
                    }
                }
                _ => {}
            }
        }
        for item in &notes {
            add_note(&mut parsed, item, &tags);
        }
        let reason = "encrypted; choose a decrypted backup in Standard Notes";
        parsed.add_count(encrypted, "note", reason);
        parsed.add_count(trashed, "note", "in the trash of Standard Notes");
        parsed.or_empty("it has no notes")
    }
}

#[derive(Debug, Deserialize)]
struct Backup<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

fn add_note(parsed: &mut ParsedFormat, item: &Value, tags: &HashMap<String, Vec<String>>) {
    let (id, text) = (text_at(item, "/uuid"), text_at(item, "/content/text"));
    let content = match text_at(item, "/content/noteType") {
        "super" => super_text(text).unwrap_or_else(|| text.to_owned()),
        _ => text.to_owned(),
    };
    let own = tags.get(id).cloned().unwrap_or_default();
    let updated = "/content/appData/org.standardnotes.sn/client_updated_at";
    let updated = datetime::parse_text(text_at(item, updated));
    let draft = NoteDraft {
        title: text_at(item, "/content/title").to_owned(),
        tags: distinct_keywords(own.into_iter().chain(inline_tags(&content))),
        created_at: datetime::parse_text(text_at(item, "/created_at")),
        modified_at: updated.or_else(|| datetime::parse_text(text_at(item, "/updated_at"))),
        content,
        ..NoteDraft::default()
    };
    parsed.add_note(format!("standard-notes:{id}"), draft, id);
}

/// Returns the text of a note of the newer editor, which stores a tree of blocks as JSON.
fn super_text(json: &str) -> Option<String> {
    let tree: Value = parse_entry(json).ok()?;
    let blocks = list_at(&tree, "/root/children").iter();
    let blocks: Vec<String> = blocks.map(|block| block_text(block, 0)).collect();
    Some(blocks.join("\n\n"))
}

/// Returns a block as Markdown. The depth of the tree is bounded by the parser of JSON.
fn block_text(block: &Value, indent: usize) -> String {
    let children = list_at(block, "/children");
    let inline = || children.iter().map(|child| block_text(child, indent)).collect::<String>();
    match text_at(block, "/type") {
        "text" | "code-highlight" => text_at(block, "/text").to_owned(),
        "linebreak" => "\n".to_owned(),
        "heading" => {
            let level = text_at(block, "/tag").trim_start_matches('h').parse().unwrap_or(1_usize);
            format!("{} {}", "#".repeat(level.clamp(1, 6)), inline())
        }
        "quote" => format!("> {}", inline()),
        "code" => format!("```\n{}\n```", inline()),
        "link" | "autolink" => format!("[{}]({})", inline(), text_at(block, "/url")),
        "list" => {
            let is_check = text_at(block, "/listType") == "check";
            let is_number = text_at(block, "/listType") == "number";
            let item = |(number, child): (usize, &Value)| {
                let mark = match (is_check, is_true_at(child, "/checked")) {
                    (true, true) => "- [x] ".to_owned(),
                    (true, false) => "- [ ] ".to_owned(),
                    (false, _) if is_number => format!("{number}. "),
                    (false, _) => "- ".to_owned(),
                };
                format!("{}{mark}{}", "  ".repeat(indent), block_text(child, indent + 1))
            };
            let items: Vec<String> = (1..).zip(children).map(item).collect();
            format!("{}{}", if indent > 0 { "\n" } else { "" }, items.join("\n"))
        }
        _ => inline(),
    }
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    fn backup() -> String {
        let tree = r#"{"root": {"type": "root", "children": [
            {"type": "heading", "tag": "h2", "children": [{"type": "text", "text": "Oats"}]},
            {"type": "paragraph", "children": [{"type": "text", "text": "See "},
             {"type": "link", "url": "https://example.org", "children": [{"type": "text", "text": "it"}]}]},
            {"type": "list", "listType": "check", "children": [
             {"type": "listitem", "checked": true, "children": [{"type": "text", "text": "fold"}]},
             {"type": "listitem", "checked": false, "children": [{"type": "text", "text": "wait"}]}]}]}}"#;
        let tree = Value::from(tree);
        format!(
            r#"{{"version": "004", "items": [
            {{"uuid": "n1", "content_type": "Note", "content": {{"title": "Rye", "text": "Knead. #slow",
              "appData": {{"org.standardnotes.sn": {{"client_updated_at": "2026-01-06T10:00:00.000Z"}}}}}},
              "created_at": "2026-01-05T10:00:00.000Z", "updated_at": "2026-02-05T10:00:00.000Z"}},
            {{"uuid": "n2", "content_type": "Note", "content": {{"title": "Oats", "noteType": "super", "text": {tree}}}}},
            {{"uuid": "n3", "content_type": "Note", "content": {{"title": "Old", "trashed": true}}}},
            {{"uuid": "n4", "content_type": "Note", "content": "004:x"}},
            {{"uuid": "t1", "content_type": "Tag", "content": {{"title": "bread",
              "references": [{{"uuid": "n1", "content_type": "Note"}}]}}}}, 5]}}"#
        )
    }

    #[test]
    fn note_keeps_tags_dates_and_structure() {
        let zip = zip_archive(&[(BACKUP_NAME, backup().as_bytes()), ("Items/x.txt", b"x")]);
        for bytes in [backup().as_bytes(), &zip] {
            assert!(detects(&StandardNotes, "/a.txt", bytes));
            let parsed = parse(&StandardNotes, "/a.txt", bytes);
            let found = notes(&parsed);
            assert_eq!(parsed.drafts[0].origin, "standard-notes:n1");
            assert_eq!(
                (found[0].title.as_str(), found[0].tags.join(",")),
                ("Rye", "bread,slow".to_owned())
            );
            assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
            assert_eq!(found[0].modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
            assert_eq!(
                found[1].content,
                "## Oats\n\nSee [it](https://example.org)\n\n- [x] fold\n- [ ] wait"
            );
            assert_eq!(parsed.problems.len(), 2, "{:?}", parsed.problems);
        }
    }

    #[test]
    fn other_json_is_rejected() {
        assert!(try_parse(&StandardNotes, "/a.txt", "{\"items\": []}").is_err());
        assert!(try_parse(&StandardNotes, "/a.txt", "[").is_err());
        let deep = format!("{}{}", r#"{"root":{"children":["#, "[".repeat(500));
        assert_eq!(super_text(&deep), None);
    }
}
