//! Notes in Org mode (`.org`): keywords, headlines with tags, a drawer of
//! properties. A file is a note, and its text stays as it is.

use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName, Timestamp};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, digest::digest, keywords::distinct,
    logseq::page_name, moment, title::title,
};

/// Goes up when the same file makes another note than before.
const VERSION: &str = "org/1";

/// Words that say how far a headline is, and are no part of its title.
const STATES: [&str; 8] =
    ["TODO", "DONE", "NEXT", "WAITING", "CANCELLED", "CANCELED", "NOW", "LATER"];

/// Reads Org files.
#[derive(Debug)]
pub(super) struct Org;

impl Importer for Org {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format(&self) -> &'static str {
        "Org mode notes (.org)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        Fit::Name.when(glance.ends_in(&["org"]))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let outline = Outline::read(text.trim_start_matches('\u{feff}'));
        let named = outline.title.as_deref().and_then(title).or_else(|| page_name(&file.path));
        let heading = || outline.opening.as_deref().and_then(title);
        let note = NoteDraft {
            title: named.or_else(heading).unwrap_or_else(|| file.stem()),
            content: text.trim_start_matches('\u{feff}').to_owned(),
            tags: distinct(outline.tags),
            created_at: outline.created,
            modified_at: outline.modified.or(file.modified),
        };
        let digest = digest(VERSION, [file.bytes.as_slice()]);
        Ok(Draft { origin: file.origin(), digest, id: None, body: Body::Note(note) }.into())
    }
}

/// What an Org file says about itself.
#[derive(Debug, Default)]
struct Outline {
    title: Option<String>,
    /// The first headline, if nothing is said before it.
    opening: Option<String>,
    tags: Vec<String>,
    created: Option<Timestamp>,
    modified: Option<Timestamp>,
}

impl Outline {
    fn read(text: &str) -> Self {
        let mut found = Self::default();
        let (mut in_block, mut in_head, mut is_opening) = (false, true, true);
        for line in text.lines() {
            if let Some((keyword, value)) = keyword(line) {
                match keyword.as_str() {
                    "title" => found.add_title(value),
                    "filetags" => found.tags.extend(tags(value)),
                    "date" => found.created = found.created.or_else(|| parse(value)),
                    "last_modified" => found.modified = parse(value),
                    _ if keyword.starts_with("begin_") => (in_block, is_opening) = (true, false),
                    _ if keyword.starts_with("end_") => in_block = false,
                    _ => {}
                }
            } else if in_block {
            } else if let Some((heading, tags)) = headline(line) {
                found.opening = found.opening.or_else(|| is_opening.then(|| heading.to_owned()));
                found.tags.extend(tags);
                (in_head, is_opening) = (false, false);
            } else if let Some((name, value)) = property(line) {
                if in_head && name == "created" {
                    found.created = parse(value);
                }
            } else if !line.trim().is_empty() {
                is_opening = false;
            }
        }
        found
    }

    /// A long title may stand in several keywords.
    fn add_title(&mut self, value: &str) {
        match &mut self.title {
            Some(title) => title.extend([" ", value]),
            None => self.title = Some(value.to_owned()),
        }
    }
}

/// `#+name: value`, with the name in lower case; `#+begin_src` has no value.
fn keyword(line: &str) -> Option<(String, &str)> {
    let line = line.trim().strip_prefix("#+")?;
    let end = line.find([':', ' ']).unwrap_or(line.len());
    let (name, value) = line.split_at_checked(end)?;
    Some((name.to_lowercase(), value.trim_start_matches(':').trim()))
}

/// The text and the tags of a line such as `** TODO Rye bread :baking:dough:`.
fn headline(line: &str) -> Option<(&str, Vec<String>)> {
    let text = line.trim_start_matches('*');
    if text.len() == line.len() || !text.starts_with(' ') {
        return None;
    }
    let mut text = text.trim();
    let mut found = Vec::new();
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    if last.len() > 2 && last.starts_with(':') && last.ends_with(':') {
        found.extend(tags(last));
        text = text.strip_suffix(last).unwrap_or(text).trim_end();
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    if STATES.contains(&first) {
        text = rest.trim_start();
    }
    if text.starts_with("[#") && text.get(3..4) == Some("]") {
        text = text.get(4..).unwrap_or_default().trim_start();
    }
    Some((text, found))
}

/// `:one:two:` or `one two` as a list.
fn tags(text: &str) -> impl Iterator<Item = String> {
    let tags = text.split(|next: char| next == ':' || next.is_whitespace());
    tags.filter(|tag| !tag.is_empty()).map(str::to_owned)
}

/// `:NAME: value`, with the name in lower case.
fn property(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.trim().strip_prefix(':')?.split_once(':')?;
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then(|| (name.to_lowercase(), value.trim()))
}

/// A date between brackets: `[2026-01-31 Sat 08:30]`.
fn parse(value: &str) -> Option<Timestamp> {
    moment::parse(value.trim_matches(['<', '>', '[', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> NoteDraft {
        let file = SourceFile::example("/stem.org", text);
        let Body::Note(note) = Org.read(&file).unwrap().drafts.remove(0).body else {
            panic!("no note")
        };
        note
    }

    #[test]
    fn keywords_drawer_and_headlines_say_what_a_note_is() {
        let text = ":PROPERTIES:\n:ID: 1\n:CREATED: [2026-01-31 Sat 08:30]\n:END:\n#+TITLE: Rye\n#+title: bread\n\
                    #+filetags: :baking:daily:\n* TODO [#A] Knead :dough:\n:PROPERTIES:\n:CREATED: [2020-01-01]\n:END:\nText\n\
                    #+BEGIN_SRC org\n* Not this :code:\n#+END_SRC\n** Rest :Baking:\n";
        let note = read(text);
        assert_eq!((note.title.as_str(), note.content.as_str()), ("Rye bread", text));
        assert_eq!(note.tags, ["baking", "daily", "dough"]);
        assert_eq!(note.created_at.unwrap().to_string(), "2026-01-31T08:30:00.000Z");
        assert_eq!(
            read("#+DATE: <2026-01-31 Sat>").created_at,
            Timestamp::parse("2026-01-31").ok()
        );
    }

    #[test]
    fn the_title_is_the_best_name_there_is() {
        assert_eq!(read("\n* DONE [#B] Rye :a:\nText").title, "Rye");
        assert_eq!(read(":PROPERTIES:\n:ID: 1\n:END:\n* Rye").title, "Rye");
        assert_eq!(read("Text\n* Rye").title, "stem");
        assert_eq!(read("*bold* text\n").title, "stem");
        assert_eq!(read("* TODO\n").title, "stem");
        assert_eq!(read("* [#é] x").title, "[#é] x");
        assert_eq!(read("").title, "stem");
    }
}
