//! The first page.

use std::{collections::BTreeMap, time::Duration};

use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::future::join;
use vademecum_accounts::audit::AuditFilter;
use vademecum_model::{Deadline, Facet, Filters, ListRequest, SourceName, Timestamp, Uri};

use super::{
    imports::{may_upload, read_last_import},
    page_request::{PageProblem, PageRequest, TRANSPORT},
};
use crate::templates::{AgentChange, ClientReading, HomePage, Page, Section, home_page};

/// Number of items on the first page.
const NEWEST: usize = 12;
/// Maximum number of items of today among which the daily note is looked for.
const MAX_DAILY: usize = 100;
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
    let request = ListRequest {
        take: NEWEST,
        facets: vec![Facet::Sources, Facet::Tags],
        ..ListRequest::default()
    };
    let list = page.list(SourceName::ALL.to_vec(), request, 0).await?;
    let today: String = Timestamp::now().to_string().chars().take(10).collect();
    let is_empty = list.total == 0;
    let mut home = HomePage {
        list,
        forms: page.may_write().then(|| page.form_context()),
        may_upload: may_upload(page),
        daily_note: None,
        today,
        agent_changes: Vec::new(),
        titles: std::collections::HashMap::new(),
        reading: Vec::new(),
        imports: None,
    };
    if !is_empty {
        home.daily_note = find_daily_note(page, &home.today).await?;
        let (changes, reading) = join(read_agent_changes(page), read_calls(page)).await;
        (home.agent_changes, home.reading) = (changes, reading);
        let items: Vec<Uri> = home.agent_changes.iter().map(|it| it.uri.clone()).collect();
        if !items.is_empty() {
            let library = page.services.library(page.principal());
            let graph = library.link_graph(Deadline::after(SIDE_TIMEOUT));
            home.titles = graph.titles_of(&items).await.unwrap_or_default();
        }
        home.imports = read_last_import(page).await;
    }
    Ok(home_page(&home))
}

/// Returns the note that has the date of today as its title, among those that were changed today.
async fn find_daily_note(page: &PageRequest, today: &str) -> Result<Option<Uri>, PageProblem> {
    let filters = Filters { after: Timestamp::parse(today).ok(), ..Filters::default() };
    let request = ListRequest { take: MAX_DAILY, filters, ..ListRequest::default() };
    let list = page.list(vec![SourceName::Notes], request, 0).await?;
    let found = list.hits.into_iter().find(|hit| hit.title.as_deref() == Some(today));
    Ok(found.map(|hit| hit.uri))
}

/// Returns the items that agents changed in the last hours, the last first; none if they cannot be read.
async fn read_agent_changes(page: &PageRequest) -> Vec<AgentChange> {
    let library = page.services.library(page.principal());
    let (since, deadline) = (Timestamp::before_now(AGENT_TIME), Deadline::after(SIDE_TIMEOUT));
    let mut changes: Vec<AgentChange> = Vec::new();
    for source in SourceName::ALL.into_iter().filter_map(|source| library.source(source)) {
        if !source.has_store() {
            continue;
        }
        let read = source.list_client_changes(since, MAX_CHANGES, deadline.clone()).await;
        for entry in read.unwrap_or_default() {
            let uri = Uri::item(entry.source, entry.item);
            let is_known =
                |it: &&mut AgentChange| it.uri == uri && it.client == entry.author.client;
            if let Some(known) = changes.iter_mut().find(is_known) {
                known.count += 1;
            } else {
                let client = entry.author.client;
                let (action, changed_at) = (entry.action, entry.changed_at);
                changes.push(AgentChange { uri, client, action, changed_at, count: 1 });
            }
        }
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.changed_at));
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
    reading.sort_by_key(|reading| std::cmp::Reverse(reading.calls));
    reading.truncate(MAX_CHANGED_ITEMS);
    reading
}
