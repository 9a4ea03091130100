//! Forms that change items: the editor of notes, tags, and the trash. Each is a call of the tool with
//! that effect, made by a person: rights, limits, the journal and two-way folders are those of the tool.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use serde_json::{Map, Value, json};
use vademecum_actors::{CallError, error_chain};
use vademecum_model::{
    ChangeAuthor, Deadline, DraftBody, ItemId, MAX_CONTENT_CHARS, NoteDraft, SourceName, Timestamp,
    Uri,
};
use vademecum_services::permalink::{ITEM_PREFIX, item_path, parse_item_path};
use vademecum_services::two_way::NoteFileStatus;
use vademecum_tools::{
    KnowledgeGet, KnowledgeRestore, KnowledgeTag, NotesAppend, NotesCreate, NotesDelete,
    NotesUpdate, Tool as _,
};

use vademecum_vault::journal::{UndoOutcome, UndoSelection};

use super::{
    super::oauth::redirect,
    form_text::{form_text, text_of_form},
    history::render_difference,
    home::AGENT_TIME,
    page_request::{PageProblem, PageRequest},
    text_form::{open_text_form, read_editor, show_again},
};
use crate::templates::{
    EDIT_PREFIX, EditorPage, NoteConflict, Section, conflict_page, editor_page, history_path,
    saved_page,
};

/// Maximum size of a form with a text, in bytes: a character can take 12 bytes in a form.
const MAX_TEXT_FORM_BYTES: usize = 12 * MAX_CONTENT_CHARS + (64 << 10);
/// Maximum size of the other forms, in bytes.
const MAX_SMALL_FORM_BYTES: usize = 64 << 10;

/// Maximum time to read a note.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// A note with its version.
struct StoredNote {
    note: NoteDraft,
    version: i64,
}

/// Returns the item that a path below `prefix` names.
pub(super) fn item_below(request: &HttpRequest, prefix: &str) -> Result<Uri, PageProblem> {
    let rest = request.uri().path().strip_prefix(prefix).unwrap_or_default();
    parse_item_path(&format!("{ITEM_PREFIX}{rest}")).ok_or_else(|| {
        let text = format!("This is not the address of an item: {prefix}<source>/<id>.");
        PageProblem::new(StatusCode::NOT_FOUND, text)
    })
}

/// Shows the editor of a note.
pub(super) async fn show_editor(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let opened = open_editor(&page, &request).await;
    // The text is not cleaned of invisible characters: it is stored as the form sends it back.
    page.respond(Section::Item, opened.map(|editor| editor_page(&page.form_context(), &editor)))
}

async fn open_editor(page: &PageRequest, request: &HttpRequest) -> Result<EditorPage, PageProblem> {
    let uri = item_below(request, EDIT_PREFIX)?;
    if !page.may_write() {
        return Err(PageProblem::read_only());
    }
    let StoredNote { note, version } = read_note(page, &uri).await?;
    Ok(EditorPage {
        item: Some(uri),
        version,
        title: note.title,
        content: form_text(&note.content),
        tags: note.tags.join(", "),
        ..EditorPage::default()
    })
}

/// Shows the editor of a new note, filled in with the parameters of the address.
pub(super) async fn show_new_note(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    if !page.may_write() {
        return page.respond(Section::NewNote, Err(PageProblem::read_only()));
    }
    let text = |name: &str| page.query.get(name).to_owned();
    let editor = if text("daily").is_empty() {
        Ok(EditorPage { title: text("title"), tags: text("tags"), ..EditorPage::default() })
    } else {
        open_daily_note(&page).await
    };
    let editor = editor.map(|editor| editor_page(&page.form_context(), &editor));
    page.respond(Section::NewNote, editor)
}

/// Returns the editor of the daily note, which does not exist yet.
async fn open_daily_note(page: &PageRequest) -> Result<EditorPage, PageProblem> {
    let library = page.services.library(page.principal());
    let folders = &page.services.tools.services().folders;
    let daily = folders.daily_note(&page.login.user, &library).await.map_err(|error| {
        let text = format!("The daily note cannot be found: {}.", error_chain(&error));
        PageProblem::new(StatusCode::CONFLICT, text)
    })?;
    Ok(EditorPage { title: daily.title, is_daily: true, ..EditorPage::default() })
}

/// Saves a note or a new one, or shows how its text will look.
pub(super) async fn save_note(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let (page, form) = match open_text_form(&request, body, MAX_TEXT_FORM_BYTES).await {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let Some(editor) = read_editor(&form) else {
        let text = "The form names no note. Nothing was saved.";
        let problem = PageProblem::new(StatusCode::BAD_REQUEST, text);
        return page.respond(Section::Item, Err(problem));
    };
    if form.get("action") == "preview" {
        let editor = EditorPage { has_preview: true, ..editor };
        return page.respond(Section::Item, Ok(editor_page(&page.form_context(), &editor)));
    }
    match &editor.item {
        None => create_note(&page, editor).await,
        Some(uri) => match read_note(&page, uri).await {
            Ok(stored) => update_note(&page, uri.clone(), &stored, editor).await,
            Err(problem) => show_again(&page, editor, &problem),
        },
    }
}

/// Returns the tags of a list that is separated by commas.
pub(super) fn split_tags(list: &str) -> Vec<&str> {
    list.split(',')
        .map(|tag| tag.trim().trim_start_matches('#'))
        .filter(|it| !it.is_empty())
        .collect()
}

async fn create_note(page: &PageRequest, editor: EditorPage) -> HttpResponse {
    let arguments = json!({
        "title": editor.title,
        "content": editor.content,
        "tags": split_tags(&editor.tags),
    });
    let written = if editor.is_daily {
        // The tool makes the note as its vault has it, or adds to one that was made meanwhile.
        let arguments = json!({ "content": editor.content, "at": "daily note" });
        page.write::<NotesAppend>(&arguments).await
    } else {
        page.write::<NotesCreate>(&arguments).await
    };
    match written {
        Ok(written) => {
            let (problem, file) = (written.file_problem, written.conflict_file);
            show_saved(page, &written.item.uri, problem.as_deref(), file.as_deref())
        }
        Err(problem) => show_again(page, editor, &problem),
    }
}

async fn update_note(
    page: &PageRequest,
    uri: Uri,
    stored: &StoredNote,
    editor: EditorPage,
) -> HttpResponse {
    if stored.version != editor.version {
        return show_conflict(page, stored, editor).await;
    }
    let mut arguments = Map::from_iter([
        ("note_id".to_owned(), json!(uri)),
        ("version".to_owned(), json!(editor.version)),
    ]);
    let content = text_of_form(&stored.note.content, &editor.content);
    if content != stored.note.content {
        arguments.insert("content".to_owned(), json!(content));
    }
    if editor.title.trim() != stored.note.title.trim() {
        arguments.insert("title".to_owned(), json!(editor.title));
    }
    if editor.tags != stored.note.tags.join(", ") {
        arguments.insert("tags".to_owned(), json!(split_tags(&editor.tags)));
    }
    if arguments.len() == 2 {
        return redirect(&item_path(&uri, None));
    }
    match page.write::<NotesUpdate>(&Value::Object(arguments)).await {
        Ok(written) => {
            let (problem, file) = (written.file_problem, written.conflict_file);
            show_saved(page, &uri, problem.as_deref(), file.as_deref())
        }
        Err(problem) => match read_note(page, &uri).await {
            Ok(now) if now.version != editor.version => show_conflict(page, &now, editor).await,
            Ok(_) | Err(_) => show_again(page, editor, &problem),
        },
    }
}

/// Shows a saved item, with the problem of its file if there is one.
fn show_saved(
    page: &PageRequest,
    uri: &Uri,
    file_problem: Option<&str>,
    conflict_file: Option<&str>,
) -> HttpResponse {
    if file_problem.is_none() && conflict_file.is_none() {
        return redirect(&item_path(uri, None));
    }
    let shown = saved_page(uri, file_problem, conflict_file);
    page.respond_with_items(Section::Item, Ok(shown))
}

/// Shows the stored text beside the one that was not saved.
async fn show_conflict(
    page: &PageRequest,
    stored: &StoredNote,
    editor: EditorPage,
) -> HttpResponse {
    let stored_text = form_text(&stored.note.content);
    let library = page.services.library(page.principal());
    let difference = render_difference(&library, stored_text.clone(), editor.content.clone()).await;
    let conflict = NoteConflict {
        stored_title: stored.note.title.clone(),
        stored_tags: stored.note.tags.join(", "),
        stored_text,
        stored_version: stored.version,
        difference,
        editor,
    };
    let shown = conflict_page(&page.form_context(), &conflict);
    page.respond_with(StatusCode::CONFLICT, Section::Item, shown)
}

/// Reads a note with its version. The version is read first: if the note is changed between, the version
/// is too old, and nothing is saved with it.
async fn read_note(page: &PageRequest, uri: &Uri) -> Result<StoredNote, PageProblem> {
    if uri.source != SourceName::Notes {
        let text = "Only notes can be edited.";
        return Err(PageProblem::new(StatusCode::BAD_REQUEST, text));
    }
    let services = page.services.tools.services();
    let arguments = json!({ "id": uri });
    let read = page.run(KnowledgeGet::NAME, &arguments, async |call| {
        let missing = || CallError::NotFound(format!("there is no note `{}`", uri.id));
        let library = services.registry.library(&call.principal);
        let source = library.source(SourceName::Notes).ok_or_else(missing)?;
        let id = ItemId::from(uri.id.as_str());
        let deadline = Deadline::after(READ_TIMEOUT).with_cancellation(&call.cancel);
        let history = source.item_history(&id, (0, 1), deadline.clone()).await?;
        let draft = source.load_draft(&id, deadline).await?;
        call.items.record([uri]);
        match draft.body {
            DraftBody::Note(note) if !history.deleted => {
                Ok(StoredNote { note, version: history.version })
            }
            _ => Err(missing()),
        }
    });
    read.await
}

/// Adds and removes tags of an item.
pub(super) async fn tag_item(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let (page, form) = match PageRequest::open_form(&request, body, MAX_SMALL_FORM_BYTES).await {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let Ok(uri) = form.get("item").parse::<Uri>() else { return no_item(&page) };
    let removed: Vec<&str> = form.get_all("remove").collect();
    let added = split_tags(form.get("add"));
    let shown = redirect(&item_path(&uri, None));
    if added.is_empty() && removed.is_empty() {
        return shown;
    }
    let arguments = json!({ "uri": uri, "add": added, "remove": removed });
    match page.write::<KnowledgeTag>(&arguments).await {
        Ok(written) => {
            let (problem, file) = (written.file_problem, written.conflict_file);
            show_saved(&page, &uri, problem.as_deref(), file.as_deref())
        }
        Err(problem) => page.respond(Section::Item, Err(problem)),
    }
}

/// Moves a note to the trash, and shows how to bring it back.
pub(super) async fn delete_note(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let (page, form) = match PageRequest::open_form(&request, body, MAX_SMALL_FORM_BYTES).await {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let Ok(uri) = form.get("item").parse::<Uri>() else { return no_item(&page) };
    let version: Option<i64> = form.get("version").parse().ok();
    let arguments = json!({ "note_id": uri, "version": version });
    match page.write::<NotesDelete>(&arguments).await {
        Ok(_) => redirect(&history_path(&uri)),
        Err(problem) => page.respond(Section::Item, Err(problem)),
    }
}

/// Brings an earlier version of an item back, also from the trash.
pub(super) async fn restore_item(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let (page, form) = match PageRequest::open_form(&request, body, MAX_SMALL_FORM_BYTES).await {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let Ok(uri) = form.get("item").parse::<Uri>() else { return no_item(&page) };
    let number = |name: &str| form.get(name).parse::<i64>().ok();
    let (version, present) = (number("version"), number("present"));
    let arguments = json!({ "uri": uri, "version": version, "present_version": present });
    match page.write::<KnowledgeRestore>(&arguments).await {
        Ok(written) => {
            let (problem, file) = (written.file_problem, written.conflict_file);
            show_saved(&page, &uri, problem.as_deref(), file.as_deref())
        }
        Err(problem) => page.respond(Section::Item, Err(problem)),
    }
}

/// Undoes what a client did to an item in the time that the first page shows.
pub(super) async fn undo_changes(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let (page, form) = match PageRequest::open_form(&request, body, MAX_SMALL_FORM_BYTES).await {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let Ok(uri) = form.get("item").parse::<Uri>() else { return no_item(&page) };
    let services = page.services.tools.services();
    let user = page.login.user.clone();
    let selection = UndoSelection {
        since: Timestamp::before_now(AGENT_TIME),
        client: Some(form.get("client").to_owned()),
        item: Some(uri.id.clone()),
    };
    let author = ChangeAuthor {
        user: user.to_string(),
        tool: ChangeAuthor::UNDO_TOOL.to_owned(),
        ..ChangeAuthor::default()
    };
    let arguments = json!({ "uri": uri });
    let undone = page.run_as_person(KnowledgeRestore::NAME, &arguments, async |call| {
        let library = services.registry.library(&call.principal);
        if library.is_restricted() {
            let problem = "undoing needs the right to see the whole library".to_owned();
            return Err(CallError::Refused(problem));
        }
        let source = library.source(uri.source).ok_or(CallError::Unavailable)?;
        let undone = source.undo_changes(selection, author, true).await?;
        call.items.record_change(&uri);
        library.start_indexing();
        let file = services.folders.write_item(&user, &library, &uri).await;
        // The change is made, whether or not its file can be written now.
        let file = file.unwrap_or_else(|error| {
            let problem = Some(error_chain(&error));
            Some(NoteFileStatus { path: String::new(), problem, conflict: None })
        });
        Ok((undone, file))
    });
    let (undone, file) = match undone.await {
        Ok(done) => done,
        Err(problem) => return page.respond(Section::Item, Err(problem)),
    };
    if undone.is_empty() {
        let text = "This client changed nothing of the item in the last 24 hours.";
        return page.respond(Section::Item, Err(PageProblem::new(StatusCode::NOT_FOUND, text)));
    }
    if let Some(UndoOutcome::Kept { reason }) = undone.first().map(|item| &item.outcome) {
        let text =
            format!("Nothing was undone: {reason}. Its versions can be restored one by one.");
        return page.respond(Section::Item, Err(PageProblem::new(StatusCode::CONFLICT, text)));
    }
    let (problem, conflict) = file.map(|it| (it.problem, it.conflict)).unwrap_or_default();
    show_saved(&page, &uri, problem.as_deref(), conflict.as_deref())
}

fn no_item(page: &PageRequest) -> HttpResponse {
    let text = "The form names no item. Nothing was changed.";
    page.respond(Section::Item, Err(PageProblem::new(StatusCode::BAD_REQUEST, text)))
}
