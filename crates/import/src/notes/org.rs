//! Notes in Org mode (`.org`): keywords, headlines with tags, a property drawer. A file is one
//! note, and its text is kept unchanged.

use vademecum_model::{NoteDraft, SourceName, Timestamp};

use super::{logseq::page_name, note_draft::note_draft};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    text::{datetime, keywords::distinct_keywords, title::clean_title},
};

/// Version of the importer; increment when the same file produces a different note.
const VERSION: &str = "org/2";

/// Task states that may precede a headline; not part of its title.
const TODO_KEYWORDS: [&str; 8] =
    ["TODO", "DONE", "NEXT", "WAITING", "CANCELLED", "CANCELED", "NOW", "LATER"];

/// Importer of Org files.
#[derive(Debug)]
pub(crate) struct OrgImporter;

impl Importer for OrgImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "Org mode notes (.org)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByName.when(probe.has_extension(&["org"]))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let outline = OrgMetadata::parse(text.trim_start_matches('\u{feff}'));
        let named = outline
            .title
            .as_deref()
            .and_then(clean_title)
            .or_else(|| page_name(&file.path, &file.neighbours));
        let heading = || outline.opening_headline.as_deref().and_then(clean_title);
        let note = NoteDraft {
            title: named.or_else(heading).unwrap_or_else(|| file.file_stem()),
            content: text.trim_start_matches('\u{feff}').to_owned(),
            tags: distinct_keywords(outline.tags),
            created_at: outline.created,
            modified_at: outline.modified.or(file.modified),
            ..NoteDraft::default()
        };
        let note = file.name_note(note, Vec::new());
        Ok(note_draft(VERSION, file, note).into())
    }
}

/// Metadata of an Org file.
#[derive(Debug, Default)]
struct OrgMetadata {
    title: Option<String>,
    /// First headline, if no text precedes it.
    opening_headline: Option<String>,
    tags: Vec<String>,
    created: Option<Timestamp>,
    modified: Option<Timestamp>,
}

impl OrgMetadata {
    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let (mut in_block, mut in_head, mut is_opening) = (false, true, true);
        for line in text.lines() {
            if let Some((keyword, value)) = parse_keyword(line) {
                match keyword.as_str() {
                    "title" => found.add_title(value),
                    "filetags" => found.tags.extend(split_tags(value)),
                    "date" => found.created = found.created.or_else(|| parse_date(value)),
                    "last_modified" => found.modified = parse_date(value),
                    _ if keyword.starts_with("begin_") => (in_block, is_opening) = (true, false),
                    _ if keyword.starts_with("end_") => in_block = false,
                    _ => {}
                }
            } else if in_block {
            } else if let Some((heading, tags)) = parse_headline(line) {
                found.opening_headline =
                    found.opening_headline.or_else(|| is_opening.then(|| heading.to_owned()));
                found.tags.extend(tags);
                (in_head, is_opening) = (false, false);
            } else if let Some((name, value)) = parse_property(line) {
                if in_head && name == "created" {
                    found.created = parse_date(value);
                }
            } else if !line.trim().is_empty() {
                is_opening = false;
            }
        }
        found
    }

    /// A long title may be split over several keywords.
    fn add_title(&mut self, value: &str) {
        match &mut self.title {
            Some(title) => title.extend([" ", value]),
            None => self.title = Some(value.to_owned()),
        }
    }
}

/// Parses `#+name: value`; the name is lower-cased. `#+begin_src` has no value.
pub(super) fn parse_keyword(line: &str) -> Option<(String, &str)> {
    let line = line.trim().strip_prefix("#+")?;
    let end = line.find([':', ' ']).unwrap_or(line.len());
    let (name, value) = line.split_at_checked(end)?;
    Some((name.to_lowercase(), value.trim_start_matches(':').trim()))
}

/// Parses a line such as `** TODO Rye bread :baking:dough:` into its text and tags.
pub(super) fn parse_headline(line: &str) -> Option<(&str, Vec<String>)> {
    let text = line.trim_start_matches('*');
    if text.len() == line.len() || !text.starts_with(' ') {
        return None;
    }
    let mut text = text.trim();
    let mut found = Vec::new();
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    if last.len() > 2 && last.starts_with(':') && last.ends_with(':') {
        found.extend(split_tags(last));
        text = text.strip_suffix(last).unwrap_or(text).trim_end();
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    if TODO_KEYWORDS.contains(&first) {
        text = rest.trim_start();
    }
    if text.starts_with("[#") && text.get(3..4) == Some("]") {
        text = text.get(4..).unwrap_or_default().trim_start();
    }
    Some((text, found))
}

/// Splits `:one:two:` or `one two` into tags.
pub(super) fn split_tags(text: &str) -> impl Iterator<Item = String> {
    let tags = text.split(|next: char| next == ':' || next.is_whitespace());
    tags.filter(|tag| !tag.is_empty()).map(str::to_owned)
}

/// Parses `:NAME: value`; the name is lower-cased.
fn parse_property(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.trim().strip_prefix(':')?.split_once(':')?;
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then(|| (name.to_lowercase(), value.trim()))
}

/// Parses a date with or without brackets: `[2026-01-31 Sat 08:30]`.
fn parse_date(value: &str) -> Option<Timestamp> {
    datetime::parse_text(value.trim_matches(['<', '>', '[', ']']))
}

#[cfg(test)]
mod tests {
    use vademecum_model::DraftBody;

    use super::*;

    fn read_note(text: &str) -> NoteDraft {
        let file = SourceFile::in_memory("/stem.org", text);
        let DraftBody::Note(note) = OrgImporter.parse(&file).unwrap().drafts.remove(0).body else {
            panic!("no note")
        };
        note
    }

    #[test]
    fn note_has_keywords_drawer_and_headline_tags() {
        let text = ":PROPERTIES:\n:ID: 1\n:CREATED: [2026-01-31 Sat 08:30]\n:END:\n#+TITLE: Rye\n#+title: bread\n\
                    #+filetags: :baking:daily:\n* TODO [#A] Knead :dough:\n:PROPERTIES:\n:CREATED: [2020-01-01]\n:END:\nText\n\
                    #+BEGIN_SRC org\n* Not this :code:\n#+END_SRC\n** Rest :Baking:\n";
        let note = read_note(text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Rye bread", text));
        assert_eq!(note.tags, ["baking", "daily", "dough"]);
        assert_eq!(note.created_at.unwrap().to_string(), "2026-01-31T08:30:00.000Z");
        assert_eq!(
            read_note("#+DATE: <2026-01-31 Sat>").created_at,
            Timestamp::parse("2026-01-31").ok()
        );
    }

    #[test]
    fn title_is_keyword_headline_or_file_name() {
        assert_eq!(read_note("\n* DONE [#B] Rye :a:\nText").title, "Rye");
        assert_eq!(read_note(":PROPERTIES:\n:ID: 1\n:END:\n* Rye").title, "Rye");
        assert_eq!(read_note("Text\n* Rye").title, "stem");
        assert_eq!(read_note("*bold* text\n").title, "stem");
        assert_eq!(read_note("* TODO\n").title, "stem");
        assert_eq!(read_note("* [#é] x").title, "[#é] x");
        assert_eq!(read_note("").title, "stem");
    }
}
