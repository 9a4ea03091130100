//! `[[collections]]`: collections of documents from folders or a database table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{CollectionTable as DatabaseTable, CursorColumn, DocMap};

/// A collection of documents from folders or from a database table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawCollection")]
pub struct Collection {
    /// Name of the collection.
    pub name: String,
    /// Folders whose files become documents.
    pub folders: Vec<Folder>,
    /// Table whose rows become documents.
    pub table: Option<DatabaseTable>,
    /// Owner of the collection; without one, all users see it.
    pub owner: Option<String>,
    /// Access tags that a user needs in order to see its documents.
    pub access_tags: Vec<String>,
    /// Division of documents into chunks; by default, at headings.
    pub chunking: Option<Chunking>,
    /// Whether chunks get vectors for semantic search.
    pub embedding: EmbeddingOptions,
}

/// A collection as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCollection {
    name: String,
    folders: Option<Vec<Folder>>,
    profile: Option<String>,
    table: Option<String>,
    pk_column: Option<String>,
    #[serde(rename = "where")]
    condition: Option<String>,
    doc_map: Option<DocMap>,
    cursor: Option<CursorColumn>,
    owner: Option<String>,
    #[serde(default)]
    access_tags: Vec<String>,
    chunking: Option<Chunking>,
    #[serde(default)]
    embedding: EmbeddingOptions,
}

/// A folder, with the project that its files document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawFolder")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A folder as written in the file: a path or a table.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path, or a table of `path`, `project` and `version`")]
enum RawFolder {
    Path(PathBuf),
    Table(FolderTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FolderTable {
    path: PathBuf,
    project: Option<String>,
    version: Option<String>,
}

impl TryFrom<RawCollection> for Collection {
    type Error = String;

    fn try_from(written: RawCollection) -> Result<Self, String> {
        let RawCollection {
            name,
            folders,
            profile,
            table,
            pk_column,
            condition,
            doc_map,
            cursor,
            owner,
            access_tags,
            chunking,
            embedding,
        } = written;
        let condition = condition.filter(|text| !text.trim().is_empty());
        let is_said = profile.is_some() || pk_column.is_some() || doc_map.is_some();
        let of_table = table.is_some() || is_said || condition.is_some() || cursor.is_some();
        let missing = |key: &str| {
            format!(
                "`{key}` is missing; a collection of a table has `profile`, `table`, `pk_column` \
                 and `doc_map`"
            )
        };
        let (folders, table) = match (folders, of_table) {
            (Some(folders), false) => (folders, None),
            (None, true) => {
                let table = DatabaseTable {
                    profile: profile.ok_or_else(|| missing("profile"))?,
                    table: table.ok_or_else(|| missing("table"))?,
                    pk_column: pk_column.ok_or_else(|| missing("pk_column"))?,
                    condition,
                    doc_map: doc_map.ok_or_else(|| missing("doc_map"))?,
                    cursor,
                };
                (Vec::new(), Some(table))
            }
            (Some(_), true) => {
                let problem = "`folders` and `table` exclude each other; remove one of them";
                return Err(problem.to_owned());
            }
            (None, false) => {
                let problem = "the source is missing; set `folders`, or `profile` and `table`";
                return Err(problem.to_owned());
            }
        };
        Ok(Self { name, folders, table, owner, access_tags, chunking, embedding })
    }
}

impl TryFrom<RawFolder> for Folder {
    type Error = String;

    fn try_from(written: RawFolder) -> Result<Self, String> {
        let FolderTable { path, project, version } = match written {
            RawFolder::Path(path) => FolderTable { path, project: None, version: None },
            RawFolder::Table(table) => table,
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
        assert_eq!(read.folders[0].path, PathBuf::from("/srv/a"));
        assert_eq!(read.folders[1].project.as_deref(), Some("B"));
        assert_eq!((read.chunking, read.embedding.enabled), (None, true));
    }

    #[test]
    fn invalid_folder_is_rejected_with_reason() {
        for (folders, reason) in [
            ("[\"docs\"]", "`docs` is not an absolute path"),
            ("[{ path = \"docs\" }]", "`docs` is not an absolute path"),
            ("[{ folder = \"/docs\" }]", "expected a path, or a table"),
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
        let table = read.table.unwrap();
        assert_eq!((table.profile.as_str(), table.table.as_str()), ("shop", "posts"));
        assert_eq!((table.condition.as_deref(), table.cursor), (Some("Score > 3"), None));
        assert!(read.folders.is_empty());
        for blank in ["", " \\n"] {
            let read = collection(&format!("{of_table}where = \"{blank}\"")).unwrap();
            assert_eq!(read.table.unwrap().condition, None);
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
    fn omitted_sizes_have_contract_defaults() {
        let read = collection("folders = []\nchunking = { overlap = -1 }").unwrap();
        assert_eq!(read.chunking, Some(Chunking { overlap: -1, ..Chunking::default() }));
    }
}
