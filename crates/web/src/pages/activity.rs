//! What clients did.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use vademecum_accounts::audit::AuditFilter;
use vademecum_model::Deadline;

use super::page_request::{PageProblem, PageRequest, TRANSPORT};
use crate::templates::{Activity, ENTRIES_PER_PAGE, Section, activity_page};

/// Maximum time to look up the titles of items.
const TITLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Shows the user's entries of the audit log.
pub(super) async fn show_activity(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let activity = match read_activity(&page).await {
        Ok(activity) => activity,
        Err(problem) => return page.respond(Section::Activity, Err(problem)),
    };
    page.respond(Section::Activity, Ok(activity_page(activity.as_ref())))
}

async fn read_activity(page: &PageRequest) -> Result<Option<Activity>, PageProblem> {
    let Some(store) = page.services.audit.clone() else { return Ok(None) };
    let log = page.browser.state().service.audit_log().clone();
    let with_pages = page.query.get("pages") == "1";
    let (offset, tool) = (page.number("offset"), page.query.get("tool").to_owned());
    let filter = AuditFilter {
        user: Some(page.login.user.to_string()),
        tool: Some(tool.clone()).filter(|tool| !tool.is_empty()),
        since: None,
    };
    let without = if with_pages { "" } else { TRANSPORT };
    let read = web::block(move || {
        log.flush();
        store.latest(&filter, without, offset, ENTRIES_PER_PAGE + 1)
    });
    let mut rows = read
        .await
        .map_err(|error| PageProblem::internal(&error))?
        .map_err(|error| PageProblem::internal(&error))?;
    let next_offset = (rows.len() > ENTRIES_PER_PAGE).then_some(offset + ENTRIES_PER_PAGE);
    rows.truncate(ENTRIES_PER_PAGE);
    let mut activity =
        Activity { rows, offset, next_offset, tool, with_pages, ..Activity::default() };
    let graph = page.services.library(page.principal()).link_graph(Deadline::after(TITLE_TIMEOUT));
    // Without titles, the page shows identifiers.
    activity.titles = graph.titles_of(&activity.items()).await.unwrap_or_default();
    Ok(Some(activity))
}
