//! The first page: what the library holds, and what changed last.

use maud::html;
use vademecum_actors::ListPage;
use vademecum_model::Facet;

use super::{
    Page,
    parts::{count, entry, path_with, source_label, tag_link},
};

/// Returns the first page of a library.
pub(crate) fn home_page(list: &ListPage) -> Page {
    let tags = list.facet(Facet::Tags);
    let content = html! {
        @if list.total == 0 {
            h1 { "Your library is empty" }
            p {
                "Drop files on the page " a href="/imports" { "Imports" }
                ", or run " code { "vademecum import FOLDER" }
                ". The page " a href="/connect" { "Connect" } " shows how your agents find it."
            }
        } @else {
            h1 { "Your library" }
            ul.tiles {
                @for (source, items) in list.facet(Facet::Sources) {
                    li {
                        a href=(path_with("/timeline", [("source", source.as_str())])) {
                            strong { (count(*items)) }
                            span { (source.parse().map_or("Items", source_label)) }
                        }
                    }
                }
            }
            @if !tags.is_empty() {
                h2 { "Tags" }
                p.tags { @for (tag, _) in tags.iter().take(24) { (tag_link(tag)) " " } }
            }
            h2 { "Last changed" }
            @for hit in &list.hits { (entry(hit, "")) }
            p { a href="/timeline" { "All items, by month" } }
        }
    };
    Page::new("Library", content)
}
