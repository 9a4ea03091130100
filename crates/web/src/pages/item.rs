//! The page of an item, at its permalink.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use futures_util::future::join;
use serde_json::json;
use vademecum_actors::{CallContext, CallError, LinkDirection};
use vademecum_mcp::RequestContext;
use vademecum_model::{Deadline, ItemId, Retrieval, RetrievalMode, RetrievalOptions, Uri};
use vademecum_search::{GetRequest, Item};
use vademecum_services::permalink::parse_item_path;
use vademecum_tools::{KnowledgeGet, KnowledgeRelated, LinksResponse, Tool as _, ToolServices};
use vademecum_vault::journal::ItemHistory;

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{ItemPage, Page, Section, item_page, similar_page};

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
    page.respond_with_items(Section::Item, shown)
}

async fn build_item_page(page: &PageRequest, uri: Uri) -> Result<Page, PageProblem> {
    if !page.query.get("similar").is_empty() {
        let similar = json!({ "uri": uri, "limit": MAX_RELATED });
        // An item without words has no similar ones.
        let found = page.run_tool::<KnowledgeRelated>(&similar).await;
        return Ok(similar_page(&uri, &found.map_or_else(|_| Vec::new(), |found| found.results)));
    }
    let part = page.query.get("part").to_owned();
    let place: Option<usize> = page.query.get("at").parse().ok();
    let place = place.filter(|_| page.query.get("field").is_empty());
    let from = match page.query.get("from").parse() {
        Ok(from) => from,
        Err(_) => place.filter(|place| *place > FAR_AWAY).map_or(0, |place| place - CONTEXT),
    };
    let named = Uri { part: Some(part.clone()).filter(|it| !it.is_empty()), ..uri.clone() };
    let retrieval = RetrievalOptions {
        mode: Some(RetrievalMode::Full),
        max_tokens: Some(MAX_TOKENS),
        offset: Some(from),
        ..RetrievalOptions::default()
    };
    let arguments = json!({ "id": named, "retrieval": { "mode": "full", "offset": from } });
    let (item, links, history) = page
        .run(KnowledgeGet::NAME, &arguments, async |call| {
            read_item(page.services.tools.services(), call, named, retrieval).await
        })
        .await
        .map_err(missing_item)?;
    Ok(item_page(&ItemPage {
        item,
        place,
        part,
        query: page.query.get("q").to_owned(),
        links,
        history,
    }))
}

/// Reads an item with its links and its last changes. Documents of collections have neither. The tool
/// for changes is not offered unless clients may write, but the user may always see them.
async fn read_item(
    services: &ToolServices,
    call: &RequestContext,
    uri: Uri,
    options: RetrievalOptions,
) -> Result<(Item, Option<LinksResponse>, Option<ItemHistory>), CallError> {
    let library = services.registry.library(&call.principal);
    let Some(source) = library.source(uri.source) else {
        return Ok((services.read_uri(call, uri, options).await?, None, None));
    };
    let id = ItemId::from(uri.id.as_str());
    let get = GetRequest {
        id: id.clone(),
        part: uri.part,
        retrieval: Retrieval::resolve(options, &call.defaults.preferences),
        page: None,
        recent_queries: Vec::new(),
    };
    let changes = source.item_history(&id, (0, MAX_CHANGES), Deadline::after(HISTORY_TIMEOUT));
    let read = library.read_item_with_links(uri.source, get, CallContext::from_request(call));
    let (read, history) = join(read, changes).await;
    let (item, links) = read?;
    call.items.record([&item.meta.uri]);
    let links = match links {
        Some(links) => services.list_links(call, links, LinkDirection::Both, MAX_LINKS).await.ok(),
        None => None,
    };
    Ok((item, links, history.ok()))
}

/// Returns the problem of a page whose item could not be read.
fn missing_item(problem: PageProblem) -> PageProblem {
    match problem.status {
        StatusCode::BAD_REQUEST => PageProblem { status: StatusCode::NOT_FOUND, ..problem },
        _ => problem,
    }
}
