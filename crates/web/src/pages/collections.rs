//! The collections that the user may search.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use vademecum_model::CancelFlag;
use vademecum_tools::RagAdminStats;

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{CollectionSummary, Page, Section, collections_page};

/// Shows the collections.
pub(super) async fn show_collections(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = build_collections_page(&page).await;
    page.respond(Section::Collections, shown)
}

async fn build_collections_page(page: &PageRequest) -> Result<Page, PageProblem> {
    let (catalogue, principal) = (Arc::clone(&page.services.collections), page.principal().clone());
    let visible = web::block(move || {
        let visible = catalogue.list_visible(&principal, &CancelFlag::default())?;
        Ok::<_, vademecum_actors::collections::CollectionError>(
            visible.into_iter().map(|opened| opened.record).collect::<Vec<_>>(),
        )
    });
    let records = visible
        .await
        .map_err(|error| PageProblem::internal(&error))?
        .map_err(|error| PageProblem::internal(&error))?;
    let statistics = if records.is_empty() {
        None
    } else {
        // Only administrators learn how many documents there are, of all users.
        page.run_tool::<RagAdminStats>(&json!({})).await.ok()
    };
    let sources = statistics.map(|statistics| statistics.sources).unwrap_or_default();
    let summaries = records.into_iter().map(|record| {
        let found = sources.iter().find(|source| source.source_name == record.name);
        CollectionSummary {
            counts: found.map(|found| (found.docs, found.chunks)),
            is_shared: record.owner.is_none(),
            updated_at: found.and_then(|found| found.last_sync).or(record.updated_at),
            problem: found.and_then(|found| found.last_error.clone()),
            name: record.name,
        }
    });
    Ok(collections_page(&summaries.collect::<Vec<_>>()))
}
