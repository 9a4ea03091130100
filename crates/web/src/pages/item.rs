//! The page of an item, at its permalink.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use futures_util::future::join;
use serde_json::json;
use vademecum_actors::{CallContext, CallError, Library, LinkDirection, SourceHandle};
use vademecum_mcp::RequestContext;
use vademecum_model::{
    Cue, Deadline, DraftBody, ItemId, Retrieval, RetrievalMode, RetrievalOptions, SourceName, Uri,
};
use vademecum_search::{GetRequest, Item};
use vademecum_services::permalink::{item_path, parse_item_path};
use vademecum_tools::{KnowledgeGet, KnowledgeRelated, LinksResponse, Tool as _, ToolServices};
use vademecum_vault::{journal::ItemHistory, links::LinkKind};

use super::{
    history::build_deleted_page,
    item_file::find_item_file,
    page_request::{PageProblem, PageRequest},
};
use crate::templates::{ItemPage, NoteEmbed, Page, Section, item_page, similar_page};

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
/// Maximum number of notes that are shown in the text of an item.
const MAX_EMBEDS: usize = 8;

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
    let read = page.run(KnowledgeGet::NAME, &arguments, async |call| {
        read_item(page.services.tools.services(), call, named, retrieval).await
    });
    let ReadItem { item, links, history, cues, embeds } = match read.await {
        Ok(read) => read,
        // A deleted item can be restored.
        Err(problem) => {
            let trash = build_deleted_page(page, uri).await;
            return trash.ok_or_else(|| missing_item(problem));
        }
    };
    let file = find_item_file(page, &item.meta.uri).await;
    let may_write = page.may_write() && item.meta.source != SourceName::Collections;
    Ok(item_page(&ItemPage {
        item,
        place,
        part,
        query: page.query.get("q").to_owned(),
        links,
        history,
        cues,
        embeds,
        forms: may_write.then(|| page.form_context()),
        file,
        user: page.login.user.to_string(),
    }))
}

/// An item with what its page shows of it.
struct ReadItem {
    item: Item,
    links: Option<LinksResponse>,
    history: Option<ItemHistory>,
    cues: Vec<Cue>,
    embeds: Vec<NoteEmbed>,
}

/// Reads an item with its links and its last changes. Documents of collections have neither. The tool
/// for changes is not offered unless clients may write, but the user may always see them.
async fn read_item(
    services: &ToolServices,
    call: &RequestContext,
    uri: Uri,
    options: RetrievalOptions,
) -> Result<ReadItem, CallError> {
    let library = services.registry.library(&call.principal);
    let Some(source) = library.source(uri.source) else {
        let item = services.read_uri(call, uri, options).await?;
        let (cues, embeds) = (Vec::new(), Vec::new());
        return Ok(ReadItem { item, links: None, history: None, cues, embeds });
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
    let embeds = match &links {
        Some(links) => read_embeds(&library, call, links).await,
        None => Vec::new(),
    };
    let cues = read_cues(source, &item, call).await;
    Ok(ReadItem { item, links, history: history.ok(), cues, embeds })
}

/// Reads the lines of the transcript of a recording; none if they cannot be read.
async fn read_cues(source: &SourceHandle, item: &Item, call: &RequestContext) -> Vec<Cue> {
    let is_recording = matches!(item.meta.media_type.as_deref(), Some("audio" | "video"));
    if source.name() != SourceName::Media || !is_recording {
        return Vec::new();
    }
    let deadline = Deadline::after(HISTORY_TIMEOUT).with_cancellation(&call.cancel);
    let draft = source.load_draft(&item.meta.id, deadline).await;
    match draft.map(|draft| draft.body) {
        Ok(DraftBody::Media(media)) => media.transcript.map(|it| it.cues).unwrap_or_default(),
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Reads the notes that an item embeds.
async fn read_embeds(
    library: &Library,
    call: &RequestContext,
    links: &LinksResponse,
) -> Vec<NoteEmbed> {
    let Some(notes) = library.source(SourceName::Notes) else { return Vec::new() };
    let deadline = Deadline::after(HISTORY_TIMEOUT).with_cancellation(&call.cancel);
    let embedded = links.out.iter().flatten().filter(|link| {
        let is_note = link.uri.source == SourceName::Notes;
        is_note && link.kind == LinkKind::Embed && link.uri.id != links.item.uri.id
    });
    let mut embeds = Vec::new();
    for link in embedded.take(MAX_EMBEDS) {
        let id = ItemId::from(link.uri.id.as_str());
        // A note that cannot be read, and a section that does not exist, is a link.
        let Ok(draft) = notes.load_draft(&id, deadline.clone()).await else { continue };
        let DraftBody::Note(note) = draft.body else { continue };
        call.items.record([&link.uri]);
        let path = item_path(&link.uri, None);
        embeds.extend(NoteEmbed::new(&path, &note.title, &link.fragment, &note.content));
    }
    embeds
}

/// Returns the problem of a page whose item could not be read.
fn missing_item(problem: PageProblem) -> PageProblem {
    match problem.status {
        StatusCode::BAD_REQUEST => PageProblem { status: StatusCode::NOT_FOUND, ..problem },
        _ => problem,
    }
}
