//! The map of topics.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use vademecum_kit::model::Uri;

use super::page_request::{PageProblem, PageRequest};
use crate::{
    pages::{Page, Section, map_content},
    services::{permalink::item_path, topic_map::TopicMap},
};

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
