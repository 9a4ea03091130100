//! The first page.

use actix_web::{HttpRequest, HttpResponse};
use vademecum_model::{Facet, ListRequest, SourceName};

use super::page_request::PageRequest;
use crate::templates::{Section, home_page};

/// Number of items on the first page.
const NEWEST: usize = 12;

/// Shows what the library holds, and what changed last.
pub(super) async fn show_home(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let request = ListRequest {
        take: NEWEST,
        facets: vec![Facet::Sources, Facet::Tags],
        ..ListRequest::default()
    };
    let list = page.list(SourceName::ALL.to_vec(), request, 0).await;
    page.respond_with_items(Section::Home, list.map(|list| home_page(&list)))
}
