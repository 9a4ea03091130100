//! The extension MCP Apps (SEP-1865): HTML documents that clients show beside the results of tools.
//!
//! An app is a resource. It exists only for clients that declare the extension, which therefore are
//! the only ones whose list of tools names it.

use serde_json::{Map, Value, json};

/// Name of the extension MCP Apps in the capabilities.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// MIME type of apps, which clients that show apps declare in their capabilities.
pub const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Returns true if these client capabilities declare the extension, with the MIME type of apps.
pub(crate) fn is_declared(capabilities: &Value) -> bool {
    let types = &capabilities["extensions"][EXTENSION]["mimeTypes"];
    types.as_array().is_some_and(|types| types.iter().any(|it| it == APP_MIME_TYPE))
}

/// Returns the `_meta` of the contents of an app that loads nothing from the network.
pub fn offline_app_meta() -> Map<String, Value> {
    let none: [&str; 0] = [];
    let csp = json!({
        "connectDomains": none,
        "resourceDomains": none,
        "frameDomains": none,
        "baseUriDomains": none,
    });
    Map::from_iter([("ui".to_owned(), json!({ "csp": csp, "prefersBorder": true }))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declaration_needs_mime_type_of_apps() {
        let declared = |settings: Value| {
            is_declared(&json!({ "extensions": { "io.modelcontextprotocol/ui": settings } }))
        };
        assert!(declared(json!({ "mimeTypes": ["text/plain", "text/html;profile=mcp-app"] })));
        for other in [json!({}), json!({ "mimeTypes": ["text/html"] }), json!(true), json!([])] {
            assert!(!declared(other.clone()), "{other}");
        }
        assert!(!is_declared(&json!({ "extensions": [] })) && !is_declared(&json!("extensions")));
    }
}
