//! Reading chunks and documents.

use rusqlite::{Row, ToSql, named_params, types::Null};
use serde_json::{Map, Value};
use vademecum_kit::{model::Timestamp, retrieve::Span, source::SourceError, store::Reader};

use crate::{ChunkId, Collection, Scope, document::tags_of, scope::of_counting};

const PASSAGE: &str = of_counting!("../sql/passage.sql");

/// A chunk, with what is known of its document.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Its row.
    pub key: i64,
    /// Its place in the document.
    pub index: u32,
    /// The headings above it.
    pub section: Option<String>,
    /// Where it begins in the document's body, in characters (code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it says.
    pub body: String,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
    /// The document, without its body.
    pub document: StoredDocument,
}

/// A document of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDocument {
    /// What it is called.
    pub doc_id: String,
    /// The number of its source.
    pub source_id: i64,
    /// The name of its source.
    pub source_name: String,
    /// Its primary key where it comes from.
    pub primary_key: Map<String, Value>,
    /// Its title.
    pub title: Option<String>,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
    /// What it is called by those who cite it.
    pub file_name: Option<String>,
    /// Which kind of file it is.
    pub file_type: Option<String>,
    /// Where a reader finds it.
    pub url: Option<String>,
    /// The project that it documents.
    pub project_name: Option<String>,
    /// The version of that project.
    pub project_version: Option<String>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When it was last changed here.
    pub updated_at: Option<Timestamp>,
    /// All of its text; empty where it was not asked for.
    pub body: String,
}

impl Passage {
    /// What the chunk is called.
    pub fn id(&self) -> ChunkId {
        ChunkId { doc_id: self.document.doc_id.clone(), index: self.index }
    }
}

impl StoredDocument {
    /// What it is about: the `Tags` of its metadata.
    pub fn tags(&self) -> Vec<String> {
        tags_of(&self.metadata)
    }
}

impl Collection {
    /// Reads chunks by their rows, in this order. What does not count, or has
    /// vanished meanwhile, is left out.
    pub fn passages(
        &self,
        reader: &Reader<'_>,
        keys: &[i64],
        scope: &Scope,
    ) -> Result<Vec<Passage>, SourceError> {
        let bound = scope.bound();
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let mut parameters: Vec<(&str, &dyn ToSql)> =
                vec![(":key", key), (":doc_id", &Null), (":chunk_index", &Null)];
            parameters.extend(bound.parameters());
            found.extend(reader.first(PASSAGE, &parameters, passage)?);
        }
        Ok(found)
    }

    /// Reads a chunk, if there is such a one that counts.
    pub fn passage(
        &self,
        reader: &Reader<'_>,
        id: &ChunkId,
        scope: &Scope,
    ) -> Result<Option<Passage>, SourceError> {
        let bound = scope.bound();
        let mut parameters: Vec<(&str, &dyn ToSql)> =
            vec![(":key", &Null), (":doc_id", &id.doc_id), (":chunk_index", &id.index)];
        parameters.extend(bound.parameters());
        Ok(reader.first(PASSAGE, &parameters, passage)?)
    }

    /// Reads a document with its body, if there is such a one that counts.
    pub fn document(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
        scope: &Scope,
    ) -> Result<Option<StoredDocument>, SourceError> {
        let bound = scope.bound();
        let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":doc_id", &doc_id)];
        parameters.extend(bound.parameters());
        let read = |row: &Row<'_>| Ok(StoredDocument { body: row.get("body")?, ..document(row)? });
        Ok(reader.first(of_counting!("../sql/document.sql"), &parameters, read)?)
    }

    /// Where the chunks of a document are in its body, in order. Empty if there
    /// is no such document.
    pub fn spans(&self, reader: &Reader<'_>, doc_id: &str) -> Result<Vec<Span>, SourceError> {
        let parameters = named_params! { ":doc_id": doc_id };
        Ok(reader.all(include_str!("../sql/spans.sql"), parameters, |row| {
            Ok(Span {
                index: place(row, "chunk_index")?,
                uuid: None,
                start: place(row, "start_char")?,
                end: place(row, "end_char")?,
            })
        })?)
    }

    /// The headings of a document: of each chunk, in order, the row, its place
    /// and the headings above it. Empty if there is no such document.
    pub fn outline(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
    ) -> Result<Vec<(i64, u32, Option<String>)>, SourceError> {
        let parameters = named_params! { ":doc_id": doc_id };
        Ok(reader.all(include_str!("../sql/outline.sql"), parameters, |row| {
            Ok((row.get("id")?, row.get("chunk_index")?, row.get("section")?))
        })?)
    }
}

fn passage(row: &Row<'_>) -> rusqlite::Result<Passage> {
    Ok(Passage {
        key: row.get("id")?,
        index: row.get("chunk_index")?,
        section: row.get("section")?,
        start: place(row, "start_char")?,
        end: place(row, "end_char")?,
        body: row.get("body")?,
        metadata: object(row, "chunk_metadata")?,
        document: document(row)?,
    })
}

fn document(row: &Row<'_>) -> rusqlite::Result<StoredDocument> {
    Ok(StoredDocument {
        doc_id: row.get("doc_id")?,
        source_id: row.get("source_id")?,
        source_name: row.get("source_name")?,
        primary_key: object(row, "pk_json")?,
        title: row.get("title")?,
        metadata: object(row, "document_metadata")?,
        file_name: row.get("file_name")?,
        file_type: row.get("file_type")?,
        url: row.get("url")?,
        project_name: row.get("project_name")?,
        project_version: row.get("project_version")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        body: String::new(),
    })
}

/// A column that counts something from 0.
fn place(row: &Row<'_>, column: &str) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// A column that holds an object as JSON. Only this program writes it.
fn object(row: &Row<'_>, column: &str) -> rusqlite::Result<Map<String, Value>> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).unwrap_or_default())
}
