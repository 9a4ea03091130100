//! The sources of a collection: what they are, how much they hold, how far
//! they follow where they come from.

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::Timestamp,
    source::SourceError,
    store::{Reader, Writer},
};

use crate::{Collection, scope::of_counting};

/// A source that is to be written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSource {
    /// Its number, which no other source of the server has.
    pub source_id: i64,
    /// Its name.
    pub name: String,
    /// What it is: `folder`, `notes`, `postgres` …
    pub backend_type: String,
    /// How rows become documents, as JSON.
    pub doc_map_json: String,
    /// How documents are cut, as JSON.
    pub chunking_json: String,
    /// How chunks are embedded, as JSON.
    pub embedding_json: String,
}

/// A source of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// What was written down.
    pub source: NewSource,
    /// Whether it is searched.
    pub enabled: bool,
}

/// How much a source holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Its number.
    pub source_id: i64,
    /// Its name.
    pub name: String,
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Chunks that have a vector.
    pub vectors: u64,
    /// When it was last brought up to date.
    pub last_ok_at: Option<Timestamp>,
    /// Why it could not be the last time, if so.
    pub last_error: Option<String>,
}

/// How far a source follows where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncState {
    /// Where to go on, as JSON.
    pub cursor_json: Option<String>,
    /// When it was last brought up to date.
    pub last_ok_at: Option<Timestamp>,
    /// Why it could not be the last time.
    pub last_error: Option<String>,
}

/// The model that the vectors of a collection are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Who computes them.
    pub provider: String,
    /// What the model is called.
    pub model: String,
    /// How long they are.
    pub dimensions: usize,
}

impl Collection {
    /// The sources, by number.
    pub fn sources(&self, reader: &Reader<'_>) -> Result<Vec<SourceRow>, SourceError> {
        Ok(reader.all(include_str!("../sql/sources.sql"), &[], source)?)
    }

    /// How much each source holds, by number.
    pub fn counts(&self, reader: &Reader<'_>) -> Result<Vec<Counts>, SourceError> {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(reader.all(include_str!("../sql/counts.sql"), &[], |row| {
            Ok(Counts {
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

    /// Projects and versions with their numbers of chunks, by name.
    pub fn projects(
        &self,
        reader: &Reader<'_>,
        scope: &crate::Scope,
    ) -> Result<Vec<(String, String, u64)>, SourceError> {
        let bound = scope.bound();
        Ok(reader.all(of_counting!("../sql/projects.sql"), &bound.parameters(), |row| {
            let chunks: i64 = row.get("chunks")?;
            let chunks = u64::try_from(chunks).unwrap_or(0);
            Ok((row.get("project_name")?, row.get("project_version")?, chunks))
        })?)
    }

    /// Writes a source down, in the place of the one of the same number.
    pub fn put_source(&self, writer: &Writer<'_>, source: &NewSource) -> Result<(), SourceError> {
        writer.run(
            include_str!("../sql/put_source.sql"),
            named_params! {
                ":source_id": source.source_id,
                ":name": source.name,
                ":backend_type": source.backend_type,
                ":doc_map_json": or_empty(&source.doc_map_json),
                ":chunking_json": or_empty(&source.chunking_json),
                ":embedding_json": or_empty(&source.embedding_json),
                ":now": Timestamp::now(),
            },
        )?;
        Ok(())
    }

    /// How far a source follows where it comes from.
    pub fn sync_state(
        &self,
        reader: &Reader<'_>,
        source_id: i64,
    ) -> Result<SyncState, SourceError> {
        let parameters = named_params! { ":source_id": source_id };
        let state = reader.first(include_str!("../sql/sync_state.sql"), parameters, |row| {
            Ok(SyncState {
                cursor_json: row.get("cursor_json")?,
                last_ok_at: row.get("last_ok_at")?,
                last_error: row.get("last_error")?,
            })
        })?;
        Ok(state.unwrap_or_default())
    }

    /// Writes down how far a source follows: in the transaction that follows.
    /// What is `None` stays as it was, but for the error, which goes.
    pub fn put_sync_state(
        &self,
        writer: &Writer<'_>,
        source_id: i64,
        state: &SyncState,
    ) -> Result<(), SourceError> {
        writer.run(
            include_str!("../sql/put_sync_state.sql"),
            named_params! {
                ":source_id": source_id,
                ":cursor_json": state.cursor_json,
                ":last_ok_at": state.last_ok_at,
                ":last_error": state.last_error,
            },
        )?;
        Ok(())
    }

    /// The model that the vectors are of; none if there are no vectors.
    pub fn model(&self, reader: &Reader<'_>) -> Result<Option<EmbeddingModel>, SourceError> {
        Ok(reader.first(include_str!("../sql/model.sql"), &[], |row| {
            let dimensions: i64 = row.get("dimensions")?;
            Ok(EmbeddingModel {
                provider: row.get("provider")?,
                model: row.get("model")?,
                dimensions: usize::try_from(dimensions).unwrap_or(0),
            })
        })?)
    }
}

fn source(row: &Row<'_>) -> rusqlite::Result<SourceRow> {
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

fn or_empty(json: &str) -> &str {
    if json.is_empty() { "{}" } else { json }
}
