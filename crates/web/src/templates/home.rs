//! The first page: where one starts. What changed last, what agents did today, what was imported; for an
//! empty library, how to fill it.

use std::{collections::HashMap, sync::Arc};

use maud::{Markup, html};
use vademecum_actors::ListPage;
use vademecum_model::{ChangeAction, Facet, Timestamp, Uri};
use vademecum_services::{permalink::item_path, two_way::DailyNote};
use vademecum_vault::journal::JournalEntry;

use super::{
    FormContext, Page,
    history::history_path,
    imports::render_upload_form,
    parts::{count, entry, minute, path_with, source_label, tag_link},
};

/// Path of the form that undoes what agents did to an item.
pub(crate) const UNDO_PATH: &str = "/edit/undo";
/// Number of tags.
const MAX_TAGS: usize = 24;

/// What the first page shows of the whole library.
#[derive(Clone, Debug)]
pub(crate) struct LibraryOverview {
    /// The items that changed last, with the tags and sources of all.
    pub(crate) list: Arc<ListPage>,
    /// Changes by clients in the hours before it was read, the last first.
    pub(crate) client_changes: Arc<[JournalEntry]>,
    pub(crate) imports: Option<LastImport>,
    /// The daily note of today, if its vault can be read.
    pub(crate) daily: Option<DailyNote>,
    /// The item that is this note, if it exists.
    pub(crate) daily_note: Option<Uri>,
}

/// What the first page shows.
#[derive(Debug)]
pub(crate) struct HomePage {
    pub(crate) overview: Arc<LibraryOverview>,
    /// Hidden fields of forms, if the user may change items.
    pub(crate) forms: Option<FormContext>,
    /// Whether the user may add files.
    pub(crate) may_upload: bool,
    /// Items that agents changed today, the last first.
    pub(crate) agent_changes: Vec<AgentChange>,
    /// Titles of the items.
    pub(crate) titles: HashMap<Uri, String>,
    /// What clients read today.
    pub(crate) reading: Vec<ClientReading>,
}

/// Changes that a client made to an item today.
#[derive(Clone, Debug)]
pub(crate) struct AgentChange {
    pub(crate) uri: Uri,
    pub(crate) client: String,
    /// The last change.
    pub(crate) action: ChangeAction,
    pub(crate) changed_at: Timestamp,
    /// Number of changes.
    pub(crate) count: usize,
}

/// What a client read today.
#[derive(Clone, Debug)]
pub(crate) struct ClientReading {
    pub(crate) client: String,
    pub(crate) calls: usize,
    pub(crate) items: usize,
}

/// The last import of files.
#[derive(Clone, Debug)]
pub(crate) struct LastImport {
    pub(crate) read_at: Timestamp,
    pub(crate) files: usize,
    /// Files that could not be read, with the reason, and how many there are.
    pub(crate) failed: Vec<(String, String)>,
    pub(crate) failed_files: usize,
}

/// Returns the first page of a library.
pub(crate) fn home_page(home: &HomePage) -> Page {
    let content =
        if home.overview.list.total == 0 { empty_library(home) } else { library_start(home) };
    Page::new("Library", content)
}

fn empty_library(home: &HomePage) -> Markup {
    html! {
        h1 { "Your library is empty" }
        @if let (Some(forms), true) = (&home.forms, home.may_upload) {
            (render_upload_form(forms))
        }
        ul.steps {
            li {
                strong { "A folder of notes or documents: " }
                code { "vademecum import FOLDER" }
                ". With " code { "--two-way" } ", changes of notes are written to their files."
            }
            li {
                strong { "An export: " }
                "of Notion, Evernote, ChatGPT, Claude, WhatsApp, mail, bookmarks and others. Drop its "
                "file above, or name it to " code { "vademecum import" } "."
            }
            @if home.forms.is_some() {
                li { strong { "A first note: " } a href="/new" { "write it here" } "." }
            }
            li { strong { "Your agents: " } a href="/connect" { "connect them" } "." }
        }
    }
}

fn library_start(home: &HomePage) -> Markup {
    let tags = home.overview.list.facet(Facet::Tags);
    html! {
        h1 { "Your library" }
        (daily_note(home))
        (agents_today(home))
        (last_import(home.overview.imports.as_ref()))
        h2 { "Last changed" }
        @for hit in &home.overview.list.hits { (entry(hit, "")) }
        p { a href="/timeline" { "All items, by month" } }
        h2 { "All" }
        ul.tiles {
            @for (source, items) in home.overview.list.facet(Facet::Sources) {
                li {
                    a href=(path_with("/timeline", [("source", source.as_str())])) {
                        strong { (count(*items)) }
                        span { (source.parse().map_or("Items", source_label)) }
                    }
                }
            }
        }
        @if !tags.is_empty() {
            h2 { "Tags" }
            p.tags { @for (tag, _) in tags.iter().take(MAX_TAGS) { (tag_link(tag)) " " } }
        }
    }
}

fn daily_note(home: &HomePage) -> Markup {
    let new = path_with("/new", [("daily", "1")]);
    let overview = &home.overview;
    let can_write = home.forms.is_some() && overview.daily.is_some();
    html! {
        p.tools {
            @match (&overview.daily_note, can_write) {
                (Some(note), _) => a href=(item_path(note, None)) { "Today’s note" },
                (None, true) => a href=(new) { "Write today’s note" },
                (None, false) => "",
            }
            @if home.forms.is_some() { a href="/new" { "New note" } }
            @if home.may_upload { a href="/imports" { "Add files" } }
        }
    }
}

fn agents_today(home: &HomePage) -> Markup {
    html! {
        @if !home.agent_changes.is_empty() || !home.reading.is_empty() {
            h2 { "Agents, last 24 hours" }
            ul.files {
                @for change in &home.agent_changes { li { (agent_change(home, change)) } }
                @for reading in &home.reading {
                    li {
                        strong dir="auto" { (client_name(&reading.client)) } " read "
                        (count(reading.items)) @if reading.items == 1 { " item" } @else { " items" }
                        " in " (count(reading.calls))
                        @if reading.calls == 1 { " call" } @else { " calls" }
                    }
                }
            }
            p { a href="/activity" { "All calls" } }
        }
    }
}

/// Returns the name of a client, or what stands for one that gives none.
fn client_name(client: &str) -> &str {
    if client.is_empty() { "An unnamed client" } else { client }
}

fn agent_change(home: &HomePage, change: &AgentChange) -> Markup {
    let title = home.titles.get(&change.uri).filter(|title| !title.trim().is_empty());
    let client = client_name(&change.client);
    html! {
        div.tools {
            span {
                strong dir="auto" { (client) } " " (change.action.as_str()) " "
                @match title {
                    Some(title) => a href=(item_path(&change.uri, None)) dir="auto" { (title) },
                    None => a href=(history_path(&change.uri)) { (change.uri) },
                }
                @if change.count > 1 { ", " (change.count) " changes" }
                ", " (minute(change.changed_at))
            }
            a href=(history_path(&change.uri)) aria-label={ "Versions of " (change.uri) } { "Versions" }
            @if let Some(forms) = &home.forms {
                form method="post" action=(UNDO_PATH) {
                    (forms.hidden_fields())
                    input type="hidden" name="item" value=(change.uri);
                    input type="hidden" name="client" value=(change.client);
                    button.quiet type="submit"
                        aria-label={ "Undo what " (client) " did to " (change.uri) } { "Undo" }
                }
            }
        }
    }
}

fn last_import(last: Option<&LastImport>) -> Markup {
    let Some(last) = last else { return html! {} };
    html! {
        h2 { "Last import" }
        p {
            (minute(last.read_at)) ": " a href="/imports" {
                (count(last.files)) @if last.files == 1 { " file" } @else { " files" }
            }
            @if last.failed_files > 0 {
                ", of which " a href="/imports?only=skipped" { (count(last.failed_files)) }
                " could not be read"
            }
        }
        @if !last.failed.is_empty() {
            ul.files {
                @for (path, reason) in &last.failed {
                    li { span.path dir="auto" { (path) } " " span.muted dir="auto" { (reason) } }
                }
            }
        }
    }
}
