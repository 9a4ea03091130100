//! The sources of a collection: their definitions, sizes and synchronisation state.

use std::collections::HashMap;

use rusqlite::{Row, named_params};
use vademecum_model::Timestamp;
use vademecum_source::SourceError;
use vademecum_store::{Reader, Writer};

use crate::{Collection, scope::of_counting};

/// Reads the embedding model of the collection.
const MODEL_SQL: &str = "SELECT provider, model, dimensions FROM rag_embedding_model";
/// Reads the synchronisation state of the source `:source_id`.
const SYNC_STATE_SQL: &str =
    "SELECT cursor_json, last_ok_at, last_error FROM rag_sync_state WHERE source_id = :source_id";

/// The definition of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSource {
    /// Number, unique among all sources of the server.
    pub source_id: i64,
    /// Name.
    pub name: String,
    /// Backend type, such as `folder`, `notes` or `postgres`.
    pub backend_type: String,
    /// Mapping of rows to documents, as JSON.
    pub doc_map_json: String,
    /// Chunking options, as JSON.
    pub chunking_json: String,
    /// Embedding options, as JSON.
    pub embedding_json: String,
}

/// A stored source of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// Definition.
    pub source: NewSource,
    /// The source is searched.
    pub enabled: bool,
}

/// The size and synchronisation state of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCounts {
    /// Number of the source.
    pub source_id: i64,
    /// Name of the source.
    pub name: String,
    /// Number of documents.
    pub documents: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of chunks with a vector.
    pub vectors: u64,
    /// Time of the last successful synchronisation.
    pub last_ok_at: Option<Timestamp>,
    /// Error of the last synchronisation, if it failed.
    pub last_error: Option<String>,
}

/// The synchronisation state of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncState {
    /// Position at which to continue, as JSON.
    pub cursor_json: Option<String>,
    /// Time of the last successful synchronisation.
    pub last_ok_at: Option<Timestamp>,
    /// Error of the last synchronisation, if it failed.
    pub last_error: Option<String>,
}

/// The embedding model of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Name of the embedding provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// Number of dimensions of its vectors.
    pub dimensions: usize,
}

impl Collection {
    /// Lists the sources, by number.
    pub fn list_sources(&self, reader: &Reader<'_>) -> Result<Vec<SourceRow>, SourceError> {
        Ok(reader.query_all(sql!("sources"), &[], source_from_row)?)
    }

    /// Counts the documents, chunks and vectors of each source, by number.
    pub fn count_by_source(&self, reader: &Reader<'_>) -> Result<Vec<SourceCounts>, SourceError> {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(reader.query_all(sql!("counts"), &[], |row| {
            Ok(SourceCounts {
                source_id: row.get("source_id")?,
                name: row.get("name")?,
                documents: count(row.get("documents")?),
                chunks: count(row.get("chunks")?),
                vectors: count(row.get("vectors")?),
                last_ok_at: row.get("last_ok_at")?,
                last_error: row.get("last_error")?,
            })
        })?)
    }

    /// Counts the documents, chunks and vectors of each source like
    /// [`count_by_source`](Self::count_by_source). If rules hide documents, only visible ones are
    /// counted, and vectors not at all.
    pub fn count_visible(
        &self,
        reader: &Reader<'_>,
        access: &crate::Access,
    ) -> Result<Vec<SourceCounts>, SourceError> {
        let mut sources = self.count_by_source(reader)?;
        if access.item_rules().is_none() {
            return Ok(sources);
        }
        let bound = crate::Scope::of(access.clone()).to_parameters();
        let read = |row: &Row<'_>| {
            let count = |name| row.get::<_, i64>(name).map(|n| u64::try_from(n).unwrap_or(0));
            Ok((row.get::<_, i64>("source_id")?, (count("documents")?, count("chunks")?)))
        };
        let statement = of_counting!("../sql/visible_counts.sql");
        let visible: HashMap<i64, (u64, u64)> =
            reader.query_all(statement, &bound.parameters(), read)?.into_iter().collect();
        for source in &mut sources {
            (source.documents, source.chunks) =
                visible.get(&source.source_id).copied().unwrap_or_default();
            source.vectors = 0;
        }
        Ok(sources)
    }

    /// Returns whether a document is visible with these access rights; `None` if there are no
    /// documents.
    pub fn sees_documents(
        &self,
        reader: &Reader<'_>,
        access: &crate::Access,
    ) -> Result<Option<bool>, SourceError> {
        let bound = crate::Scope::of(access.clone()).to_parameters();
        let statement = of_counting!("../sql/sees_documents.sql");
        let (some, visible) = reader.query_one(statement, &bound.parameters(), |row| {
            Ok((row.get::<_, bool>("has_documents")?, row.get::<_, bool>("sees_documents")?))
        })?;
        Ok(some.then_some(visible))
    }

    /// Lists projects and versions with their numbers of chunks in scope, by name.
    pub fn list_projects(
        &self,
        reader: &Reader<'_>,
        scope: &crate::Scope,
    ) -> Result<Vec<(String, String, u64)>, SourceError> {
        let bound = scope.to_parameters();
        Ok(reader.query_all(of_counting!("../sql/projects.sql"), &bound.parameters(), |row| {
            let chunks: i64 = row.get("chunks")?;
            let chunks = u64::try_from(chunks).unwrap_or(0);
            Ok((row.get("project_name")?, row.get("project_version")?, chunks))
        })?)
    }

    /// Inserts a source or replaces the one with the same number.
    pub fn put_source(&self, writer: &Writer<'_>, source: &NewSource) -> Result<(), SourceError> {
        writer.execute(
            sql!("put_source"),
            named_params! {
                ":source_id": source.source_id,
                ":name": source.name,
                ":backend_type": source.backend_type,
                ":doc_map_json": or_empty_object(&source.doc_map_json),
                ":chunking_json": or_empty_object(&source.chunking_json),
                ":embedding_json": or_empty_object(&source.embedding_json),
                ":now": Timestamp::now(),
            },
        )?;
        Ok(())
    }

    /// Returns the synchronisation state of a source; the default if there is none.
    pub fn sync_state(
        &self,
        reader: &Reader<'_>,
        source_id: i64,
    ) -> Result<SyncState, SourceError> {
        let parameters = named_params! { ":source_id": source_id };
        let state = reader.query_first(SYNC_STATE_SQL, parameters, |row| {
            Ok(SyncState {
                cursor_json: row.get("cursor_json")?,
                last_ok_at: row.get("last_ok_at")?,
                last_error: row.get("last_error")?,
            })
        })?;
        Ok(state.unwrap_or_default())
    }

    /// Stores the synchronisation state of a source. Fields that are `None` keep their stored
    /// value, except `last_error`, which is cleared. Call it in the transaction that writes the
    /// documents.
    pub fn put_sync_state(
        &self,
        writer: &Writer<'_>,
        source_id: i64,
        state: &SyncState,
    ) -> Result<(), SourceError> {
        writer.execute(
            sql!("put_sync_state"),
            named_params! {
                ":source_id": source_id,
                ":cursor_json": state.cursor_json,
                ":last_ok_at": state.last_ok_at,
                ":last_error": state.last_error,
            },
        )?;
        Ok(())
    }

    /// Returns the embedding model, or `None` if none is set.
    pub fn embedding_model(
        &self,
        reader: &Reader<'_>,
    ) -> Result<Option<EmbeddingModel>, SourceError> {
        Ok(reader.query_first(MODEL_SQL, &[], |row| {
            let dimensions: i64 = row.get("dimensions")?;
            Ok(EmbeddingModel {
                provider: row.get("provider")?,
                model: row.get("model")?,
                dimensions: usize::try_from(dimensions).unwrap_or(0),
            })
        })?)
    }
}

fn source_from_row(row: &Row<'_>) -> rusqlite::Result<SourceRow> {
    Ok(SourceRow {
        source: NewSource {
            source_id: row.get("source_id")?,
            name: row.get("name")?,
            backend_type: row.get("backend_type")?,
            doc_map_json: row.get("doc_map_json")?,
            chunking_json: row.get("chunking_json")?,
            embedding_json: row.get("embedding_json")?,
        },
        enabled: row.get("enabled")?,
    })
}

fn or_empty_object(json: &str) -> &str {
    if json.is_empty() { "{}" } else { json }
}
