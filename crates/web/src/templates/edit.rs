//! The editor of notes, and what follows a form that changes an item.

use maud::{Markup, html};
use pulldown_cmark::HeadingLevel;
use vademecum_model::{MAX_CONTENT_CHARS, Uri};
use vademecum_services::permalink::{ITEM_PREFIX, item_path};

use super::{FormContext, Page, fields::problem, markdown::MarkdownText};

/// Beginning of the path of the editor of a note.
pub(crate) const EDIT_PREFIX: &str = "/edit/";
/// Path of the form that saves a note.
pub(crate) const SAVE_NOTE_PATH: &str = "/edit/save";
/// Path of the form that changes tags.
pub(crate) const TAG_ITEM_PATH: &str = "/edit/tags";
/// Path of the form that moves a note to the trash.
pub(crate) const DELETE_NOTE_PATH: &str = "/edit/delete";
/// Path of the form that brings an earlier version back.
pub(crate) const RESTORE_ITEM_PATH: &str = "/edit/restore";

/// A note in the editor.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditorPage {
    /// The note; `None` for a new one.
    pub(crate) item: Option<Uri>,
    /// Whether it is the daily note, which the vault names: it has no title of its own here.
    pub(crate) is_daily: bool,
    /// Version that the text was read at.
    pub(crate) version: i64,
    pub(crate) title: String,
    pub(crate) content: String,
    /// Tags, separated by commas.
    pub(crate) tags: String,
    /// Whether the text is shown below as it will look.
    pub(crate) has_preview: bool,
    /// Why the text was not saved.
    pub(crate) problem: Option<String>,
}

/// A text that was not saved because the note has another version by now.
#[derive(Clone, Debug)]
pub(crate) struct NoteConflict {
    pub(crate) stored_title: String,
    pub(crate) stored_tags: String,
    pub(crate) stored_text: String,
    pub(crate) stored_version: i64,
    /// Lines in which the texts differ; `None` if they are too long to compare.
    pub(crate) difference: Option<Markup>,
    /// The text of the form.
    pub(crate) editor: EditorPage,
}

/// Returns the path of the editor of a note.
pub(super) fn edit_path(uri: &Uri) -> String {
    item_path(uri, None).replacen(ITEM_PREFIX, EDIT_PREFIX, 1)
}

/// Returns the page with the editor of a note.
pub(crate) fn editor_page(context: &FormContext, editor: &EditorPage) -> Page {
    let title = match &editor.item {
        Some(_) => "Edit note",
        None if editor.is_daily => "Today’s note",
        None => "New note",
    };
    let content = html! {
        h1 { (title) }
        (problem(editor.problem.as_deref()))
        (form(context, editor, "Save", editor.has_preview || editor.problem.is_some()))
        @if editor.has_preview {
            section.preview aria-labelledby="preview" {
                h2 #preview { "Preview" }
                article.item { div.text dir="auto" { (preview(&editor.content)) } }
            }
        }
    };
    Page::new(title, content)
}

fn preview(text: &str) -> Markup {
    // Links lead to items when the note is saved.
    MarkdownText::part(text, HeadingLevel::H2, &|_| None).render()
}

/// Returns the form of the editor. With `is_changed`, its text is not stored yet, and the script warns of leaving it.
fn form(context: &FormContext, editor: &EditorPage, save: &str, is_changed: bool) -> Markup {
    let unsaved = if is_changed { "changed" } else { "" };
    html! {
        form.editor method="post" action=(SAVE_NOTE_PATH) data-unsaved=(unsaved) {
            (context.hidden_fields())
            @if let Some(uri) = &editor.item {
                input type="hidden" name="item" value=(uri);
                input type="hidden" name="version" value=(editor.version);
            }
            @if editor.is_daily { input type="hidden" name="daily" value="1"; }
            div.field {
                label for="title" { "Title" }
                input #title type="text" name="title" value=(editor.title) required maxlength="500"
                    dir="auto" autocomplete="off" readonly[editor.is_daily];
            }
            div.field {
                label for="content" { "Text" span.hint { "Markdown. [[Title]] links to another note." } }
                // The first line feed is not part of the text.
                textarea #content name="content" rows="20" dir="auto" maxlength=(MAX_CONTENT_CHARS) {
                    "\n" (editor.content)
                }
            }
            @if !editor.is_daily {
              div.field {
                label for="tags" { "Tags" span.hint { "Separated by commas." } }
                input #tags type="text" name="tags" value=(editor.tags) dir="auto" autocomplete="off";
              }
            }
            div.actions {
                button type="submit" name="action" value="save" { (save) }
                button.secondary type="submit" name="action" value="preview" { "Preview" }
                @if let Some(uri) = &editor.item {
                    a.button.secondary href=(item_path(uri, None)) { "Cancel" }
                }
            }
        }
    }
}

/// Returns the page of a text that was not saved because the note was changed meanwhile: both texts,
/// and a form to save the own one over the other.
pub(crate) fn conflict_page(context: &FormContext, conflict: &NoteConflict) -> Page {
    let editor = EditorPage { version: conflict.stored_version, ..conflict.editor.clone() };
    let content = html! {
        h1 { "This note was changed meanwhile" }
        p.notice.warning role="alert" {
            "Nothing was saved. The note has version " (conflict.stored_version)
            " by now, and your text began with version " (conflict.editor.version)
            ". Take over what you need from the stored text, then save."
        }
        section aria-labelledby="difference" {
            h2 #difference { "From the stored text to yours" }
            @match &conflict.difference {
                Some(lines) => (lines),
                None => p.muted { "The texts are too long to compare here." },
            }
        }
        div.sides {
            section aria-labelledby="stored" {
                h2 #stored { "Stored" }
                p dir="auto" { strong { (conflict.stored_title) } }
                @if !conflict.stored_tags.is_empty() {
                    p.muted dir="auto" { "Tags: " (conflict.stored_tags) }
                }
                pre tabindex="0" dir="auto" { (conflict.stored_text) }
            }
            section aria-labelledby="own" {
                h2 #own { "Your text" }
                (form(context, &editor, "Save my text", true))
            }
        }
    };
    Page::new("Changed meanwhile", content)
}

/// Returns the page of a text that was not saved because the login has ended; `None` for one that is too long.
pub(crate) fn kept_text_page(editor: Option<&EditorPage>, login: &str) -> Page {
    let content = html! {
        h1 { "Your login has ended" }
        p.notice.warning role="alert" {
            "Nothing was saved. "
            a href=(login) target="_blank" rel="noopener" { "Log in in another tab" }
            @match editor {
                Some(_) => ", then come back here and save your text.",
                None => ", then go back to the page before: the browser has your text there. It is too long here.",
            }
        }
        @if let Some(editor) = editor {
            // The token is that of the login to come.
            (form(&FormContext { csrf: String::new(), request: String::new() }, editor, "Save", true))
        }
    };
    Page::new("Your login has ended", content)
}

/// Returns the page of a saved note whose file does not have the change.
pub(crate) fn saved_page(uri: &Uri, problem: Option<&str>, conflict: Option<&str>) -> Page {
    let content = html! {
        h1 { "Saved in the library" }
        @if let Some(problem) = problem {
            p.notice.warning role="alert" dir="auto" {
                "The change is not in the file of the note yet: " (problem)
            }
        }
        @if let Some(file) = conflict {
            p.notice.warning role="alert" dir="auto" {
                "The same lines were changed in the file meanwhile. Your text is in " code { (file) }
                " beside it: compare both, and remove the one that you do not need."
            }
        }
        p { a href=(item_path(uri, None)) { "The note" } }
    };
    Page::new("Saved", content)
}
