//! A note, or a section of it, that another one shows in its text.

use maud::{Markup, html};
use pulldown_cmark::HeadingLevel;
use vademecum_model::FrontMatterBlock;
use vademecum_search::find_section;

use super::markdown::MarkdownText;

/// Maximum length of an embedded text, in characters.
const MAX_CHARS: usize = 3_000;

/// A note, or a section of it, that another one shows in its text.
#[derive(Clone, Debug)]
pub(crate) struct NoteEmbed {
    path: String,
    title: String,
    /// Heading, or `^` with the name of a block; empty for the whole note.
    fragment: String,
    text: String,
    is_cut: bool,
}

impl NoteEmbed {
    /// Takes the part of `text` that the fragment names, or its beginning if it is long. `None` if the text has no
    /// such part: another one would look like the part that is meant.
    pub(crate) fn new(path: &str, title: &str, fragment: &str, text: &str) -> Option<Self> {
        let part = section(FrontMatterBlock::body_of(text), fragment)?.trim();
        let end = part.char_indices().nth(MAX_CHARS).map_or(part.len(), |(end, _)| end);
        let is_cut = end < part.len();
        let shown = part.get(..end).unwrap_or_default();
        // A paragraph is left out rather than cut.
        let end = shown.rfind("\n\n").filter(|_| is_cut).unwrap_or(end);
        let shown = part.get(..end).unwrap_or_default().to_owned();
        let (path, title, fragment) = (path.to_owned(), title.to_owned(), fragment.to_owned());
        Some(Self { path, title, fragment, text: shown, is_cut })
    }

    /// Returns true if a wikilink with this target, which leads to `path`, embeds this part.
    pub(super) fn is_target(&self, path: &str, target: &str) -> bool {
        let fragment = target.split_once('#').map_or("", |(_, fragment)| fragment);
        self.path == path && self.fragment.eq_ignore_ascii_case(fragment.trim())
    }

    /// Renders the part with a link to its note. Notes that it embeds itself are links.
    pub(super) fn render(&self, resolve: &dyn Fn(&str) -> Option<String>) -> Markup {
        let text = MarkdownText::part(&self.text, HeadingLevel::H3, resolve);
        let text = MarkdownText { title: &self.title, ..text };
        html! {
            div.embed role="group" aria-label=(self.title) {
                p.embed-title {
                    a href=(self.path) { (self.title) }
                    @if !self.fragment.is_empty() { " › " (self.fragment) }
                }
                (text.render())
                @if self.is_cut { p { a href=(self.path) { "Continue" } } }
            }
        }
    }
}

/// Returns the part of a text that a fragment names, with the rule of the tool that reads sections; `None` if there
/// is no such part.
fn section<'t>(text: &'t str, fragment: &str) -> Option<&'t str> {
    if fragment.trim().is_empty() {
        return Some(text);
    }
    text.get(find_section(text, fragment)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragment_selects_section_or_block() {
        let text = "Top\n\n# Öne\n\na\n\n## Two\n\nb ^x1\nc\n\n# Three\n\nd [[a|b]]";
        assert_eq!(section(text, " öne").unwrap(), "# Öne\n\na\n\n## Two\n\nb ^x1\nc\n\n");
        assert_eq!(section(text, "Öne#Two").unwrap(), "## Two\n\nb ^x1\nc\n\n");
        assert_eq!(section(text, "^x1").unwrap(), "b ^x1\n");
        assert_eq!(section(text, "").unwrap(), text);
        for missing in ["Four", "Three#Two", "^x"] {
            assert_eq!(section(text, missing), None, "{missing}");
        }
        for fragment in ["öne", "Öne#Two", "^x1"] {
            let range = find_section(text, fragment).unwrap();
            assert_eq!(section(text, fragment), text.get(range), "the rule of the tool");
        }
    }

    #[test]
    fn long_notes_end_with_a_paragraph() {
        let text = format!("---\na: 1\n---\nfirst\n\n{}", "é".repeat(5_000));
        let embed = NoteEmbed::new("/i/notes/1", "A", "", &text).unwrap();
        assert_eq!((embed.text.as_str(), embed.is_cut), ("first", true));
    }
}
