//! The timeline.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use vademecum_model::{Facet, Filters, ListRequest, SourceName, Timestamp};

use super::page_request::{PageProblem, PageRequest};
use crate::templates::{ITEMS_PER_PAGE, MonthCounts, Page, Section, TimelineTerms, timeline_page};

/// Shows the items by month.
pub(super) async fn show_timeline(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = build_timeline(&page).await;
    page.respond_with_items(Section::Timeline, shown)
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
    let sources = terms.sources().ok_or_else(|| {
        PageProblem::new(StatusCode::BAD_REQUEST, format!("there is no source `{}`", terms.source))
    })?;
    let all = ListRequest {
        filters: Filters {
            tags: Some(terms.tag.clone()).into_iter().filter(|tag| !tag.is_empty()).collect(),
            ..Filters::default()
        },
        folder: Some(terms.folder.clone()).filter(|folder| !folder.is_empty()),
        ..ListRequest::default()
    };
    let mut months = MonthCounts::new();
    for source in SourceName::ALL {
        let values = if sources.contains(&source) {
            let request = ListRequest { facets: vec![Facet::Months], ..all.clone() };
            page.list(vec![source], request, 0).await?.facet(Facet::Months).to_vec()
        } else {
            Vec::new()
        };
        months.push((source, values));
    }
    let facets = vec![Facet::Sources, Facet::Tags, Facet::Folders];
    let mut request = ListRequest { take: ITEMS_PER_PAGE, facets, ..all };
    if let Some((first, next)) = terms.days() {
        request.filters.after = Timestamp::parse(&first).ok();
        request.filters.before = Timestamp::parse(&next).ok();
    }
    let list = page.list(sources, request, terms.offset).await?;
    Ok(timeline_page(&terms, &months, &list))
}
