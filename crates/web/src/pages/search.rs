//! The page of results.

use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};
use vademecum_tools::{KnowledgeSearch, SearchResults};

use super::page_request::PageRequest;
use crate::templates::{RESULTS_PER_PAGE, SearchTerms, Section, search_page};

/// Length of a snippet, in characters.
const SNIPPET_LENGTH: usize = 240;

/// Searches the library.
pub(super) async fn show_search(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let text = |name: &str| page.query.get(name).trim().to_owned();
    let terms = SearchTerms {
        query: text("q"),
        source: text("source"),
        tag: text("tag"),
        after: text("after"),
        before: text("before"),
        order: text("order"),
        select: text("select"),
        offset: page.number("offset"),
    };
    let shown = if terms.query.is_empty() {
        Ok(search_page(&terms, None, None))
    } else {
        let found = page.run_tool::<KnowledgeSearch>(&arguments(&terms)).await;
        let found = found.map(|found| found.map_results(SearchResults::into_hits));
        let forms = page.may_write().then(|| page.form_context());
        found.map(|found| search_page(&terms, Some(&found), forms.as_ref()))
    };
    page.respond_with_items(Section::Search, shown)
}

fn arguments(terms: &SearchTerms) -> Value {
    let mut arguments = Map::from_iter([
        ("query".to_owned(), json!(terms.query)),
        ("limit".to_owned(), json!(RESULTS_PER_PAGE)),
        ("offset".to_owned(), json!(terms.offset)),
        ("highlight".to_owned(), json!(true)),
        ("snippet_length".to_owned(), json!(SNIPPET_LENGTH)),
    ]);
    let texts = [("after", &terms.after), ("before", &terms.before), ("order_by", &terms.order)];
    let lists = [("sources", &terms.source), ("tags", &terms.tag)];
    for (name, value) in texts.into_iter().filter(|(_, value)| !value.is_empty()) {
        arguments.insert(name.to_owned(), json!(value));
    }
    for (name, value) in lists.into_iter().filter(|(_, value)| !value.is_empty()) {
        arguments.insert(name.to_owned(), json!([value]));
    }
    Value::Object(arguments)
}
