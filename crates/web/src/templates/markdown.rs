//! Users' Markdown as HTML. HTML in it is shown as text, pictures become links, and links lead to
//! web addresses and items only: contents come from strangers, too.

use std::{collections::HashSet, ops::Range};

use maud::{Markup, PreEscaped, Render as _};
use pulldown_cmark::{
    Alignment, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html::push_html,
};
use vademecum_model::FrontMatterBlock;
use vademecum_search::bounded_markup;

use super::{
    callout::Callout,
    footnotes::Footnotes,
    note_embed::NoteEmbed,
    parts::is_web_address,
    properties::{Properties, properties_table},
};

/// Maximum length of the label of a picture that may be a width, in bytes.
const MAX_LABEL_BYTES: usize = 400;

/// Text to render.
#[derive(Clone)]
pub(super) struct MarkdownText<'a> {
    /// Markdown, which may begin with front matter.
    pub(super) text: &'a str,
    /// Title above the text. A first heading that repeats it is left out.
    pub(super) title: &'a str,
    /// Passage to mark, in bytes of the text.
    pub(super) passage: Option<Range<usize>>,
    /// Level of the heading above the text; headings in the text are below it.
    pub(super) above: HeadingLevel,
    /// Returns the path of the item that a wikilink names.
    pub(super) resolve: &'a dyn Fn(&str) -> Option<String>,
    /// Notes that are shown where the text embeds them.
    pub(super) embeds: &'a [NoteEmbed],
    /// Whether the text is the only one of its page, so that its footnotes can be anchors.
    pub(super) has_anchors: bool,
}

impl<'a> MarkdownText<'a> {
    /// Returns a text without a passage, notes in it, and anchors.
    pub(super) fn part(
        text: &'a str,
        above: HeadingLevel,
        resolve: &'a dyn Fn(&str) -> Option<String>,
    ) -> Self {
        Self { text, title: "", passage: None, above, resolve, embeds: &[], has_anchors: false }
    }

    /// Renders the text. The first marked place has the id `passage`. After the part that is worth parsing, the
    /// rest of a flood of signs is shown as it is.
    pub(super) fn render(&self) -> Markup {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_MATH
            | Options::ENABLE_WIKILINKS;
        let mut writer = SafeEvents {
            text: self,
            open_links: Vec::new(),
            open_quotes: Vec::new(),
            body_start: 0,
            shown_embeds: HashSet::new(),
            footnotes: Footnotes::new(self.has_anchors),
            callout_head: 0..0,
            hidden_pictures: 0,
            inline_depth: 0,
            open_block: OpenBlock::Other,
            events: Vec::new(),
            has_mark: false,
            last_level: self.above,
            level: self.above,
        };
        let front = FrontMatterBlock::find(self.text);
        if let Some(block) = front {
            writer.push_properties(&block);
        }
        let body = front.map_or(self.text, |block| block.body);
        let start = self.text.len() - body.len();
        writer.body_start = start;
        let parsed = bounded_markup(body);
        for (event, range) in Parser::new_ext(parsed, options).into_offset_iter() {
            writer.push(event, start + range.start..start + range.end);
        }
        writer.push_unparsed(start + parsed.len());
        let mut html = String::with_capacity(self.text.len() * 3 / 2);
        push_html(&mut html, writer.events.into_iter());
        PreEscaped(html)
    }
}

/// The block in which an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenBlock {
    Other,
    Paragraph,
    Code,
    /// A heading that is left out.
    HiddenHeading,
}

/// Collects the events of a parser that are safe to render.
struct SafeEvents<'a, 't> {
    text: &'t MarkdownText<'t>,
    /// For each open link or picture: whether it is rendered as a link.
    open_links: Vec<bool>,
    /// For each open quotation: the callout that it is.
    open_quotes: Vec<Option<Callout>>,
    /// Position of the text after the front matter, in bytes.
    body_start: usize,
    /// Positions of the notes that are shown already, each once: a text may name one thousands of times.
    shown_embeds: HashSet<usize>,
    footnotes: Footnotes,
    /// First line of the open callout, which is rendered already.
    callout_head: Range<usize>,
    /// Number of open pictures inside which all is left out.
    hidden_pictures: usize,
    /// Number of open elements inside a paragraph.
    inline_depth: usize,
    open_block: OpenBlock,
    events: Vec<Event<'a>>,
    has_mark: bool,
    /// Level of the heading before.
    last_level: HeadingLevel,
    /// Level of the open heading.
    level: HeadingLevel,
}

impl<'a> SafeEvents<'a, '_> {
    fn push(&mut self, event: Event<'a>, range: Range<usize>) {
        if self.is_hidden(&event) {
            return;
        }
        let head = self.callout_head.clone();
        let is_in_head = range.start >= head.start && range.end <= head.end;
        match event {
            Event::Start(Tag::BlockQuote(_)) => self.open_quote(&range),
            Event::End(TagEnd::BlockQuote(_)) => self.close_quote(),
            _ if is_in_head => {}
            Event::SoftBreak | Event::HardBreak if head.contains(&range.start) => {}
            Event::Start(Tag::Link { link_type, dest_url, title, .. }) => {
                let target = self.target(link_type, &dest_url);
                self.open_link(target, title);
            }
            Event::Start(Tag::Image { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                self.hidden_pictures = 1;
                self.push_embed(&dest_url);
            }
            Event::Start(Tag::Image { dest_url, title, .. }) => {
                self.open_picture(&dest_url, title, &range);
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.close_link(),
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
                let text = without_block_id(text, self.text.text, range.end);
                self.push_text(text, range);
            }
            Event::InlineMath(_) | Event::DisplayMath(_) => self.push_math(range),
            Event::FootnoteReference(name) => {
                let reference = self.footnotes.reference(&name);
                self.push_html(reference);
            }
            Event::Start(Tag::FootnoteDefinition(name)) => {
                let opening = self.footnotes.opening(&name);
                self.push_html(opening);
            }
            Event::End(TagEnd::FootnoteDefinition) => self.push_html("</div>".to_owned()),
            Event::Start(Tag::Heading { .. }) if self.repeats_title(&range) => {
                self.open_block = OpenBlock::HiddenHeading;
            }
            Event::Start(Tag::Heading { level, .. }) => self.open_heading(level),
            Event::End(TagEnd::Heading(_)) => {
                self.events.push(Event::End(TagEnd::Heading(self.level)));
            }
            // Alignments would be attributes that the policy of the pages forbids.
            Event::Start(Tag::Table(columns)) => {
                let opened =
                    "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">";
                self.push_html(opened.to_owned());
                let columns = vec![Alignment::None; columns.len()];
                self.events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                self.events.push(Event::End(TagEnd::Table));
                self.push_html("</div>".to_owned());
            }
            Event::TaskListMarker(is_done) => self.push_task(is_done),
            Event::Start(tag @ Tag::CodeBlock(_)) => {
                self.open_block = OpenBlock::Code;
                self.events.push(Event::Start(tag));
            }
            Event::End(TagEnd::CodeBlock) => {
                self.open_block = OpenBlock::Other;
                self.events.push(Event::End(TagEnd::CodeBlock));
            }
            Event::SoftBreak => self.events.push(Event::HardBreak),
            // These blocks would become elements of HTML; their texts follow.
            Event::Start(Tag::HtmlBlock | Tag::Paragraph) => self.open_paragraph(),
            Event::End(TagEnd::HtmlBlock | TagEnd::Paragraph) => {
                self.open_block = OpenBlock::Other;
                self.events.push(Event::End(TagEnd::Paragraph));
            }
            Event::Start(tag @ (Tag::Emphasis | Tag::Strong | Tag::Strikethrough)) => {
                self.inline_depth += 1;
                self.events.push(Event::Start(tag));
            }
            Event::End(tag @ (TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough)) => {
                self.inline_depth = self.inline_depth.saturating_sub(1);
                self.events.push(Event::End(tag));
            }
            other => self.events.push(other),
        }
    }

    /// Returns true for an event inside a picture whose label is left out.
    fn is_hidden(&mut self, event: &Event<'_>) -> bool {
        let is_hidden = self.hidden_pictures > 0 || self.open_block == OpenBlock::HiddenHeading;
        match event {
            Event::End(TagEnd::Heading(_)) if is_hidden => self.open_block = OpenBlock::Other,
            Event::Start(Tag::Image { .. }) if self.hidden_pictures > 0 => {
                self.hidden_pictures += 1;
            }
            Event::End(TagEnd::Image) if self.hidden_pictures > 0 => self.hidden_pictures -= 1,
            _ => {}
        }
        is_hidden
    }

    /// Adds HTML of this program.
    fn push_html(&mut self, html: String) {
        self.events.push(Event::InlineHtml(html.into()));
    }

    /// Adds front matter as a table, or as text if it is not read.
    fn push_properties(&mut self, block: &FrontMatterBlock<'_>) {
        let range = block.start..block.start + block.matter.len();
        if let Some(properties) = Properties::read(block) {
            // A passage that goes on in the text is marked there.
            let body = self.text.text.len() - block.body.len();
            let ends_here = self.text.passage.as_ref().is_some_and(|passage| passage.end <= body);
            let is_marked = ends_here && self.marked_part(&range).is_some();
            self.has_mark |= is_marked;
            let table = properties_table(&properties, self.text.resolve, is_marked);
            self.push_html(table.into_string());
            return;
        }
        self.push_html("<pre class=\"properties\">".to_owned());
        self.push_text(block.matter.to_owned().into(), range);
        self.push_html("</pre>".to_owned());
    }

    /// Adds the text from a position on as it is written.
    fn push_unparsed(&mut self, start: usize) {
        let rest = self.text.text.get(start..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        self.open_block = OpenBlock::Code;
        self.push_html("<pre class=\"unparsed\">".to_owned());
        self.push_text(rest.to_owned().into(), start..start + rest.len());
        self.push_html("</pre>".to_owned());
    }

    /// Opens a quotation. The first line of a callout is its heading.
    fn open_quote(&mut self, range: &Range<usize>) {
        let callout = Callout::find(self.text.text, range);
        match &callout {
            Some(callout) => {
                let is_open = self.marked_part(range).is_some();
                self.callout_head = range.start..callout.head_end;
                self.push_html(callout.opening(is_open));
            }
            None => self.events.push(Event::Start(Tag::BlockQuote(None))),
        }
        self.open_quotes.push(callout);
    }

    fn close_quote(&mut self) {
        match self.open_quotes.pop().flatten() {
            Some(callout) => self.push_html(callout.closing().to_owned()),
            None => self.events.push(Event::End(TagEnd::BlockQuote(None))),
        }
    }

    fn open_paragraph(&mut self) {
        self.open_block = OpenBlock::Paragraph;
        self.events.push(Event::Start(Tag::Paragraph));
    }

    /// Returns true for a heading before all other text that is the title, unless the passage is in it.
    fn repeats_title(&self, range: &Range<usize>) -> bool {
        let before = self.text.text.get(self.body_start..range.start).unwrap_or_default();
        let heading = self.text.text.get(range.clone()).unwrap_or_default();
        let is_first = before.trim_start().is_empty();
        let words = heading.trim_matches(|letter: char| letter == '#' || letter.is_whitespace());
        is_first && words == self.text.title && self.marked_part(range).is_none()
    }

    fn open_heading(&mut self, level: HeadingLevel) {
        // The title of the page is the first level. Readers of screens follow the levels, which must
        // not leave one out.
        self.level = next_level(level).min(next_level(self.last_level));
        self.last_level = self.level;
        let (classes, attrs) = (Vec::new(), Vec::new());
        let tag = Tag::Heading { level: self.level, id: None, classes, attrs };
        self.events.push(Event::Start(tag));
    }

    /// Adds the mark of a task, and gives its line a class.
    fn push_task(&mut self, is_done: bool) {
        let paragraph = self.events.pop_if(|it| matches!(it, Event::Start(Tag::Paragraph)));
        if self.events.pop_if(|it| matches!(it, Event::Start(Tag::Item))).is_some() {
            self.push_html("\n<li class=\"task\">".to_owned());
        }
        self.events.extend(paragraph);
        let mark = if is_done { "☑ " } else { "☐ " };
        self.events.push(Event::Text(mark.into()));
    }

    /// Adds a note that the text embeds, a link to another item, or the name of a file.
    fn push_embed(&mut self, target: &str) {
        let name = target.rsplit('/').next().unwrap_or(target);
        let Some(path) = (self.text.resolve)(target) else {
            let file = maud::html! { span.file { (name.split('#').next().unwrap_or(name)) } };
            self.push_html(file.into_string());
            return;
        };
        let embeds = self.text.embeds;
        let index = embeds.iter().position(|embed| embed.is_target(&path, target));
        let is_block = self.inline_depth == 0 && self.open_links.is_empty();
        let index = index.filter(|index| is_block && self.shown_embeds.insert(*index));
        match index.and_then(|index| embeds.get(index)) {
            Some(embed) => {
                let shown = embed.render(self.text.resolve).into_string();
                // A block cannot be in a paragraph; one without text is not shown.
                let around = if self.open_block == OpenBlock::Paragraph {
                    ("</p>", "<p>")
                } else {
                    ("", "")
                };
                self.push_html([around.0, &shown, around.1].concat());
            }
            None => self.push_html(maud::html! { a href=(path) { (name) } }.into_string()),
        }
    }

    /// Adds a link to a picture of the web. A label that is only a width is replaced by the name of the file.
    fn open_picture(&mut self, address: &str, title: CowStr<'a>, range: &Range<usize>) {
        let target = is_web_address(address).then(|| address.to_owned());
        let source = self.text.text.get(range.clone()).unwrap_or_default();
        let source = source.get(..source.floor_char_boundary(MAX_LABEL_BYTES)).unwrap_or_default();
        // A label that is longer is no width.
        let label = source.strip_prefix("![").and_then(|rest| Some(rest.split_once("](")?.0));
        let label = label.unwrap_or(source);
        let (words, width) = label.rsplit_once('|').unwrap_or(("", label));
        let is_width = |text: &str| text.split('x').all(|it| it.parse::<u32>().is_ok());
        if !width.is_empty() && !is_width(width) {
            self.open_link(target, title);
            return;
        }
        let file = address.split(['?', '#']).next().and_then(|path| path.rsplit('/').next());
        let name = if words.is_empty() { file.unwrap_or(address) } else { words };
        let shown = maud::html! {
            @match target {
                Some(target) => a href=(target) { (name) },
                None => span.file { (name) },
            }
        };
        self.hidden_pictures = 1;
        self.push_html(shown.into_string());
    }

    /// Adds a formula as it is written.
    fn push_math(&mut self, range: Range<usize>) {
        let source = self.text.text.get(range).unwrap_or_default();
        self.push_html(format!("<code class=\"math\">{}</code>", source.render().into_string()));
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

    fn close_link(&mut self) {
        if self.open_links.pop() == Some(true) {
            self.events.push(Event::End(TagEnd::Link));
        }
    }

    /// Returns the part of a range that belongs to the passage.
    fn marked_part(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let passage = self.text.passage.as_ref()?;
        let (start, end) = (passage.start.max(range.start), passage.end.min(range.end));
        (start < end).then_some(start..end)
    }

    /// Adds a text, in which the author has marked `==words==`.
    fn push_unmarked(&mut self, text: CowStr<'a>) {
        let in_code = self.open_block == OpenBlock::Code;
        let mut rest: &str = &text;
        let mut parts = Vec::new();
        while let Some((before, marked, after)) = next_mark(rest).filter(|_| !in_code) {
            let tags = ["<mark class=\"own\">", "</mark>"].map(|tag| Event::InlineHtml(tag.into()));
            let [opening, closing] = tags;
            let text = |text: &str| Event::Text(text.to_owned().into());
            parts.extend([text(before), opening, text(marked), closing]);
            rest = after;
        }
        if parts.is_empty() {
            self.events.push(Event::Text(text));
        } else {
            parts.push(Event::Text(rest.to_owned().into()));
            self.events.extend(parts);
        }
    }

    /// Adds a text, and marks the part of it that belongs to the passage.
    fn push_text(&mut self, text: CowStr<'a>, range: Range<usize>) {
        let Some(Range { start, end }) = self.marked_part(&range) else {
            self.push_unmarked(text);
            return;
        };
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

/// Returns the text before the first `==words==`, the words, and the text after them.
fn next_mark(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("==")?;
    let (marked, after) = rest.split_once("==")?;
    let is_blank = |letter: char| letter.is_whitespace() || letter == '=';
    let is_mark = !marked.starts_with(is_blank) && !marked.ends_with(is_blank);
    (is_mark && !marked.is_empty() && !after.starts_with('=')).then_some((before, marked, after))
}

/// Returns a text without the identifier of its block, `^name` at the end of a line.
fn without_block_id<'a>(text: CowStr<'a>, source: &str, end: usize) -> CowStr<'a> {
    let ends_line = source.get(end..).is_none_or(|rest| rest.is_empty() || rest.starts_with('\n'));
    let is_id = |id: &str| {
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match text.rsplit_once(" ^") {
        Some((before, id)) if ends_line && is_id(id) => before.to_owned().into(),
        _ => text,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, passage: Option<Range<usize>>) -> String {
        let resolve = |name: &str| (name == "Rye bread").then(|| "/i/notes/1".to_owned());
        let above = HeadingLevel::H1;
        let text_of_note = "Knead <b>.\n\n# Bake\n\nHot.";
        let embeds = [NoteEmbed::new("/i/notes/1", "Rye bread", "", text_of_note).unwrap()];
        let (title, has_anchors, resolve) = ("Bake", true, &resolve);
        let embeds = &embeds;
        let text = MarkdownText { text, title, passage, above, resolve, embeds, has_anchors };
        text.render().into_string()
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
        let shown = render("![250](https://a.example/<b>.png) ![a|9x9](b.png) ![](c/d.png)", None);
        assert!(shown.contains("&lt;b&gt;.png</a>") && !shown.contains("250<"), "{shown}");
        assert!(shown.contains("<span class=\"file\">a</span>"), "{shown}");
        assert!(shown.contains("<span class=\"file\">d.png</span>"), "{shown}");
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
    fn front_matter_is_a_table() {
        let text = "---\ntags: [<b>]\nsee: \"[[Rye bread]]\"\nurl: https://a.example\n---\nBread";
        let shown = render(text, None);
        assert!(shown.contains("<table class=\"properties\""), "{shown}");
        assert!(shown.contains("#&lt;b&gt;</a>") && !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("<a href=\"/i/notes/1\">Rye bread</a>"), "{shown}");
        assert!(shown.contains("<a href=\"https://a.example\""), "{shown}");
        assert!(
            shown.find(">tags<") < shown.find(">see<"),
            "the order is that of the text: {shown}"
        );
        let text = "---\na: \"unfinished\nb: 1\n---\nBread";
        assert!(render(text, None).contains("<pre class=\"properties\">a: \"unfinished"));
    }

    #[test]
    fn only_front_matter_is_shown_as_properties() {
        for text in ["---\n*Prose*\n---\nBread", "Bread\n\n---\n*Prose*\n\n---\n"] {
            let shown = render(text, None);
            assert!(shown.contains("<em>Prose</em>") && !shown.contains("properties"), "{shown}");
        }
        let text = "+++\ntags = [\"a\"]\n+++\n# Rye\n---\nBread rises.";
        let start = text.find("rises").unwrap();
        let shown = render(text, Some(start..start + 5));
        assert!(shown.contains("class=\"properties\""), "{shown}");
        assert!(shown.contains("Bread <mark id=\"passage\">rises</mark>."), "{shown}");
        let shown = render(text, Some(4..8));
        assert!(shown.contains("<table class=\"properties\" id=\"passage\">"), "{shown}");
    }

    #[test]
    fn callouts_have_headings() {
        let shown = render("> [!tip]- Rye *first*\n> Knead [[Rye bread]].\n\nEnd", None);
        assert!(shown.contains("<details class=\"callout tip\"><summary>Rye first</summary>"));
        assert!(shown.contains("Knead <a href=") && shown.contains("</details>"), "{shown}");
        assert!(!shown.contains("[!") && !shown.contains("<br"), "{shown}");
        let shown = render("> [!<b>]\n\n> [!warning]+\n> > [!x]\n> > in\n\n> plain", None);
        assert!(shown.contains("<details class=\"callout warning\" open>"), "{shown}");
        assert!(shown.contains("<div class=\"callout note\">") && shown.contains(">X<"), "{shown}");
        assert!(shown.contains("<blockquote>\n<p>plain</p>"), "{shown}");
        assert_eq!(shown.matches("<div").count(), shown.matches("</div>").count());
        let shown = render("> [!tip]- a\n> marked", Some(14..20));
        assert!(shown.contains("open>") && shown.contains("<mark id=\"passage\">"), "{shown}");
    }

    #[test]
    fn quotations_on_one_line_cost_their_signs() {
        let depth = 100_000;
        let shown = render(&format!("{}[!tip] Hint", ">".repeat(depth)), None);
        assert_eq!(shown.matches("<blockquote>").count(), depth - 1);
        assert_eq!(shown.matches("<div class=\"callout tip\">").count(), 1);
        assert_eq!(shown.matches(">Hint<").count(), 1, "only the innermost is a callout");
        let shown = render(&format!("> [!tip] {}", "ä#".repeat(50_000)), None);
        let title = shown.split("<p class=\"callout-title\">").nth(1).unwrap();
        let title = title.split("</p>").next().unwrap();
        assert_eq!(title.chars().count(), 201, "a long title is cut");
    }

    #[test]
    fn flood_of_signs_is_shown_as_text() {
        let flood = format!("**first** {}<last>", "*a".repeat(1_000_000));
        let shown = render(&flood, None);
        assert!(shown.starts_with("<p><strong>first</strong>"), "{}", &shown[..60]);
        let rest = shown.split("<pre class=\"unparsed\">").nth(1).unwrap();
        assert!(rest.ends_with("*a&lt;last&gt;</pre>"), "the rest is there");
        assert_eq!(
            shown.matches('a').count(),
            1_000_000 + "class unparsed last".matches('a').count()
        );
    }

    #[test]
    fn note_is_shown_once() {
        let shown = render(&"![[Rye bread]]\n\n".repeat(500), None);
        assert_eq!(shown.matches("<div class=\"embed\"").count(), 1);
        assert_eq!(shown.matches("<a href=\"/i/notes/1\">Rye bread</a>").count(), 500);
    }

    #[test]
    fn footnotes_lead_to_their_texts_and_back() {
        let shown = render("Rye[^a] and[^b] oat[^a].\n\n[^a]: One.\n[^b]: <b>Two.", None);
        assert!(shown.contains("<a href=\"#footnote-1\" id=\"reference-1\""), "{shown}");
        assert_eq!(shown.matches("id=\"reference-1\"").count(), 1, "{shown}");
        assert!(shown.contains("<div class=\"footnote\" id=\"footnote-1\">"), "{shown}");
        assert!(shown.contains("&lt;b&gt;Two."), "{shown}");
    }

    #[test]
    fn notes_are_shown_in_notes() {
        let shown = render("See\n\n![[Rye bread]]\n\n- ![[Rye bread#Bake]]", None);
        assert!(shown.contains("<a href=\"/i/notes/1\">Rye bread</a>"), "{shown}");
        assert!(shown.contains("Knead &lt;b&gt;."), "{shown}");
        assert_eq!(
            shown.matches("<div class=\"embed\"").count(),
            1,
            "another part was not read: {shown}"
        );
        let shown = render("**![[Rye bread]]** ![[dir/cat.jpg#outline|100]]", None);
        assert!(!shown.contains("class=\"embed\""), "a block cannot be in a line: {shown}");
        assert!(shown.contains("<span class=\"file\">cat.jpg</span>"), "{shown}");
        assert!(!shown.contains("100"), "{shown}");
    }

    #[test]
    fn heading_does_not_repeat_title() {
        for text in ["# Bake\n\nHot", "---\na: 1\n---\n\n## Bake ##\nHot"] {
            let shown = render(text, None);
            assert!(!shown.contains("Bake") && shown.contains("<p>Hot"), "{shown}");
        }
        for text in ["Hot\n\n# Bake", "# Bake it\n\nHot", "# *Bake*"] {
            assert!(render(text, None).contains("<h2>"), "{text}");
        }
        assert!(render("# Bake\n\nHot", Some(2..6)).contains("<mark id=\"passage\">Bake"));
    }

    #[test]
    fn marks_of_authors_are_shown() {
        let shown = render("a ==b c== e, 1 == 2 == 3\n\n    ==code==", None);
        assert!(shown.contains("a <mark class=\"own\">b c</mark> e"), "{shown}");
        assert!(shown.contains("1 == 2 == 3") && shown.contains("==code=="), "{shown}");
    }

    #[test]
    fn formulas_and_prices_keep_their_signs() {
        let shown = render("$a_1 < b_1$ costs $5 and $10. ^block-1", None);
        assert!(shown.contains("<code class=\"math\">$a_1 &lt; b_1$</code>"), "{shown}");
        assert!(shown.contains("costs $5 and $10.</p>"), "{shown}");
    }

    #[test]
    fn styles_are_not_needed() {
        let shown = render("| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open", None);
        assert!(!shown.contains("style") && !shown.contains("<input"), "{shown}");
        assert!(shown.contains("<li class=\"task\">☑ done") && shown.contains("☐ open"), "{shown}");
    }
}
