//! The timeline.

use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};
use vademecum_model::SourceName;

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{
    ITEMS_PER_PAGE, MonthCounts, Page, Section, TimelineTerms, timeline_page, views::ListView,
};

/// Shows the items by month.
pub(super) async fn show_timeline(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = build_timeline(&page).await;
    page.respond(Section::Timeline, shown)
}

async fn build_timeline(page: &PageRequest) -> Result<Page, PageProblem> {
    let text = |name: &str| page.query.get(name).trim().to_owned();
    let terms = TimelineTerms {
        source: text("source"),
        tag: text("tag"),
        folder: text("folder"),
        month: text("month"),
        offset: page.number("offset"),
    };
    let mut months = MonthCounts::new();
    for source in SourceName::ALL {
        let is_wanted = terms.source.is_empty() || terms.source == source.as_str();
        // Only notes are in folders.
        let is_possible = terms.folder.is_empty() || source == SourceName::Notes;
        let values = if is_wanted && is_possible {
            let mut arguments = limits(&terms);
            arguments.insert("sources".to_owned(), json!([source]));
            arguments.insert("facets".to_owned(), json!(["months"]));
            let counted: ListView = page.call("knowledge.list", Value::Object(arguments)).await?;
            counted.facets.months.values
        } else {
            Vec::new()
        };
        months.push((source, values));
    }
    let mut arguments = limits(&terms);
    arguments.insert("limit".to_owned(), json!(ITEMS_PER_PAGE));
    arguments.insert("offset".to_owned(), json!(terms.offset));
    if !terms.source.is_empty() {
        arguments.insert("sources".to_owned(), json!([terms.source]));
    }
    if let Some((first, next)) = terms.days() {
        arguments.insert("after".to_owned(), json!(first));
        arguments.insert("before".to_owned(), json!(next));
    }
    let list: ListView = page.call("knowledge.list", Value::Object(arguments)).await?;
    Ok(timeline_page(&terms, &months, &list))
}

/// Returns the limits that the picture and the list share.
fn limits(terms: &TimelineTerms) -> Map<String, Value> {
    let mut arguments = Map::new();
    if !terms.tag.is_empty() {
        arguments.insert("tags".to_owned(), json!([terms.tag]));
    }
    if !terms.folder.is_empty() {
        arguments.insert("folder".to_owned(), json!(terms.folder));
    }
    arguments
}
