//! Reading chunks and documents.

use rusqlite::{Row, ToSql, named_params, types::Null};
use serde_json::{Map, Value};
use vademecum_model::Timestamp;
use vademecum_search::ChunkSpan;
use vademecum_source::SourceError;
use vademecum_store::Reader;

use crate::{
    ChunkId, Collection, Scope, document::metadata_tags, scope::of_counting,
    stored_text::TextReader,
};

const PASSAGE_SQL: &str = of_counting!("../sql/passage.sql");

/// A stored chunk with the metadata of its document.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Row of the chunk.
    pub key: i64,
    /// Zero-based index in the document.
    pub index: u32,
    /// Headings above the chunk.
    pub section: Option<String>,
    /// Start in the document's body, in characters (code points).
    pub start: usize,
    /// End in the document's body, exclusive.
    pub end: usize,
    /// Text.
    pub body: String,
    /// Other metadata.
    pub metadata: Map<String, Value>,
    /// The document, without its body.
    pub document: StoredDocument,
}

/// A document as it is stored, without its chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDocument {
    /// Identifier, unique in the collection.
    pub doc_id: String,
    /// Number of its source.
    pub source_id: i64,
    /// Name of its source, unique in the collection.
    pub source_name: String,
    /// Primary key in the system of origin, by column name.
    pub primary_key: Map<String, Value>,
    /// Title.
    pub title: Option<String>,
    /// Other metadata.
    pub metadata: Map<String, Value>,
    /// File name to show in citations.
    pub file_name: Option<String>,
    /// File type, such as `md` or `pdf`.
    pub file_type: Option<String>,
    /// URL where the document can be read.
    pub url: Option<String>,
    /// Name of the project that the document is about.
    pub project_name: Option<String>,
    /// Version of the project, as text.
    pub project_version: Option<String>,
    /// Creation time.
    pub created_at: Option<Timestamp>,
    /// Time of its last change in the collection.
    pub updated_at: Option<Timestamp>,
    /// Full text; empty if it was not requested.
    pub body: String,
}

impl Passage {
    /// Returns the identifier of the chunk.
    pub fn id(&self) -> ChunkId {
        ChunkId { doc_id: self.document.doc_id.clone(), index: self.index }
    }
}

impl StoredDocument {
    /// Returns the `Tags` of the metadata.
    pub fn tags(&self) -> Vec<String> {
        metadata_tags(&self.metadata)
    }
}

impl Collection {
    /// Reads chunks by their rows, in the given order. Chunks out of scope or deleted are left out.
    pub fn read_passages(
        &self,
        reader: &Reader<'_>,
        keys: &[i64],
        scope: &Scope,
    ) -> Result<Vec<Passage>, SourceError> {
        let bound = scope.to_parameters();
        let texts = self.text_reader(reader)?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let mut parameters: Vec<(&str, &dyn ToSql)> =
                vec![(":key", key), (":doc_id", &Null), (":chunk_index", &Null)];
            parameters.extend(bound.parameters());
            found.extend(
                reader
                    .query_first(PASSAGE_SQL, &parameters, |row| passage_from_row(row, &texts))?,
            );
        }
        Ok(found)
    }

    /// Reads a chunk; `None` if it does not exist or is out of scope.
    pub fn read_passage(
        &self,
        reader: &Reader<'_>,
        id: &ChunkId,
        scope: &Scope,
    ) -> Result<Option<Passage>, SourceError> {
        let bound = scope.to_parameters();
        let mut parameters: Vec<(&str, &dyn ToSql)> =
            vec![(":key", &Null), (":doc_id", &id.doc_id), (":chunk_index", &id.index)];
        parameters.extend(bound.parameters());
        let texts = self.text_reader(reader)?;
        let read = |row: &Row<'_>| passage_from_row(row, &texts);
        Ok(reader.query_first(PASSAGE_SQL, &parameters, read)?)
    }

    /// Reads a document with its body; `None` if it does not exist or is out of scope.
    pub fn read_document(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
        scope: &Scope,
    ) -> Result<Option<StoredDocument>, SourceError> {
        let bound = scope.to_parameters();
        let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":doc_id", &doc_id)];
        parameters.extend(bound.parameters());
        let texts = self.text_reader(reader)?;
        let read = |row: &Row<'_>| {
            Ok(StoredDocument {
                body: texts.column(row, "body")?,
                ..document_from_row(row, &texts)?
            })
        };
        Ok(reader.query_first(of_counting!("../sql/document.sql"), &parameters, read)?)
    }

    /// Returns the positions of a document's chunks in its body, in order. Empty if there is no
    /// such document.
    pub fn chunk_spans(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
    ) -> Result<Vec<ChunkSpan>, SourceError> {
        let parameters = named_params! { ":doc_id": doc_id };
        Ok(reader.query_all(sql!("spans"), parameters, |row| {
            Ok(ChunkSpan {
                index: read_usize(row, "chunk_index")?,
                uuid: None,
                start: read_usize(row, "start_char")?,
                end: read_usize(row, "end_char")?,
            })
        })?)
    }

    /// Returns the row, the index and the headings of each chunk of a document, in order. Empty if
    /// there is no such document.
    pub fn chunk_headings(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
    ) -> Result<Vec<(i64, u32, Option<String>)>, SourceError> {
        let parameters = named_params! { ":doc_id": doc_id };
        Ok(reader.query_all(sql!("outline"), parameters, |row| {
            Ok((row.get("id")?, row.get("chunk_index")?, row.get("section")?))
        })?)
    }
}

fn passage_from_row(row: &Row<'_>, texts: &TextReader) -> rusqlite::Result<Passage> {
    let index: u32 = row.get("chunk_index")?;
    let mut metadata = read_object(row, "chunk_metadata")?;
    metadata.insert("chunk_index".to_owned(), index.into());
    Ok(Passage {
        key: row.get("id")?,
        index,
        section: row.get("section")?,
        start: read_usize(row, "start_char")?,
        end: read_usize(row, "end_char")?,
        body: texts.chunk(row)?,
        metadata,
        document: document_from_row(row, texts)?,
    })
}

fn document_from_row(row: &Row<'_>, texts: &TextReader) -> rusqlite::Result<StoredDocument> {
    Ok(StoredDocument {
        doc_id: row.get("doc_id")?,
        source_id: row.get("source_id")?,
        source_name: row.get("source_name")?,
        primary_key: read_object(row, "pk_json")?,
        title: row.get("title")?,
        metadata: parse_object(&texts.column(row, "document_metadata")?),
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

/// Reads a non-negative integer column.
fn read_usize(row: &Row<'_>, column: &str) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// Reads a column with a JSON object. Invalid JSON yields an empty object.
fn read_object(row: &Row<'_>, column: &str) -> rusqlite::Result<Map<String, Value>> {
    Ok(parse_object(row.get_ref(column)?.as_str()?))
}

fn parse_object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}
