//! Notes: Markdown and plain text files, as Obsidian and others keep them.

use std::path::Component;

use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile,
    digest::digest,
    keywords::{distinct, inline_tags},
    markdown::Markdown,
};

/// Goes up when the same file makes another note than before.
const VERSION: &str = "notes/1";

/// What note programs keep beside the notes.
const NOT_NOTES: [&str; 3] = [".obsidian", ".git", ".trash"];

/// Reads notes.
#[derive(Debug)]
pub(super) struct Notes;

impl Importer for Notes {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format(&self) -> &'static str {
        "Markdown and text notes (.md, .markdown, .txt)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let is_kept_beside =
            |part: Component| NOT_NOTES.iter().any(|name| part.as_os_str() == *name);
        let is_note = glance.ends_in(&["md", "markdown", "txt"]);
        Fit::Name.when(is_note && !glance.path().components().any(is_kept_beside))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = &file.text()?;
        let is_plain = file.ends_in(&["txt"]);
        let note = if is_plain { plain(file, text) } else { markdown(file, text) };
        Ok(Reading::from(Draft {
            origin: file.origin(),
            digest: digest(VERSION, [file.bytes.as_slice()]),
            id: None,
            body: Body::Note(note),
        }))
    }
}

fn plain(file: &SourceFile, text: &str) -> NoteDraft {
    NoteDraft {
        title: file.stem(),
        content: text.to_owned(),
        tags: Vec::new(),
        created_at: None,
        modified_at: file.modified,
    }
}

fn markdown(file: &SourceFile, text: &str) -> NoteDraft {
    let markdown = Markdown::parse(text);
    let heading = markdown.opening_heading().map(str::to_owned);
    let inline = inline_tags(markdown.body);
    let properties = markdown.properties;
    NoteDraft {
        title: properties.title.or(heading).unwrap_or_else(|| file.stem()),
        content: text.to_owned(),
        tags: distinct(properties.tags.into_iter().chain(inline)),
        created_at: properties.created,
        modified_at: properties.modified.or(file.modified),
    }
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::Timestamp;

    use super::*;
    use crate::import::glance::tests::glance;

    fn note(path: &str, text: &str) -> NoteDraft {
        let mut file = SourceFile::example(path, text);
        file.modified = Timestamp::from_unix_seconds(0.0);
        let draft = Notes.read(&file).unwrap().drafts.remove(0);
        assert_eq!(draft.origin, format!("file:{path}"));
        let Body::Note(note) = draft.body else { panic!("not a note") };
        note
    }

    #[test]
    fn a_note_keeps_its_whole_text_and_its_properties() {
        let text =
            "---\ntags: [baking]\ncreated: 2024-05-01\n---\n# Rye\n[[Flour]] #baking #dough\n";
        let note = note("/vault/Bread.md", text);
        assert_eq!(note.content, text);
        assert_eq!(note.title, "Rye");
        assert_eq!(note.tags, ["baking", "dough"]);
        assert_eq!(note.created_at, Timestamp::parse("2024-05-01").ok());
        assert_eq!(note.modified_at, Timestamp::from_unix_seconds(0.0));
    }

    #[test]
    fn the_title_is_the_best_name_there_is() {
        assert_eq!(note("/Stem.md", "---\ntitle: Front\n---\n# Head\n").title, "Front");
        assert_eq!(note("/Stem.md", "\n# Head\n").title, "Head");
        assert_eq!(note("/Stem.md", "Text first\n# Head\n").title, "Stem");
        assert_eq!(note("/Stem.txt", "# Head #tag\n").title, "Stem");
        assert_eq!(note("/Stem.md", "").title, "Stem");
    }

    #[test]
    fn broken_front_matter_loses_no_note() {
        let text = "---\ncreated: {{date}}: x\n---\nText\n";
        let note = note("/Stem.md", text);
        assert_eq!((note.content.as_str(), note.created_at), (text, None));
    }

    #[test]
    fn a_change_is_seen_in_the_digest() {
        let digest = |text| {
            Notes.read(&SourceFile::example("/a.md", text)).unwrap().drafts[0].digest.clone()
        };
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }

    #[test]
    fn only_notes_are_accepted() {
        let accepts = |path: &str| Notes.recognise(&glance(path, "Text.")) == Fit::Name;
        assert!(accepts(".vault/A.MD") && accepts("a.txt") && accepts("a.markdown"));
        assert!(!accepts("vault/.trash/a.md") && !accepts("vault/.obsidian/x/a.md"));
        assert!(!accepts("a.png") && !accepts("md"));
    }
}
