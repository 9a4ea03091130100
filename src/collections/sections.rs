//! A document in chunks, each with the headings above it.

use std::ops::Range;

use vademecum_collections::NewChunk;
use vademecum_kit::{
    model::Heading,
    retrieve::{Chunk, Sizes, chunks, headings},
};

use super::chunking::{Cut, forward};

/// How long chunks are that keep to headings, in characters. Tables and code
/// stay whole up to twice that.
const SIZES: Sizes = Sizes { chunk: 1_500, overlap: 150, whole: 3_000 };
/// Between a heading and one below it.
const BELOW: &str = " › ";
/// The longest line of headings, in characters.
const LONGEST: usize = 500;

/// Cuts a text. `named` are its headings, if it does not say so itself. What is
/// blank is no chunk.
pub(super) fn cut(text: &str, named: &[Heading], cut: Cut) -> Vec<NewChunk> {
    let places = match cut {
        Cut::Whole => std::iter::once(0..text.len()).collect(),
        Cut::Windows(windows) => windows.over(text),
        Cut::Headings => at_headings(text),
    };
    let said;
    let headings = if named.is_empty() {
        said = headings(text);
        said.as_slice()
    } else {
        named
    };
    let (mut at, mut start) = (0, 0);
    let mut outline = Outline { text, headings, open: Vec::new() };
    let mut made = Vec::with_capacity(places.len());
    for place in places {
        let (Some(body), Some(passed)) = (text.get(place.clone()), text.get(at..place.start))
        else {
            continue;
        };
        start += passed.chars().count();
        at = place.start;
        let section = outline.above(&place);
        if !body.trim().is_empty() {
            let end = start + body.chars().count();
            made.push(NewChunk {
                section,
                start,
                end,
                body: body.to_owned(),
                ..NewChunk::default()
            });
        }
    }
    made
}

fn at_headings(text: &str) -> Vec<Range<usize>> {
    let (mut at, mut start) = (0, 0);
    let in_bytes = |chunk: Chunk<'_>| {
        at = forward(text, at, chunk.start - start);
        start = chunk.start;
        at..at + chunk.text.len()
    };
    chunks(text, SIZES).into_iter().map(in_bytes).collect()
}

/// The headings above a place, which only moves on.
struct Outline<'a> {
    text: &'a str,
    /// Those to come.
    headings: &'a [Heading],
    /// Those above, outermost first.
    open: Vec<&'a Heading>,
}

impl Outline<'_> {
    /// The headings above a chunk, with those that it begins with.
    fn above(&mut self, place: &Range<usize>) -> Option<String> {
        let mut at = place.start;
        while let [next, rest @ ..] = self.headings
            && next.at < place.end
            && (next.at <= at || self.is_blank(at..next.at))
        {
            self.open.retain(|heading| heading.level < next.level);
            self.open.push(next);
            self.headings = rest;
            at = at.max(self.end(next.at));
        }
        let line = |title: &str| title.split_whitespace().collect::<Vec<_>>().join(" ");
        let titles = self.open.iter().map(|heading| line(&heading.title));
        let titles: Vec<String> = titles.filter(|title| !title.is_empty()).collect();
        (!titles.is_empty()).then(|| titles.join(BELOW).chars().take(LONGEST).collect())
    }

    fn is_blank(&self, place: Range<usize>) -> bool {
        self.text.get(place).is_some_and(|between| between.trim().is_empty())
    }

    /// Where the lines end that a heading is, with what underlines it.
    fn end(&self, at: usize) -> usize {
        let line = |at: usize| {
            let rest = self.text.get(at..).unwrap_or_default();
            rest.split_inclusive('\n').next().unwrap_or_default()
        };
        let end = at + line(at).len();
        let below = line(end);
        let signs = below.trim();
        let underlines = signs.bytes().all(|it| it == b'=') || signs.bytes().all(|it| it == b'-');
        if underlines && !signs.is_empty() { end + below.len() } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::config::Chunking;

    fn sections(text: &str, named: &[Heading], how: Cut) -> Vec<(String, String)> {
        let cut = cut(text, named, how);
        let letters: Vec<char> = text.chars().collect();
        for chunk in &cut {
            let said: String = letters[chunk.start..chunk.end].iter().collect();
            assert_eq!(said, chunk.body);
        }
        let line = |chunk: NewChunk| {
            (
                chunk.section.unwrap_or_default(),
                chunk.body.trim().lines().last().unwrap().to_owned(),
            )
        };
        cut.into_iter().map(line).collect()
    }

    fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
        found.iter().map(|(section, last)| (section.as_str(), last.as_str())).collect()
    }

    #[test]
    fn a_chunk_knows_the_headings_above_it() {
        let text = "Über\n\n# Title\n\n## Section\n\n### `Sub`  *one*\n\nA.\n\n### Two\nB.\n\n\
                    Other\n-----\n\nC.\n\n# End\nD.\n";
        let found = sections(text, &[], Cut::Headings);
        assert_eq!(
            pairs(&found),
            [
                ("", "Über"),
                ("Title › Section › Sub one", "A."),
                ("Title › Section › Two", "B."),
                ("Title › Other", "C."),
                ("End", "D."),
            ]
        );
    }

    #[test]
    fn the_later_chunks_of_a_section_are_under_its_headings_too() {
        let text = format!("# Bread\n\n{}\n## Oven\n\nHot.\n", "Knead the dough. ".repeat(200));
        let found = sections(&text, &[], Cut::Headings);
        assert!(found.len() > 3, "{found:?}");
        let (last, first) = found.split_last().unwrap();
        assert!(first.iter().all(|(section, _)| section == "Bread"), "{found:?}");
        assert_eq!(last.0, "Bread › Oven");
    }

    #[test]
    fn windows_are_under_the_heading_they_begin_below() {
        let (windows, _) = Cut::of(Some(&Chunking {
            chunk_size: 40,
            overlap: 0,
            min_chunk_size: 0,
            ..Chunking::default()
        }));
        let text =
            "# One\nA sentence here.\n\n## Two\nAnother one.\n\n## Three\nThe last sentence.\n";
        let found = sections(text, &[], windows);
        let named: Vec<&str> = found.iter().map(|(section, _)| section.as_str()).collect();
        assert!(named[0] == "One" && *named.last().unwrap() != "One", "{found:?}");
    }

    #[test]
    fn what_is_blank_is_no_chunk_and_what_is_not_cut_is_one() {
        assert_eq!(sections(" \n\n", &[], Cut::Headings), []);
        assert_eq!(sections("# A\n\nB.\n\n# C\n\nD.", &[], Cut::Whole).len(), 1);
    }

    #[test]
    fn parts_that_the_text_does_not_name_are_named_too() {
        let heading = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        let text = format!("{}\n\n{}", "Page one. ".repeat(200), "Page two. ".repeat(200));
        let parts = [heading(0, "1"), heading("Page one. ".len() * 200 + 2, "2")];
        let found = sections(&text, &parts, Cut::Headings);
        assert_eq!((found[0].0.as_str(), found.last().unwrap().0.as_str()), ("1", "2"));
    }
}
