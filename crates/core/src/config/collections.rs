//! Collections: documents that come from elsewhere.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Cursor, DocMap, Table as DatabaseTable};

/// A collection, and what it is made of: of folders, or of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenCollection")]
pub struct Collection {
    /// What it is called.
    pub name: String,
    /// The folders whose files it is made of.
    pub folders: Vec<Folder>,
    /// The table whose rows it is made of.
    pub table: Option<DatabaseTable>,
    /// The user whose it is; everybody's, without one.
    pub owner: Option<String>,
    /// The access tags that one must have to see its documents.
    pub access_tags: Vec<String>,
    /// How documents are cut. Without it, at their headings.
    pub chunking: Option<Chunking>,
    /// Whether it can be searched by meaning.
    pub embedding: Embedding,
}

/// A collection as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCollection {
    name: String,
    folders: Option<Vec<Folder>>,
    profile: Option<String>,
    table: Option<String>,
    pk_column: Option<String>,
    #[serde(rename = "where")]
    condition: Option<String>,
    doc_map: Option<DocMap>,
    cursor: Option<Cursor>,
    owner: Option<String>,
    #[serde(default)]
    access_tags: Vec<String>,
    chunking: Option<Chunking>,
    #[serde(default)]
    embedding: Embedding,
}

/// A folder, and what the files in it are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// The project that its files document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The version of that project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// How documents are cut into chunks, in the terms of `chunking_json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chunking {
    /// Whether they are cut at all.
    pub enabled: bool,
    /// What sizes count. `chars` is all there is.
    pub unit: String,
    /// A chunk, at most.
    pub chunk_size: i64,
    /// What neighbours share, at most.
    pub overlap: i64,
    /// A last chunk that is smaller than this becomes part of the one before it.
    pub min_chunk_size: i64,
}

/// Whether a collection can be searched by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedding {
    /// Whether its chunks get vectors, if there is somebody who makes them.
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

impl Default for Embedding {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// A folder as it is written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path, or a table of `path`, `project` and `version`")]
enum Written {
    Path(PathBuf),
    Table(Table),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    path: PathBuf,
    project: Option<String>,
    version: Option<String>,
}

impl TryFrom<WrittenCollection> for Collection {
    type Error = String;

    fn try_from(written: WrittenCollection) -> Result<Self, String> {
        let WrittenCollection {
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
                let problem = "it is made of `folders` or of a `table`; take one of them out";
                return Err(problem.to_owned());
            }
            (None, false) => {
                let problem = "say what it is made of: `folders`, or `profile` and `table`";
                return Err(problem.to_owned());
            }
        };
        Ok(Self { name, folders, table, owner, access_tags, chunking, embedding })
    }
}

impl TryFrom<Written> for Folder {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Table { path, project, version } = match written {
            Written::Path(path) => Table { path, project: None, version: None },
            Written::Table(table) => table,
        };
        if !path.is_absolute() {
            // Which folder is meant must not depend on where the server was started.
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
    fn a_folder_is_a_path_or_a_table() {
        let read = collection(
            "folders = [\"/srv/a\", { path = \"/srv/b\", project = \"B\", version = \"2\" }]",
        );
        let read = read.unwrap();
        assert_eq!(read.folders[0].path, PathBuf::from("/srv/a"));
        assert_eq!(read.folders[1].project.as_deref(), Some("B"));
        assert_eq!((read.chunking, read.embedding.enabled), (None, true));
    }

    #[test]
    fn what_is_no_folder_is_refused_with_the_reason() {
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
    fn a_collection_is_made_of_folders_or_of_a_table() {
        let of_table = "profile = \"shop\"\ntable = \"posts\"\npk_column = \"Id\"\n\
                        doc_map = { body = { concat = [{ col = \"Body\" }] } }\n";
        let read = collection(&format!("{of_table}where = \"Score > 3\"")).unwrap();
        let table = read.table.unwrap();
        assert_eq!((table.profile.as_str(), table.table.as_str()), ("shop", "posts"));
        assert_eq!((table.condition.as_deref(), table.cursor), (Some("Score > 3"), None));
        assert!(read.folders.is_empty());
        for (text, reason) in [
            ("", "say what it is made of"),
            (&format!("{of_table}folders = []"), "take one of them out"),
            ("table = \"posts\"", "`profile` is missing"),
            ("profile = \"shop\"\ntable = \"posts\"\npk_column = \"Id\"", "`doc_map` is missing"),
            (&of_table.replace("col =", "column ="), "column"),
        ] {
            let error = collection(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_that_are_left_out_are_those_of_the_contract() {
        let read = collection("folders = []\nchunking = { overlap = -1 }").unwrap();
        assert_eq!(read.chunking, Some(Chunking { overlap: -1, ..Chunking::default() }));
    }
}
