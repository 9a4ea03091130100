//! The first page.

use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::page_request::PageRequest;
use crate::templates::{Section, home_page, views::ListView};

/// Number of items on the first page.
const NEWEST: usize = 12;

/// Shows what the library holds, and what changed last.
pub(super) async fn show_home(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let arguments = json!({ "limit": NEWEST, "facets": ["sources", "tags"] });
    let list: Result<ListView, _> = page.call("knowledge.list", arguments).await;
    page.respond(Section::Home, list.map(|list| home_page(&list)))
}
