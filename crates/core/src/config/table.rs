//! Collections of database rows: the table, and the mapping of its rows to documents.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Maximum length of the name of a table or a column, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// A table whose rows become the documents of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionTable {
    /// Name of the database profile.
    pub profile: String,
    /// Name of the table, optionally with its schema: `schema.table`.
    pub table: String,
    /// Column with the unique key of each row.
    pub pk_column: String,
    /// SQL condition that selects the rows; without it, all rows.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Mapping of a row to a document.
    pub doc_map: DocMap,
    /// Column that detects new and changed rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<CursorColumn>,
}

/// Mapping of a row to a document, in the format of `doc_map_json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocMap {
    /// Identifier of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc_id: Option<DocIdFormat>,
    /// Title of the document, concatenated from columns and literals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = json!({ "concat": [{ "col": "title" }] }))]
    pub title: Option<TextTemplate>,
    /// Text of the document, concatenated from columns and literals.
    #[schemars(example = json!({
        "concat": [{ "col": "summary" }, { "lit": "\n\n" }, { "col": "body" }]
    }))]
    pub body: TextTemplate,
    /// Columns stored as metadata, and new names for some of them. Filters use the names `Score`,
    /// `PostTypeId`, `Tags` and `CreationDate`.
    #[serde(default)]
    #[schemars(example = json!({
        "pick": ["id", "tags", "created"], "rename": { "created": "CreationDate" }
    }))]
    pub metadata: MetadataMapping,
}

/// Identifier of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocIdFormat {
    /// Identifier of the document, with the key column in braces. Default: table and key, such as
    /// `"public.posts:7"`.
    #[schemars(example = "posts:{id}")]
    pub format: String,
}

/// A text that is concatenated from columns and literals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextTemplate {
    /// Parts of the text, in order.
    pub concat: Vec<TemplatePart>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TemplatePart {
    /// Value of a column.
    Col(String),
    /// Literal text.
    Lit(String),
}

/// Metadata that is copied from columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MetadataMapping {
    /// Columns to be copied.
    pub pick: Vec<String>,
    /// New names of some of these columns.
    pub rename: BTreeMap<String, String>,
}

/// Detection of new and changed rows by a column whose values only grow, such as a timestamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CursorColumn {
    /// Name of the column.
    pub column: String,
}

impl CollectionTable {
    /// Returns a description of the first invalid setting, if there is one.
    pub fn find_problem(&self) -> Option<String> {
        let mut names = vec![("table", &self.table), ("pk_column", &self.pk_column)];
        names.extend(
            self.doc_map.title.iter().flat_map(TextTemplate::columns).map(|it| ("title", it)),
        );
        names.extend(self.doc_map.body.columns().map(|it| ("body", it)));
        names.extend(self.doc_map.metadata.pick.iter().map(|it| ("metadata.pick", it)));
        names.extend(self.cursor.iter().map(|it| ("cursor.column", &it.column)));
        let wrong = names.into_iter().find(|(_, name)| !is_valid_name(name));
        if let Some((place, name)) = wrong {
            let shown: String = name.chars().take(60).collect();
            return Some(format!("`{place}` is {shown:?}, which is not a valid name"));
        }
        if self.doc_map.body.columns().next().is_none() {
            return Some("`doc_map.body` names no column; write concat = [{ col = \"…\" }]".into());
        }
        self.doc_map.doc_id.as_ref().and_then(|it| self.find_format_problem(&it.format)).or_else(
            || {
                let MetadataMapping { pick, rename } = &self.doc_map.metadata;
                let unknown = rename.keys().find(|name| !pick.contains(name));
                if let Some(name) = unknown {
                    return Some(format!(
                        "`metadata.rename` names `{name}`, which is not in `metadata.pick`"
                    ));
                }
                let mut called = BTreeSet::new();
                let twice = pick.iter().map(|name| rename.get(name).unwrap_or(name));
                let twice = twice.into_iter().find(|name| !called.insert(name.as_str()));
                twice.map(|name| format!("two columns of `metadata.pick` have the name `{name}`"))
            },
        )
    }

    /// Returns a description of the error in the identifier format, if there is one. It must
    /// contain the key and no other column, because deleted rows are detected by their keys alone.
    fn find_format_problem(&self, format: &str) -> Option<String> {
        let key = format!("{{{}}}", self.pk_column);
        let rest = format.replace(&key, "");
        (rest.len() == format.len() || rest.contains(['{', '}'])).then(|| {
            format!("`doc_id.format` must contain {key} and no other column: `posts:{key}`")
        })
    }

    /// Returns the identifier of the document for the row with this key.
    pub fn doc_id(&self, key: &str) -> String {
        match &self.doc_map.doc_id {
            Some(DocIdFormat { format }) => format.replace(&format!("{{{}}}", self.pk_column), key),
            None => format!("{}:{key}", self.table),
        }
    }

    /// Returns the columns that documents need, each once, with the key first.
    pub fn columns(&self) -> Vec<&str> {
        let DocMap { title, body, metadata, doc_id: _ } = &self.doc_map;
        let texts = title.iter().chain([body]).flat_map(TextTemplate::columns);
        let mut columns: Vec<&str> = Vec::new();
        for name in [&self.pk_column].into_iter().chain(texts).chain(&metadata.pick) {
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
        columns
    }
}

impl TextTemplate {
    /// Returns the columns that the text contains.
    fn columns(&self) -> impl Iterator<Item = &String> {
        self.concat.iter().filter_map(|part| match part {
            TemplatePart::Col(name) => Some(name),
            TemplatePart::Lit(_) => None,
        })
    }
}

fn is_valid_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> CollectionTable {
        toml::from_str(&format!(
            "profile = \"shop\"\ntable = \"blog.posts\"\npk_column = \"Id\"\n{text}"
        ))
        .unwrap()
    }

    const BODY: &str =
        "doc_map.body.concat = [{ col = \"Title\" }, { lit = \": \" }, { col = \"Body\" }]\n";

    #[test]
    fn columns_lists_each_mapped_column_once() {
        let table = table(&format!(
            "{BODY}doc_map.title.concat = [{{ col = \"Title\" }}]\n\
             doc_map.metadata.pick = [\"Id\", \"Tags\"]\ncursor.column = \"Changed\""
        ));
        assert_eq!(table.columns(), ["Id", "Title", "Body", "Tags"]);
        assert_eq!(table.find_problem(), None);
    }

    #[test]
    fn doc_id_contains_key() {
        assert_eq!(table(BODY).doc_id("7"), "blog.posts:7");
        let named = table(&format!("{BODY}doc_map.doc_id.format = \"posts:{{Id}}!\""));
        assert_eq!((named.find_problem(), named.doc_id("7").as_str()), (None, "posts:7!"));
    }

    #[test]
    fn invalid_setting_is_named() {
        for (text, problem) in [
            ("doc_map.body.concat = [{ lit = \"x\" }]", "`doc_map.body` names no column"),
            ("doc_map.body.concat = [{ col = \"\" }]", "`body` is \"\""),
            (&format!("{BODY}doc_map.doc_id.format = \"posts\""), "must contain {Id}"),
            (&format!("{BODY}doc_map.doc_id.format = \"{{Id}}{{Body}}\""), "no other column"),
            (&format!("{BODY}cursor.column = \"a\\nb\""), "`cursor.column`"),
            (
                &format!("{BODY}doc_map.metadata = {{ pick = [\"A\"], rename = {{ B = \"C\" }} }}"),
                "names `B`, which is not in `metadata.pick`",
            ),
            (
                &format!(
                    "{BODY}doc_map.metadata = {{ pick = [\"A\", \"B\"], rename = {{ A = \"B\" }} }}"
                ),
                "have the name `B`",
            ),
        ] {
            let found = table(text).find_problem().unwrap_or_default();
            assert!(found.contains(problem), "{text}: {found}");
        }
    }
}
