//! Section paths and block types of the chunks of a document.

use serde_json::{Value, json};
use vademecum_model::{Heading, MediaDraft};
use vademecum_search::parse_headings;

/// The headings in effect at each chunk of a document, for chunks visited in order.
#[derive(Debug)]
pub(crate) struct SectionTracker {
    upcoming: std::iter::Peekable<std::vec::IntoIter<Heading>>,
    /// The open headings at the current position, outermost first.
    open_headings: Vec<Heading>,
    /// The current position in the text, in bytes.
    position: usize,
}

impl SectionTracker {
    /// Uses the headings supplied with the document, or else those found in its text.
    pub(crate) fn for_document(media: &MediaDraft) -> Self {
        let named = media.headings.clone();
        let headings = if named.is_empty() { parse_headings(&media.content) } else { named };
        Self { upcoming: headings.into_iter().peekable(), open_headings: Vec::new(), position: 0 }
    }

    /// Advances past a chunk. Returns its section metadata as JSON, or `None` before the first
    /// heading.
    pub(crate) fn advance(&mut self, chunk: &str) -> Option<String> {
        let begins = self.position + heading_length(chunk).max(1);
        self.open_headings_before(begins);
        let titles: Vec<&str> =
            self.open_headings.iter().map(|heading| heading.title.trim()).collect();
        let place = json!({ "ancestry_titles": titles, "section_path": titles.join(" / ") });
        let place = (!titles.is_empty()).then(|| place.to_string());
        self.position += chunk.len();
        self.open_headings_before(self.position);
        place
    }

    fn open_headings_before(&mut self, place: usize) {
        while let Some(heading) = self.upcoming.next_if(|heading| heading.at < place) {
            self.open_headings.retain(|above| above.level < heading.level);
            self.open_headings.push(heading);
        }
    }
}

/// Returns the length in bytes of the headings and empty lines at the beginning of a chunk.
fn heading_length(chunk: &str) -> usize {
    let lines = chunk.split_inclusive('\n');
    lines.take_while(|line| is_heading_or_blank(line)).map(str::len).sum()
}

fn is_heading_or_blank(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// Classifies a chunk by its text below the headings: `heading`, `code`, `table`, `list` or `text`.
pub(crate) fn classify_chunk(chunk: &str) -> &'static str {
    let body = chunk[heading_length(chunk)..].trim();
    let all = |is: fn(&str) -> bool| body.lines().filter(|line| !line.trim().is_empty()).all(is);
    if body.is_empty() {
        "heading"
    } else if body.starts_with("```") && body.ends_with("```") {
        "code"
    } else if all(|line| line.trim_start().starts_with('|')) {
        "table"
    } else if all(is_list_item) {
        "list"
    } else {
        "text"
    }
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|sign: char| sign.is_ascii_digit());
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || (digits.len() < line.len() && digits.starts_with(". "))
}

/// Parses the section path from the stored metadata of a chunk.
pub(crate) fn parse_section_path(metadata: &str) -> Option<String> {
    let place: Value = serde_json::from_str(metadata).ok()?;
    Some(place.get("section_path")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section_paths(media: &MediaDraft, chunks: &[&str]) -> Vec<String> {
        let mut outline = SectionTracker::for_document(media);
        let place =
            |chunk: &&str| outline.advance(chunk).and_then(|place| parse_section_path(&place));
        chunks.iter().map(place).map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn chunk_path_includes_own_and_parent_headings() {
        let chunks = ["Intro.\n", "# A\n\n## B\ntext\n", "more\n", "## C\nx\n### D\ny\n", "# E\n"];
        let media = MediaDraft { content: chunks.concat(), ..MediaDraft::default() };
        assert_eq!(section_paths(&media, &chunks), ["", "A / B", "A / B", "A / C", "E"]);
    }

    #[test]
    fn supplied_headings_take_precedence() {
        let page = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        let media = MediaDraft {
            content: "# one\ntwo three".to_owned(),
            headings: vec![page(0, "Page 1"), page(10, "Page 2")],
            ..MediaDraft::default()
        };
        assert_eq!(section_paths(&media, &["# one\ntwo ", "three"]), ["Page 1", "Page 2"]);
    }

    #[test]
    fn chunk_type_follows_its_content() {
        for (chunk, made_of) in [
            ("# A\n\n", "heading"),
            ("# A\n- x\n  1. y\n", "list"),
            ("| a |\n|---|\n", "table"),
            ("## A\n```sh\nx\n```\n", "code"),
            ("A\n- x", "text"),
        ] {
            assert_eq!(classify_chunk(chunk), made_of, "{chunk}");
        }
    }
}
