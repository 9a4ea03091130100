//! The app that shows search results and lists, for clients with the extension MCP Apps.
//!
//! The document is self-contained. It only presents what the tools return, so that clients without
//! the extension miss nothing.

use vademecum_mcp::{APP_MIME_TYPE, Resource, ResourceContents, offline_app_meta};

/// URI of the app.
pub(super) const URI: &str = "ui://vademecum/results";

/// The document.
const DOCUMENT: &str = include_str!("results_app/document.html");

/// Returns the app as an entry of `resources/list`.
pub(super) fn resource() -> Resource {
    Resource {
        uri: URI.into(),
        name: "results".into(),
        title: "Results".into(),
        description: "Shows search results, and lists as a timeline.".into(),
        mime_type: APP_MIME_TYPE.into(),
    }
}

/// Returns the document.
pub(super) fn contents() -> ResourceContents {
    ResourceContents {
        meta: Some(offline_app_meta()),
        ..ResourceContents::text(URI, APP_MIME_TYPE, DOCUMENT.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum size of the document, in bytes.
    const MAX_BYTES: usize = 15 * 1_024;

    #[test]
    fn document_is_small_and_loads_nothing() {
        assert!(DOCUMENT.len() <= MAX_BYTES, "{} bytes", DOCUMENT.len());
        assert!(DOCUMENT.starts_with("<!doctype html>"));
        for word in ["http:", "https:", "src=", "<link", "@import", "url(", "fetch(", "XMLHttp"] {
            assert!(!DOCUMENT.contains(word), "{word}");
        }
    }

    #[test]
    fn document_never_parses_text_as_html_or_code() {
        let sinks =
            ["HTML", "document.write", "eval(", "Function(", "DOMParser", "setAttribute('on"];
        for sink in sinks {
            assert!(!DOCUMENT.contains(sink), "{sink}");
        }
    }
}
