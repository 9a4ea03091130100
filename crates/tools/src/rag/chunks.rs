//! `rag.get_chunks`: returns the texts of chunks.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_actors::collections::VisibleCollection;
use vademecum_collections::{ChunkId, DocumentFilter, Passage, Scope};
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{ContentOrigin, Deadline};
use vademecum_source::SourceError;
use vademecum_store::Reader;

use super::{
    limits::{self, MAX_TEXT_BYTES, READ_TIMEOUT, with_collections},
    results::elapsed_ms,
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Reads chunks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagGetChunks {
    /// Ids from a search, such as posts:1#0.
    chunk_ids: Vec<String>,
    /// Fields shown.
    #[serde(default, rename = "return")]
    shown: ChunkReturnInput,
}

/// Fields of a chunk to return.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChunkReturnInput {
    /// Default true.
    include_title: bool,
    /// Default true.
    include_doc_metadata: bool,
    /// Default true.
    include_chunk_metadata: bool,
}

impl Default for ChunkReturnInput {
    fn default() -> Self {
        Self { include_title: true, include_doc_metadata: true, include_chunk_metadata: true }
    }
}

/// Result of `rag.get_chunks`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagGetChunksOutput {
    /// Chunks in the order of `chunk_ids`.
    chunks: Vec<ChunkText>,
    /// Ids of chunks that were not found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Whether chunks were dropped because of the size limit.
    truncated: bool,
    /// Ids of the dropped chunks; pass them in another call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<String>,
    /// Statistics of the call.
    stats: ReadStats,
}

/// Statistics of a read.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct ReadStats {
    /// Duration, in milliseconds.
    pub(super) ms: u64,
}

/// A chunk with its text.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ChunkText {
    chunk_id: String,
    doc_id: String,
    /// Where the content comes from.
    origin: ContentOrigin,
    title: Option<String>,
    body: String,
    doc_metadata: Option<Map<String, Value>>,
    chunk_metadata: Option<Map<String, Value>>,
}

impl Tool for RagGetChunks {
    const NAME: &'static str = "rag.get_chunks";
    const TITLE: &'static str = "Read chunks";
    const DESCRIPTION: &'static str = "Read chunks of collections by their ids.";
    const TOOLSET: Toolset = Toolset::Rag;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    const HAS_LONG_RESULTS: bool = true;
    type Output = RagGetChunksOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let begun = Instant::now();
        limits::check_ids("chunk_ids", &self.chunk_ids)?;
        let Self { chunk_ids, shown } = self;
        let read = with_collections(services, call, READ_TIMEOUT, move |opened, deadline| {
            read_chunks(opened, chunk_ids, shown, deadline)
        });
        let mut output = read.await?;
        call.items.record_all_of(
            ContentOrigin::SharedCollection,
            output.chunks.iter().map(|chunk| &chunk.chunk_id),
        );
        output.stats.ms = elapsed_ms(begun);
        Ok(output.into())
    }
}

fn read_chunks(
    opened: &[VisibleCollection],
    ids: Vec<String>,
    shown: ChunkReturnInput,
    deadline: &Deadline,
) -> Result<RagGetChunksOutput, SourceError> {
    let mut output = RagGetChunksOutput {
        chunks: Vec::new(),
        missing: Vec::new(),
        truncated: false,
        omitted: Vec::new(),
        stats: ReadStats { ms: 0 },
    };
    let mut bytes = 0;
    let mut ids = ids.into_iter();
    while let Some(id) = ids.next() {
        let found = match id.parse() {
            Ok(parsed) => find_chunk(opened, &parsed, deadline)?,
            // A malformed id is reported as missing.
            Err(_) => None,
        };
        let Some(passage) = found else {
            output.missing.push(id);
            continue;
        };
        bytes += passage.body.len();
        if bytes > MAX_TEXT_BYTES && !output.chunks.is_empty() {
            output.truncated = true;
            output.omitted = std::iter::once(id).chain(ids).collect();
            break;
        }
        let chunk = passage.id();
        let document = passage.document;
        output.chunks.push(ChunkText {
            chunk_id: chunk.to_string(),
            doc_id: document.doc_id,
            origin: ContentOrigin::SharedCollection,
            title: document.title.filter(|_| shown.include_title),
            body: passage.body,
            doc_metadata: shown.include_doc_metadata.then_some(document.metadata),
            chunk_metadata: shown.include_chunk_metadata.then_some(passage.metadata),
        });
    }
    Ok(output)
}

/// Returns the chunk with this id from the first collection that has it.
fn find_chunk(
    opened: &[VisibleCollection],
    id: &ChunkId,
    deadline: &Deadline,
) -> Result<Option<Passage>, SourceError> {
    let found = find_in_first(opened, deadline, |one, reader, scope| {
        one.collection.read_passage(reader, id, scope)
    })?;
    Ok(found.map(|(_, passage)| passage))
}

/// Calls `find` on each collection and returns the first result with its collection.
pub(super) fn find_in_first<'o, T>(
    opened: &'o [VisibleCollection],
    deadline: &Deadline,
    find: impl Fn(&VisibleCollection, &Reader<'_>, &Scope) -> Result<Option<T>, SourceError>,
) -> Result<Option<(&'o VisibleCollection, T)>, SourceError> {
    for one in opened {
        let scope = one.scope(&DocumentFilter::default());
        let read = |reader: &Reader<'_>| find(one, reader, &scope);
        if let Some(found) = one.collection.read(deadline.clone(), read)? {
            return Ok(Some((one, found)));
        }
    }
    Ok(None)
}
