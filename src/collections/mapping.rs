//! Rows that become documents, as `doc_map` says.

use serde_json::{Map, Value};
use vademecum_collections::Document;

use super::{Plan, chunking::Cut, sections::cut};
use vademecum_core::config::{Metadata, Part, Table, Text};
use vademecum_import::digest;

/// Goes up when the same row makes another document than before.
const VERSION: &str = "table/1";

/// How rows become documents.
#[derive(Clone, Debug)]
pub(super) struct Mapping<'p> {
    plan: &'p Plan,
    table: &'p Table,
    columns: Vec<&'p str>,
    cut: Cut,
}

impl<'p> Mapping<'p> {
    /// The one that a plan says.
    pub(super) fn new(plan: &'p Plan, table: &'p Table, cut: Cut) -> Self {
        Self { plan, table, columns: table.columns(), cut }
    }

    /// The columns that a row must have, in order; the key first.
    pub(super) fn columns(&self) -> &[&'p str] {
        &self.columns
    }

    /// What the document of the row with this key is called.
    pub(super) fn doc_id(&self, key: &Value) -> String {
        self.table.doc_id(&said(key))
    }

    /// The document that a row becomes.
    pub(super) fn document(&self, row: &[Value]) -> Document {
        let map = &self.table.doc_map;
        let key = row.first().unwrap_or(&Value::Null);
        let title = map.title.as_ref().map(|text| self.text(text, row).trim().to_owned());
        let body = self.text(&map.body, row);
        let title = title.filter(|title| !title.is_empty());
        let primary_key = Map::from_iter([(self.table.pk_column.clone(), key.clone())]);
        let metadata = self.metadata(&map.metadata, row);
        let mut document = Document {
            doc_id: self.doc_id(key),
            chunks: cut(&body, &[], self.cut),
            primary_key,
            title,
            body,
            metadata,
            access: self.plan.access_tags.clone(),
            ..Document::default()
        };
        document.content_hash = self.content_hash(&document);
        document
    }

    /// Tells whether a document is still what it was: all that it says, and all that
    /// the plan says of it.
    fn content_hash(&self, document: &Document) -> String {
        let cut = format!("{:?}", self.cut);
        let metadata = Value::Object(document.metadata.clone()).to_string();
        let key = Value::Object(document.primary_key.clone()).to_string();
        let title = document.title.as_deref().unwrap_or_default();
        let parts = [cut.as_str(), &key, title, &document.body, &metadata];
        let tags = self.plan.access_tags.iter().map(String::as_str);
        digest(VERSION, parts.into_iter().chain(tags).map(str::as_bytes))
    }

    fn text(&self, text: &Text, row: &[Value]) -> String {
        let part = |part: &Part| match part {
            Part::Col(name) => self.value(name, row).map(said).unwrap_or_default(),
            Part::Lit(text) => text.clone(),
        };
        text.concat.iter().map(part).collect()
    }

    fn metadata(&self, metadata: &Metadata, row: &[Value]) -> Map<String, Value> {
        let picked = metadata.pick.iter().map(|name| {
            let value = self.value(name, row).cloned().unwrap_or_default();
            (metadata.rename.get(name).unwrap_or(name).clone(), value)
        });
        picked.collect()
    }

    fn value<'r>(&self, name: &str, row: &'r [Value]) -> Option<&'r Value> {
        row.get(self.columns.iter().position(|column| *column == name)?)
    }
}

/// A value as a text says it.
fn said(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table() -> Table {
        toml::from_str(
            "profile = \"p\"\ntable = \"posts\"\npk_column = \"Id\"\n\
             doc_map.doc_id.format = \"posts:{Id}\"\n\
             doc_map.title.concat = [{ col = \"Title\" }]\n\
             doc_map.body.concat = [{ col = \"Title\" }, { lit = \"\\n\" }, { col = \"Body\" }]\n\
             doc_map.metadata = { pick = [\"Id\", \"Tags\", \"CreaionDate\"], \
             rename = { CreaionDate = \"CreationDate\" } }",
        )
        .unwrap()
    }

    fn document(row: &Value, plan: &Plan) -> Document {
        let table = table();
        Mapping::new(plan, &table, Cut::Whole).document(row.as_array().unwrap())
    }

    #[test]
    fn a_row_becomes_a_document_as_the_map_says() {
        let row = json!([12345, " JSON ", "Use ->.", "<mysql>", "2024-01-02 03:04:05"]);
        let made = document(&row, &Plan::default());
        assert_eq!((made.doc_id.as_str(), made.title.as_deref()), ("posts:12345", Some("JSON")));
        assert_eq!(made.body, " JSON \nUse ->.");
        assert_eq!(json!(made.primary_key), json!({ "Id": 12345 }));
        let metadata =
            json!({ "Id": 12345, "Tags": "<mysql>", "CreationDate": "2024-01-02 03:04:05" });
        assert_eq!(json!(made.metadata), metadata);
        assert_eq!(made.chunks.len(), 1);
    }

    #[test]
    fn whatever_a_column_holds_is_said_and_null_is_nothing() {
        let made = document(&json!([1, null, { "a": [1.5, true] }, null, null]), &Plan::default());
        assert_eq!((made.title, made.body.as_str()), (None, "\n{\"a\":[1.5,true]}"));
        assert_eq!(made.metadata["Tags"], Value::Null);
    }

    #[test]
    fn a_document_is_another_as_soon_as_anything_of_it_is() {
        let plan = Plan::default();
        let hash = |row: Value| document(&row, &plan).content_hash;
        let one = hash(json!([1, "a", "b", "c", "d"]));
        assert_eq!(one, hash(json!([1, "a", "b", "c", "d"])));
        for other in [json!([1, "A", "b", "c", "d"]), json!([1, "a", "b", "C", "d"])] {
            assert_ne!(one, hash(other));
        }
        let tagged = Plan { access_tags: vec!["team:a".to_owned()], ..Plan::default() };
        assert_ne!(one, document(&json!([1, "a", "b", "c", "d"]), &tagged).content_hash);
    }
}
