//! Highlights of a Kindle: `My Clippings.txt`, one document for each book.

use std::collections::BTreeMap;

use vademecum_model::SourceName;

use super::{
    entry::{Highlight, ReadingEntry},
    kindle_clipping::{Clipping, ClippingKind},
};
use crate::format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat};

/// Line between two clippings.
const BORDER: &str = "==========";

/// Highlights of a Kindle.
#[derive(Debug)]
pub(crate) struct Kindle;

impl Format for Kindle {
    fn id(&self) -> &'static str {
        "kindle"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "highlights of Kindle (My Clippings.txt)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let (first, rest) = sample.head.split_once(BORDER).unwrap_or_default();
        // A list above a heading looks alike, but has no date.
        let is_dated = Clipping::parse(first).is_some_and(|it| it.created_at.is_some());
        is_dated && rest.starts_with(['\r', '\n'])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut books: BTreeMap<(String, String), Vec<Clipping>> = BTreeMap::new();
        let (mut bookmarks, mut beyond_limit) = (0, 0);
        for (number, block) in (1..).zip(text.split(BORDER)) {
            if block.trim_matches(['\u{feff}', '\n', '\r', ' ']).is_empty() {
                continue;
            }
            match Clipping::parse(block) {
                None => {
                    parsed.add_problem(format!("clipping {number}"), "it has no line of its kind");
                }
                Some(Clipping { kind: ClippingKind::Bookmark, .. }) => bookmarks += 1,
                Some(Clipping { kind: ClippingKind::BeyondLimit, .. }) => beyond_limit += 1,
                Some(clipping) => {
                    let book = (clipping.title.clone(), clipping.author.clone());
                    books.entry(book).or_default().push(clipping);
                }
            }
        }
        for ((title, author), clippings) in books {
            let times = || clippings.iter().filter_map(|it| it.created_at);
            let entry = ReadingEntry {
                origin: format!("kindle:{title}|{author}"),
                created_at: times().min(),
                modified_at: times().max(),
                media_type: "book",
                highlights: merge_clippings(clippings),
                title,
                author,
                ..ReadingEntry::default()
            };
            parsed.add_entry(entry);
        }
        parsed.add_count(bookmarks, "bookmark", "they have no text");
        parsed.add_count(
            beyond_limit,
            "highlight",
            "Kindle left out the text, which is beyond its limit",
        );
        parsed.or_empty("it has no clippings")
    }
}

/// Returns the highlights of a book in the order of their places. Of a highlight that was extended,
/// the longest text is kept; a note is joined to the highlight at its place.
fn merge_clippings(clippings: Vec<Clipping>) -> Vec<Highlight> {
    let (notes, marks): (Vec<_>, Vec<_>) =
        clippings.into_iter().partition(|it| it.kind == ClippingKind::Note);
    let mut kept: Vec<(Clipping, String)> = Vec::new();
    for mark in marks {
        let same = |(other, _): &&mut (Clipping, String)| {
            let overlaps =
                mark.location.0 <= other.location.1 && other.location.0 <= mark.location.1;
            let is_place = overlaps && mark.page == other.page || mark.location == other.location;
            is_place && (other.text.contains(&mark.text) || mark.text.contains(&other.text))
        };
        match kept.iter_mut().find(same) {
            Some((other, _)) if other.text.len() < mark.text.len() => *other = mark,
            Some(_) => {}
            None => kept.push((mark, String::new())),
        }
    }
    for note in notes {
        let (at, _) = note.location;
        let covers = |(mark, _): &&mut (Clipping, String)| {
            at > 0 && mark.location.0 <= at && at <= mark.location.1
                || at == 0 && !note.page.is_empty() && mark.page == note.page
        };
        match kept.iter_mut().rev().find(covers) {
            Some((_, text)) if text.is_empty() => *text = note.text,
            Some((_, text)) if !text.contains(&note.text) => text.extend(["\n\n", &note.text]),
            Some(_) => {}
            None => {
                let text = note.text.clone();
                kept.push((Clipping { text: String::new(), ..note }, text));
            }
        }
    }
    kept.sort_by_key(|(mark, _)| mark.location);
    let highlight = |(mark, note): (Clipping, String)| Highlight {
        place: mark.place(),
        text: mark.text,
        note,
        created_at: mark.created_at,
        ..Highlight::default()
    };
    kept.into_iter().map(highlight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const DATE: &str = "Added on Sunday, September 13, 2015 3:25:45 PM";

    fn clippings() -> String {
        let block = |book: &str, about: &str, text: &str| {
            format!("\u{feff}{book}\r\n- Your {about} | {DATE}\r\n\r\n{text}\r\n==========\r\n")
        };
        [
            block("Grain (Ada)", "Highlight on page 2 | Location 20-21", "Rye"),
            block("Grain (Ada)", "Highlight on page 2 | Location 20-22", "Rye rises."),
            block("Side-loaded", "Highlight on page 4", "Oats."),
            block("Grain (Ada)", "Note on page 2 | Location 22", "Why?"),
            block("Grain (Ada)", "Highlight on page 1 | Location 9-9", "First."),
            block("Grain (Ada)", "Bookmark on page 1 | Location 9", ""),
            block(
                "Grain (Ada)",
                "Highlight at location 90-91",
                "<You have reached the clipping limit for this item>",
            ),
        ]
        .concat()
    }

    #[test]
    fn book_has_longest_highlights_with_notes() {
        let text = clippings();
        assert!(detects(&Kindle, "/My Clippings.txt", &text));
        let parsed = parse(&Kindle, "/My Clippings.txt", &text);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "kindle:Grain|Ada");
        assert_eq!((found[0].title.as_str(), found[0].author.as_deref()), ("Grain", Some("Ada")));
        assert_eq!(
            found[0].content,
            "> First.\n\nPage 1, location 9 · 2015-09-13\n\n\
             > Rye rises.\n\nPage 2, location 20-22 · 2015-09-13\n\nNote: Why?"
        );
        assert_eq!(found[0].kept.as_ref().unwrap().chunks.len(), 2);
        assert_eq!((found[1].title.as_str(), found[1].author.as_deref()), ("Side-loaded", None));
        let places: Vec<_> = parsed.problems.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, ["1 bookmark", "1 highlight"]);
    }

    #[test]
    fn damaged_clipping_is_reported_others_kept() {
        let text = format!("x\ny\n==========\n{}", clippings());
        let parsed = parse(&Kindle, "/a.txt", text);
        assert_eq!(parsed.problems[0].place, "clipping 1");
        assert_eq!(parsed.drafts.len(), 2);
        assert!(try_parse(&Kindle, "/a.txt", "==========\n").is_err());
        for text in ["Title\n==========\n- a list\n", "Shopping\n- rye\n\nMore\n==========\n"] {
            assert!(!detects(&Kindle, "/a.md", text), "{text}");
        }
    }
}
