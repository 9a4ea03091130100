//! Parts that several pages share.

use std::fmt::Display;

use maud::{Markup, html};
use url::form_urlencoded;
use vademecum_model::{ContentOrigin, Highlight, Hit, SourceName, Timestamp};
use vademecum_services::permalink::item_path;

use super::plain_text::plain_snippet;

/// Returns the name of a source for people.
pub(super) fn source_label(source: SourceName) -> &'static str {
    match source {
        SourceName::Notes => "Notes",
        SourceName::Media => "Media",
        SourceName::Chats => "Chats",
        SourceName::Characters => "Characters",
        SourceName::Prompts => "Prompts",
        SourceName::Collections => "Collections",
    }
}

/// Returns a path with these parameters, without those that are empty.
pub(crate) fn path_with<'a>(
    path: &str,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters.into_iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// Returns the day of a time, in UTC.
pub(super) fn day(time: Timestamp) -> Markup {
    let text = time.to_string();
    html! { time datetime=(text) { (text.get(..10).unwrap_or(&text)) } }
}

/// Returns the day and the minute of a time, in UTC.
pub(super) fn minute(time: Timestamp) -> Markup {
    let text = time.to_string();
    let shown = text.get(..16).unwrap_or(&text).replace('T', " ");
    html! { time datetime=(text) { (shown) " UTC" } }
}

/// Returns a number with separated thousands.
pub(super) fn count(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Returns the title, or the URI of an item without one.
pub(super) fn display_title(hit: &Hit) -> String {
    let title = hit.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    title.map_or_else(|| hit.uri.to_string(), str::to_owned)
}

/// Returns the tags; none if the hit was loaded without them.
pub(super) fn tags(hit: &Hit) -> &[String] {
    hit.tags.as_deref().unwrap_or_default()
}

/// Returns the time of the last change, or that of the creation.
pub(super) fn date(hit: &Hit) -> Option<Timestamp> {
    hit.last_modified.or(hit.created_at)
}

/// Returns an entry of a list of items: title, snippet, source, date and tags.
pub(super) fn entry(hit: &Hit, query: &str) -> Markup {
    let place = item_path(&hit.uri, hit.loc.as_ref());
    let separator = if place.contains('?') { '&' } else { '?' };
    let query = path_with("", [("q", query)]).replace('?', "");
    let href = if query.is_empty() { place } else { format!("{place}{separator}{query}") };
    html! {
        article.entry {
            h3 { a href=(href) dir="auto" { (display_title(hit)) } }
            @if let Some(snippet) = hit.snippet.as_deref().filter(|text| !text.trim().is_empty()) {
                @let plain = plain_snippet(snippet, hit.highlights.as_deref().unwrap_or_default());
                @let (text, marks) = without_title(plain, &display_title(hit));
                p.snippet dir="auto" { (marked(&text, &marks)) }
            }
            p.about {
                span.source { (source_label(hit.source)) }
                @if let Some(date) = date(hit) { (day(date)) }
                @if let Some(sender) = &hit.sender { span { "by " (sender) } }
                @if let Some(start) = hit.start_ms { span { "at " (clock(start)) } }
                @if let Some(folder) = hit.folder.as_deref().filter(|it| !it.is_empty()) {
                    span { "in " (folder) }
                }
                @if let Some(kind) = &hit.media_type { span { (kind) } }
                @if let Some(origin) = origin_mark(hit) { span.origin dir="auto" { (origin) } }
                @for tag in tags(hit).iter().take(6) { (tag_link(tag)) }
            }
            @if let Some(newer) = hit.superseded_by.first() {
                p.about { "Replaced by " a href=(item_path(&newer.uri, None)) { (newer.title) } }
            }
        }
    }
}

/// Returns a snippet without the title of its item at its beginning, and its matches.
fn without_title((text, marks): (String, Vec<Highlight>), title: &str) -> (String, Vec<Highlight>) {
    let Some(rest) = text.strip_prefix(title).and_then(|rest| rest.strip_prefix(' ')) else {
        return (text, marks);
    };
    let removed = title.chars().count() + 1;
    let moved = marks.iter().filter(|mark| mark.start >= removed);
    let moved =
        moved.map(|mark| Highlight { start: mark.start - removed, end: mark.end - removed });
    (rest.to_owned(), moved.collect())
}

/// Returns who wrote an item and where its text comes from, if strangers or agents had a part in it: `from
/// mail`, or `written by agent claude, from mail` for an agent that had been shown mail.
pub(super) fn origin_mark(hit: &Hit) -> Option<String> {
    let mut parts = Vec::new();
    if !hit.agents.is_empty() {
        parts.push(format!("written by agent {}", hit.agents.join(", ")));
    } else if hit.origin == ContentOrigin::Agent {
        parts.push("written by an agent".to_owned());
    }
    let origins = hit.origins();
    let is_told = |origin: &ContentOrigin| match origin {
        // The name of the source tells it.
        ContentOrigin::SharedCollection if hit.source == SourceName::Collections => false,
        origin => origin.is_foreign(),
    };
    let from: Vec<&str> = origins.iter().filter(is_told).map(origin_name).collect();
    if !from.is_empty() {
        parts.push(format!("from {}", from.join(" and ")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn origin_name(origin: ContentOrigin) -> &'static str {
    match origin {
        ContentOrigin::Own => "you",
        ContentOrigin::ImportedFile => "a file",
        ContentOrigin::Agent => "an agent",
        ContentOrigin::Unknown => "an unknown origin",
        ContentOrigin::Database => "a database",
        ContentOrigin::SharedCollection => "a collection",
        ContentOrigin::Feed => "a feed",
        ContentOrigin::WebPage => "a web page",
        ContentOrigin::Mail => "mail",
    }
}

/// Returns true for addresses that begin with `https://` or `http://`, in any case.
pub(super) fn is_web_address(address: &str) -> bool {
    let starts = |prefix: &str| {
        address.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    starts("https://") || starts("http://")
}

/// Returns a link to the items with a tag.
pub(super) fn tag_link(tag: &str) -> Markup {
    html! { a.tag href=(path_with("/timeline", [("tag", tag)])) { "#" (tag) } }
}

/// Returns a text with its matches marked. Ranges that overlap or lie outside are left out.
fn marked(text: &str, highlights: &[Highlight]) -> Markup {
    let letters: Vec<char> = text.chars().collect();
    let part = |start: usize, end: usize| -> String {
        letters.get(start..end).map(|part| part.iter().collect()).unwrap_or_default()
    };
    let mut at = 0;
    let mut pieces = Vec::new();
    for highlight in highlights {
        let Highlight { start, end } = *highlight;
        if start >= at && start < end && end <= letters.len() {
            pieces.push((part(at, start), part(start, end)));
            at = end;
        }
    }
    html! {
        @for (before, matched) in &pieces { (before) mark { (matched) } }
        (part(at, letters.len()))
    }
}

/// Returns a time in a recording.
pub(super) fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Returns the links to the previous and the next page of a list.
pub(super) fn pager(
    path: impl Fn(usize) -> String,
    offset: usize,
    size: usize,
    next: Option<usize>,
) -> Markup {
    html! {
        @if offset > 0 || next.is_some() {
            nav.pager aria-label="Further results" {
                @if offset > 0 {
                    a rel="prev" href=(path(offset.saturating_sub(size))) { "← Previous" }
                }
                @if let Some(next) = next { a rel="next" href=(path(next)) { "Next →" } }
            }
        }
    }
}

/// Returns the content of a page with a problem.
pub(crate) fn problem_content(text: &str) -> Markup {
    html! {
        h1 { "This cannot be shown" }
        p.notice.error role="alert" dir="auto" { (text) }
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{ItemId, Uri};

    use super::*;

    #[test]
    fn matches_are_marked_and_text_is_escaped() {
        let ranges = [(2, 5), (4, 6), (7, 99)].map(|(start, end)| Highlight { start, end });
        let shown = marked("a <b> ö", &ranges).into_string();
        assert_eq!(shown, "a <mark>&lt;b&gt;</mark> ö");
    }

    #[test]
    fn origin_names_agents_and_strangers() {
        use ContentOrigin::{Agent, Feed, ImportedFile, Mail, Own, WebPage};
        let hit = |origin, agents: &[&str], derived_origins: &[ContentOrigin]| Hit {
            origin,
            agents: agents.iter().map(ToString::to_string).collect(),
            derived_origins: derived_origins.to_vec(),
            ..Hit::new(Uri::item(SourceName::Notes, "1"), ItemId::from("1"))
        };
        let mark = |origin, agents: &[&str], derived: &[ContentOrigin]| {
            origin_mark(&hit(origin, agents, derived))
        };
        assert_eq!(mark(Own, &[], &[]), None);
        assert_eq!(mark(ImportedFile, &[], &[]), None);
        assert_eq!(mark(Mail, &[], &[]).unwrap(), "from mail");
        assert_eq!(mark(Agent, &["a", "b"], &[Own]).unwrap(), "written by agent a, b");
        let both = mark(WebPage, &["a"], &[Mail, Feed]).unwrap();
        assert_eq!(both, "written by agent a, from mail and a web page and a feed");
        let document = Hit::new(Uri::item(SourceName::Collections, "1"), ItemId::from("1"));
        assert_eq!(origin_mark(&document), None);
    }

    #[test]
    fn title_is_not_repeated() {
        let marks = |start, end| vec![Highlight { start, end }];
        let cut = without_title(("Öl The oil".to_owned(), marks(7, 10)), "Öl");
        assert_eq!(cut, ("The oil".to_owned(), marks(4, 7)));
        let whole = without_title(("Oils The oil".to_owned(), marks(0, 4)), "Oil");
        assert_eq!(whole, ("Oils The oil".to_owned(), marks(0, 4)));
    }

    #[test]
    fn numbers_and_times_are_grouped() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!([0, 61_000, 3_661_000].map(clock), ["0:00", "1:01", "1:01:01"]);
    }

    #[test]
    fn empty_parameters_are_left_out() {
        assert_eq!(path_with("/search", [("q", "a b"), ("tag", "")]), "/search?q=a+b");
        assert_eq!(path_with("/search", [("q", "")]), "/search");
    }
}
