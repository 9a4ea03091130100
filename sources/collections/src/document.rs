//! A document on its way into a collection.

use serde_json::{Map, Value};
use vademecum_kit::model::Timestamp;

/// A document, cut into chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What it is called in all of the collection.
    pub doc_id: String,
    /// The source it comes from.
    pub source_id: i64,
    /// Its primary key where it comes from.
    pub primary_key: Map<String, Value>,
    /// Its title.
    pub title: Option<String>,
    /// All of its text.
    pub body: String,
    /// What else is known of it. `Score`, `PostTypeId`, `Tags` and
    /// `CreationDate` can be asked for in filters.
    pub metadata: Map<String, Value>,
    /// What it is called by those who cite it.
    pub file_name: Option<String>,
    /// Which kind of file it is: `md`, `pdf` …
    pub file_type: Option<String>,
    /// Where a reader finds it.
    pub url: Option<String>,
    /// The project that it documents, and its version.
    pub project: Option<(String, String)>,
    /// The access tags that one must have to see it.
    pub access: Vec<String>,
    /// When it was made, unless the metadata say so.
    pub created_at: Option<Timestamp>,
    /// Tells whether it is still what it was, with the way it was cut.
    pub content_hash: String,
    /// Its chunks, in order.
    pub chunks: Vec<NewChunk>,
}

/// A part of a document's body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewChunk {
    /// The headings above it, outermost first, as one line.
    pub section: Option<String>,
    /// Where it begins in the body, in characters (code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it says.
    pub body: String,
    /// What else is to be known of it.
    pub metadata: Map<String, Value>,
}

impl NewChunk {
    /// What is embedded of it: the document's title, the headings above it, what
    /// it says.
    pub fn embedded(&self, title: Option<&str>) -> String {
        embedded([title, self.section.as_deref(), Some(&self.body)])
    }
}

/// What is embedded of a chunk, of its title, section and body.
pub(crate) fn embedded(lines: [Option<&str>; 3]) -> String {
    let lines: Vec<&str> = lines.into_iter().flatten().collect();
    lines.join("\n")
}

/// What became of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was not there; these are its chunks, in order.
    New(Vec<i64>),
    /// It was another; these are its chunks, in order.
    Updated(Vec<i64>),
    /// It was there already.
    Unchanged,
}

/// What filters ask of a document, as its metadata say it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hot {
    pub(crate) score: Option<f64>,
    pub(crate) post_type_id: Option<i64>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) tags: Vec<String>,
}

impl Document {
    pub(crate) fn hot(&self) -> Hot {
        let value = |names: &[&str]| {
            let known = |name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
            self.metadata.iter().find(|(name, _)| known(name)).map(|(_, value)| value)
        };
        let created = value(&["CreationDate", "created_at", "created", "date"]);
        let created = created.and_then(Value::as_str).and_then(|it| Timestamp::parse(it).ok());
        Hot {
            score: value(&["Score"]).and_then(number),
            post_type_id: value(&["PostTypeId", "post_type_id"]).and_then(whole),
            created_at: created.or(self.created_at),
            tags: tags_of(&self.metadata),
        }
    }
}

/// Databases hand out numbers as text.
fn number(value: &Value) -> Option<f64> {
    let read = |text: &str| text.trim().parse().ok();
    value.as_f64().or_else(|| value.as_str().and_then(read)).filter(|it: &f64| it.is_finite())
}

fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// The tags that metadata name.
pub(crate) fn tags_of(metadata: &Map<String, Value>) -> Vec<String> {
    let mut members = metadata.iter();
    let named = members.find(|(name, _)| name.eq_ignore_ascii_case("Tags"));
    named.map(|(_, value)| tags(value)).unwrap_or_default()
}

/// Reads `<mysql><json>`, `mysql, json`, `mysql|json` or a list.
fn tags(value: &Value) -> Vec<String> {
    let split = |text: &str| -> Vec<String> {
        let parts: Vec<&str> = if text.trim_start().starts_with('<') {
            text.split(['<', '>']).collect()
        } else {
            text.split([',', '|', ';']).collect()
        };
        parts.into_iter().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    match value {
        Value::String(text) => split(text),
        Value::Array(list) => list
            .iter()
            .filter_map(Value::as_str)
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_filters_ask_for_is_read_from_the_metadata() {
        let hot = |metadata: Value| {
            let metadata = metadata.as_object().cloned().unwrap();
            Document { metadata, ..Document::default() }.hot()
        };
        let found = hot(json!({
            "Tags": "<mysql><json>", "Score": "12", "PostTypeId": 1,
            "CreationDate": "2022-01-01T00:00:00Z",
        }));
        assert_eq!(found.tags, ["mysql", "json"]);
        assert_eq!((found.score, found.post_type_id), (Some(12.0), Some(1)));
        assert_eq!(found.created_at, Timestamp::parse("2022-01-01").ok());
        assert_eq!(hot(json!({ "tags": "a, b c;d|e" })).tags, ["a", "b c", "d", "e"]);
        assert_eq!(hot(json!({ "tags": ["a", "", 3] })).tags, ["a"]);
        assert_eq!(hot(json!({ "Score": "NaN", "Tags": 7 })), Hot::default());
    }
}
