//! The first page: what the library holds, and what changed last.

use maud::html;

use super::{
    Page,
    parts::{count, entry, path_with, source_label, tag_link},
    views::ListView,
};

/// Returns the first page of a library.
pub(crate) fn home_page(list: &ListView) -> Page {
    let sources = &list.facets.sources.values;
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
                @for facet in sources {
                    li {
                        a href=(path_with("/timeline", [("source", facet.value.as_str())])) {
                            strong { (count(facet.count)) }
                            span { (facet.value.parse().map_or("Items", source_label)) }
                        }
                    }
                }
            }
            @if !list.facets.tags.values.is_empty() {
                h2 { "Tags" }
                p.tags { @for tag in list.facets.tags.values.iter().take(24) { (tag_link(&tag.value)) " " } }
            }
            h2 { "Last changed" }
            @for hit in &list.results { (entry(hit, "")) }
            p { a href="/timeline" { "All items, by month" } }
        }
    };
    Page::new("Library", content)
}
