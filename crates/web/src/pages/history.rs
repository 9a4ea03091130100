//! The versions of an item, and the differences between them.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use maud::Markup;
use serde_json::json;
use vademecum_actors::{CallError, Library, SourceHandle};
use vademecum_model::{
    Deadline, ItemId, Preferences, Retrieval, RetrievalMode, RetrievalOptions, Uri,
};
use vademecum_search::Item;
use vademecum_tools::{KnowledgeGet, Tool as _};
use vademecum_vault::journal::{AsOf, ItemHistory};

use super::{
    edit::item_below,
    page_request::{PageProblem, PageRequest},
};
use crate::templates::{
    Difference, HISTORY_PREFIX, HistoryPage, Page, Section, VERSIONS_PER_PAGE, history_page,
    render_lines,
};

/// Maximum time to read the versions.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(5);

/// Shows the versions of an item, which may be deleted.
pub(super) async fn show_history(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = match item_below(&request, HISTORY_PREFIX) {
        Ok(uri) => build_history_page(&page, uri).await,
        Err(problem) => Err(problem),
    };
    page.respond_with_items(Section::Item, shown)
}

/// Returns the page of a deleted item; `None` if there is none.
pub(super) async fn build_deleted_page(page: &PageRequest, uri: Uri) -> Option<Page> {
    let shown = read_history(page, uri).await.ok()?;
    shown.history.deleted.then(|| history_page(&page.form_context(), &shown))
}

async fn build_history_page(page: &PageRequest, uri: Uri) -> Result<Page, PageProblem> {
    let shown = read_history(page, uri).await?;
    Ok(history_page(&page.form_context(), &shown))
}

async fn read_history(page: &PageRequest, uri: Uri) -> Result<HistoryPage, PageProblem> {
    let compared: Option<i64> = page.query.get("compare").parse().ok();
    let offset = page.number("offset");
    let services = page.services.tools.services();
    let arguments = json!({ "id": uri });
    let read = page.run(KnowledgeGet::NAME, &arguments, async |call| {
        let library = services.registry.library(&call.principal);
        let source = library.source(uri.source).ok_or_else(|| {
            CallError::Invalid("documents of collections have no versions".to_owned())
        })?;
        let id = ItemId::from(uri.id.as_str());
        let deadline = || Deadline::after(HISTORY_TIMEOUT).with_cancellation(&call.cancel);
        let history = source.item_history(&id, (offset, VERSIONS_PER_PAGE), deadline()).await?;
        call.items.record([&uri]);
        let compared = match compared {
            Some(version) => {
                let older = text_of_version(source, &id, version, deadline()).await?;
                let newer = present_text(source, &id, &history, deadline()).await?;
                Some((version, render_difference(&library, older, newer).await))
            }
            None => None,
        };
        Ok((history, compared))
    });
    let (history, compared) = read.await?;
    Ok(HistoryPage {
        uri,
        user: page.login.user.to_string(),
        may_write: page.may_write(),
        compared,
        offset,
        history,
    })
}

/// Returns the text of the present version; empty for a deleted item.
async fn present_text(
    source: &SourceHandle,
    id: &ItemId,
    history: &ItemHistory,
    deadline: Deadline,
) -> Result<String, CallError> {
    if history.deleted {
        return Ok(String::new());
    }
    text_of_version(source, id, history.version, deadline).await
}

async fn text_of_version(
    source: &SourceHandle,
    id: &ItemId,
    version: i64,
    deadline: Deadline,
) -> Result<String, CallError> {
    let options = RetrievalOptions {
        mode: Some(RetrievalMode::Full),
        max_tokens: Some(Retrieval::MAX_RESPONSE_CHARS),
        ..RetrievalOptions::default()
    };
    let retrieval = Retrieval::resolve(options, &Preferences::default());
    let item = source.item_as_of(id.clone(), AsOf::Version(version), retrieval, deadline).await?;
    Ok(lines_of(&item))
}

/// Returns the title, the tags and the text of an item as lines.
fn lines_of(item: &Item) -> String {
    let title = item.meta.title.as_deref().unwrap_or_default();
    let tags = item.meta.tags.as_deref().unwrap_or_default().join(", ");
    let text = match &item.content {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let tags = if tags.is_empty() { tags } else { format!("Tags: {tags}\n") };
    format!("{title}\n{tags}\n{text}")
}

/// Compares two texts on the pool of the library. `None` if they are too long.
pub(super) async fn render_difference(
    library: &Library,
    older: String,
    newer: String,
) -> Option<Markup> {
    let compared = library.spawn_blocking(move || Difference::between(&older, &newer));
    compared.await.flatten().map(|difference| render_lines(&difference))
}
