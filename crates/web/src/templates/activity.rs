//! What clients did: the user's entries of the audit log.

use std::collections::HashMap;

use maud::{Markup, html};
use vademecum_accounts::audit::AuditRow;
use vademecum_model::Uri;
use vademecum_services::{permalink::item_path, text::format_bytes};

use super::{
    Page,
    parts::{minute, pager, path_with},
};

/// Number of entries on a page.
pub(crate) const ENTRIES_PER_PAGE: usize = 50;
/// Maximum number of items that are listed with an entry.
const MAX_ITEMS: usize = 8;

/// Entries of the audit log, newest first.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Entries of this page.
    pub(crate) rows: Vec<AuditRow>,
    /// Titles of the items.
    pub(crate) titles: HashMap<Uri, String>,
    /// Number of entries that are newer than these.
    pub(crate) offset: usize,
    /// Where the next page begins.
    pub(crate) next_offset: Option<usize>,
    /// Tool to which the entries are limited.
    pub(crate) tool: String,
    /// Whether calls of these pages are shown, too.
    pub(crate) with_pages: bool,
}

/// Returns the page of activity. Without `activity`, the audit log is off.
pub(crate) fn activity_page(activity: Option<&Activity>) -> Page {
    let content = html! {
        h1 { "Activity" }
        @match activity {
            None => p { "The audit log is off: set " code { "audit.enabled" } " to see calls here." },
            Some(activity) => (entries(activity)),
        }
    };
    Page::new("Activity", content)
}

fn entries(activity: &Activity) -> Markup {
    let pages = if activity.with_pages { "1" } else { "" };
    let path = |offset: usize| {
        let offset = if offset == 0 { String::new() } else { offset.to_string() };
        path_with(
            "/activity",
            [("tool", activity.tool.as_str()), ("pages", pages), ("offset", &offset)],
        )
    };
    html! {
        p.muted {
            "Each call of a client: what it did and which items it was shown. "
            @if activity.with_pages {
                a href="/activity" { "Leave out these pages" }
            } @else {
                a href="/activity?pages=1" { "Show calls of these pages, too" }
            }
        }
        @if activity.rows.is_empty() {
            p { "No calls yet. " a href="/connect" { "Connect a client" } "." }
        } @else {
            ol.activity { @for row in &activity.rows { li { (call(row, &activity.titles)) } } }
        }
        (pager(path, activity.offset, ENTRIES_PER_PAGE, activity.next_offset))
    }
}

fn call(row: &AuditRow, titles: &HashMap<Uri, String>) -> Markup {
    let name = row.tool.as_deref().unwrap_or(&row.method);
    let client = row.client.as_deref().filter(|client| !client.is_empty());
    let transport = match row.transport.as_deref() {
        Some("page") => "these pages",
        Some(transport) => transport,
        None => "unknown",
    };
    let bytes = u64::try_from(row.bytes).unwrap_or_default();
    html! {
        p {
            (minute(row.at)) " "
            strong dir="auto" { (client.unwrap_or(transport)) }
            " " code { (name) }
            @if row.count > 1 { " " (row.count) " times" }
            @if row.outcome != "ok" {
                " " span.outcome { (row.outcome)
                    @if let Some(reason) = &row.reason { ", " (reason) }
                }
            }
        }
        p.about {
            span { (format_bytes(bytes)) }
            span { (format!("{:.1} ms", row.ms)) }
            @if let Some(address) = &row.address { span { "from " (address) } }
            @if let Some(key) = &row.key { span { "key " (key) } }
        }
        @if let Some(arguments) = &row.arguments { p.about dir="auto" { code { (arguments) } } }
        @if !row.items.is_empty() { (items(row, titles)) }
    }
}

fn items(row: &AuditRow, titles: &HashMap<Uri, String>) -> Markup {
    let shown = row.items.len().min(MAX_ITEMS);
    let all = usize::try_from(row.item_count).unwrap_or(shown).max(row.items.len());
    html! {
        p.about {
            @for item in row.items.iter().take(MAX_ITEMS) {
                @match item.parse::<Uri>() {
                    Ok(uri) => a href=(item_path(&uri, None)) dir="auto" { (title_of(&uri, titles)) },
                    Err(_) => span { (item) },
                }
            }
            @if all > shown { span { "and " (all - shown) " more" } }
        }
    }
}

/// Returns the title of an item; that of the whole item for a part of it.
fn title_of(uri: &Uri, titles: &HashMap<Uri, String>) -> String {
    let whole = Uri { part: None, ..uri.clone() };
    let title = titles.get(&whole).filter(|title| !title.trim().is_empty());
    title.cloned().unwrap_or_else(|| uri.to_string())
}

impl Activity {
    /// Returns the items whose titles the page shows.
    pub(crate) fn items(&self) -> Vec<Uri> {
        let shown = self.rows.iter().flat_map(|row| row.items.iter().take(MAX_ITEMS));
        let mut items: Vec<Uri> = shown
            .filter_map(|item| item.parse().ok())
            .map(|uri: Uri| Uri { part: None, ..uri })
            .collect();
        items.sort();
        items.dedup();
        items
    }
}
