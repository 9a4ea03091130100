//! Instructions for connecting clients.

use actix_web::{HttpRequest, HttpResponse};

use super::page_request::PageRequest;
use crate::templates::{ConnectPage, Section, connect_page};

/// Shows how clients are connected to this server.
pub(super) async fn show_connect(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let site = page.browser.oauth.public_url();
    let is_public = page.browser.state().oauth.is_some();
    let shown = connect_page(&ConnectPage {
        site: site.to_string(),
        address: site.join("/mcp"),
        is_public,
        is_local: !site.is_https(),
    });
    page.respond(Section::Connect, Ok(shown))
}
