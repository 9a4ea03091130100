//! A table as what a collection is made of, and how its rows become documents.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The longest name of a table or a column.
const LONGEST: usize = 128;

/// A table whose rows a collection is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The profile of the database that it is in.
    pub profile: String,
    /// What it is called there, perhaps behind its schema and a dot.
    pub table: String,
    /// The column that each row is known by.
    pub pk_column: String,
    /// Which rows count; all, without.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How a row becomes a document.
    pub doc_map: DocMap,
    /// What tells that a row is new or has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// How a row becomes a document, in the terms of `doc_map_json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocMap {
    /// What the document is called; by its table and its key, without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc_id: Option<DocId>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// Its text.
    pub body: Text,
    /// What else is known of it.
    #[serde(default)]
    pub metadata: Metadata,
}

/// What a document is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocId {
    /// A text with `{column}` in it, where the column is the key.
    pub format: String,
}

/// A text that is put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// Its parts, in order.
    pub concat: Vec<Part>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What a column says.
    Col(String),
    /// The same for each row.
    Lit(String),
}

/// What is known of a document besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metadata {
    /// The columns that are taken over.
    pub pick: Vec<String>,
    /// What some of these are called from then on.
    pub rename: BTreeMap<String, String>,
}

/// What tells that a row is new or has changed: a column that only grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The column.
    pub column: String,
}

impl Table {
    /// What of it cannot be, if anything.
    pub fn problem(&self) -> Option<String> {
        let mut names = vec![("table", &self.table), ("pk_column", &self.pk_column)];
        names.extend(self.doc_map.title.iter().flat_map(Text::columns).map(|it| ("title", it)));
        names.extend(self.doc_map.body.columns().map(|it| ("body", it)));
        names.extend(self.doc_map.metadata.pick.iter().map(|it| ("metadata.pick", it)));
        names.extend(self.cursor.iter().map(|it| ("cursor.column", &it.column)));
        let wrong = names.into_iter().find(|(_, name)| !is_name(name));
        if let Some((place, name)) = wrong {
            let shown: String = name.chars().take(60).collect();
            return Some(format!("`{place}` says {shown:?}, which is no name"));
        }
        if self.doc_map.body.columns().next().is_none() {
            return Some("`doc_map.body` names no column; write concat = [{ col = \"…\" }]".into());
        }
        self.doc_map.doc_id.as_ref().and_then(|it| self.format_problem(&it.format)).or_else(|| {
            let Metadata { pick, rename } = &self.doc_map.metadata;
            let unknown = rename.keys().find(|name| !pick.contains(name));
            if let Some(name) = unknown {
                return Some(format!("`metadata.rename` has `{name}`, which `pick` has not"));
            }
            let mut called = BTreeSet::new();
            let twice = pick.iter().map(|name| rename.get(name).unwrap_or(name));
            let twice = twice.into_iter().find(|name| !called.insert(name.as_str()));
            twice.map(|name| format!("two of `metadata.pick` are called `{name}`"))
        })
    }

    /// What of the format of identifiers cannot be. It may name nothing but the key:
    /// that a row is gone is told by keys alone.
    fn format_problem(&self, format: &str) -> Option<String> {
        let key = format!("{{{}}}", self.pk_column);
        let rest = format.replace(&key, "");
        (rest.len() == format.len() || rest.contains(['{', '}'])).then(|| {
            format!("`doc_id.format` must have {key} in it, and no other column: `posts:{key}`")
        })
    }

    /// What the document of the row with this key is called.
    pub fn doc_id(&self, key: &str) -> String {
        match &self.doc_map.doc_id {
            Some(DocId { format }) => format.replace(&format!("{{{}}}", self.pk_column), key),
            None => format!("{}:{key}", self.table),
        }
    }

    /// The columns that documents are made of, each once; the key first.
    pub fn columns(&self) -> Vec<&str> {
        let DocMap { title, body, metadata, doc_id: _ } = &self.doc_map;
        let texts = title.iter().chain([body]).flat_map(Text::columns);
        let mut columns: Vec<&str> = Vec::new();
        for name in [&self.pk_column].into_iter().chain(texts).chain(&metadata.pick) {
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
        columns
    }
}

impl Text {
    /// The columns that it is made of.
    fn columns(&self) -> impl Iterator<Item = &String> {
        self.concat.iter().filter_map(|part| match part {
            Part::Col(name) => Some(name),
            Part::Lit(_) => None,
        })
    }
}

fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        toml::from_str(&format!(
            "profile = \"shop\"\ntable = \"blog.posts\"\npk_column = \"Id\"\n{text}"
        ))
        .unwrap()
    }

    const BODY: &str =
        "doc_map.body.concat = [{ col = \"Title\" }, { lit = \": \" }, { col = \"Body\" }]\n";

    #[test]
    fn only_the_columns_that_the_map_names_are_read_and_each_once() {
        let table = table(&format!(
            "{BODY}doc_map.title.concat = [{{ col = \"Title\" }}]\n\
             doc_map.metadata.pick = [\"Id\", \"Tags\"]\ncursor.column = \"Changed\""
        ));
        assert_eq!(table.columns(), ["Id", "Title", "Body", "Tags"]);
        assert_eq!(table.problem(), None);
    }

    #[test]
    fn a_document_is_called_by_its_key() {
        assert_eq!(table(BODY).doc_id("7"), "blog.posts:7");
        let named = table(&format!("{BODY}doc_map.doc_id.format = \"posts:{{Id}}!\""));
        assert_eq!((named.problem(), named.doc_id("7").as_str()), (None, "posts:7!"));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (text, problem) in [
            ("doc_map.body.concat = [{ lit = \"x\" }]", "`doc_map.body` names no column"),
            ("doc_map.body.concat = [{ col = \"\" }]", "`body` says \"\""),
            (&format!("{BODY}doc_map.doc_id.format = \"posts\""), "must have {Id}"),
            (&format!("{BODY}doc_map.doc_id.format = \"{{Id}}{{Body}}\""), "no other column"),
            (&format!("{BODY}cursor.column = \"a\\nb\""), "`cursor.column`"),
            (
                &format!("{BODY}doc_map.metadata = {{ pick = [\"A\"], rename = {{ B = \"C\" }} }}"),
                "has `B`, which `pick` has not",
            ),
            (
                &format!(
                    "{BODY}doc_map.metadata = {{ pick = [\"A\", \"B\"], rename = {{ A = \"B\" }} }}"
                ),
                "are called `B`",
            ),
        ] {
            let found = table(text).problem().unwrap_or_default();
            assert!(found.contains(problem), "{text}: {found}");
        }
    }
}
