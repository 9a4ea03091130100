//! Changes of all items that a person selected in a list.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use serde_json::json;
use vademecum_actors::CallError;
use vademecum_mcp::RequestContext;
use vademecum_model::SourceName;
use vademecum_tools::{KnowledgeRestore, KnowledgeTag, NotesDelete, Tool as _, ToolRegistry};

use super::{
    edit::split_tags,
    page_request::{PageProblem, PageRequest},
};
use crate::templates::{
    ChangedSelection, RESULTS_PER_PAGE, Section, SelectedItem, SelectionAction, selection_page,
};

/// Maximum number of items: those of a few pages of results.
const MAX_ITEMS: usize = 5 * RESULTS_PER_PAGE;
/// Maximum size of the form, in bytes.
const MAX_FORM_BYTES: usize = 256 << 10;

/// Tags the selected items, or moves the notes among them to the trash or back.
pub(super) async fn change_selection(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let (page, form) = match PageRequest::open_form(&request, body, MAX_FORM_BYTES).await {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let refuse = |text: String| {
        let problem = PageProblem::new(StatusCode::BAD_REQUEST, text);
        page.respond(Section::Search, Err(problem))
    };
    let Some(action) = SelectionAction::parse(form.get("action")) else {
        return refuse("The form names no action. Nothing was changed.".to_owned());
    };
    let mut items = Vec::new();
    for value in form.get_all("item") {
        match SelectedItem::parse(value) {
            Some(item) => items.push(item),
            None => return refuse(format!("`{value}` is no item. Nothing was changed.")),
        }
    }
    let tags = split_tags(form.get("tags"));
    let needs_tags = matches!(action, SelectionAction::Tag | SelectionAction::Untag);
    if items.is_empty() || items.len() > MAX_ITEMS {
        return refuse(format!("Select 1 to {MAX_ITEMS} items. Nothing was changed."));
    }
    if needs_tags && tags.is_empty() {
        return refuse("Name the tags to add or to remove. Nothing was changed.".to_owned());
    }
    let tools = &page.services.tools;
    let mut changed = Vec::with_capacity(items.len());
    // Each item is a call of its own, for the limits as in the audit log.
    for item in items {
        let arguments = json!({ "action": action.as_str(), "uri": item.uri, "tags": tags });
        let change = page.run_as_person(tool_name(action), &arguments, async |call| {
            change_item(tools, call, action, &item, &tags).await
        });
        changed.push(match change.await {
            Ok(deleted_version) => (SelectedItem { deleted_version, ..item }, None),
            Err(problem) => (item, Some(problem.text)),
        });
    }
    let changed = ChangedSelection { action, items: changed };
    let shown = selection_page(&page.form_context(), &changed);
    page.respond_with_items(Section::Search, Ok(shown))
}

/// Returns the tool whose right and limits an action needs.
fn tool_name(action: SelectionAction) -> &'static str {
    match action {
        SelectionAction::Tag | SelectionAction::Untag => KnowledgeTag::NAME,
        SelectionAction::Trash => NotesDelete::NAME,
        SelectionAction::Restore => KnowledgeRestore::NAME,
    }
}

/// Changes an item. Returns its version in the trash, if it is there then.
async fn change_item(
    tools: &ToolRegistry,
    call: &RequestContext,
    action: SelectionAction,
    item: &SelectedItem,
    tags: &[&str],
) -> Result<Option<i64>, CallError> {
    let SelectedItem { uri, version, deleted_version } = item;
    match action {
        SelectionAction::Tag => {
            let arguments = json!({ "uri": uri, "add": tags });
            tools.run_tool_of_person::<KnowledgeTag>(&arguments, call).await.map(|_| None)
        }
        SelectionAction::Untag => {
            let arguments = json!({ "uri": uri, "remove": tags });
            tools.run_tool_of_person::<KnowledgeTag>(&arguments, call).await.map(|_| None)
        }
        SelectionAction::Trash if uri.source != SourceName::Notes => {
            Err(CallError::Refused("only notes can be moved to the trash".to_owned()))
        }
        SelectionAction::Trash => {
            let arguments = json!({ "note_id": uri, "version": version });
            let deleted = tools.run_tool_of_person::<NotesDelete>(&arguments, call).await?;
            Ok(Some(deleted.item.version))
        }
        SelectionAction::Restore => {
            let present = deleted_version;
            let arguments = json!({ "uri": uri, "version": version, "present_version": present });
            tools.run_tool_of_person::<KnowledgeRestore>(&arguments, call).await.map(|_| None)
        }
    }
}
