//! Selecting items of a list, to change all of them at once.

use maud::{Markup, html};
use vademecum_model::{Hit, Uri};
use vademecum_services::permalink::item_path;

use super::{
    FormContext, Page,
    history::history_path,
    parts::{display_title, entry},
};

/// Path of the form that changes the selected items.
pub(crate) const SELECTION_PATH: &str = "/edit/selection";

/// Action on the selected items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectionAction {
    /// Adds tags.
    Tag,
    /// Removes tags.
    Untag,
    /// Moves notes to the trash.
    Trash,
    /// Brings the versions back that were selected.
    Restore,
}

impl SelectionAction {
    /// Returns the action with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let all = [Self::Tag, Self::Untag, Self::Trash, Self::Restore];
        all.into_iter().find(|action| action.as_str() == name)
    }

    /// Returns the name in forms.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Untag => "untag",
            Self::Trash => "trash",
            Self::Restore => "restore",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Tag => "Tagged",
            Self::Untag => "Tags removed",
            Self::Trash => "In the trash",
            Self::Restore => "Restored",
        }
    }
}

/// An item that was selected, at the version that the list showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedItem {
    pub(crate) uri: Uri,
    pub(crate) version: Option<i64>,
    /// Version after it was moved to the trash.
    pub(crate) deleted_version: Option<i64>,
}

impl SelectedItem {
    /// Reads the value of a form: the version, for an item in the trash a slash and the version there, a colon and
    /// the URI.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let (versions, uri) = value.split_once(':')?;
        let (version, deleted) = versions.split_once('/').unwrap_or((versions, ""));
        let number = |text: &str| match text {
            "" => Some(None),
            text => Some(Some(text.parse::<i64>().ok()?)),
        };
        let (version, deleted_version) = (number(version)?, number(deleted)?);
        Some(Self { uri: uri.parse().ok()?, version, deleted_version })
    }

    fn value(&self) -> String {
        let version = self.version.map(|version| version.to_string()).unwrap_or_default();
        let deleted = self.deleted_version.map(|version| format!("/{version}"));
        format!("{version}{}:{}", deleted.unwrap_or_default(), self.uri)
    }
}

/// Selected items after an action, each with the reason if it was not changed.
#[derive(Clone, Debug)]
pub(crate) struct ChangedSelection {
    pub(crate) action: SelectionAction,
    pub(crate) items: Vec<(SelectedItem, Option<String>)>,
}

/// Returns a list of items that can be selected.
pub(super) fn selectable_entries(
    context: &FormContext,
    hits: &[Hit],
    query: &str,
    is_selected: bool,
) -> Markup {
    html! {
        form.selection method="post" action=(SELECTION_PATH) {
            (context.hidden_fields())
            div.tools {
                label for="selection-tags" { "Tags" }
                input #selection-tags type="text" name="tags" dir="auto" autocomplete="off"
                    placeholder="bread, rye";
                button.quiet type="submit" name="action" value="tag" { "Add" }
                button.quiet type="submit" name="action" value="untag" { "Remove" }
                button.quiet type="submit" name="action" value="trash" { "Move notes to trash" }
            }
            @for hit in hits {
                @let uri = whole(&hit.uri);
                @let item = SelectedItem { uri, version: hit.version, deleted_version: None };
                div.selectable {
                    input type="checkbox" name="item" value=(item.value()) checked[is_selected]
                        aria-label={ "Select " (display_title(hit)) };
                    (entry(hit, query))
                }
            }
        }
    }
}

/// Returns the page of an action on the selected items.
pub(crate) fn selection_page(context: &FormContext, changed: &ChangedSelection) -> Page {
    let done = changed.items.iter().filter(|(_, problem)| problem.is_none());
    let failed = || changed.items.iter().filter(|(_, problem)| problem.is_some());
    let count = done.clone().count();
    let content = html! {
        h1 { (changed.action.done()) ": " (count) @if count == 1 { " item" } @else { " items" } }
        @if failed().next().is_some() {
            div.notice.warning role="alert" {
                p { "These were not changed:" }
                ul {
                    @for (item, problem) in failed() {
                        li dir="auto" {
                            a href=(item_path(&item.uri, None)) { (item.uri) }
                            @if let Some(problem) = problem { ": " (problem) }
                        }
                    }
                }
            }
        }
        @if changed.action == SelectionAction::Trash && count > 0 {
            form method="post" action=(SELECTION_PATH) {
                (context.hidden_fields())
                @for (item, _) in done.clone() {
                    input type="hidden" name="item" value=(item.value());
                }
                button.quiet type="submit" name="action" value="restore" { "Undo" }
            }
        }
        ul {
            @for (item, _) in done {
                li {
                    @match changed.action {
                        SelectionAction::Trash => a href=(history_path(&item.uri)) { (item.uri) },
                        SelectionAction::Tag | SelectionAction::Untag | SelectionAction::Restore => {
                            a href=(item_path(&item.uri, None)) { (item.uri) }
                        }
                    }
                }
            }
        }
    };
    Page::new(changed.action.done(), content)
}

/// Returns the URI of the item to which a part belongs.
fn whole(uri: &Uri) -> Uri {
    Uri { part: None, ..uri.clone() }
}

#[cfg(test)]
mod tests {
    use vademecum_model::SourceName;

    use super::*;

    #[test]
    fn selected_item_is_read_back() {
        for (version, deleted_version) in [(None, None), (Some(3), None), (Some(3), Some(4))] {
            let uri = Uri::item(SourceName::Notes, "a b");
            let item = SelectedItem { uri, version, deleted_version };
            assert_eq!(SelectedItem::parse(&item.value()), Some(item));
        }
        for wrong in ["", "1", "x:notes://1", "1/x:notes://1", "1:", ":nothing"] {
            assert_eq!(SelectedItem::parse(wrong), None, "{wrong}");
        }
    }
}
