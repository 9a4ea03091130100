//! The collections that a user may search.

use maud::html;
use vademecum_model::Timestamp;

use super::{
    Page,
    parts::{count, minute},
};

/// Counts and state of a collection, as far as the user may know them.
#[derive(Debug)]
pub(crate) struct CollectionSummary {
    pub(crate) name: String,
    /// Numbers of documents and passages, if the user may know them.
    pub(crate) counts: Option<(u64, u64)>,
    pub(crate) is_shared: bool,
    pub(crate) updated_at: Option<Timestamp>,
    /// Error of the last synchronisation, or the reason why nothing else is known.
    pub(crate) problem: Option<String>,
}

/// Returns the page of collections.
pub(crate) fn collections_page(collections: &[CollectionSummary]) -> Page {
    let content = html! {
        h1 { "Collections" }
        p.muted { "Documentation, tables and other documents that agents search beside your own items." }
        @if collections.is_empty() {
            p { "There are none. " code { "vademecum collection --help" } " shows how to build one." }
        }
        @for collection in collections {
            section.card aria-label=(collection.name) {
                h2 dir="auto" { (collection.name) }
                p.about {
                    @if let Some((documents, passages)) = collection.counts {
                        span { (count(documents)) " documents" }
                        span { (count(passages)) " passages" }
                    }
                    @if collection.is_shared { span { "for all users" } }
                    @if let Some(at) = collection.updated_at { span { "changed " (minute(at)) } }
                }
                @if let Some(problem) = &collection.problem { p.notice.warning { (problem) } }
            }
        }
    };
    Page::new("Collections", content)
}
