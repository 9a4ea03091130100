//! Notes: Markdown and plain text files, as Obsidian and others keep them.

use std::path::Component;

use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName, Timestamp};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    digest::digest,
    keywords::{distinct, inline_tags},
    logseq::is_kept_by_logseq,
    markdown::Markdown,
    obsidian::templates_around,
    title::title,
};

/// Goes up when the same file makes another note than before.
const VERSION: &str = "notes/2";

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
        let is_beside =
            || glance.path().components().any(is_kept_beside) || is_kept_by_logseq(glance.path());
        Fit::Name.when(is_note && !is_beside())
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        if let Some(folder) = templates_around(file) {
            let reason = format!("it is a template: the vault keeps its templates in `{folder}`");
            let problem = Problem { place: String::new(), reason };
            return Ok(Reading { drafts: Vec::new(), problems: vec![problem] });
        }
        let text = &file.text()?;
        let is_plain = file.ends_in(&["txt"]);
        let (note, problems) =
            if is_plain { (plain(file, text), Vec::new()) } else { markdown(file, text) };
        let draft = Draft {
            origin: file.origin(),
            digest: digest(VERSION, [file.bytes.as_slice()]),
            id: None,
            body: Body::Note(note),
        };
        Ok(Reading { drafts: vec![draft], problems })
    }
}

fn plain(file: &SourceFile, text: &str) -> NoteDraft {
    NoteDraft {
        title: file.stem(),
        content: text.to_owned(),
        tags: Vec::new(),
        created_at: day(file),
        modified_at: file.modified,
    }
}

/// The day with which a name begins: daily notes and the posts of a blog are
/// called by theirs.
fn day(file: &SourceFile) -> Option<Timestamp> {
    Timestamp::parse(file.stem().get(..10)?).ok()
}

/// The note, and what of it was left out.
fn markdown(file: &SourceFile, text: &str) -> (NoteDraft, Vec<Problem>) {
    let markdown = Markdown::parse(text);
    let problems = markdown.is_front_too_long.then(|| Problem {
        place: "the front matter".to_owned(),
        reason: "it is too long to be read; the note is kept without its properties".to_owned(),
    });
    let heading = markdown.opening_heading().map(str::to_owned);
    let inline = inline_tags(markdown.body);
    let properties = markdown.properties;
    let note = NoteDraft {
        title: properties
            .title
            .as_deref()
            .and_then(title)
            .or_else(|| title(&heading?))
            .unwrap_or_else(|| file.stem()),
        content: text.to_owned(),
        tags: distinct(properties.tags.into_iter().chain(inline)),
        created_at: properties.created.or_else(|| day(file)),
        modified_at: properties.modified.or(file.modified),
    };
    (note, problems.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glance::tests::glance;

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
    fn links_embeds_and_aliases_stay_as_they_are_written() {
        let text =
            "---\naliases: [Loaf, Brown bread]\n---\nSee [[Flour|the flour]] ![[loaf.png]]\n";
        let note = note("/vault/Bread.md", text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Bread", text));
    }

    #[test]
    fn a_note_that_is_called_by_its_day_is_of_that_day() {
        let day = |path: &str, text: &str| note(path, text).created_at.map(|it| it.to_string());
        let expected = Some("2026-01-31T00:00:00.000Z".to_owned());
        assert_eq!(day("/2026-01-31.md", "Text"), expected);
        assert_eq!(day("/_posts/2026-01-31-rye-bread.markdown", "Text"), expected);
        assert_eq!(day("/2026-01-31.txt", "Text"), expected);
        assert_eq!(day("/2020-01-01.md", "+++\ndate = 2026-01-31\n+++\nText"), expected);
        assert_eq!(day("/2026-01-x.md", "Text"), None);
        assert_eq!(day("/12345678é.md", "Text"), None);
    }

    #[test]
    fn a_template_of_a_vault_is_named_as_one() {
        let vault = tempfile::tempdir().unwrap();
        for folder in [".obsidian", "Forms"] {
            std::fs::create_dir_all(vault.path().join(folder)).unwrap();
        }
        let settings = vault.path().join(".obsidian/templates.json");
        std::fs::write(settings, r#"{"folder": "Forms"}"#).unwrap();
        let path = vault.path().join("Forms/day.md");
        std::fs::write(&path, "{{date}}").unwrap();
        let file = SourceFile::open(&path, Some(vault.path())).unwrap();
        let reading = Notes.read(&file).unwrap();
        assert!(reading.drafts.is_empty());
        assert!(reading.problems[0].reason.contains("templates in `Forms`"));
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
