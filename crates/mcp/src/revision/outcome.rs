//! What a method answers, and how a revision wraps it.

use serde_json::{Map, Value};

use super::Revision;
use crate::{about, jsonrpc};

/// What a method answers.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// A JSON object, without `_meta`.
    json: String,
    meta: Option<Map<String, Value>>,
    caching: Option<Caching>,
    wants_input: bool,
}

/// For how long an answer may be kept by whoever asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caching {
    /// In milliseconds.
    pub(crate) ttl_ms: u32,
    /// Whether it is the same for everybody.
    pub(crate) is_public: bool,
}

impl Outcome {
    /// An answer that is this JSON object.
    pub(crate) fn new(json: String) -> Self {
        Self { json, meta: None, caching: None, wants_input: false }
    }

    /// An answer that says nothing.
    pub(crate) fn empty() -> Self {
        Self::new("{}".to_owned())
    }

    /// With something said about it.
    pub(crate) fn with_meta(self, meta: Option<Map<String, Value>>) -> Self {
        Self { meta, ..self }
    }

    /// That may be kept.
    pub(crate) fn cached(self, caching: Caching) -> Self {
        Self { caching: Some(caching), ..self }
    }

    /// That is no answer yet, but asks the client for more.
    pub(crate) fn wants_input(self) -> Self {
        Self { wants_input: true, ..self }
    }

    /// The result as this revision has it.
    pub(crate) fn seal(self, revision: Revision) -> String {
        let mut meta = self.meta.unwrap_or_default();
        let mut head = String::new();
        if !revision.has_sessions() {
            let kind = if self.wants_input { "input_required" } else { "complete" };
            let caching = self.caching.map_or_else(String::new, |Caching { ttl_ms, is_public }| {
                let scope = if is_public { "public" } else { "private" };
                format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}","#)
            });
            head = format!(r#""resultType":"{kind}",{caching}"#);
            meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), about::implementation());
        }
        if !meta.is_empty() {
            head.push_str(r#""_meta":"#);
            head.push_str(&jsonrpc::json(&meta));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sealed(outcome: Outcome, revision: Revision) -> Value {
        serde_json::from_str(&outcome.seal(revision)).unwrap()
    }

    #[test]
    fn a_result_says_what_its_revision_wants_to_know() {
        let caching = Caching { ttl_ms: 5, is_public: false };
        let list = || Outcome::new(r#"{"tools":[]}"#.to_owned()).cached(caching);
        assert_eq!(sealed(list(), Revision::V2025_11_25), json!({ "tools": [] }));
        let mut modern = sealed(list(), Revision::V2026_07_28);
        let meta = modern["_meta"].take();
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "vademecum");
        let wanted = json!({ "tools": [], "resultType": "complete", "ttlMs": 5,
            "cacheScope": "private", "_meta": null });
        assert_eq!(modern, wanted);
    }

    #[test]
    fn an_empty_result_stays_json() {
        assert_eq!(sealed(Outcome::empty(), Revision::V2024_11_05), json!({}));
        let modern = sealed(Outcome::empty(), Revision::V2026_07_28);
        assert_eq!(modern["resultType"], "complete");
    }

    #[test]
    fn what_is_said_about_an_answer_stays_in_every_revision() {
        let meta = json!({ "vademecum/restarted": true });
        for revision in Revision::dates().map(|date| Revision::dated(date).unwrap()) {
            let outcome = Outcome::empty().with_meta(meta.as_object().cloned());
            assert_eq!(sealed(outcome, revision)["_meta"]["vademecum/restarted"], true);
        }
    }
}
