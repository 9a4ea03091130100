//! Notes: Markdown and plain text files, as kept by Obsidian and others.

use std::path::Component;

use vademecum_model::{NoteDraft, SourceName, Timestamp};

use super::{
    agent_instructions::AgentInstructions, logseq::is_logseq_internal, note_draft::note_draft,
    obsidian::template_folder,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    text::{
        keywords::{distinct_keywords, inline_tags},
        markdown::MarkdownDocument,
        title::clean_title,
    },
};

/// Version of the importer; increment when the same file produces a different note.
const VERSION: &str = "notes/5";

/// Folders of note programs that do not contain notes.
const IGNORED_FOLDERS: [&str; 3] = [".obsidian", ".git", ".trash"];

/// Importer of Markdown and text notes.
#[derive(Debug)]
pub(crate) struct NoteImporter;

impl Importer for NoteImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "Markdown and text notes (.md, .markdown, .txt)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let is_kept_beside =
            |part: Component| IGNORED_FOLDERS.iter().any(|name| part.as_os_str() == *name);
        let is_note = probe.has_extension(&["md", "markdown", "txt"]);
        let is_beside =
            || probe.path().components().any(is_kept_beside) || is_logseq_internal(probe);
        Confidence::ByName.when(is_note && !is_beside())
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        if let Some(folder) = template_folder(file) {
            let reason = format!("it is a template: the vault keeps its templates in `{folder}`");
            let problem = Problem { place: String::new(), reason };
            return Ok(ParsedFile { problems: vec![problem], ..ParsedFile::default() });
        }
        let text = &file.text()?;
        let is_plain = file.has_extension(&["txt"]);
        let (note, problems) = if is_plain {
            (plain_text_note(file, text), Vec::new())
        } else {
            markdown_note(file, text)
        };
        let draft = note_draft(VERSION, file, note);
        Ok(ParsedFile { drafts: vec![draft], problems, ..ParsedFile::default() })
    }
}

fn plain_text_note(file: &SourceFile, text: &str) -> NoteDraft {
    let note = NoteDraft {
        title: file.file_stem(),
        content: text.to_owned(),
        created_at: date_from_name(file),
        modified_at: file.modified,
        ..NoteDraft::default()
    };
    file.name_note(note, Vec::new())
}

/// Returns the date with which the file name begins, as in daily notes and blog posts.
fn date_from_name(file: &SourceFile) -> Option<Timestamp> {
    Timestamp::parse(file.file_stem().get(..10)?).ok()
}

/// Returns the note of a Markdown file, and a problem if its front matter is too long.
fn markdown_note(file: &SourceFile, text: &str) -> (NoteDraft, Vec<Problem>) {
    let markdown = MarkdownDocument::parse(text);
    let problems = markdown.is_front_matter_too_long.then(|| Problem {
        place: "the front matter".to_owned(),
        reason: "it is too long to be read; the note is kept without its properties".to_owned(),
    });
    let heading = markdown.opening_heading().map(str::to_owned);
    let inline = inline_tags(markdown.body);
    let properties = markdown.properties;
    let instructions = AgentInstructions::of(&file.path);
    let title = properties.title.as_deref().and_then(clean_title);
    let title = title.or_else(|| clean_title(&heading?)).unwrap_or_else(|| file.file_stem());
    let note = NoteDraft {
        title: instructions.as_ref().map_or_else(|| title.clone(), |it| it.title(&title)),
        content: text.to_owned(),
        tags: distinct_keywords(
            properties
                .tags
                .into_iter()
                .chain(inline)
                .chain(instructions.iter().flat_map(AgentInstructions::tags)),
        ),
        created_at: properties.created.or_else(|| date_from_name(file)),
        modified_at: properties.modified.or(file.modified),
        ..NoteDraft::default()
    };
    let note = file.name_note(note, properties.aliases);
    (note, problems.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use vademecum_model::DraftBody;

    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    fn read_note(path: &str, text: &str) -> NoteDraft {
        let mut file = SourceFile::in_memory(path, text);
        file.modified = Timestamp::from_unix_seconds(0.0);
        let draft = NoteImporter.parse(&file).unwrap().drafts.remove(0);
        assert_eq!(draft.origin, format!("file:{path}"));
        let DraftBody::Note(note) = draft.body else { panic!("not a note") };
        note
    }

    #[test]
    fn note_keeps_text_and_properties() {
        let text =
            "---\ntags: [baking]\ncreated: 2024-05-01\n---\n# Rye\n[[Flour]] #baking #dough\n";
        let note = read_note("/vault/Bread.md", text);
        assert_eq!(note.content, text);
        assert_eq!(note.title, "Rye");
        assert_eq!(note.tags, ["baking", "dough"]);
        assert_eq!(note.created_at, Timestamp::parse("2024-05-01").ok());
        assert_eq!(note.modified_at, Timestamp::from_unix_seconds(0.0));
    }

    #[test]
    fn note_of_basic_memory_loses_nothing() {
        let text = "---\ntitle: Mulch\ntype: note\npermalink: soil/mulch\ntags: [garden]\n---\n\
            # Mulch\n\n- [decision] Use straw #soil (after frost)\n- relates_to [[Bed 7]]\n";
        let note = read_note("/memory/soil/Mulch.md", text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Mulch", text));
        assert_eq!(note.tags, ["garden", "soil"]);
    }

    #[test]
    fn title_is_property_heading_or_file_name() {
        assert_eq!(read_note("/Stem.md", "---\ntitle: Front\n---\n# Head\n").title, "Front");
        assert_eq!(read_note("/Stem.md", "\n# Head\n").title, "Head");
        assert_eq!(read_note("/Stem.md", "Text first\n# Head\n").title, "Stem");
        assert_eq!(read_note("/Stem.txt", "# Head #tag\n").title, "Stem");
        assert_eq!(read_note("/Stem.md", "").title, "Stem");
    }

    #[test]
    fn broken_front_matter_keeps_the_note() {
        let text = "---\ncreated: {{date}}: x\n---\nText\n";
        let note = read_note("/Stem.md", text);
        assert_eq!((note.content.as_str(), note.created_at), (text, None));
    }

    #[test]
    fn links_embeds_and_aliases_are_unchanged() {
        let text =
            "---\naliases: [Loaf, Brown bread]\n---\nSee [[Flour|the flour]] ![[loaf.png]]\n";
        let note = read_note("/vault/Bread.md", text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Bread", text));
        assert_eq!(note.names, ["Loaf", "Brown bread"]);
    }

    #[test]
    fn note_has_file_name_and_folders() {
        let mut file = SourceFile::in_memory("/home/vault/Work/Plans/2026 plan.md", "# Budget");
        file.root = Some("/home/vault".into());
        let DraftBody::Note(note) = NoteImporter.parse(&file).unwrap().drafts.remove(0).body else {
            panic!("not a note")
        };
        assert_eq!((note.title.as_str(), note.names), ("Budget", vec!["2026 plan".to_owned()]));
        assert_eq!(note.folders, ["Work", "Plans"]);
    }

    #[test]
    fn daily_note_has_date_of_its_name() {
        let day =
            |path: &str, text: &str| read_note(path, text).created_at.map(|it| it.to_string());
        let expected = Some("2026-01-31T00:00:00.000Z".to_owned());
        assert_eq!(day("/2026-01-31.md", "Text"), expected);
        assert_eq!(day("/_posts/2026-01-31-rye-bread.markdown", "Text"), expected);
        assert_eq!(day("/2026-01-31.txt", "Text"), expected);
        assert_eq!(day("/2020-01-01.md", "+++\ndate = 2026-01-31\n+++\nText"), expected);
        assert_eq!(day("/2026-01-x.md", "Text"), None);
        assert_eq!(day("/12345678é.md", "Text"), None);
    }

    #[test]
    fn vault_template_is_reported() {
        let vault = tempfile::tempdir().unwrap();
        for folder in [".obsidian", "Forms"] {
            std::fs::create_dir_all(vault.path().join(folder)).unwrap();
        }
        let settings = vault.path().join(".obsidian/templates.json");
        std::fs::write(settings, r#"{"folder": "Forms"}"#).unwrap();
        let path = vault.path().join("Forms/day.md");
        std::fs::write(&path, "{{date}}").unwrap();
        let file = SourceFile::open(&path, Some(vault.path())).unwrap();
        let reading = NoteImporter.parse(&file).unwrap();
        assert!(reading.drafts.is_empty());
        assert!(reading.problems[0].reason.contains("templates in `Forms`"));
    }

    #[test]
    fn digest_depends_on_content() {
        let digest = |text| {
            NoteImporter.parse(&SourceFile::in_memory("/a.md", text)).unwrap().drafts[0]
                .digest
                .clone()
        };
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }

    #[test]
    fn only_notes_are_accepted() {
        let accepts =
            |path: &str| NoteImporter.detect(&probe_file(path, "Text.")) == Confidence::ByName;
        assert!(accepts(".vault/A.MD") && accepts("a.txt") && accepts("a.markdown"));
        assert!(!accepts("vault/.trash/a.md") && !accepts("vault/.obsidian/x/a.md"));
        assert!(!accepts("a.png") && !accepts("md"));
    }
}
