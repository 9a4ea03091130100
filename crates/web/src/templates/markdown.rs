//! Users' Markdown as HTML. HTML in it is shown as text, pictures become links, and links lead to
//! web addresses and items only: contents come from strangers, too.

use std::ops::Range;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{
    Alignment, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html::push_html,
};
use vademecum_model::FrontMatterBlock;

/// Text to render.
pub(super) struct MarkdownText<'a> {
    /// Markdown, which may begin with front matter.
    pub(super) text: &'a str,
    /// Passage to mark, in bytes of the text.
    pub(super) passage: Option<Range<usize>>,
    /// Level of the heading above the text; headings in the text are below it.
    pub(super) above: HeadingLevel,
    /// Returns the path of the item that a wikilink names.
    pub(super) resolve: &'a dyn Fn(&str) -> Option<String>,
}

impl MarkdownText<'_> {
    /// Renders the text. The first marked place has the id `passage`.
    pub(super) fn render(&self) -> Markup {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_WIKILINKS;
        let mut writer = SafeEvents {
            text: self,
            open_links: Vec::new(),
            events: Vec::new(),
            has_mark: false,
            last_level: self.above,
            level: self.above,
        };
        let front = FrontMatterBlock::find(self.text);
        if let Some(FrontMatterBlock { start, matter, .. }) = front {
            writer.events.push(Event::Html("<pre class=\"properties\">".into()));
            writer.push_text(matter.into(), start..start + matter.len());
            writer.events.push(Event::Html("</pre>".into()));
        }
        let body = front.map_or(self.text, |block| block.body);
        let start = self.text.len() - body.len();
        for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
            writer.push(event, start + range.start..start + range.end);
        }
        let mut html = String::with_capacity(self.text.len() * 3 / 2);
        push_html(&mut html, writer.events.into_iter());
        PreEscaped(html)
    }
}

/// Collects the events of a parser that are safe to render.
struct SafeEvents<'a, 't> {
    text: &'t MarkdownText<'t>,
    /// For each open link or picture: whether it is rendered as a link.
    open_links: Vec<bool>,
    events: Vec<Event<'a>>,
    has_mark: bool,
    /// Level of the heading before.
    last_level: HeadingLevel,
    /// Level of the open heading.
    level: HeadingLevel,
}

impl<'a> SafeEvents<'a, '_> {
    fn push(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, title, .. }) => {
                let target = self.target(link_type, &dest_url);
                self.open_link(target, title);
            }
            Event::Start(Tag::Image { dest_url, title, .. }) => {
                let target = is_web_address(&dest_url).then(|| dest_url.to_string());
                self.open_link(target, title);
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if self.open_links.pop() == Some(true) {
                    self.events.push(Event::End(TagEnd::Link));
                }
            }
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
                self.push_text(text, range);
            }
            Event::Start(Tag::Heading { level, .. }) => {
                // The title of the page is the first level. Readers of screens follow the levels, which must
                // not leave one out.
                self.level = next_level(level).min(next_level(self.last_level));
                self.last_level = self.level;
                let tag = Tag::Heading {
                    level: self.level,
                    id: None,
                    classes: Vec::new(),
                    attrs: Vec::new(),
                };
                self.events.push(Event::Start(tag));
            }
            Event::End(TagEnd::Heading(_)) => {
                self.events.push(Event::End(TagEnd::Heading(self.level)));
            }
            // Alignments would be attributes that the policy of the pages forbids.
            Event::Start(Tag::Table(columns)) => {
                let opened =
                    "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">";
                self.events.push(Event::Html(opened.into()));
                let columns = vec![Alignment::None; columns.len()];
                self.events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                self.events.push(Event::End(TagEnd::Table));
                self.events.push(Event::Html("</div>".into()));
            }
            Event::TaskListMarker(is_done) => {
                let mark = if is_done { "☑ " } else { "☐ " };
                self.events.push(Event::Text(mark.into()));
            }
            Event::SoftBreak => self.events.push(Event::HardBreak),
            // These blocks would become elements of HTML; their texts follow.
            Event::Start(Tag::HtmlBlock) => self.events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => self.events.push(Event::End(TagEnd::Paragraph)),
            other => self.events.push(other),
        }
    }

    /// Returns the address of a link, if it leads to a web page or to an item.
    fn target(&self, kind: LinkType, address: &str) -> Option<String> {
        match kind {
            LinkType::WikiLink { .. } => (self.text.resolve)(address),
            _ if is_web_address(address) || address.starts_with("mailto:") => {
                Some(address.to_owned())
            }
            _ => (self.text.resolve)(address),
        }
    }

    fn open_link(&mut self, target: Option<String>, title: CowStr<'a>) {
        self.open_links.push(target.is_some());
        if let Some(target) = target {
            self.events.push(Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url: target.into(),
                title,
                id: CowStr::Borrowed(""),
            }));
        }
    }

    /// Adds a text, and marks the part of it that belongs to the passage.
    fn push_text(&mut self, text: CowStr<'a>, range: Range<usize>) {
        let passage = self.text.passage.clone().unwrap_or_default();
        let (start, end) = (passage.start.max(range.start), passage.end.min(range.end));
        if start >= end {
            self.events.push(Event::Text(text));
            return;
        }
        // A text with entities or escapes is shorter than its source, and is marked as a whole.
        let parts = (text.len() == range.len())
            .then(|| {
                let (start, end) = (start - range.start, end - range.start);
                Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?))
            })
            .flatten();
        let (before, marked, after) = parts.unwrap_or(("", &text, ""));
        let opened = if self.has_mark { "<mark>" } else { "<mark id=\"passage\">" };
        self.has_mark = true;
        let text = |text: &str| Event::Text(text.to_owned().into());
        self.events.extend([
            text(before),
            Event::InlineHtml(opened.into()),
            text(marked),
            Event::InlineHtml("</mark>".into()),
            text(after),
        ]);
    }
}

/// Levels of headings, highest first.
const LEVELS: [HeadingLevel; 6] = [
    HeadingLevel::H1,
    HeadingLevel::H2,
    HeadingLevel::H3,
    HeadingLevel::H4,
    HeadingLevel::H5,
    HeadingLevel::H6,
];

/// Returns the level below one.
fn next_level(level: HeadingLevel) -> HeadingLevel {
    LEVELS.into_iter().find(|next| *next > level).unwrap_or(HeadingLevel::H6)
}

/// Returns true for addresses that begin with `https://` or `http://`, in any case.
pub(super) fn is_web_address(address: &str) -> bool {
    let starts = |prefix: &str| {
        address.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    starts("https://") || starts("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, passage: Option<Range<usize>>) -> String {
        let resolve = |name: &str| (name == "Rye bread").then(|| "/i/notes/1".to_owned());
        let above = HeadingLevel::H1;
        MarkdownText { text, passage, above, resolve: &resolve }.render().into_string()
    }

    #[test]
    fn html_and_scripts_are_text() {
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div onclick=\"x\">\n\nhi\n\n</div>",
            "<!-- x -->",
        ] {
            let shown = render(hostile, None);
            assert!(!shown.contains("<script") && !shown.contains("<img"), "{shown}");
            assert!(!shown.contains("<div") && !shown.contains("<!--"), "{shown}");
        }
    }

    #[test]
    fn links_lead_to_the_web_and_to_items_only() {
        for hostile in [
            "[x](javascript:alert(1))",
            "[x](data:text/html,hi)",
            "[x](JaVaScRiPt:alert(1))",
            "[x](//evil.example)",
            "[x](/oauth/authorize)",
            "<javascript:alert(1)>",
        ] {
            assert!(!render(hostile, None).contains("href"), "{hostile}");
        }
        let shown = render("[a](https://a.example/?x=\"><b>) [[Rye bread]] [[Nothing]]", None);
        assert!(shown.contains("href=\"https://a.example/?x=%22%3E%3Cb%3E\""), "{shown}");
        assert!(shown.contains("<a href=\"/i/notes/1\">Rye bread</a> Nothing"), "{shown}");
    }

    #[test]
    fn pictures_become_links() {
        let shown = render("![a cat](https://a.example/cat.png) ![b](b.png)", None);
        assert!(!shown.contains("<img"), "{shown}");
        assert!(shown.contains("<a href=\"https://a.example/cat.png\">a cat</a> b"), "{shown}");
    }

    #[test]
    fn passage_is_marked_across_blocks() {
        let text = "# Bread\n\nRye *rises* slowly.\n\nWheat does not.";
        let start = text.find("rises").unwrap();
        let end = text.find(" does").unwrap();
        let shown = render(text, Some(start..end));
        assert!(shown.contains("Rye <em><mark id=\"passage\">rises</mark></em>"), "{shown}");
        assert!(shown.contains("<mark> slowly.</mark>"), "{shown}");
        assert!(shown.contains("<mark>Wheat</mark> does not."), "{shown}");
        assert!(shown.contains("<h2>Bread</h2>"), "{shown}");
    }

    #[test]
    fn headings_leave_no_level_out() {
        let shown = render("### a\n\n# b\n\n#### c", None);
        assert!(shown.contains("<h2>a</h2>") && shown.contains("<h2>b</h2>"), "{shown}");
        assert!(shown.contains("<h3>c</h3>"), "{shown}");
    }

    #[test]
    fn front_matter_is_shown() {
        let shown = render("---\ntags: [<b>]\n---\nBread", None);
        assert!(shown.contains("<pre class=\"properties\">tags: [&lt;b&gt;]\n</pre>"), "{shown}");
    }

    #[test]
    fn only_front_matter_is_shown_as_properties() {
        for text in ["---\n*Prose*\n---\nBread", "Bread\n\n---\n*Prose*\n\n---\n"] {
            let shown = render(text, None);
            assert!(shown.contains("<em>Prose</em>") && !shown.contains("properties"), "{shown}");
        }
        let text = "+++\ntags = []\n+++\n# Rye\n---\nBread rises.";
        let start = text.find("rises").unwrap();
        let shown = render(text, Some(start..start + 5));
        assert!(shown.contains("<pre class=\"properties\">tags = []\n</pre>"), "{shown}");
        assert!(shown.contains("Bread <mark id=\"passage\">rises</mark>."), "{shown}");
    }

    #[test]
    fn styles_are_not_needed() {
        let shown = render("| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open", None);
        assert!(!shown.contains("style") && !shown.contains("<input"), "{shown}");
        assert!(shown.contains("☑ done") && shown.contains("☐ open"), "{shown}");
    }
}
