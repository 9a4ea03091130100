//! A note, or a section of it, that another one shows in its text.

use maud::{Markup, html};
use pulldown_cmark::HeadingLevel;
use vademecum_model::FrontMatterBlock;
use vademecum_search::parse_headings;

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
    /// Takes the part of `text` that the fragment names, or its beginning if it is long.
    pub(crate) fn new(path: &str, title: &str, fragment: &str, text: &str) -> Self {
        let part = section(FrontMatterBlock::body_of(text), fragment).trim();
        let end = part.char_indices().nth(MAX_CHARS).map_or(part.len(), |(end, _)| end);
        let is_cut = end < part.len();
        let shown = part.get(..end).unwrap_or_default();
        // A paragraph is left out rather than cut.
        let end = shown.rfind("\n\n").filter(|_| is_cut).unwrap_or(end);
        let shown = part.get(..end).unwrap_or_default().to_owned();
        let (path, title, fragment) = (path.to_owned(), title.to_owned(), fragment.to_owned());
        Self { path, title, fragment, text: shown, is_cut }
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

/// Returns the section below a heading, or the paragraph of a block; the whole text if there is none.
fn section<'t>(text: &'t str, fragment: &str) -> &'t str {
    let fragment = fragment.trim();
    if let Some(id) = fragment.strip_prefix('^') {
        let mark = format!("^{id}");
        let has_mark = |block: &&str| block.lines().any(|line| line.trim_end().ends_with(&mark));
        return text.split("\n\n").find(has_mark).unwrap_or(text);
    }
    let name = fragment.rsplit('#').next().unwrap_or(fragment).trim();
    if name.is_empty() {
        return text;
    }
    let headings = parse_headings(text);
    let found = headings.iter().position(|it| it.title.trim().eq_ignore_ascii_case(name));
    let Some((first, heading)) = found.and_then(|index| Some((index, headings.get(index)?))) else {
        return text;
    };
    let next = headings.iter().skip(first + 1).find(|it| it.level <= heading.level);
    text.get(heading.at..next.map_or(text.len(), |next| next.at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragment_selects_section_or_block() {
        let text = "Top\n\n# One\n\na\n\n## Two\n\nb ^x1\n\n# Three\n\nc";
        assert_eq!(section(text, "one"), "# One\n\na\n\n## Two\n\nb ^x1\n\n");
        assert_eq!(section(text, "One#Two"), "## Two\n\nb ^x1\n\n");
        assert_eq!(section(text, "^x1"), "b ^x1");
        assert_eq!(section(text, "Four"), text);
    }

    #[test]
    fn long_notes_end_with_a_paragraph() {
        let text = format!("---\na: 1\n---\nfirst\n\n{}", "é".repeat(5_000));
        let embed = NoteEmbed::new("/i/notes/1", "A", "", &text);
        assert_eq!((embed.text.as_str(), embed.is_cut), ("first", true));
    }
}
