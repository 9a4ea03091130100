//! The input of ingestion: documents with their chunks, and the outcome of storing them.

use serde_json::{Map, Value, json};
use vademecum_model::Timestamp;

/// A document to store, already split into chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Identifier, unique in the collection.
    pub doc_id: String,
    /// Number of the source it belongs to.
    pub source_id: i64,
    /// Primary key in the system of origin, by column name.
    pub primary_key: Map<String, Value>,
    /// Title.
    pub title: Option<String>,
    /// Full text.
    pub body: String,
    /// Other metadata. `Score`, `PostTypeId`, `Tags` and `CreationDate` are available to filters.
    pub metadata: Map<String, Value>,
    /// File name to show in citations.
    pub file_name: Option<String>,
    /// File type, such as `md` or `pdf`.
    pub file_type: Option<String>,
    /// URL where the document can be read.
    pub url: Option<String>,
    /// Name and version of the project that it documents.
    pub project: Option<(String, String)>,
    /// Access tags. A caller needs all of them to see the document.
    pub access: Vec<String>,
    /// Creation time, used if the metadata has none.
    pub created_at: Option<Timestamp>,
    /// Hash of the content and the chunking. Equal hashes mean an unchanged document.
    pub content_hash: String,
    /// Chunks, in order.
    pub chunks: Vec<NewChunk>,
}

/// A chunk of a document to store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewChunk {
    /// Headings above the chunk, outermost first, as one line.
    pub section: Option<String>,
    /// Start in the body, in characters (code points).
    pub start: usize,
    /// End in the body, exclusive.
    pub end: usize,
    /// Text.
    pub body: String,
    /// Other metadata.
    pub metadata: Map<String, Value>,
}

impl NewChunk {
    /// Returns the text to embed: the title of the document, the headings above the chunk and its
    /// text, one per line.
    pub fn embedding_input(&self, title: Option<&str>) -> String {
        join_embedding_input([title, self.section.as_deref(), Some(&self.body)])
    }
}

/// Joins the title, section and body that exist into the text to embed.
pub(crate) fn join_embedding_input(lines: [Option<&str>; 3]) -> String {
    let lines: Vec<&str> = lines.into_iter().flatten().collect();
    lines.join("\n")
}

/// The outcome of storing a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// The document was added. Holds the rows of its chunks, in order.
    New(Vec<i64>),
    /// The document was replaced. Holds the rows of its chunks, in order.
    Updated(Vec<i64>),
    /// The stored document has the same content hash.
    Unchanged,
}

/// The values that filters use, read from the metadata of a document.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FilterValues {
    pub(crate) score: Option<f64>,
    pub(crate) post_type_id: Option<i64>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) tags: Vec<String>,
}

impl Document {
    /// Returns the metadata as JSON.
    pub fn metadata_json(&self) -> String {
        json!(self.metadata).to_string()
    }

    pub(crate) fn filter_values(&self) -> FilterValues {
        let value = |names: &[&str]| {
            let known = |name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
            self.metadata.iter().find(|(name, _)| known(name)).map(|(_, value)| value)
        };
        let created = value(&["CreationDate", "created_at", "created", "date"]);
        let created = created.and_then(Value::as_str).and_then(|it| Timestamp::parse(it).ok());
        FilterValues {
            score: value(&["Score"]).and_then(parse_number),
            post_type_id: value(&["PostTypeId", "post_type_id"]).and_then(parse_integer),
            created_at: created.or(self.created_at),
            tags: metadata_tags(&self.metadata),
        }
    }
}

/// Parses a finite number. Databases may deliver numbers as text.
fn parse_number(value: &Value) -> Option<f64> {
    let read = |text: &str| text.trim().parse().ok();
    value.as_f64().or_else(|| value.as_str().and_then(read)).filter(|it: &f64| it.is_finite())
}

fn parse_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the tags in the `Tags` entry of the metadata, in any letter case.
pub(crate) fn metadata_tags(metadata: &Map<String, Value>) -> Vec<String> {
    let mut members = metadata.iter();
    let named = members.find(|(name, _)| name.eq_ignore_ascii_case("Tags"));
    named.map(|(_, value)| parse_tags(value)).unwrap_or_default()
}

/// Parses `<mysql><json>`, `mysql, json`, `mysql|json`, `mysql;json` or a JSON list.
fn parse_tags(value: &Value) -> Vec<String> {
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
    use super::*;

    #[test]
    fn filter_values_are_read_from_metadata() {
        let hot = |metadata: Value| {
            let metadata = metadata.as_object().cloned().unwrap();
            Document { metadata, ..Document::default() }.filter_values()
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
        assert_eq!(hot(json!({ "Score": "NaN", "Tags": 7 })), FilterValues::default());
    }
}
