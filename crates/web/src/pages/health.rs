//! The state of the server and of the user's library.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use vademecum_core::config::Quotas;
use vademecum_model::{Facet, ListRequest, SourceName};

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{Health, Page, Section, health_page};

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
    let counts = ListRequest { facets: vec![Facet::Sources], ..ListRequest::default() };
    let list = page.list(SourceName::ALL.to_vec(), counts, 0).await?;
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
    health.items = list.facet(Facet::Sources).to_vec();
    let failed = list.failed.into_iter();
    health.failed = failed.map(|failed| (failed.source.to_string(), failed.reason)).collect();
    Ok(health_page(&health))
}
