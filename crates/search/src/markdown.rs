//! Markdown structure of a text, as needed for chunking.
//!
//! Plain text has no such structure, apart from accidental matches.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use vademecum_model::{FrontMatterBlock, Heading};

/// A structural element that chunking respects: a byte range of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MarkdownBlock {
    /// A top-level heading, not one in a quotation or list.
    Heading(Range<usize>),
    /// A table or fenced code block, including the empty lines after it.
    Atomic(Range<usize>),
}

/// Number of signs of Markdown that are parsed in any text, and the number of bytes for each one that
/// is parsed in a longer text. Prose has a sign in 20 to 50 bytes.
const FREE_SIGNS: usize = 256 * 1_024;
const BYTES_PER_SIGN: usize = 16;

/// Returns the beginning of a text whose Markdown is worth parsing: all of it, unless it is a long
/// text that consists of signs. Parsing takes time for each sign, so that a flood of them would cost
/// many times as much as prose of its size.
pub fn bounded_markup(text: &str) -> &str {
    let mut left = FREE_SIGNS + text.len() / BYTES_PER_SIGN;
    if text.len() <= left {
        return text;
    }
    let end = text.bytes().position(|byte| {
        left -= usize::from(is_sign(byte));
        left == 0
    });
    // The sign is a character of one byte.
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns whether a byte may be part of the markup of Markdown or Org.
fn is_sign(byte: u8) -> bool {
    matches!(
        byte,
        b'\n' | b'\r' | b'\t' | b'!' | b'#' | b'$' | b'%' | b'&' | b'(' | b')' | b'*' | b'+'
    ) || matches!(byte, b'-' | b':' | b'<' | b'=' | b'>' | b'[' | b'\\' | b']' | b'^' | b'_' | b'`')
        || matches!(byte, b'{' | b'|' | b'}' | b'~')
}

/// Returns the headings, tables and fenced code blocks of a text, in order.
pub(crate) fn parse_blocks(text: &str) -> Vec<MarkdownBlock> {
    let text = bounded_markup(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut blocks = Vec::new();
    let mut depth = 0_usize;
    let mut end = 0;
    for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
        let Event::Start(tag) = event else {
            depth = depth.saturating_sub(usize::from(matches!(event, Event::End(_))));
            continue;
        };
        let block = match tag {
            Tag::Heading { .. } if depth == 0 => {
                Some(MarkdownBlock::Heading(expand_to_lines(text, &place, end)))
            }
            Tag::Table(_) | Tag::CodeBlock(CodeBlockKind::Fenced(_)) => {
                let lines = expand_to_lines(text, &place, end);
                let empty = leading_blank_bytes(text.get(lines.end..).unwrap_or_default());
                Some(MarkdownBlock::Atomic(lines.start..lines.end + empty))
            }
            _ => None,
        };
        depth += 1;
        if let Some(block) = block {
            let (MarkdownBlock::Heading(place) | MarkdownBlock::Atomic(place)) = &block;
            end = place.end;
            blocks.push(block);
        }
    }
    blocks
}

/// Returns the top-level headings of a text, in order.
pub fn parse_headings(text: &str) -> Vec<Heading> {
    let text = bounded_markup(text);
    let body = FrontMatterBlock::body_of(text);
    let start = text.len() - body.len();
    let mut headings = Vec::new();
    let mut open: Option<Heading> = None;
    let mut depth = 0_usize;
    for (event, place) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                let level = level as u8;
                open = Some(Heading { at: start + place.start, level, title: String::new() });
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(TagEnd::Heading(_)) => {
                depth = depth.saturating_sub(1);
                headings.extend(open.take().filter(|heading| !heading.title.trim().is_empty()));
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&words);
                }
            }
            _ => {}
        }
    }
    headings
}

/// Maximum number of headings that are named.
const MAX_NAMED_HEADINGS: usize = 30;

/// Returns the titles of the first sections of a text.
pub fn section_names(text: &str) -> Vec<String> {
    let headings = section_headings(text).into_iter().take(MAX_NAMED_HEADINGS);
    headings.map(|heading| heading.title.trim().to_owned()).collect()
}

/// Returns the bytes of a section: from its heading to the next one of the same or a higher level. Titles are
/// compared without case; `A#B` is the section B in A, and `^id` the line with this block identifier.
pub fn find_section(text: &str, name: &str) -> Option<Range<usize>> {
    if let Some(block) = name.trim().strip_prefix('^') {
        return find_block(text, block);
    }
    let headings = section_headings(text);
    let end_of = |heading: &Heading| {
        let next = headings.iter().find(|it| it.at > heading.at && it.level <= heading.level);
        next.map_or(text.len(), |next| next.at)
    };
    let find_in = |inside: Range<usize>, title: &str| {
        let title = title.trim().to_lowercase();
        let is_meant =
            |it: &&Heading| inside.contains(&it.at) && it.title.trim().to_lowercase() == title;
        headings.iter().find(is_meant).map(|found| found.at..end_of(found))
    };
    find_in(0..text.len(), name).or_else(|| {
        let mut titles = name.split('#').filter(|title| !title.trim().is_empty());
        titles.try_fold(0..text.len(), find_in)
    })
}

/// Returns the headings of a Markdown text; without any, those of Org mode and of the blocks of Logseq.
fn section_headings(text: &str) -> Vec<Heading> {
    let headings = parse_headings(text);
    if !headings.is_empty() {
        return headings;
    }
    let mut at = 0;
    let mut found = Vec::new();
    for line in bounded_markup(text).split_inclusive('\n') {
        let bare = line.trim_start().trim_start_matches("- ");
        let mark = if bare.starts_with('#') { '#' } else { '*' };
        let title = if mark == '#' { bare } else { line }.trim_start_matches(mark);
        let level = if mark == '#' { bare.len() } else { line.len() } - title.len();
        if (1..=9).contains(&level) && title.starts_with(' ') && !title.trim().is_empty() {
            let level = u8::try_from(level).unwrap_or(u8::MAX);
            found.push(Heading { at, level, title: title.trim().to_owned() });
        }
        at += line.len();
    }
    found
}

/// Returns the line that ends with a block identifier, or the paragraph before the line that consists of it.
fn find_block(text: &str, block: &str) -> Option<Range<usize>> {
    let mark = format!("^{}", block.trim());
    let mut paragraph = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let before = line.trim_end().strip_suffix(&mark);
        match before {
            Some(before) if before.trim().is_empty() => return Some(paragraph..end),
            Some(before) if before.ends_with(char::is_whitespace) => return Some(at..end),
            _ => {}
        }
        if line.trim().is_empty() {
            paragraph = end;
        }
        at = end;
    }
    None
}

/// Expands a range to whole lines, but not before `earliest`.
fn expand_to_lines(text: &str, place: &Range<usize>, earliest: usize) -> Range<usize> {
    let before = text.get(earliest..place.start).unwrap_or_default();
    let start = earliest + before.rfind('\n').map_or(0, |at| at + 1);
    let inside = text.get(..place.end).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    let rest =
        if inside.ends_with('\n') { 0 } else { after.find('\n').map_or(after.len(), |at| at + 1) };
    start..(place.end + rest).max(start)
}

/// Returns the length in bytes of the empty lines at the start of a text.
fn leading_blank_bytes(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    if blank == text.len() {
        return blank;
    }
    text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled_blocks(text: &str) -> Vec<(char, &str)> {
        let name = |block| match block {
            MarkdownBlock::Heading(place) => ('#', &text[place]),
            MarkdownBlock::Atomic(place) => ('=', &text[place]),
        };
        parse_blocks(text).into_iter().map(name).collect()
    }

    #[test]
    fn sections_are_found_by_title_path_and_block() {
        let text = "# A\none\n## Log\nx ^b-1\n# B\n## log\ny\n\nlast\n^b2\n";
        let section = |name: &str| find_section(text, name).and_then(|it| text.get(it));
        assert_eq!(section("a"), Some("# A\none\n## Log\nx ^b-1\n"));
        assert_eq!(section("Log"), Some("## Log\nx ^b-1\n"));
        assert_eq!(section("B#Log"), Some("## log\ny\n\nlast\n^b2\n"));
        assert_eq!(section("^b-1"), Some("x ^b-1\n"));
        assert_eq!(section("^b2"), Some("last\n^b2\n"));
        assert_eq!((section("C"), section("A#y"), section("^b")), (None, None, None));
        let org = "* A\none\n** B\n* C\n";
        assert_eq!(find_section(org, "A"), Some(0..13));
        assert_eq!(section_names("- # A\n  - ## B\n"), ["A", "B"]);
    }

    #[test]
    fn parser_finds_headings_tables_and_fences() {
        let text =
            "# Öne\ntext\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\nTwo\n===\n```sh\n# no\n```\nend";
        assert_eq!(
            labelled_blocks(text),
            [
                ('#', "# Öne\n"),
                ('=', "| a | b |\n|---|---|\n| 1 | 2 |\n\n\n"),
                ('#', "Two\n===\n"),
                ('=', "```sh\n# no\n```\n"),
            ]
        );
    }

    #[test]
    fn headings_have_level_and_position() {
        let found = parse_headings(
            "# One `two` *three*\ntext\n> # quoted\n\nFour\n---\n```\n# no\n```\n#\n",
        );
        let heading = |at, level, title: &str| Heading { at, level, title: title.to_owned() };
        assert_eq!(found, [heading(0, 1, "One two three"), heading(37, 2, "Four")]);
    }

    #[test]
    fn fence_contains_shorter_fence() {
        let fence = "````md\n# no\n```js\nx\n```\n| a |\n|---|\n````\r\n";
        assert_eq!(labelled_blocks(&format!("{fence}# yes")), [('=', fence), ('#', "# yes")]);
    }

    #[test]
    fn blocks_in_lists_and_quotations_span_whole_lines() {
        let text = "- item\n\n  ```\n  x\n  ```\n> # quoted\n> | a |\n> |---|\n> | b |\n";
        assert_eq!(
            labelled_blocks(text),
            [('=', "  ```\n  x\n  ```\n"), ('=', "> | a |\n> |---|\n> | b |\n")]
        );
    }

    #[test]
    fn front_matter_is_not_a_heading() {
        assert_eq!(labelled_blocks("---\ntitle: x\n---\ntext"), []);
    }

    #[test]
    fn headings_follow_front_matter() {
        let text = "---\n\ntitle: x\n---\n# One\n\n---\nText.\n# Two\n---\n";
        let found = parse_headings(text);
        let titles: Vec<_> = found.iter().map(|it| (&text[it.at..it.at + 3], &*it.title)).collect();
        assert_eq!(titles, [("# O", "One"), ("# T", "Two")]);
    }

    #[test]
    fn flood_of_signs_is_not_parsed() {
        let prose = "The rye bread rises slowly (in the warm oven) today:\n- [[done]].\n";
        let long = prose.repeat(2_000_000 / prose.len());
        assert_eq!(bounded_markup(&long), long);
        for sign in ["[", "`", "<", "*", "_", "|", "#", "\\", "&", ">", "[[", "](", "\n", "\r\n"] {
            let short = sign.repeat(FREE_SIGNS / sign.len() - 1);
            assert_eq!(bounded_markup(&short), short);
            let flood = sign.repeat(8_000_000 / sign.len());
            let parsed = bounded_markup(&flood).len();
            assert!(parsed <= FREE_SIGNS + flood.len() / BYTES_PER_SIGN, "{sign:?}: {parsed}");
        }
        let text = "# One\n".to_owned() + &"é[".repeat(2_000_000) + "\n# Two\n";
        assert_eq!(parse_headings(&text).len(), 1);
    }

    #[test]
    fn plain_text_has_no_blocks() {
        assert_eq!(
            labelled_blocks("One #tag, a | b and `code`.\nNext line.\n\n    indented\n"),
            []
        );
    }
}
