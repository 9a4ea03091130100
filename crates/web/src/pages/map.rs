//! The map of topics.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use vademecum_model::Uri;
use vademecum_services::{permalink::item_path, topic_map::TopicMap};

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{Page, Section, map_content};

/// Shows the map of topics.
pub(super) async fn show_map(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let map = TopicMap::of_library(&page.services.library(page.principal())).await;
    let shown = match map {
        Ok(map) => {
            Ok(Page::new("Map of topics", map_content(&map, &|uri: &Uri| item_path(uri, None))))
        }
        Err(error) => Err(PageProblem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    };
    page.respond(Section::Map, shown)
}
