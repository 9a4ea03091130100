//! `[[collections]]`: collections of documents from folders or a database table.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    CollectionTable, CursorColumn, DocMap, UrlTemplate, validation::deserialize_validated,
};

/// A collection of external documents, from folders or from a table: one section for each. The
/// collections configured here are built by `vademecum collection sync` and the tool
/// `rag.admin.sync`; folders can also be passed to `vademecum collection build`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Collection {
    /// Name of the collection: letters, digits, `.`, `-` and `_`.
    pub name: String,
    /// Folders with its files, optionally with the project and version that they document.
    #[schemars(example = json!([
        "/srv/docs", { "path": "/srv/postgres/17", "project": "PostgreSQL", "version": "17" }
    ]))]
    folders: Option<Vec<Folder>>,
    /// Database profile of the table whose rows become documents, instead of `folders`. The
    /// collection is configured by the owner of the server, so `users` and `columns` of the profile
    /// do not restrict it.
    #[schemars(example = &"shop")]
    profile: Option<String>,
    /// Table as spelled in the database, prefixed with its schema if needed.
    #[schemars(example = "public.posts")]
    table: Option<String>,
    /// Column that identifies a row: unique, and not binary.
    #[schemars(example = &"id")]
    pk_column: Option<String>,
    /// Condition for rows, as in a WHERE clause, without sub-selects. Default: all rows.
    #[serde(rename = "where")]
    #[schemars(example = "state = 'published'")]
    condition: Option<String>,
    /// Mapping of a row to a document.
    doc_map: Option<DocMap>,
    /// Column that increases whenever a row is added or changed, such as the time of the last
    /// change. A sync then reads only rows with at least the greatest value of the previous sync,
    /// and the keys of all rows. Default: a sync reads all rows.
    #[schemars(example = json!({ "column": "changed_at" }))]
    cursor: Option<CursorColumn>,
    /// Owner of the collection. Default: shared by all users. Changes of `owner` and `access_tags` hold
    /// as soon as the settings are read, also by a running server, and do not wait for a sync. A
    /// collection whose section is removed is closed to all users.
    #[schemars(example = &"ada")]
    pub owner: Option<String>,
    /// Access tags that a caller must have to see its documents.
    #[serde(default)]
    #[schemars(example = ["team:garden"])]
    pub access_tags: Vec<String>,
    /// Web address of a document, for citations: `{path}` (of the file below its folder), `{stem}` (the
    /// path without extension), `{project}`, `{version}`; for a table `{key}`; for both `{doc_id}`, and
    /// `{anchor}`, the heading of the passage as GitHub writes it in links. A change holds without a
    /// sync. Default: the address that the document names itself.
    #[schemars(example = "https://docs.example/{stem}.html#{anchor}")]
    pub url: Option<UrlTemplate>,
    /// Division of documents into chunks, in characters. Default: at their headings.
    #[schemars(example = Chunking::default())]
    pub chunking: Option<Chunking>,
    /// Whether its chunks get vectors, if an `embeddings.provider` is set.
    #[serde(default)]
    pub embedding: EmbeddingOptions,
}

/// A folder, with the project that its files document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "PathOrTable")]
pub struct Folder {
    /// Absolute path of the folder.
    pub path: PathBuf,
    /// Name of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Version of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Division of documents into chunks, in the format of `chunking_json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Chunking {
    /// Whether documents are divided at all.
    pub enabled: bool,
    /// Unit of sizes; only `chars` is supported.
    pub unit: String,
    /// Maximum size of a chunk.
    pub chunk_size: i64,
    /// Maximum overlap of neighbouring chunks.
    pub overlap: i64,
    /// Minimum size of the last chunk; a smaller one is merged into the one before it.
    pub min_chunk_size: i64,
}

/// Embedding of the chunks of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingOptions {
    /// Whether chunks get vectors, if an embedding provider is configured.
    pub enabled: bool,
}

impl Default for Chunking {
    fn default() -> Self {
        Self {
            enabled: true,
            unit: "chars".to_owned(),
            chunk_size: 4_000,
            overlap: 400,
            min_chunk_size: 800,
        }
    }
}

impl Default for EmbeddingOptions {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// A folder in the settings: a path, or a table.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a path, or a table of `path`, `project` and `version`"
)]
enum PathOrTable {
    Path(PathBuf),
    Table { path: PathBuf, project: Option<String>, version: Option<String> },
}

deserialize_validated!(Collection);

impl Collection {
    /// Returns the folders whose files become documents.
    pub fn folders(&self) -> &[Folder] {
        self.folders.as_deref().unwrap_or_default()
    }

    /// Returns the table whose rows become documents, unless files do.
    pub fn table(&self) -> Option<CollectionTable> {
        Some(CollectionTable {
            profile: self.profile.clone()?,
            table: self.table.clone()?,
            pk_column: self.pk_column.clone()?,
            condition: self.condition.clone(),
            doc_map: self.doc_map.clone()?,
            cursor: self.cursor.clone(),
        })
    }

    fn validate(mut self) -> Result<Self, String> {
        self.condition = self.condition.filter(|text| !text.trim().is_empty());
        let required = [
            ("profile", self.profile.is_some()),
            ("table", self.table.is_some()),
            ("pk_column", self.pk_column.is_some()),
            ("doc_map", self.doc_map.is_some()),
        ];
        let has_table_key = required.iter().any(|(_, is_set)| *is_set)
            || self.condition.is_some()
            || self.cursor.is_some();
        match (self.folders.is_some(), has_table_key) {
            (true, true) => {
                return Err("`folders` and `table` exclude each other; remove one of them".into());
            }
            (false, false) => {
                return Err("the source is missing; set `folders`, or `profile` and `table`".into());
            }
            (true, false) | (false, true) => {}
        }
        if let Some((key, _)) = required.iter().find(|(_, is_set)| has_table_key && !is_set) {
            return Err(format!(
                "`{key}` is missing; a collection of a table has `profile`, `table`, `pk_column` \
                 and `doc_map`"
            ));
        }
        let problem = self.url.as_ref().and_then(|url| url.find_problem(self.folders.is_some()));
        problem.map_or(Ok(self), Err)
    }
}

impl TryFrom<PathOrTable> for Folder {
    type Error = String;

    fn try_from(written: PathOrTable) -> Result<Self, String> {
        let (path, project, version) = match written {
            PathOrTable::Path(path) => (path, None, None),
            PathOrTable::Table { path, project, version } => (path, project, version),
        };
        if !path.is_absolute() {
            // A relative path would depend on the working directory of the server.
            return Err(format!("`{}` is not an absolute path", path.display()));
        }
        Ok(Self { path, project, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(text: &str) -> Result<Collection, String> {
        toml::from_str(&format!("name = \"docs\"\n{text}")).map_err(|error| error.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn folder_is_parsed_from_path_or_table() {
        let read = collection(
            "folders = [\"/srv/a\", { path = \"/srv/b\", project = \"B\", version = \"2\" }]",
        );
        let read = read.unwrap();
        assert_eq!(read.folders()[0].path, PathBuf::from("/srv/a"));
        assert_eq!(read.folders()[1].project.as_deref(), Some("B"));
        assert_eq!((read.chunking, read.embedding.enabled), (None, true));
    }

    #[test]
    fn invalid_folder_is_rejected_with_reason() {
        for (folders, reason) in [
            ("[\"docs\"]", "`docs` is not an absolute path"),
            ("[{ path = \"docs\" }]", "`docs` is not an absolute path"),
            ("[{ folder = \"/docs\" }]", "expected a path, or a table"),
            ("[{ path = \"/docs\", colour = 1 }]", "expected a path, or a table"),
            ("[1]", "expected a path, or a table"),
        ] {
            let error = collection(&format!("folders = {folders}")).unwrap_err();
            assert!(error.contains(reason), "{folders}: {error}");
        }
        assert!(collection("folders = []\nfolder = 1").unwrap_err().contains("folder"));
    }

    #[test]
    fn collection_requires_either_folders_or_table() {
        let of_table = "profile = \"shop\"\ntable = \"posts\"\npk_column = \"Id\"\n\
                        doc_map = { body = { concat = [{ col = \"Body\" }] } }\n";
        let read = collection(&format!("{of_table}where = \"Score > 3\"")).unwrap();
        let table = read.table().unwrap();
        assert_eq!((table.profile.as_str(), table.table.as_str()), ("shop", "posts"));
        assert_eq!((table.condition.as_deref(), table.cursor), (Some("Score > 3"), None));
        assert!(read.folders().is_empty());
        for blank in ["", " \\n"] {
            let read = collection(&format!("{of_table}where = \"{blank}\"")).unwrap();
            assert_eq!(read.table().unwrap().condition, None);
        }
        for (text, reason) in [
            ("", "the source is missing"),
            (&format!("{of_table}folders = []"), "remove one of them"),
            ("table = \"posts\"", "`profile` is missing"),
            ("profile = \"shop\"\ntable = \"posts\"\npk_column = \"Id\"", "`doc_map` is missing"),
            (&of_table.replace("col =", "column ="), "column"),
        ] {
            let error = collection(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn wrong_url_is_refused_where_it_is_written() {
        for (line, advice) in [
            ("url = \"https://docs.example/{file}\"", "unknown placeholder `{file}`"),
            ("url = \"docs.example/{path}\"", "begin it with https://"),
            ("url = \"https://docs.example/{key}\"", "documents of folders do not have"),
        ] {
            let text =
                format!("[[collections]]\nname = \"docs\"\nfolders = [\"/srv/docs\"]\n{line}");
            let error = crate::config::Settings::parse(&text).unwrap_err().to_string();
            assert!(error.contains(advice) && error.contains("line "), "{line}: {error}");
        }
    }

    #[test]
    fn omitted_sizes_have_contract_defaults() {
        let read = collection("folders = []\nchunking = { overlap = -1 }").unwrap();
        assert_eq!(read.chunking, Some(Chunking { overlap: -1, ..Chunking::default() }));
    }
}
