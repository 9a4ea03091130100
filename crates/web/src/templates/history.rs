//! The page of the versions of an item.

use maud::{Markup, html};
use vademecum_model::{ChangeAction, ChangeAuthor, SourceName, Uri};
use vademecum_services::permalink::{ITEM_PREFIX, item_path};
use vademecum_vault::journal::{FieldChange, ItemChange, ItemHistory};

use super::{
    FormContext, Page, RESTORE_ITEM_PATH,
    parts::{minute, pager, path_with},
};

/// Beginning of the path of the versions of an item.
pub(crate) const HISTORY_PREFIX: &str = "/history/";
/// Number of versions on a page.
pub(crate) const VERSIONS_PER_PAGE: usize = 50;

/// The versions of an item.
#[derive(Debug)]
pub(crate) struct HistoryPage {
    pub(crate) uri: Uri,
    /// Name of the user who is logged in.
    pub(crate) user: String,
    pub(crate) may_write: bool,
    /// Version that is compared with the present one, and the lines in which they differ; `None` for texts
    /// that are too long.
    pub(crate) compared: Option<(i64, Option<Markup>)>,
    pub(crate) offset: usize,
    pub(crate) history: ItemHistory,
}

impl HistoryPage {
    /// Returns the version that a deleted item had before. Only the first page has its last changes.
    fn version_before_deletion(&self) -> Option<i64> {
        if self.offset > 0 {
            return None;
        }
        let mut changes = self.history.changes.iter().filter(|_| self.history.deleted);
        changes.next()?;
        let before = changes.find(|change| !is_deletion(change)).map(|change| change.version);
        before.or(self.history.oldest_version)
    }

    /// Returns true if a version can be read.
    fn is_kept(&self, version: i64) -> bool {
        self.history.oldest_version.is_some_and(|oldest| version >= oldest)
    }
}

/// Returns the path of the versions of an item.
pub(crate) fn history_path(uri: &Uri) -> String {
    item_path(uri, None).replacen(ITEM_PREFIX, HISTORY_PREFIX, 1)
}

/// Returns the page of the versions of an item.
pub(crate) fn history_page(context: &FormContext, page: &HistoryPage) -> Page {
    let path = history_path(&page.uri);
    let title = deleted_title(page);
    let content = html! {
        @if page.history.deleted {
            h1 dir="auto" { "In the trash" @if let Some(title) = &title { ": " (title) } }
            (trash_notice(context, page))
        } @else {
            p.back { a href=(item_path(&page.uri, None)) { "← The item" } }
            h1 { "Versions" }
        }
        @if let Some((compared, difference)) = &page.compared {
            section aria-labelledby="difference" {
                h2 #difference { "From version " (compared) " to the present one" }
                @match difference {
                    Some(lines) => (lines),
                    None => p.muted { "The texts are too long to compare here." },
                }
            }
            h2 { "All versions" }
        }
        ol.versions {
            @for change in &page.history.changes { li { (version(context, page, change)) } }
        }
        @if page.history.changes.is_empty() { p.muted { "No change was recorded." } }
        (pager(
            |offset| path_with(&path, [("offset", offset.to_string().as_str())]),
            page.offset,
            VERSIONS_PER_PAGE,
            page.history.next_offset,
        ))
    };
    Page::new(if page.history.deleted { "In the trash" } else { "Versions" }, content)
}

fn deleted_title(page: &HistoryPage) -> Option<String> {
    let last = page.history.changes.first().filter(|_| page.offset == 0);
    let fields = last?.fields.as_ref()?;
    let title = fields.iter().find(|field| field.field == "title")?;
    title.removed.clone().filter(|_| page.history.deleted)
}

fn trash_notice(context: &FormContext, page: &HistoryPage) -> Markup {
    html! {
        div.notice role="status" {
            p {
                "This item is in the trash: no search and no agent finds it. "
                "Its versions are kept as long as the journal keeps them."
            }
            @if page.may_write && let Some(version) = page.version_before_deletion() {
                (restore_form(context, page, version, "Undo"))
            } @else if page.offset > 0 {
                p { a href=(history_path(&page.uri)) { "Its last versions" } }
            }
        }
    }
}

fn restore_form(context: &FormContext, page: &HistoryPage, version: i64, label: &str) -> Markup {
    html! {
        form method="post" action=(RESTORE_ITEM_PATH) {
            (context.hidden_fields())
            input type="hidden" name="item" value=(page.uri);
            input type="hidden" name="version" value=(version);
            input type="hidden" name="present" value=(page.history.version);
            button.quiet type="submit" aria-label={ (label) " (version " (version) ")" } { (label) }
        }
    }
}

fn is_deletion(change: &ItemChange) -> bool {
    matches!(change.action, ChangeAction::Deleted | ChangeAction::Removed)
}

fn version(context: &FormContext, page: &HistoryPage, change: &ItemChange) -> Markup {
    let number = change.version;
    let is_present = number == page.history.version;
    let is_earlier = !is_present && !is_deletion(change) && page.is_kept(number);
    let compare = path_with(&history_path(&page.uri), [("compare", number.to_string().as_str())]);
    html! {
        (change_line(change, &page.user))
        (changed_fields(change.fields.as_deref().unwrap_or_default()))
        @if is_earlier && page.uri.source != SourceName::Chats {
            div.tools {
                a href=(compare) { "Compare version " (number) " with now" }
                @if page.may_write { (restore_form(context, page, number, "Restore")) }
            }
        }
    }
}

/// Returns a line that says who changed an item when.
pub(super) fn change_line(change: &ItemChange, user: &str) -> Markup {
    let is_page = change.tool.as_deref() == Some(ChangeAuthor::PAGE_TOOL);
    let is_own = is_page && change.user.as_deref() == Some(user);
    html! {
        p {
            strong { "Version " (change.version) } ", " (change.action.as_str()) " "
            (minute(change.changed_at))
            @if is_own {
                " by you"
            } @else {
                @if let Some(client) = &change.client { " by " (client) }
                @if let Some(tool) = &change.tool { " (" (tool) ")" }
            }
        }
    }
}

/// Returns the parts of the fields that a change removed and added, without times.
pub(super) fn changed_fields(fields: &[FieldChange]) -> Markup {
    html! {
        @for field in fields.iter().filter(|field| !field.field.ends_with("_at")) {
            p.change dir="auto" {
                span.muted { (field.field) ": " }
                @if let Some(removed) = &field.removed { del { (removed) } " " }
                @if let Some(added) = &field.added { ins { (added) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::Timestamp;

    use super::*;

    fn change(version: i64, action: ChangeAction) -> ItemChange {
        let changed_at = Timestamp::parse("2026-01-31").unwrap();
        let (client, tool, user, key, fields) = (None, None, None, None, None);
        ItemChange { version, changed_at, action, client, tool, user, key, fields }
    }

    fn shown(offset: usize, changes: Vec<ItemChange>) -> String {
        let uri = Uri::item(SourceName::Notes, "1");
        let (total, next_offset) = (changes.len(), None);
        let (version, deleted, oldest_version) = (9, true, Some(1));
        let history = ItemHistory {
            uri: uri.clone(),
            version,
            deleted,
            oldest_version,
            changes,
            total,
            next_offset,
        };
        let (user, may_write, compared) = ("ada".to_owned(), true, None);
        let page = HistoryPage { uri, user, may_write, compared, offset, history };
        let context = FormContext { csrf: String::new(), request: String::new() };
        let page = history_page(&context, &page);
        page.render()
    }

    #[test]
    fn deletion_is_undone_on_the_first_page_only() {
        let changes = || vec![change(3, ChangeAction::Changed), change(2, ChangeAction::Changed)];
        let deleted = [vec![change(9, ChangeAction::Deleted)], changes()].concat();
        let first = shown(0, deleted);
        assert!(first.contains("Undo (version 3)"), "{first}");
        assert!(first.contains("name=\"present\" value=\"9\""), "{first}");
        let next = shown(50, changes());
        assert!(!next.contains(">Undo<"), "{next}");
        assert!(next.contains("Restore (version 2)"), "{next}");
    }
}
