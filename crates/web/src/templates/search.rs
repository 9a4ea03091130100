//! The page of results.

use std::{cmp::Reverse, collections::BTreeMap};

use maud::{Markup, html};
use vademecum_model::{Hit, SourceName};
use vademecum_tools::{NO_ANSWER, SearchResponse};

use super::{
    FormContext, Page,
    parts::{count, entry, pager, path_with, source_label, tags},
    selection::selectable_entries,
};

/// Number of results on a page.
pub(crate) const RESULTS_PER_PAGE: usize = 20;

/// Maximum number of tags to narrow a search with.
const MAX_TAG_LINKS: usize = 8;

/// What a search asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchTerms {
    pub(crate) query: String,
    pub(crate) source: String,
    pub(crate) tag: String,
    pub(crate) after: String,
    pub(crate) before: String,
    pub(crate) order: String,
    /// `1` to select results, `all` to begin with all of them; empty otherwise.
    pub(crate) select: String,
    pub(crate) offset: usize,
}

impl SearchTerms {
    /// Returns the address of the page that begins at an offset.
    fn address(&self, offset: usize) -> String {
        let offset = if offset == 0 { String::new() } else { offset.to_string() };
        path_with(
            "/search",
            [
                ("q", self.query.as_str()),
                ("source", &self.source),
                ("tag", &self.tag),
                ("after", &self.after),
                ("before", &self.before),
                ("order", &self.order),
                ("select", &self.select),
                ("offset", &offset),
            ],
        )
    }

    fn has_filters(&self) -> bool {
        [&self.source, &self.tag, &self.after, &self.before].iter().any(|it| !it.is_empty())
    }
}

/// Returns the page of results; without any if nothing was searched for. With `forms`, results can be
/// selected and changed.
pub(crate) fn search_page(
    terms: &SearchTerms,
    found: Option<&SearchResponse<Vec<Hit>>>,
    forms: Option<&FormContext>,
) -> Page {
    let content = html! {
        h1 { @if terms.query.is_empty() { "Search" } @else { "Results for “" (terms.query) "”" } }
        (source_links(terms))
        (filters(terms))
        div #results aria-live="polite" {
            @match found {
                None => p.muted { "Type a question or a few words." },
                Some(found) => (results(terms, found, forms)),
            }
        }
    };
    let title = if terms.query.is_empty() { "Search" } else { &terms.query };
    Page::new(title, content)
}

/// Returns links to the same search in each source.
fn source_links(terms: &SearchTerms) -> Markup {
    let link = |source: &str, label: &str| {
        let address = SearchTerms { source: source.to_owned(), ..terms.clone() }.address(0);
        let is_current = terms.source == source;
        html! { a href=(address) aria-current=[is_current.then_some("true")] { (label) } }
    };
    html! {
        nav.chips aria-label="Sources" {
            (link("", "All"))
            @for source in SourceName::ALL { (link(source.as_str(), source_label(source))) }
        }
    }
}

/// Returns links to the same search with each of the most frequent tags of the results shown, and
/// how many of these have it.
fn tag_links(terms: &SearchTerms, found: &SearchResponse<Vec<Hit>>) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in found.results.iter().flat_map(tags) {
        *counts.entry(tag).or_default() += 1;
    }
    counts.remove(terms.tag.as_str());
    let mut frequent: Vec<(&str, usize)> = counts.into_iter().collect();
    frequent.sort_by_key(|(_, count)| Reverse(*count));
    frequent.truncate(MAX_TAG_LINKS);
    let address = |tag: &str| SearchTerms { tag: tag.to_owned(), ..terms.clone() }.address(0);
    html! {
        @if !frequent.is_empty() {
            nav.chips aria-label="Tags of these results" {
                @for (tag, count) in frequent { a href=(address(tag)) { "#" (tag) " " (count) } }
            }
        }
    }
}

fn filters(terms: &SearchTerms) -> Markup {
    html! {
        details open[terms.has_filters() || !terms.order.is_empty()] {
            summary { "Filters" }
            form.filters action="/search" method="get" {
                input type="hidden" name="q" value=(terms.query);
                input type="hidden" name="source" value=(terms.source);
                div.field {
                    label for="tag" { "Tag" }
                    input #tag type="text" name="tag" value=(terms.tag) autocomplete="off";
                }
                div.field {
                    label for="after" { "Changed since" }
                    input #after type="date" name="after" value=(terms.after);
                }
                div.field {
                    label for="before" { "Changed before" }
                    input #before type="date" name="before" value=(terms.before);
                }
                div.field {
                    label for="order" { "Order" }
                    select #order name="order" {
                        option value="" selected[terms.order.is_empty()] { "Best first" }
                        option value="recent" selected[terms.order == "recent"] { "Newest first" }
                    }
                }
                button type="submit" { "Apply" }
            }
        }
    }
}

/// Returns links that begin and end selecting results.
fn selection_links(terms: &SearchTerms) -> Markup {
    let link = |select: &str, label: &str| {
        let terms = SearchTerms { select: select.to_owned(), ..terms.clone() };
        html! { " " a href=(terms.address(terms.offset)) { (label) } }
    };
    html! {
        @if terms.select.is_empty() {
            (link("1", "Select"))
        } @else {
            (link("all", "Select all")) (link("1", "Select none")) (link("", "End selecting"))
        }
    }
}

fn results(
    terms: &SearchTerms,
    found: &SearchResponse<Vec<Hit>>,
    forms: Option<&FormContext>,
) -> Markup {
    let notes = found.meta.clone().unwrap_or_default();
    html! {
        @if let Some(words) = &notes.searched_for {
            p.notice { "Some words occur nowhere. These are results for “" (words) "”." }
        }
        @if let Some(words) = &notes.did_you_mean {
            p.notice { "Some words occur nowhere. Did you mean “" (words) "”?" }
        }
        @for sentence in notes.sign_sentences() {
            p.notice { (sentence) }
        }
        @for failed in &notes.failed_sources {
            p.notice.warning { "No answer from " (failed.display_name()) ": " (failed.reason) "." }
        }
        @if found.results.is_empty() {
            p { "Nothing was found." @if terms.has_filters() { " Fewer filters may help." } }
        } @else {
            h2.hidden { "Results" }
            p.muted {
                (count(found.total_estimated.max(found.results.len())))
                @if found.total_estimated == 1 { " result" } @else { " results" }
                @if forms.is_some() { "." (selection_links(terms)) }
            }
            @if !found.found { p.notice { (NO_ANSWER) } }
            (tag_links(terms, found))
            @match forms.filter(|_| !terms.select.is_empty()) {
                Some(forms) => {
                    @let all = terms.select == "all";
                    (selectable_entries(forms, &found.results, &terms.query, all))
                },
                None => { @for hit in &found.results { (entry(hit, &terms.query)) } },
            }
        }
        (pager(|offset| terms.address(offset), terms.offset, RESULTS_PER_PAGE, found.next_offset))
    }
}
