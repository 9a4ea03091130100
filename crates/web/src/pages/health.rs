//! The state of the server and of the user's library.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use vademecum_core::config::Quotas;

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{Health, Page, Section, health_page, views::ListView};

/// Shows the state of the server.
pub(super) async fn show_health(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = build_health_page(&page).await;
    page.respond(Section::Health, shown)
}

async fn build_health_page(page: &PageRequest) -> Result<Page, PageProblem> {
    let list: ListView =
        page.call("knowledge.list", json!({ "limit": 0, "facets": ["sources"] })).await?;
    let (state, library) = (page.browser.state(), page.services.library(page.principal()));
    let (monitor, log) = (state.monitor.clone(), state.service.audit_log().clone());
    let (registry, user) = (Arc::clone(&page.services.registry), page.login.user.clone());
    let looked = web::block(move || {
        let outdated = library.count_outdated_vectors().transpose();
        Health {
            not_ready: monitor.not_ready_reason(),
            bytes: library.size_bytes(),
            max_bytes: registry.quotas().of_user(&user).ok().and_then(Quotas::byte_limit),
            outdated_vectors: outdated.unwrap_or_default(),
            lost_entries: log.is_enabled().then(|| log.lost_entries()),
            ..Health::default()
        }
    });
    let mut health = looked.await.map_err(|error| PageProblem::internal(&error))?;
    health.items =
        list.facets.sources.values.into_iter().map(|facet| (facet.value, facet.count)).collect();
    let failed = list.notes.failed_sources.into_iter();
    health.failed = failed.map(|failed| (failed.source, failed.reason)).collect();
    Ok(health_page(&health))
}
