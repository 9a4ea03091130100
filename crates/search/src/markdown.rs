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
