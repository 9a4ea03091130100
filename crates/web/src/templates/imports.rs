//! The imported files: the outcome of each, and a form for more.

use maud::{Markup, html};
use vademecum_import::UnsupportedFiles;

use super::{
    FormContext, Page,
    parts::{count, pager, path_with},
};

/// Number of files on a page.
pub(crate) const FILES_PER_PAGE: usize = 100;
/// Path of the form that imports files.
pub(crate) const UPLOAD_PATH: &str = "/imports/upload";

/// Path of the form that removes an upload.
pub(crate) const REMOVE_UPLOAD_PATH: &str = "/imports/remove";

/// A file and its outcome.
#[derive(Debug)]
pub(crate) struct ImportedFile {
    pub(crate) path: String,
    /// Name of the upload, if the user may remove it.
    pub(crate) upload: Option<String>,
    /// Outcome, such as `imported`.
    pub(crate) outcome: &'static str,
    /// Items and problems, as text.
    pub(crate) details: String,
}

/// The imported files of a library.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// Files of this page.
    pub(crate) files: Vec<ImportedFile>,
    /// Numbers of files by outcome.
    pub(crate) outcomes: Vec<(&'static str, usize)>,
    /// Files that are not supported, by type.
    pub(crate) unsupported: Vec<UnsupportedFiles>,
    /// Outcome to which the files are limited; empty for all.
    pub(crate) only: String,
    pub(crate) offset: usize,
    pub(crate) next_offset: Option<usize>,
    /// Lines of the report of an upload.
    pub(crate) report: Vec<String>,
    /// Whether the user may add files.
    pub(crate) may_write: bool,
}

/// Returns the page of imports.
pub(crate) fn imports_page(context: &FormContext, imports: &Imports) -> Page {
    let content = html! {
        h1 { "Imports" }
        @if !imports.report.is_empty() {
            div.notice role="status" {
                ul { @for line in &imports.report { li dir="auto" { (line) } } }
            }
        }
        @if imports.may_write { (render_upload_form(context)) }
        (unsupported(&imports.unsupported))
        (files(context, imports))
    };
    Page::new("Imports", content)
}

/// Returns the form that imports files.
pub(super) fn render_upload_form(context: &FormContext) -> Markup {
    html! {
        form.card.drop method="post" action=(UPLOAD_PATH) enctype="multipart/form-data" {
            (context.hidden_fields())
            div.field {
                label for="files" { "Add files"
                    span.hint { "Notes, documents, web pages, mail, exports of other programs. Files can be dropped here." }
                }
                input #files type="file" name="files" multiple required;
            }
            button type="submit" { "Import" }
        }
    }
}

fn unsupported(groups: &[UnsupportedFiles]) -> Markup {
    html! {
        @if !groups.is_empty() {
            h2 { "Not read" }
            ul { @for group in groups {
                li { (group.label) ": " (group.reason) }
            } }
        }
    }
}

fn files(context: &FormContext, imports: &Imports) -> Markup {
    let all: usize = imports.outcomes.iter().map(|(_, files)| files).sum();
    let path = |offset: usize| {
        let offset = if offset == 0 { String::new() } else { offset.to_string() };
        path_with("/imports", [("only", imports.only.as_str()), ("offset", &offset)])
    };
    html! {
        h2 { "Files" }
        @if all == 0 {
            p { "No file was imported yet. " code { "vademecum import FOLDER" } " imports a folder." }
        } @else {
            nav.chips aria-label="Outcomes" {
                a href="/imports" aria-current=[imports.only.is_empty().then_some("true")] {
                    "All " (count(all))
                }
                @for (outcome, files) in &imports.outcomes {
                    a href=(path_with("/imports", [("only", *outcome)]))
                        aria-current=[(imports.only == *outcome).then_some("true")] {
                        (outcome) " " (count(*files))
                    }
                }
            }
            ul.files {
                @for file in &imports.files {
                    li {
                        span.outcome { (file.outcome) } " "
                        span.path dir="auto" { (file.path) }
                        @if !file.details.is_empty() { " " span.muted dir="auto" { (file.details) } }
                        @if let Some(name) = &file.upload {
                            form method="post" action=(REMOVE_UPLOAD_PATH) {
                                (context.hidden_fields())
                                input type="hidden" name="file" value=(name);
                                button.quiet type="submit" aria-label={ "Remove the file " (name) } {
                                    "Remove"
                                }
                            }
                        }
                    }
                }
            }
            (pager(path, imports.offset, FILES_PER_PAGE, imports.next_offset))
        }
    }
}
