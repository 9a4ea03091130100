//! Answers as a model reads them: compact lines that can be cited, with all
//! that is needed to go on. The full objects are in the structured content.

use std::fmt::{Display, Write};

use serde_json::{Map, Value, json};
use vademecum_kit::{
    model::{Hit, Item, Loc},
    retrieve::{Finder, FtsQuery, snippet},
};

use super::output::SearchResponse;

/// What one hit may take on average, in bytes: ten fit into 4 KB, with room
/// for what is said about them.
const PER_HIT: usize = 380;
/// Longest title of a hit, in bytes.
const TITLE: usize = 120;
/// Shortest snippet that still says something, in bytes.
const SNIPPET: usize = 60;
/// What the marks of two cuts take beyond a character each, in bytes.
const CUTS: usize = 4;

/// A page of hits: for each its title, where it is, when it last changed, and
/// a snippet; then what is to be known about the page. `pause` is called now and then.
pub(crate) fn page(query: &str, page: &SearchResponse<Vec<Hit>>, pause: fn()) -> String {
    let query = FtsQuery::parse(page.searched_for().unwrap_or(query));
    let mut finder = Finder::new(&query, 0);
    let mut text = String::new();
    for (number, hit) in (1..).zip(&page.results) {
        pause();
        push(&mut text, format_args!("{}\n", head(hit)));
        // What one hit leaves over is for those after it.
        let left = (number * PER_HIT).saturating_sub(text.len() + 3).max(SNIPPET);
        let sender = hit.sender.as_ref().map(|sender| format!("{sender}: ")).unwrap_or_default();
        let found = hit.snippet.as_deref().unwrap_or_default();
        let shown = around(&mut finder, found, left.saturating_sub(sender.len()));
        push(&mut text, format_args!("  {sender}{shown}\n"));
    }
    about(&mut text, page);
    text
}

/// An item: what it is, what it says, and how to read on.
pub(crate) fn item(item: &Item) -> String {
    let hit = &item.meta;
    let mut text = format!("{}\n{}", title(hit), hit.uri);
    push(&mut text, format_args!("{}", place(hit)));
    let tags = hit.tags.as_ref().filter(|tags| !tags.is_empty()).map(|tags| tags.join(", "));
    let version = hit.version.map(|version| format!("version {version}"));
    let parts = [hit.media_type.clone(), date(hit), version, hit.url.clone(), tags];
    for part in parts.into_iter().flatten() {
        push(&mut text, format_args!(" — {part}"));
    }
    push(&mut text, format_args!("\n\n{}\n", plain(&item.content)));
    for attachment in item.attachments.iter().flatten() {
        push(&mut text, format_args!("\n[attachment]\n{}\n", lines(attachment)));
    }
    if let Some(range) = item.range.filter(|range| range.start > 0 || range.end < range.total) {
        push(&mut text, format_args!("\n[{} to {} of {}", range.start, range.end, range.total));
        if let Some(next) = range.next_offset {
            let next = json!({ "mode": "full", "offset": next });
            push(&mut text, format_args!("; read on with retrieval {next}"));
        }
        text.push_str("]\n");
    }
    text
}

/// An item's content as plain text.
pub(crate) fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let messages = fields.get("messages").and_then(Value::as_array);
            messages.map_or_else(|| lines(fields), |messages| conversation(messages))
        }
        other => other.to_string(),
    }
}

fn head(hit: &Hit) -> String {
    let title = title(hit);
    let mut head = format!("- {} — {}{}", cut(&title, TITLE), hit.uri, place(hit));
    if let Some(date) = date(hit) {
        push(&mut head, format_args!(" — {date}"));
    }
    if let Some(words) = &hit.matched {
        push(&mut head, format_args!(" — matched: {}", words.join(", ")));
    }
    head
}

fn title(hit: &Hit) -> String {
    let words: Vec<&str> = hit.title.iter().flat_map(|title| title.split_whitespace()).collect();
    if words.is_empty() { "(no title)".to_owned() } else { words.join(" ") }
}

/// What leads to the place of the match, as it is passed back; nothing where
/// the URI points there already.
fn place(hit: &Hit) -> String {
    let Some(loc) = hit.loc.as_ref().filter(|_| hit.uri.part.is_none()) else {
        return String::new();
    };
    let short = match loc {
        Loc { message_index: Some(index), .. } => json!({ "message_index": index }),
        Loc { field: Some(field), approx_offset, .. } => {
            json!({ "field": field, "approx_offset": approx_offset.unwrap_or_default() })
        }
        Loc { approx_offset: Some(offset), .. } => json!({ "approx_offset": offset }),
        Loc { chunk_index: Some(index), .. } => json!({ "chunk_index": index }),
        _ => return String::new(),
    };
    format!(" loc {short}")
}

/// The day of the last change, or else of the beginning.
fn date(hit: &Hit) -> Option<String> {
    let moment = hit.last_modified.or(hit.created_at)?;
    Some(moment.to_string().chars().take(10).collect())
}

/// Says how many there are, how to go on, and what went differently.
fn about(text: &mut String, page: &SearchResponse<Vec<Hit>>) {
    let total = page.total_estimated;
    match (page.results.len(), page.next_offset) {
        (0, _) if total == 0 => text.push_str("Nothing was found."),
        (shown, Some(next)) => {
            push(text, format_args!("{shown} of {total} matches; for more pass offset {next}."));
        }
        (shown, None) => push(text, format_args!("{shown} of {total} matches; there are no more.")),
    }
    for remark in page.remarks() {
        push(text, format_args!(" {remark}"));
    }
    text.push('\n');
}

/// The part of a text where most of the query stands together, in so many bytes.
fn around(finder: &mut Finder<'_>, text: &str, bytes: usize) -> String {
    fit(text, bytes, |length| {
        finder.show_in(length);
        finder.excerpt(text, finder.look(text).densest).snippet
    })
}

/// The beginning of a text, in so many bytes.
fn cut(text: &str, bytes: usize) -> String {
    fit(text, bytes, |length| snippet(text, None, length))
}

/// A text that is too long as `shorten` makes it of fewer and fewer characters.
fn fit(text: &str, bytes: usize, mut shorten: impl FnMut(usize) -> String) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut length = text.chars().count() * bytes.saturating_sub(CUTS) / text.len();
    loop {
        let shorter = shorten(length);
        if shorter.len() <= bytes || length == 0 {
            return shorter;
        }
        length = length * 9 / 10;
    }
}

fn conversation(messages: &[Value]) -> String {
    let text = |message: &Value, field: &str| {
        message.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let said = |message: &Value| {
        let mut said = format!("{}: {}", text(message, "sender"), text(message, "content"));
        if let Some(next) = message.get("next_offset") {
            let loc = json!({ "message_id": message.get("message_id") });
            let rest = json!({ "mode": "chunk", "loc": loc, "offset": next });
            push(&mut said, format_args!("\n[read on with retrieval {rest}]"));
        }
        said
    };
    messages.iter().map(said).collect::<Vec<_>>().join("\n\n")
}

fn lines(fields: &Map<String, Value>) -> String {
    let lines: Vec<String> = fields.iter().filter_map(|(name, value)| line(name, value)).collect();
    lines.join("\n\n")
}

fn line(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(format!("{name}: {text}")),
        Value::Array(list) if !list.is_empty() => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| format!("{name}: {}", texts.join(", ")))
        }
        _ => None,
    }
}

pub(super) fn push(text: &mut String, piece: impl Display) {
    let written = write!(text, "{piece}");
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}
