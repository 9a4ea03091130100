//! The state of the server and of the user's library.

use maud::html;
use vademecum_services::text::format_bytes;

use super::{Page, parts::count};

/// State of the server and of a library.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Reason why the server is not ready.
    pub(crate) not_ready: Option<&'static str>,
    /// Numbers of items by source.
    pub(crate) items: Vec<(String, usize)>,
    /// Sources that gave no answer, with the reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Size of the library on disk, in bytes.
    pub(crate) bytes: u64,
    /// Maximum size, in bytes, if there is one.
    pub(crate) max_bytes: Option<u64>,
    /// Number of items without vectors; `None` without embeddings.
    pub(crate) outdated_vectors: Option<usize>,
    /// Number of entries of the audit log that were lost; `None` if it is off.
    pub(crate) lost_entries: Option<u64>,
}

/// Returns the page of the server's state.
pub(crate) fn health_page(health: &Health) -> Page {
    let total: usize = health.items.iter().map(|(_, items)| items).sum();
    let content = html! {
        h1 { "Health" }
        @match health.not_ready {
            None => p.notice { "The server is ready." },
            Some(reason) => p.notice.error role="alert" { "The server is not ready: " (reason) "." },
        }
        @for (source, reason) in &health.failed {
            p.notice.error role="alert" { "The source " (source) " gives no answer: " (reason) "." }
        }
        dl.facts {
            dt { "Version" }
            dd { (env!("CARGO_PKG_VERSION")) }
            dt { "Items" }
            dd {
                (count(total))
                @for (source, items) in &health.items { br; (source) ": " (count(*items)) }
            }
            dt { "Size on disk" }
            dd {
                (format_bytes(health.bytes))
                @if let Some(most) = health.max_bytes { " of " (format_bytes(most)) }
            }
            dt { "Vectors" }
            dd {
                @match health.outdated_vectors {
                    None => "off: searches use words",
                    Some(0) => "up to date",
                    Some(missing) => { (count(missing)) " items are not indexed yet" },
                }
            }
            dt { "Audit log" }
            dd {
                @match health.lost_entries {
                    None => "off",
                    Some(0) => "complete",
                    Some(lost) => { (lost) " entries were lost" },
                }
            }
        }
        p.muted { code { "vademecum check" } " looks at every database, and repairs with " code { "--repair" } "." }
    };
    Page::new("Health", content)
}
