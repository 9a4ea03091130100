//! The page of an item: its text, with the passage that matched, its links and its versions.

use std::ops::Range;

use maud::{Markup, html};
use pulldown_cmark::HeadingLevel;
use serde_json::{Map, Value};
use vademecum_model::{ContentOrigin, Cue, Hit, Uri};
use vademecum_search::Item;
use vademecum_services::permalink::item_path;
use vademecum_tools::{LinkedItem, LinksResponse};
use vademecum_vault::journal::ItemHistory;

use super::{
    FormContext, ItemFile, NoteEmbed, Page,
    history::{change_line, changed_fields},
    item_tools::item_tools,
    link_picture::link_picture,
    markdown::MarkdownText,
    parts::{
        date, day, display_title, entry, is_web_address, origin_mark, path_with, source_label,
        tag_link, tags,
    },
    plain_text::plain_text,
    transcript::transcript,
};

/// Length of the snippet of a match, in characters.
const PASSAGE_CHARS: usize = 240;
/// Maximum length of the rest of a paragraph that is marked with a snippet, in bytes.
const MAX_PARAGRAPH_BYTES: usize = 1_000;

/// What the page of an item shows.
#[derive(Debug)]
pub(crate) struct ItemPage {
    /// The item, with the text to show.
    pub(crate) item: Item,
    /// Place of the match, in characters of the whole text.
    pub(crate) place: Option<usize>,
    /// Message of a conversation to mark.
    pub(crate) part: String,
    /// Query that found the item.
    pub(crate) query: String,
    /// Links of the item, if it can have any.
    pub(crate) links: Option<LinksResponse>,
    /// Changes of the item, if they are kept.
    pub(crate) history: Option<ItemHistory>,
    /// Lines of the transcript of a recording.
    pub(crate) cues: Vec<Cue>,
    /// Notes that the text shows in places.
    pub(crate) embeds: Vec<NoteEmbed>,
    /// Hidden fields of forms, if the user may change the item.
    pub(crate) forms: Option<FormContext>,
    /// File of the item, for a person on its machine.
    pub(crate) file: Option<ItemFile>,
    /// Name of the user who is logged in.
    pub(crate) user: String,
}

/// Returns the page of an item.
pub(crate) fn item_page(shown: &ItemPage) -> Page {
    let meta = &shown.item.meta;
    let results = path_with("/search", [("q", shown.query.as_str())]);
    let content = html! {
        @if !shown.query.is_empty() {
            p.back { a href=(results) { "← Results for “" (shown.query) "”" } }
        }
        article.item {
            h1 dir="auto" { (display_title(meta)) }
            (about(meta))
            (item_tools(shown))
            div.text dir="auto" lang=[shown.item.language] { (text(shown)) }
            (continuation(shown))
            (transcript(&shown.cues, meta.url.as_deref()))
        }
        (links(shown))
        // The script replaces this link by the list.
        p #similar { a href=(similar_path(&meta.uri)) data-replace="similar" { "Similar items" } }
        @if let Some(history) = &shown.history { (versions(history, &shown.user)) }
    };
    Page::new(display_title(meta), content)
}

/// Returns the page of the items that are similar to one.
pub(crate) fn similar_page(uri: &Uri, hits: &[Hit]) -> Page {
    let content = html! {
        p.back { a href=(item_path(uri, None)) { "← The item" } }
        section #similar aria-labelledby="related" {
            @if hits.is_empty() {
                p.muted { "There are no similar items." }
            } @else {
                h2 #related { "Similar" }
                @for hit in hits { (entry(hit, "")) }
            }
        }
    };
    Page::new("Similar items", content)
}

fn similar_path(uri: &Uri) -> String {
    path_with(&item_path(uri, None), [("similar", "1")])
}

fn about(meta: &Hit) -> Markup {
    html! {
        p.about {
            span.source { (source_label(meta.source)) }
            @if let Some(date) = date(meta) { (day(date)) }
            @if let Some(folder) = meta.folder.as_deref().filter(|it| !it.is_empty()) {
                span { "in " (folder) }
            }
            @if let Some(kind) = &meta.media_type { span { (kind) } }
            @if let Some(origin) = origin_mark(meta) {
                span.origin dir="auto" { (origin) }
            } @else if meta.origin == ContentOrigin::ImportedFile {
                span { "from a file" }
            }
            @if let Some(url) = meta.url.as_deref().filter(|url| is_web_address(url)) {
                a href=(url) rel="noreferrer" { "Original" }
            }
            @for tag in tags(meta) { (tag_link(tag)) }
        }
        @for newer in &meta.superseded_by {
            p.notice.warning {
                "Replaced by " a href=(item_path(&newer.uri, None)) { (newer.title) } "."
            }
        }
        @for older in &meta.supersedes {
            p.muted { "Replaces " a href=(item_path(&older.uri, None)) { (older.title) } "." }
        }
    }
}

fn text(shown: &ItemPage) -> Markup {
    let resolve = |name: &str| resolve_link(shown.links.as_ref()?, name);
    let above = if shown.item.content.is_string() { HeadingLevel::H1 } else { HeadingLevel::H2 };
    let plain = |text: &str| MarkdownText::part(text, above, &resolve).render();
    match &shown.item.content {
        Value::String(text) => {
            let start = shown.item.range.map_or(0, |range| range.start);
            let passage = shown.place.map(|place| passage_at(text, place.saturating_sub(start)));
            let embeds = &shown.embeds;
            let (title, has_anchors) = (display_title(&shown.item.meta), true);
            let resolve = &resolve;
            MarkdownText { text, title: &title, passage, above, resolve, embeds, has_anchors }
                .render()
        }
        Value::Object(fields) => {
            let messages = fields.get("messages").and_then(Value::as_array);
            messages.map_or_else(
                || field_sections(fields, &plain),
                |messages| {
                    let mut senders = Vec::new();
                    html! {
                        @for message in messages {
                            @let sender = sender_number(message, &mut senders);
                            (message_section(message, sender, &shown.part, &plain))
                        }
                    }
                },
            )
        }
        _ => html! {},
    }
}

/// Returns the texts among the fields of a character or prompt, each with its name.
fn field_sections(fields: &Map<String, Value>, render: &dyn Fn(&str) -> Markup) -> Markup {
    html! {
        @for (name, value) in fields {
            @if let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) {
                @if name != "name" {
                    h2 { (name.replace('_', " ")) }
                    (render(text))
                }
            }
        }
    }
}

/// Names that exports give the person whose conversation it is.
const OWN_NAMES: [&str; 5] = ["user", "you", "me", "human", "self"];
/// Number of colours of senders.
const SENDER_COLOURS: usize = 8;

/// Returns the number of the sender of a message: 0 for the user, the others in their order.
fn sender_number(message: &Value, senders: &mut Vec<String>) -> usize {
    let name = message["sender"].as_str().unwrap_or_default().to_lowercase();
    if OWN_NAMES.contains(&name.as_str()) {
        return 0;
    }
    let known = senders.iter().position(|it| *it == name);
    let index = known.unwrap_or_else(|| {
        senders.push(name);
        senders.len() - 1
    });
    index % SENDER_COLOURS + 1
}

fn message_section(
    message: &Value,
    sender: usize,
    marked: &str,
    render: &dyn Fn(&str) -> Markup,
) -> Markup {
    let text = |name: &str| message[name].as_str().unwrap_or_default();
    let is_marked = !marked.is_empty() && text("message_id") == marked;
    let class = if sender == 0 { "message own".to_owned() } else { format!("message c{sender}") };
    html! {
        section.(class).marked[is_marked] id=[is_marked.then_some("passage")] {
            h2 dir="auto" {
                (text("sender")) " "
                @if let Some(time) = message["timestamp"].as_str() {
                    small { time datetime=(time) {
                        (time.get(..16).unwrap_or(time).replace('T', " "))
                    } }
                }
            }
            (render(text("content")))
        }
    }
}

/// Returns a link to the rest of a long item.
fn continuation(shown: &ItemPage) -> Markup {
    let Some(range) = shown.item.range else { return html! {} };
    let path = item_path(&shown.item.meta.uri, None);
    let (what, from) = match shown.item.content {
        Value::String(_) => ("characters", range.start),
        _ => ("messages", range.start),
    };
    html! {
        @if from > 0 || range.next_offset.is_some() {
            p.muted {
                "Shown: " (what) " " (from + 1) " to " (range.end) " of " (range.total) ". "
                @if from > 0 { a href=(path) { "From the beginning" } " " }
                @if let Some(next) = range.next_offset {
                    a rel="next" href=(path_with(&path, [("from", next.to_string().as_str())])) {
                        "Continue"
                    }
                }
            }
        }
    }
}

fn links(shown: &ItemPage) -> Markup {
    let Some(links) = &shown.links else { return html! {} };
    let out = links.out.as_deref().unwrap_or_default();
    let incoming = links.incoming.as_deref().unwrap_or_default();
    let unresolved = links.unresolved.as_deref().unwrap_or_default();
    html! {
        @if !(out.is_empty() && incoming.is_empty() && links.shared.is_empty()) {
            section.links aria-labelledby="links" {
                h2 #links { "Links" }
                (link_picture(&display_title(&shown.item.meta), incoming, out))
                (link_list("Linked from", incoming))
                (link_list("Links to", out))
                (link_list("Same address in", &links.shared))
            }
        }
        @if !unresolved.is_empty() {
            p.muted {
                "Not found: "
                @for (index, link) in unresolved.iter().take(20).enumerate() {
                    @if index > 0 { ", " }
                    (link.text)
                }
            }
        }
    }
}

fn link_list(title: &str, items: &[LinkedItem]) -> Markup {
    html! {
        @if !items.is_empty() {
            h3 { (title) }
            ul {
                @for item in items {
                    li dir="auto" {
                        a href=(item_path(&item.uri, None)) { (item.title) }
                        @if !item.context.trim().is_empty() {
                            " " span.muted { (plain_text(&item.context)) }
                        }
                    }
                }
            }
        }
    }
}

fn versions(history: &ItemHistory, user: &str) -> Markup {
    html! {
        @if !history.changes.is_empty() {
            details {
                summary { "Versions (" (history.total) ")" }
                ol.versions {
                    @for change in &history.changes {
                        li {
                            (change_line(change, user))
                            (changed_fields(change.fields.as_deref().unwrap_or_default()))
                        }
                    }
                }
            }
        }
    }
}

/// Returns the path of the item that a link in a text names.
fn resolve_link(links: &LinksResponse, name: &str) -> Option<String> {
    let name = name.split(['#', '|']).next()?.trim();
    let out = links.out.as_deref().unwrap_or_default();
    let stem = name.rsplit('/').next()?.trim_end_matches(".md").replace("%20", " ");
    // The text around a link names the item as this text does, if its title is another.
    let is_named = |item: &&LinkedItem| item.title.eq_ignore_ascii_case(&stem);
    let is_linked = |item: &&LinkedItem| {
        item.context.contains(&format!("[[{name}")) || item.context.contains(&format!("]({name}"))
    };
    let found = out.iter().find(is_named).or_else(|| out.iter().find(is_linked));
    let uri: &Uri = &found?.uri;
    (!stem.is_empty()).then(|| item_path(uri, None))
}

/// Returns the passage around a character of a text, in bytes: the paragraphs of the snippet that
/// begins there.
fn passage_at(text: &str, place: usize) -> Range<usize> {
    let byte = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(byte, _)| byte);
    let (first, last) = (byte(place), byte(place.saturating_add(PASSAGE_CHARS)));
    let (before, after) =
        (text.get(..first).unwrap_or_default(), text.get(last..).unwrap_or_default());
    let start = before.rfind("\n\n").map_or(0, |blank| blank + 2);
    let end = after.find("\n\n").map_or(text.len(), |blank| last + blank);
    // A text without paragraphs is not marked as a whole.
    let start = if first - start > MAX_PARAGRAPH_BYTES { first } else { start };
    start..if end - last > MAX_PARAGRAPH_BYTES { last } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passage_has_whole_paragraphs() {
        let far = "x".repeat(400);
        let text = format!("a ä\n\nb {far}\n\nc");
        let passage = passage_at(&text, 6);
        assert_eq!(text.get(passage).unwrap(), format!("b {far}"));
        assert_eq!(passage_at("äöü", 99), 0..6);
        let endless = "word ".repeat(2_000);
        let passage = passage_at(&endless, 5_000);
        assert_eq!((passage.start, passage.len()), (5_000, PASSAGE_CHARS));
    }
}
