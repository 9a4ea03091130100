//! Mapping of table rows to documents, as defined by `doc_map`.

use serde_json::{Map, Value};
use vademecum_collections::Document;
use vademecum_core::config::{CollectionTable, MetadataMapping, TemplatePart, TextTemplate};
use vademecum_import::digest;

use super::{CollectionPlan, chunking::ChunkingMode, sections::cut_chunks};

/// Version of the mapping, part of the content hash. Increment it when the same row gives another
/// document than before.
const CONTENT_HASH_VERSION: &str = "table/1";

/// Maps rows to documents.
#[derive(Clone, Debug)]
pub(super) struct RowMapper<'p> {
    plan: &'p CollectionPlan,
    table: &'p CollectionTable,
    columns: Vec<&'p str>,
    cut: ChunkingMode,
}

impl<'p> RowMapper<'p> {
    /// Creates the mapping of a plan.
    pub(super) fn new(
        plan: &'p CollectionPlan,
        table: &'p CollectionTable,
        cut: ChunkingMode,
    ) -> Self {
        Self { plan, table, columns: table.columns(), cut }
    }

    /// Returns the columns that a row must have, in order, with the key first.
    pub(super) fn columns(&self) -> &[&'p str] {
        &self.columns
    }

    /// Returns the identifier of the document for the row with this key.
    pub(super) fn doc_id(&self, key: &Value) -> String {
        self.table.doc_id(&value_text(key))
    }

    /// Maps a row to a document.
    pub(super) fn to_document(&self, row: &[Value]) -> Document {
        let map = &self.table.doc_map;
        let key = row.first().unwrap_or(&Value::Null);
        let title = map.title.as_ref().map(|text| self.render_text(text, row).trim().to_owned());
        let body = self.render_text(&map.body, row);
        let title = title.filter(|title| !title.is_empty());
        let primary_key = Map::from_iter([(self.table.pk_column.clone(), key.clone())]);
        let metadata = self.collect_metadata(&map.metadata, row);
        let mut document = Document {
            doc_id: self.doc_id(key),
            chunks: cut_chunks(&body, &[], self.cut),
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

    /// Returns the hash of everything that a document depends on: its content, chunking and access
    /// tags.
    fn content_hash(&self, document: &Document) -> String {
        let cut = format!("{:?}", self.cut);
        let metadata = Value::Object(document.metadata.clone()).to_string();
        let key = Value::Object(document.primary_key.clone()).to_string();
        let title = document.title.as_deref().unwrap_or_default();
        let parts = [cut.as_str(), &key, title, &document.body, &metadata];
        let tags = self.plan.access_tags.iter().map(String::as_str);
        digest(CONTENT_HASH_VERSION, parts.into_iter().chain(tags).map(str::as_bytes))
    }

    fn render_text(&self, text: &TextTemplate, row: &[Value]) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Col(name) => {
                self.column_value(name, row).map(value_text).unwrap_or_default()
            }
            TemplatePart::Lit(text) => text.clone(),
        };
        text.concat.iter().map(part).collect()
    }

    fn collect_metadata(&self, metadata: &MetadataMapping, row: &[Value]) -> Map<String, Value> {
        let picked = metadata.pick.iter().map(|name| {
            let value = self.column_value(name, row).cloned().unwrap_or_default();
            (metadata.rename.get(name).unwrap_or(name).clone(), value)
        });
        picked.collect()
    }

    fn column_value<'r>(&self, name: &str, row: &'r [Value]) -> Option<&'r Value> {
        row.get(self.columns.iter().position(|column| *column == name)?)
    }
}

/// Converts a value to text; null becomes empty.
fn value_text(value: &Value) -> String {
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

    fn table() -> CollectionTable {
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

    fn map_row(row: &Value, plan: &CollectionPlan) -> Document {
        let table = table();
        RowMapper::new(plan, &table, ChunkingMode::Whole).to_document(row.as_array().unwrap())
    }

    #[test]
    fn row_is_mapped_to_document() {
        let row = json!([12345, " JSON ", "Use ->.", "<mysql>", "2024-01-02 03:04:05"]);
        let made = map_row(&row, &CollectionPlan::default());
        assert_eq!((made.doc_id.as_str(), made.title.as_deref()), ("posts:12345", Some("JSON")));
        assert_eq!(made.body, " JSON \nUse ->.");
        assert_eq!(json!(made.primary_key), json!({ "Id": 12345 }));
        let metadata =
            json!({ "Id": 12345, "Tags": "<mysql>", "CreationDate": "2024-01-02 03:04:05" });
        assert_eq!(json!(made.metadata), metadata);
        assert_eq!(made.chunks.len(), 1);
    }

    #[test]
    fn column_values_become_text_and_null_empty() {
        let made = map_row(
            &json!([1, null, { "a": [1.5, true] }, null, null]),
            &CollectionPlan::default(),
        );
        assert_eq!((made.title, made.body.as_str()), (None, "\n{\"a\":[1.5,true]}"));
        assert_eq!(made.metadata["Tags"], Value::Null);
    }

    #[test]
    fn content_hash_changes_with_any_field() {
        let plan = CollectionPlan::default();
        let hash = |row: Value| map_row(&row, &plan).content_hash;
        let one = hash(json!([1, "a", "b", "c", "d"]));
        assert_eq!(one, hash(json!([1, "a", "b", "c", "d"])));
        for other in [json!([1, "A", "b", "c", "d"]), json!([1, "a", "b", "C", "d"])] {
            assert_ne!(one, hash(other));
        }
        let tagged =
            CollectionPlan { access_tags: vec!["team:a".to_owned()], ..CollectionPlan::default() };
        assert_ne!(one, map_row(&json!([1, "a", "b", "c", "d"]), &tagged).content_hash);
    }
}
