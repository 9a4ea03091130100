//! Where in a document a chunk is: the headings that it is under, and what it
//! is made of.

use serde_json::{Value, json};
use vademecum_kit::{
    model::{Heading, MediaDraft},
    retrieve::headings,
};

/// The headings of a document, as its chunks are gone through in order.
#[derive(Debug)]
pub(crate) struct Outline {
    ahead: std::iter::Peekable<std::vec::IntoIter<Heading>>,
    /// The headings that what comes next is under.
    path: Vec<Heading>,
    /// How much of the text was gone through, in bytes.
    at: usize,
}

impl Outline {
    /// The headings that come with a document, or else those of its text.
    pub(crate) fn of(media: &MediaDraft) -> Self {
        let named = media.headings.clone();
        let headings = if named.is_empty() { headings(&media.content) } else { named };
        Self { ahead: headings.into_iter().peekable(), path: Vec::new(), at: 0 }
    }

    /// Goes past a chunk and says where it is, as it is stored with it.
    pub(crate) fn pass(&mut self, chunk: &str) -> Option<String> {
        let begins = self.at + opening(chunk).max(1);
        self.go_to(begins);
        let titles: Vec<&str> = self.path.iter().map(|heading| heading.title.trim()).collect();
        let place = json!({ "ancestry_titles": titles, "section_path": titles.join(" / ") });
        let place = (!titles.is_empty()).then(|| place.to_string());
        self.at += chunk.len();
        self.go_to(self.at);
        place
    }

    fn go_to(&mut self, place: usize) {
        while let Some(heading) = self.ahead.next_if(|heading| heading.at < place) {
            self.path.retain(|above| above.level < heading.level);
            self.path.push(heading);
        }
    }
}

/// How long the headings and empty lines are that a chunk begins with, in bytes.
fn opening(chunk: &str) -> usize {
    let lines = chunk.split_inclusive('\n');
    lines.take_while(|line| is_opening(line)).map(str::len).sum()
}

fn is_opening(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// What a chunk is made of, under its headings.
pub(crate) fn kind(chunk: &str) -> &'static str {
    let said = chunk[opening(chunk)..].trim();
    let all = |is: fn(&str) -> bool| said.lines().filter(|line| !line.trim().is_empty()).all(is);
    if said.is_empty() {
        "heading"
    } else if said.starts_with("```") && said.ends_with("```") {
        "code"
    } else if all(|line| line.trim_start().starts_with('|')) {
        "table"
    } else if all(is_list) {
        "list"
    } else {
        "text"
    }
}

fn is_list(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|sign: char| sign.is_ascii_digit());
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || (digits.len() < line.len() && digits.starts_with(". "))
}

/// The titles that a chunk is stored under.
pub(crate) fn section_path(metadata: &str) -> Option<String> {
    let place: Value = serde_json::from_str(metadata).ok()?;
    Some(place.get("section_path")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(media: &MediaDraft, chunks: &[&str]) -> Vec<String> {
        let mut outline = Outline::of(media);
        let place = |chunk: &&str| outline.pass(chunk).and_then(|place| section_path(&place));
        chunks.iter().map(place).map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn a_chunk_is_under_the_headings_that_it_begins_with_and_those_above() {
        let chunks = ["Intro.\n", "# A\n\n## B\ntext\n", "more\n", "## C\nx\n### D\ny\n", "# E\n"];
        let media = MediaDraft { content: chunks.concat(), ..MediaDraft::default() };
        assert_eq!(paths(&media, &chunks), ["", "A / B", "A / B", "A / C", "E"]);
    }

    #[test]
    fn headings_that_come_with_a_document_are_taken() {
        let page = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        let media = MediaDraft {
            content: "# one\ntwo three".to_owned(),
            headings: vec![page(0, "Page 1"), page(10, "Page 2")],
            ..MediaDraft::default()
        };
        assert_eq!(paths(&media, &["# one\ntwo ", "three"]), ["Page 1", "Page 2"]);
    }

    #[test]
    fn what_a_chunk_is_made_of_shows() {
        for (chunk, made_of) in [
            ("# A\n\n", "heading"),
            ("# A\n- x\n  1. y\n", "list"),
            ("| a |\n|---|\n", "table"),
            ("## A\n```sh\nx\n```\n", "code"),
            ("A\n- x", "text"),
        ] {
            assert_eq!(kind(chunk), made_of, "{chunk}");
        }
    }
}
