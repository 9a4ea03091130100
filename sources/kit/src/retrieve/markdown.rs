//! What a Markdown text is made of, as far as it matters where it is cut.
//!
//! A text that is not Markdown has none of this, or little that looks like it.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::model::Heading;

/// Something in a text that a cut should heed, from the beginning of its first
/// line to the end of its last, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// A heading of the text itself: not of a quotation or of a list.
    Heading(Range<usize>),
    /// A table or a fenced code block, with the empty lines after it.
    Whole(Range<usize>),
}

/// The headings, tables and fenced code blocks of a text, in order.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
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
            Tag::Heading { .. } if depth == 0 => Some(Block::Heading(lines(text, &place, end))),
            Tag::Table(_) | Tag::CodeBlock(CodeBlockKind::Fenced(_)) => {
                let lines = lines(text, &place, end);
                let empty = empty_lines(text.get(lines.end..).unwrap_or_default());
                Some(Block::Whole(lines.start..lines.end + empty))
            }
            _ => None,
        };
        depth += 1;
        if let Some(block) = block {
            let (Block::Heading(place) | Block::Whole(place)) = &block;
            end = place.end;
            blocks.push(block);
        }
    }
    blocks
}

/// The headings of a text, in order: not those of quotations and lists.
pub fn headings(text: &str) -> Vec<Heading> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut headings = Vec::new();
    let mut open: Option<Heading> = None;
    let mut depth = 0_usize;
    for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                let level = level as u8;
                open = Some(Heading { at: place.start, level, title: String::new() });
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

/// The lines that a place is in, but for what comes before `earliest`.
fn lines(text: &str, place: &Range<usize>, earliest: usize) -> Range<usize> {
    let before = text.get(earliest..place.start).unwrap_or_default();
    let start = earliest + before.rfind('\n').map_or(0, |at| at + 1);
    let inside = text.get(..place.end).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    let rest =
        if inside.ends_with('\n') { 0 } else { after.find('\n').map_or(after.len(), |at| at + 1) };
    start..(place.end + rest).max(start)
}

/// How long the empty lines are that a text begins with.
fn empty_lines(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    if blank == text.len() {
        return blank;
    }
    text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(char, &str)> {
        let name = |block| match block {
            Block::Heading(place) => ('#', &text[place]),
            Block::Whole(place) => ('=', &text[place]),
        };
        blocks(text).into_iter().map(name).collect()
    }

    #[test]
    fn headings_tables_and_fences_are_seen() {
        let text =
            "# Öne\ntext\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\nTwo\n===\n```sh\n# no\n```\nend";
        assert_eq!(
            seen(text),
            [
                ('#', "# Öne\n"),
                ('=', "| a | b |\n|---|---|\n| 1 | 2 |\n\n\n"),
                ('#', "Two\n===\n"),
                ('=', "```sh\n# no\n```\n"),
            ]
        );
    }

    #[test]
    fn headings_are_named_with_their_level_and_place() {
        let found =
            headings("# One `two` *three*\ntext\n> # quoted\n\nFour\n---\n```\n# no\n```\n#\n");
        let heading = |at, level, title: &str| Heading { at, level, title: title.to_owned() };
        assert_eq!(found, [heading(0, 1, "One two three"), heading(37, 2, "Four")]);
    }

    #[test]
    fn a_fence_holds_what_looks_like_another() {
        let fence = "````md\n# no\n```js\nx\n```\n| a |\n|---|\n````\r\n";
        assert_eq!(seen(&format!("{fence}# yes")), [('=', fence), ('#', "# yes")]);
    }

    #[test]
    fn what_stands_in_lists_and_quotations_is_taken_by_whole_lines() {
        let text = "- item\n\n  ```\n  x\n  ```\n> # quoted\n> | a |\n> |---|\n> | b |\n";
        assert_eq!(
            seen(text),
            [('=', "  ```\n  x\n  ```\n"), ('=', "> | a |\n> |---|\n> | b |\n")]
        );
    }

    #[test]
    fn front_matter_is_no_heading() {
        assert_eq!(seen("---\ntitle: x\n---\ntext"), []);
    }

    #[test]
    fn plain_text_has_none() {
        assert_eq!(seen("One #tag, a | b and `code`.\nNext line.\n\n    indented\n"), []);
    }
}
