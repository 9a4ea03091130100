//! Result of a method and its encoding for each protocol version.

use serde_json::{Map, Value, json};

use super::ProtocolVersion;
use crate::message::jsonrpc;

/// `_meta` field with the name and version of the server.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Result of a method, from which each protocol version makes its own JSON.
#[derive(Clone, Debug)]
pub(crate) struct MethodResult {
    /// JSON object without `_meta`.
    pub(crate) json: String,
    pub(crate) cache_hint: Option<CacheHint>,
    /// Fields of `_meta`.
    pub(crate) meta: Map<String, Value>,
    /// The result asks the client for input.
    pub(crate) input_required: bool,
}

/// How long the client may cache a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheHint {
    /// Time to live in milliseconds.
    pub(crate) ttl_ms: u32,
    /// The result is the same for every user.
    pub(crate) is_public: bool,
}

impl MethodResult {
    /// Creates a result from the text of a JSON object.
    pub(crate) fn new(json: String) -> Self {
        Self { json, cache_hint: None, meta: Map::new(), input_required: false }
    }

    /// Creates the result `{}` of methods that return nothing.
    pub(crate) fn empty() -> Self {
        Self::new("{}".to_owned())
    }

    /// Creates a result that the client may cache.
    pub(crate) fn cached(json: String, cache_hint: CacheHint) -> Self {
        Self { cache_hint: Some(cache_hint), ..Self::new(json) }
    }

    /// Returns the result as JSON text for this protocol version.
    pub(crate) fn encode(self, revision: ProtocolVersion) -> String {
        let mut meta = self.meta;
        let mut head = String::new();
        if !revision.has_sessions() {
            let kind = if self.input_required { "input_required" } else { "complete" };
            let caching =
                self.cache_hint.map_or_else(String::new, |CacheHint { ttl_ms, is_public }| {
                    let scope = if is_public { "public" } else { "private" };
                    format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}","#)
                });
            head = format!(r#""resultType":"{kind}",{caching}"#);
            meta.entry(SERVER_INFO).or_insert_with(implementation);
        }
        if !meta.is_empty() {
            head.push_str(r#""_meta":"#);
            head.push_str(&jsonrpc::to_json(&meta));
            head.push(',');
        }
        if head.is_empty() {
            return self.json;
        }
        let fields = self.json.strip_prefix('{').unwrap_or_default();
        if fields == "}" {
            head.pop();
        }
        format!("{{{head}{fields}")
    }
}

/// Returns the `serverInfo` object without icons.
pub(crate) fn implementation() -> Value {
    json!({ "name": "vademecum", "title": "Vademecum", "version": env!("CARGO_PKG_VERSION") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(outcome: MethodResult, revision: ProtocolVersion) -> Value {
        serde_json::from_str(&outcome.encode(revision)).unwrap()
    }

    #[test]
    fn result_has_fields_of_its_protocol_version() {
        let caching = CacheHint { ttl_ms: 5, is_public: false };
        let list = || MethodResult::cached(r#"{"tools":[]}"#.to_owned(), caching);
        assert_eq!(encoded(list(), ProtocolVersion::V2025_11_25), json!({ "tools": [] }));
        let mut modern = encoded(list(), ProtocolVersion::V2026_07_28);
        let meta = modern["_meta"].take();
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "vademecum");
        let expected = json!({ "tools": [], "resultType": "complete", "ttlMs": 5,
            "cacheScope": "private", "_meta": null });
        assert_eq!(modern, expected);
    }

    #[test]
    fn empty_result_is_valid_json() {
        assert_eq!(encoded(MethodResult::empty(), ProtocolVersion::V2024_11_05), json!({}));
        let modern = encoded(MethodResult::empty(), ProtocolVersion::V2026_07_28);
        assert_eq!(modern["resultType"], "complete");
    }

    #[test]
    fn meta_is_kept_in_every_version() {
        let meta = json!({ "vademecum/restarted": true });
        for revision in
            ProtocolVersion::dates().map(|date| ProtocolVersion::from_date(date).unwrap())
        {
            let meta = meta.as_object().cloned().unwrap();
            let outcome = MethodResult { meta, ..MethodResult::empty() };
            assert_eq!(encoded(outcome, revision)["_meta"]["vademecum/restarted"], true);
        }
    }
}
