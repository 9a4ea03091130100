//! The first page.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::future::join;
use serde_json::json;
use vademecum_accounts::audit::AuditFilter;
use vademecum_actors::Library;
use vademecum_model::{Deadline, Facet, ListRequest, SourceName, Timestamp, Uri};
use vademecum_services::two_way::DailyNote;
use vademecum_tools::{KnowledgeList, Tool as _};
use vademecum_vault::journal::JournalEntry;

use super::{
    imports::{may_upload, read_last_import},
    page_request::{PageProblem, PageRequest, TRANSPORT, list_items},
};
use crate::templates::{
    AgentChange, ClientReading, HomePage, LibraryOverview, Page, Section, home_page,
};

/// Number of items on the first page.
const NEWEST: usize = 12;
/// Time before now of which the page shows what agents did.
pub(super) const AGENT_TIME: Duration = Duration::from_hours(24);
/// Maximum number of changes of a source, and of items on the page.
const MAX_CHANGES: usize = 200;
const MAX_CHANGED_ITEMS: usize = 8;
/// Maximum number of calls that are counted.
const MAX_CALLS: usize = 500;
/// Maximum time to read the lists beside the items.
const SIDE_TIMEOUT: Duration = Duration::from_secs(2);

/// Shows where one can start, and what changed last.
pub(super) async fn show_home(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = build_home(&page).await;
    page.respond_with_items(Section::Home, shown)
}

async fn build_home(page: &PageRequest) -> Result<Page, PageProblem> {
    let overview = read_overview(page).await?;
    let is_empty = overview.list.total == 0;
    let mut home = HomePage {
        agent_changes: group_changes(&overview.client_changes),
        overview,
        forms: page.may_write().then(|| page.form_context()),
        may_upload: may_upload(page),
        titles: HashMap::new(),
        reading: Vec::new(),
    };
    if !is_empty {
        home.reading = read_calls(page).await;
        let items: Vec<Uri> = home.agent_changes.iter().map(|it| it.uri.clone()).collect();
        if !items.is_empty() {
            let library = page.services.library(page.principal());
            let graph = library.link_graph(Deadline::after(SIDE_TIMEOUT));
            home.titles = graph.titles_of(&items).await.unwrap_or_default();
        }
    }
    Ok(home_page(&home))
}

/// Returns what the page shows of the whole library. It is read once and kept until the library, its imports
/// or the day change.
async fn read_overview(page: &PageRequest) -> Result<Arc<LibraryOverview>, PageProblem> {
    let library = page.services.library(page.principal());
    let arguments = json!({ "limit": NEWEST, "facets": [Facet::Sources, Facet::Tags] });
    let read = page.run(KnowledgeList::NAME, &arguments, async |call| {
        let daily = find_daily_note(page, &library).await;
        let mut kept = library.overview().await?;
        let mut is_complete = true;
        let overview = match kept.get::<LibraryOverview>() {
            Some(known) if known.daily == daily => known,
            Some(known) => {
                let daily_note = locate(daily.as_ref(), &library).await;
                Arc::new(LibraryOverview { daily, daily_note, ..(*known).clone() })
            }
            None => {
                let request = ListRequest {
                    take: NEWEST,
                    facets: vec![Facet::Sources, Facet::Tags],
                    ..ListRequest::default()
                };
                let list = list_items(&library, (SourceName::ALL.to_vec(), request, 0), call);
                let (list, imports) = join(list, read_last_import(page)).await;
                let list = list?;
                let (changes, has_changes) = read_client_changes(&library).await;
                // What could not be read may be complete at the next call.
                is_complete = list.failed.is_empty() && imports.is_ok() && has_changes;
                Arc::new(LibraryOverview {
                    list: Arc::new(list),
                    client_changes: changes.into(),
                    imports: imports.unwrap_or_default(),
                    daily_note: locate(daily.as_ref(), &library).await,
                    daily,
                })
            }
        };
        if is_complete {
            kept.keep(Arc::clone(&overview));
        }
        call.items.record(overview.list.hits.iter().map(|hit| &hit.uri));
        Ok(overview)
    });
    read.await
}

/// Returns the daily note of today, as the tool that writes to it finds it.
async fn find_daily_note(page: &PageRequest, library: &Library) -> Option<DailyNote> {
    let folders = &page.services.tools.services().folders;
    let found = folders.daily_note(&page.login.user, library).await;
    found.inspect_err(|error| tracing::debug!(%error, "the daily note is not shown")).ok()
}

async fn locate(daily: Option<&DailyNote>, library: &Library) -> Option<Uri> {
    let found = daily?.find(library).await.ok().flatten();
    found.map(|id| Uri::item(SourceName::Notes, id.to_string()))
}

/// Returns the last changes by clients, the last first, and whether those of all sources could be read.
async fn read_client_changes(library: &Library) -> (Vec<JournalEntry>, bool) {
    let (since, deadline) = (Timestamp::before_now(AGENT_TIME), Deadline::after(SIDE_TIMEOUT));
    let (mut changes, mut is_complete) = (Vec::new(), true);
    for source in SourceName::ALL.into_iter().filter_map(|source| library.source(source)) {
        if source.has_store() {
            let read = source.list_client_changes(since, MAX_CHANGES, deadline.clone()).await;
            is_complete &= read.is_ok();
            changes.extend(read.unwrap_or_default());
        }
    }
    changes.sort_by_key(|change| Reverse(change.changed_at));
    (changes, is_complete)
}

/// Returns the items that agents changed in the last hours, the last first.
fn group_changes(entries: &[JournalEntry]) -> Vec<AgentChange> {
    let since = Timestamp::before_now(AGENT_TIME);
    let mut changes: Vec<AgentChange> = Vec::new();
    let mut places: HashMap<(SourceName, &str, &str), usize> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.changed_at >= since) {
        let client = entry.author.client.as_str();
        let place = *places.entry((entry.source, &entry.item, client)).or_insert(changes.len());
        if let Some(known) = changes.get_mut(place) {
            known.count += 1;
            continue;
        }
        changes.push(AgentChange {
            uri: Uri::item(entry.source, entry.item.clone()),
            client: client.to_owned(),
            action: entry.action,
            changed_at: entry.changed_at,
            count: 1,
        });
    }
    changes.truncate(MAX_CHANGED_ITEMS);
    changes
}

/// Returns how much each client read in the last hours; nothing without an audit log.
async fn read_calls(page: &PageRequest) -> Vec<ClientReading> {
    let Some(store) = page.services.audit.clone() else { return Vec::new() };
    let filter = AuditFilter {
        user: Some(page.login.user.to_string()),
        tool: None,
        since: Some(Timestamp::before_now(AGENT_TIME)),
    };
    let log = page.browser.state().service.audit_log().clone();
    let read = web::block(move || {
        log.flush();
        store.latest(&filter, TRANSPORT, 0, MAX_CALLS)
    });
    let read = read.await;
    let mut clients: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in read.ok().and_then(Result::ok).unwrap_or_default() {
        if row.tool.is_none() {
            continue;
        }
        let known = clients.entry(row.client.unwrap_or_default()).or_default();
        known.0 += usize::try_from(row.count).unwrap_or(1);
        known.1 += usize::try_from(row.item_count).unwrap_or_default();
    }
    let mut reading: Vec<ClientReading> = clients
        .into_iter()
        .map(|(client, (calls, items))| ClientReading { client, calls, items })
        .collect();
    reading.sort_by_key(|reading| Reverse(reading.calls));
    reading.truncate(MAX_CHANGED_ITEMS);
    reading
}
