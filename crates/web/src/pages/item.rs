//! The page of an item, at its permalink.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use serde_json::json;
use vademecum_model::{Deadline, ItemId, SourceName, Uri};
use vademecum_services::permalink::parse_item_path;

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{
    ItemPage, Page, Section, item_page,
    views::{HistoryView, ItemView, LinksView, SearchView},
};

/// Maximum size of a text on one page, in estimated tokens.
const MAX_TOKENS: usize = 8_000;
/// Number of characters after which a passage is too far from the beginning to be on its page.
const FAR_AWAY: usize = 12_000;
/// Number of characters shown before such a passage.
const CONTEXT: usize = 2_000;
/// Maximum number of links in each direction.
const MAX_LINKS: usize = 40;
/// Number of similar items.
const MAX_RELATED: usize = 5;
/// Maximum time to read the changes.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of changes.
const MAX_CHANGES: usize = 20;

/// Shows an item.
pub(super) async fn show_item(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = if let Some(uri) = parse_item_path(request.uri().path()) {
        build_item_page(&page, uri).await
    } else {
        let text = "This is not the address of an item: /i/<source>/<id>.";
        Err(PageProblem::new(StatusCode::NOT_FOUND, text))
    };
    page.respond(Section::Item, shown)
}

async fn build_item_page(page: &PageRequest, uri: Uri) -> Result<Page, PageProblem> {
    let part = page.query.get("part").to_owned();
    let place: Option<usize> = page.query.get("at").parse().ok();
    let place = place.filter(|_| page.query.get("field").is_empty());
    let from = match page.query.get("from").parse() {
        Ok(from) => from,
        Err(_) => place.filter(|place| *place > FAR_AWAY).map_or(0, |place| place - CONTEXT),
    };
    let named = Uri { part: Some(part.clone()).filter(|it| !it.is_empty()), ..uri.clone() };
    let item: ItemView = page
        .call(
            "knowledge.get",
            json!({
                "id": named,
                "retrieval": { "mode": "full", "max_tokens": MAX_TOKENS, "offset": from },
            }),
        )
        .await
        .map_err(missing_item)?;
    // Documents of collections have neither links nor versions.
    let is_own = uri.source != SourceName::Collections;
    let links: LinksView = if is_own {
        let arguments = json!({ "uri": uri, "direction": "both", "limit": MAX_LINKS });
        page.call("knowledge.links", arguments).await.unwrap_or_default()
    } else {
        LinksView::default()
    };
    let history = read_history(page, &uri).await.unwrap_or_default();
    let similar = json!({ "uri": uri, "limit": MAX_RELATED });
    // An item without words has no similar ones.
    let related: Option<SearchView> = page.call("knowledge.related", similar).await.ok();
    Ok(item_page(&ItemPage {
        item,
        place,
        part,
        query: page.query.get("q").to_owned(),
        links,
        related: related.map(|found| found.results).unwrap_or_default(),
        history,
    }))
}

/// Returns the last changes of an item. The tool is not offered unless clients may write, but the
/// user may always see them.
async fn read_history(page: &PageRequest, uri: &Uri) -> Option<HistoryView> {
    let library = page.services.library(page.principal());
    let source = library.source(uri.source)?;
    let (id, deadline) = (ItemId::from(uri.id.as_str()), Deadline::after(HISTORY_TIMEOUT));
    let history = source.item_history(&id, (0, MAX_CHANGES), deadline).await.ok()?;
    serde_json::from_value(serde_json::to_value(history).ok()?).ok()
}

/// Returns the problem of a page whose item could not be read.
fn missing_item(problem: PageProblem) -> PageProblem {
    match problem.status {
        StatusCode::BAD_REQUEST => PageProblem { status: StatusCode::NOT_FOUND, ..problem },
        _ => problem,
    }
}
