//! Notes of Joplin: the archive `.jex`, and the single files of a raw export.

use std::collections::HashMap;

use vademecum_model::{NoteDraft, SourceName};

use super::{front_matter::with_fields, joplin_item::JoplinItem};
use crate::{
    archive::{PackedFile, has_extension, is_tar},
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::html_to_markdown,
    text::keywords::{distinct_keywords, inline_tags},
};

/// Types of items.
const NOTE: &str = "1";
const FOLDER: &str = "2";
const RESOURCE: &str = "4";
const TAG: &str = "5";
const NOTE_TAG: &str = "6";

/// Maximum number of folders in one another whose names are kept.
const MAX_FOLDERS: usize = 64;

/// Notes of Joplin.
#[derive(Debug)]
pub(crate) struct Joplin;

impl Format for Joplin {
    fn id(&self) -> &'static str {
        "joplin"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "notes of Joplin (.jex, raw .md)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["jex"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let is_archive = has_extension(&sample.file_name(), &["jex"]) && is_tar(sample.bytes);
        is_archive || JoplinItem::parse(sample.tail).is_some()
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let files = if is_tar(input.bytes) {
            input.unpack(|name| has_extension(name, &["md"]))?
        } else {
            let (name, bytes) = (input.stem(), input.text()?.into_owned().into_bytes());
            vec![PackedFile { name, bytes, modified: None }]
        };
        let texts = files.iter().map(|file| String::from_utf8_lossy(&file.bytes).replace('\r', ""));
        let texts: Vec<String> = texts.collect();
        let mut parsed = ParsedFormat::default();
        let mut export = JoplinExport::default();
        for (file, text) in files.iter().zip(&texts) {
            match JoplinItem::parse(text) {
                Some(item) => export.add(item),
                None => parsed.add_problem(file.name.as_str(), "it is no item of Joplin"),
            }
        }
        export.add_notes(&mut parsed);
        if parsed.drafts.is_empty() && parsed.problems.is_empty() && files.len() == 1 {
            // Folders and tags of a raw export are files too.
            return Ok(parsed);
        }
        parsed.or_empty("it has no notes")
    }
}

fn is_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The items of an export.
#[derive(Debug, Default)]
struct JoplinExport<'t> {
    notes: Vec<JoplinItem<'t>>,
    /// Folders, tags and files by their identifiers.
    named: HashMap<&'t str, JoplinItem<'t>>,
    /// Identifiers of the tags of each note.
    tags: HashMap<&'t str, Vec<&'t str>>,
}

impl<'t> JoplinExport<'t> {
    fn add(&mut self, item: JoplinItem<'t>) {
        match item.field("type_") {
            NOTE => {
                self.named.insert(item.field("id"), item.clone());
                self.notes.push(item);
            }
            FOLDER | RESOURCE | TAG => {
                self.named.insert(item.field("id"), item);
            }
            NOTE_TAG => {
                let tags = self.tags.entry(item.field("note_id")).or_default();
                tags.push(item.field("tag_id"));
            }
            _ => {}
        }
    }

    fn add_notes(&self, parsed: &mut ParsedFormat) {
        let (mut trashed, mut conflicts, mut encrypted) = (0, 0, 0);
        for note in &self.notes {
            if note.is_set("deleted_time") {
                trashed += 1;
            } else if note.is_set("encryption_applied") {
                encrypted += 1;
            } else if note.is_set("is_conflict") {
                conflicts += 1;
            } else {
                self.add_note(parsed, note);
            }
        }
        parsed.add_count(trashed, "note", "in the trash of Joplin");
        parsed.add_count(encrypted, "note", "encrypted; decrypt it in Joplin before the export");
        parsed.add_count(conflicts, "note", "a copy that Joplin kept of a conflict");
    }

    fn add_note(&self, parsed: &mut ParsedFormat, note: &JoplinItem<'_>) {
        let body = match note.field("markup_language") {
            "2" => html_to_markdown(note.body, None).unwrap_or_else(|error| {
                parsed.add_problem(format!("note `{}`", note.title), error.to_string());
                String::new()
            }),
            _ => note.body.to_owned(),
        };
        let body = self.resolve_links(&body);
        let todo = match (note.is_set("is_todo"), note.is_set("todo_completed")) {
            (false, _) => "",
            (true, false) => "open",
            (true, true) => "done",
        };
        let author = note.field("author");
        let fields = [("source", note.field("source_url")), ("author", author), ("todo", todo)];
        let id = note.field("id");
        let tags = self.tags.get(id).into_iter().flatten();
        let tags = tags.filter_map(|tag| self.named.get(tag)).map(|tag| tag.title.to_owned());
        let draft = NoteDraft {
            title: note.title.to_owned(),
            tags: distinct_keywords(tags.chain(inline_tags(&body))),
            content: with_fields(&body, &fields),
            // Links name the identifier.
            names: vec![id.to_owned()],
            folders: self.folders(note.field("parent_id")),
            created_at: note.time(["user_created_time", "created_time"]),
            modified_at: note.time(["user_updated_time", "updated_time"]),
            ..NoteDraft::default()
        };
        parsed.add_note(format!("joplin:{id}"), draft, id);
    }

    /// Returns the names of a folder and of those around it, the outermost first.
    fn folders(&self, id: &str) -> Vec<String> {
        let (mut names, mut next) = (Vec::new(), self.named.get(id));
        while let Some(folder) = next.filter(|_| names.len() < MAX_FOLDERS) {
            names.push(folder.title.to_owned());
            next = self.named.get(folder.field("parent_id"));
        }
        names.reverse();
        names
    }

    /// Replaces links such as `[text](:/id)` by links to notes and names of files. The text that
    /// Joplin has read in a picture follows its name.
    fn resolve_links(&self, body: &str) -> String {
        let mut text = String::with_capacity(body.len());
        let mut rest = body;
        while let Some((before, after)) = rest.split_once("](:/") {
            let id = after.get(..32).filter(|id| is_id(id));
            let label = before.rfind('[');
            let (Some(id), Some(label)) = (id, label) else {
                text.extend([before, "](:/"]);
                rest = after;
                continue;
            };
            let end = after.find(')').map_or(after.len(), |at| at + 1);
            rest = &after[end.max(32)..];
            let (start, label) = (&before[..label], &before[label + 1..]);
            match self.named.get(id) {
                Some(item) if item.field("type_") == RESOURCE => {
                    text.push_str(start.strip_suffix('!').unwrap_or(start));
                    text.extend([
                        "[file: ",
                        if item.title.is_empty() { label } else { item.title },
                        "]",
                    ]);
                    let ocr = item.field("ocr_text").replace("\\n", " ");
                    if !ocr.trim().is_empty() {
                        text.extend([" (text in it: ", ocr.trim(), ")"]);
                    }
                }
                Some(item) if !item.title.contains(['[', ']', '|', '#']) => {
                    let alias =
                        if label == item.title { String::new() } else { format!("|{label}") };
                    text.extend([start, "[[", item.title, &alias, "]]"]);
                }
                _ if start.ends_with('!') => {
                    text.extend([&start[..start.len() - 1], "[file: ", label, "]"]);
                }
                _ => text.extend([start, "[[", id, "|", label, "]]"]),
            }
        }
        text + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    fn id(digit: &str) -> String {
        digit.repeat(32)
    }

    fn tar(files: &[(String, String)]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_cksum();
            archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap()
    }

    fn item(number: &str, text: &str, fields: &str) -> (String, String) {
        let id = id(number);
        (format!("{id}.md"), format!("{text}\n\nid: {id}\n{fields}"))
    }

    fn export() -> Vec<u8> {
        let note = format!(
            "Rye\n\nKnead with [oats](:/{}) or [b](:/{}). ![x.png](:/{})\n\n- [x] fold #slow",
            id("2"),
            id("9"),
            id("5")
        );
        tar(&[
            item(
                "1",
                &note,
                &format!(
                    "parent_id: {}\ncreated_time: 2026-01-05T10:00:00.000Z\n\
                user_created_time: 2026-01-04T10:00:00.000Z\nuser_updated_time: 2026-01-06T10:00:00.000Z\n\
                source_url: https://example.org\nis_todo: 1\ntodo_completed: 0\ntype_: 1",
                    id("4")
                ),
            ),
            item("2", "Oat bread\n\n<b>Wait</b> <i>x</i>", "markup_language: 2\ntype_: 1"),
            item("3", "Food", "parent_id: \ntype_: 2"),
            item("4", "Bread", &format!("parent_id: {}\ntype_: 2", id("3"))),
            item("5", "loaf.png", "ocr_text: Rye\\nbread\ntype_: 4"),
            item("6", "baking", "type_: 5"),
            item("7", "", &format!("note_id: {}\ntag_id: {}\ntype_: 6", id("1"), id("6"))),
            item("8", "Old", "deleted_time: 5\ntype_: 1"),
            item("a", "Secret", "encryption_applied: 1\ntype_: 1"),
            item("b", "Copy", "is_conflict: 1\ntype_: 1"),
        ])
    }

    #[test]
    fn archive_keeps_folders_tags_links_and_dates() {
        assert!(detects(&Joplin, "/a.jex", export()));
        let parsed = parse(&Joplin, "/a.jex", export());
        let found = notes(&parsed);
        assert_eq!(parsed.drafts[0].origin, format!("joplin:{}", id("1")));
        assert_eq!((found[0].title.as_str(), found.len()), ("Rye", 2));
        assert_eq!(
            found[0].content,
            format!(
                "---\nsource: \"https://example.org\"\ntodo: \"open\"\n---\nKnead with [[Oat bread|oats]] or \
                 [[{}|b]]. [file: loaf.png] (text in it: Rye bread)\n\n- [x] fold #slow",
                id("9")
            )
        );
        assert_eq!(found[0].folders, ["Food", "Bread"]);
        assert_eq!(found[0].tags, ["baking", "slow"]);
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-04T10:00:00.000Z");
        assert_eq!(found[0].modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
        assert_eq!(found[1].content, "Wait x");
        let reasons: Vec<_> = parsed.problems.iter().map(|it| it.reason.as_str()).collect();
        assert!(reasons[0].contains("trash") && reasons[1].contains("encrypted"), "{reasons:?}");
        assert!(reasons[2].contains("conflict") && reasons.len() == 3, "{reasons:?}");
    }

    #[test]
    fn raw_note_has_title_and_same_origin() {
        let (name, text) = item("1", "Rye\n\nKnead.", "type_: 1");
        assert!(detects(&Joplin, &format!("/{name}"), &text));
        let parsed = parse(&Joplin, &format!("/{name}"), &text);
        assert_eq!(parsed.drafts[0].origin, format!("joplin:{}", id("1")));
        assert_eq!(
            (notes(&parsed)[0].title.as_str(), notes(&parsed)[0].content.as_str()),
            ("Rye", "Knead.")
        );
        let folder = parse(&Joplin, "/a.md", item("3", "Food", "type_: 2").1);
        assert!(folder.drafts.is_empty() && folder.problems.is_empty());
        assert!(!detects(&Joplin, "/a.md", "# Rye\n\ntype_: 1"));
        assert!(!detects(&Joplin, &format!("/{name}"), "# Rye\n\nText"));
    }

    #[test]
    fn damaged_archive_and_circle_of_folders_end() {
        let circle = tar(&[
            item("1", "Rye", &format!("parent_id: {}\ntype_: 1", id("2"))),
            item("2", "a", &format!("parent_id: {}\ntype_: 2", id("2"))),
        ]);
        assert_eq!(notes(&parse(&Joplin, "/a.jex", &circle))[0].folders.len(), MAX_FOLDERS);
        let cut = try_parse(&Joplin, "/a.jex", &circle[..700]);
        assert!(cut.is_err());
        assert!(try_parse(&Joplin, "/a.jex", tar(&[])).is_err());
    }
}
