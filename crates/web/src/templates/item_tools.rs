//! Links and forms for one item: edit, tag and delete it, see its versions, open its file.

use maud::{Markup, html};
use vademecum_model::SourceName;

use super::{
    DELETE_NOTE_PATH, FormContext, ItemPage, TAG_ITEM_PATH,
    edit::edit_path,
    history::history_path,
    parts::{path_with, tags},
};

/// A file on the machine of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemFile {
    pub(crate) path: String,
    /// Whether it is in a vault of Obsidian.
    pub(crate) is_in_vault: bool,
}

/// Returns links and forms for what the user can do with an item.
pub(super) fn item_tools(shown: &ItemPage) -> Markup {
    html! {
        @if let Some(forms) = &shown.forms { (change_tools(shown, forms)) }
        @if let Some(file) = &shown.file {
            p.about {
                code dir="auto" { (file.path) }
                @if file.is_in_vault {
                    a href=(obsidian_address(&file.path)) { "Open in Obsidian" }
                }
            }
        }
    }
}

fn change_tools(shown: &ItemPage, forms: &FormContext) -> Markup {
    let meta = &shown.item.meta;
    let version = shown.history.as_ref().map(|history| history.version).or(meta.version);
    let takes_tags = !matches!(meta.source, SourceName::Chats | SourceName::Collections);
    html! {
        div.tools {
            @if meta.source == SourceName::Notes {
                a href=(edit_path(&meta.uri)) data-key="e" { "Edit" }
            }
            @if shown.history.is_some() { a href=(history_path(&meta.uri)) { "Versions" } }
            @if takes_tags {
                details {
                    summary { "Tags" }
                    form.inline method="post" action=(TAG_ITEM_PATH) {
                        (forms.hidden_fields())
                        input type="hidden" name="item" value=(meta.uri);
                        label for="add" { "Add" }
                        input #add type="text" name="add" dir="auto" autocomplete="off"
                            placeholder="bread, rye";
                        button.quiet type="submit" { "Add" }
                        @for tag in tags(meta) {
                            button.quiet type="submit" name="remove" value=(tag)
                                aria-label={ "Remove the tag " (tag) } { "#" (tag) " ✕" }
                        }
                    }
                }
            }
            @if meta.source == SourceName::Notes {
                form method="post" action=(DELETE_NOTE_PATH) {
                    (forms.hidden_fields())
                    input type="hidden" name="item" value=(meta.uri);
                    @if let Some(version) = version {
                        input type="hidden" name="version" value=(version);
                    }
                    button.quiet type="submit" { "Move to trash" }
                }
            }
        }
    }
}

/// Returns the address at which Obsidian opens a file.
fn obsidian_address(path: &str) -> String {
    // Obsidian does not read a plus sign as a space.
    path_with("obsidian://open", [("path", path)]).replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_escaped_for_obsidian() {
        let address = obsidian_address("/a b/c+d & e.md");
        assert_eq!(address, "obsidian://open?path=%2Fa%20b%2Fc%2Bd%20%26%20e.md");
    }
}
