//! Notes of Evernote: `.enex`.

use std::collections::HashMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use md5::{Digest as _, Md5};
use vademecum_model::{NoteDraft, SourceName, Timestamp};

use super::{enml, front_matter::with_fields};
use crate::{
    digest,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::keywords::distinct_keywords,
    xml::{XmlElement, for_each_element},
};

/// Notes of Evernote.
#[derive(Debug)]
pub(crate) struct Evernote;

impl Format for Evernote {
    fn id(&self) -> &'static str {
        "evernote"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "notes of Evernote (.enex)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["enex"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let opening: String = sample.head.chars().take(1_024).collect();
        opening.starts_with('<') && opening.contains("<en-export")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let (mut parsed, mut seen) = (ParsedFormat::default(), HashMap::new());
        let notebook = input.stem();
        let read = for_each_element(&text, &["note"], |note| {
            add_note(&mut parsed, &note, &notebook, &mut seen);
        });
        match read {
            Err(error) if parsed.drafts.is_empty() => return Err(error),
            Err(error) => parsed.add_problem("the rest of the file", error.to_string()),
            Ok(()) => {}
        }
        parsed.or_empty("it has no notes")
    }
}

fn add_note(
    parsed: &mut ParsedFormat,
    note: &XmlElement,
    notebook: &str,
    seen: &mut HashMap<String, usize>,
) {
    let title = note.child_text("title");
    let files: HashMap<String, String> = note.children("resource").map(file).collect();
    let enml = note.child_text("content");
    let content = enml::to_markdown(&enml, &files).unwrap_or_else(|reason| {
        parsed.add_problem(format!("note `{title}`"), reason);
        enml::EnmlText::default()
    });
    if content.encrypted > 0 {
        parsed.add_problem(format!("note `{title}`"), "a part of it is encrypted");
    }
    let mut text = content.markdown;
    for task in note.children("task") {
        let is_done = task.child_text("taskStatus") == "completed";
        let mark = if is_done { "- [x] " } else { "- [ ] " };
        text.extend(["\n", mark, task.child_text("title").trim()]);
    }
    let about = note.children("note-attributes").next().cloned().unwrap_or_default();
    let field = |name: &str| about.child_text(name);
    let [source, author, reminder] = ["source-url", "author", "reminder-time"].map(field);
    let reminder = parse_time(&reminder).map(|it| it.to_string()).unwrap_or_default();
    let fields = [
        ("source", source.as_str()),
        ("author", author.as_str()),
        ("notebook", notebook),
        ("reminder", reminder.as_str()),
    ];
    let [created, updated] = ["created", "updated"].map(|name| note.child_text(name));
    // The file has no identifiers. Several notes may have the same title and time of creation.
    let key: String =
        digest("note", [title.as_bytes(), created.as_bytes()]).chars().take(16).collect();
    let count = seen.entry(key.clone()).or_insert(0);
    *count += 1;
    let number = if *count == 1 { String::new() } else { format!("-{count}") };
    let draft = NoteDraft {
        content: with_fields(&text, &fields),
        title,
        folders: vec![notebook.to_owned()],
        tags: distinct_keywords(note.children("tag").map(|tag| tag.text().trim().to_owned())),
        created_at: parse_time(&created),
        modified_at: parse_time(&updated).or_else(|| parse_time(&created)),
        ..NoteDraft::default()
    };
    parsed.add_note(format!("evernote:{notebook}/{key}{number}"), draft, "Untitled");
}

/// Returns the MD5 of a file in hex, by which a note refers to it, and its name.
fn file(resource: &XmlElement) -> (String, String) {
    let data: String = resource.child_text("data").split_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(data).unwrap_or_default();
    let hash: [u8; 16] = Md5::digest(&bytes).into();
    let hash = format!("{:032x}", u128::from_be_bytes(hash));
    let about = resource.children("resource-attributes").next();
    (hash, about.map(|about| about.child_text("file-name")).unwrap_or_default())
}

/// Parses `20260105T100000Z`.
fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let part = |from: usize, to: usize| text.get(from..to);
    let date = format!("{}-{}-{}", part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let time = format!("{}:{}:{}", part(9, 11)?, part(11, 13)?, part(13, 15)?);
    Timestamp::parse(&format!("{date}T{time}Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    const EXPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">
<en-export export-date="20260105T120000Z" application="Evernote">
<note><title>Rye &amp; oats</title><created>20260105T100000Z</created><updated>20260106T100000Z</updated>
<tag>bread</tag><tag>slow</tag><note-attributes><author>Ada</author><source-url>https://example.org</source-url>
<reminder-time>20260107T100000Z</reminder-time></note-attributes>
<content><![CDATA[<?xml version="1.0"?><!DOCTYPE en-note SYSTEM "x"><en-note><div>Knead.</div><div>
<en-media hash="5d41402abc4b2a76b9719d911017c592" type="text/plain"/></div></en-note>]]></content>
<task><title>Buy flour</title><taskStatus>completed</taskStatus></task>
<resource><data encoding="base64">aGVs
bG8=</data><resource-attributes><file-name>hello.txt</file-name></resource-attributes></resource></note>
<note><title>Rye &amp; oats</title><created>20260105T100000Z</created><content><![CDATA[<en-note>Second
<en-crypt>x</en-crypt></en-note>]]></content></note></en-export>"#;

    #[test]
    fn note_keeps_tags_dates_source_files_and_tasks() {
        assert!(detects(&Evernote, "/Baking.enex", EXPORT));
        let parsed = parse(&Evernote, "/Baking.enex", EXPORT);
        let found = notes(&parsed);
        assert_eq!((found[0].title.as_str(), found.len()), ("Rye & oats", 2));
        assert_eq!(found[0].tags, ["bread", "slow"]);
        assert_eq!(found[0].folders, ["Baking"]);
        assert_eq!(
            found[0].content,
            "---\nsource: \"https://example.org\"\nauthor: \"Ada\"\nnotebook: \"Baking\"\n\
             reminder: \"2026-01-07T10:00:00.000Z\"\n---\nKnead.\n\n[file: hello.txt]\n- [x] Buy flour"
        );
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(found[0].modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
        let origins: Vec<_> = parsed.drafts.iter().map(|it| it.origin.as_str()).collect();
        assert!(origins[1] == format!("{}-2", origins[0]), "{origins:?}");
        assert_eq!(parsed.problems[0].to_string(), "note `Rye & oats`: a part of it is encrypted");
    }

    #[test]
    fn torn_file_keeps_notes_before() {
        let at = EXPORT.find("Second").unwrap();
        let parsed = parse(&Evernote, "/a.enex", format!("{}<", &EXPORT[..at]));
        assert_eq!(parsed.drafts.len(), 1);
        assert!(try_parse(&Evernote, "/a.enex", "<en-export><note><").is_err());
        assert!(try_parse(&Evernote, "/a.enex", "<en-export></en-export>").is_err());
    }
}
