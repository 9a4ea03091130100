//! `rag.get_chunks`: the texts of chunks.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_collections::{ChunkId, Filter, Passage, Scope};
use vademecum_kit::{model::Deadline, source::SourceError, store::Reader};

use super::{
    limits::{self, READ, TEXT_BYTES, with_collections},
    results::since,
};
use crate::{
    actors::CallError,
    collections::Opened,
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};

/// Reads chunks.
#[derive(Debug)]
pub struct RagGetChunks;

/// Which chunks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagGetChunksInput {
    /// What a search gave, such as posts:1#0.
    chunk_ids: Vec<String>,
    /// What is shown.
    #[serde(default, rename = "return")]
    shown: ChunkReturnInput,
}

/// What is shown of a chunk.
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

/// The chunks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagGetChunksOutput {
    /// In the order in which they were asked for.
    chunks: Vec<ChunkText>,
    /// Those that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Whether there was no room for all.
    truncated: bool,
    /// How it went.
    stats: ReadStats,
}

/// How reading went.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct ReadStats {
    /// Milliseconds.
    pub(super) ms: u64,
}

/// A chunk.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ChunkText {
    chunk_id: String,
    doc_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_metadata: Option<Map<String, Value>>,
}

impl Contract for RagGetChunks {
    const NAME: &'static str = "rag.get_chunks";
    const TITLE: &'static str = "Read chunks";
    const DESCRIPTION: &'static str = "Read chunks of collections by their ids.";
    const TOOLSET: Toolset = Toolset::Rag;
    const FORM: Form = Form::Coded;
    type Input = RagGetChunksInput;
    type Output = RagGetChunksOutput;

    async fn call(
        toolbox: &Toolbox,
        input: RagGetChunksInput,
        call: &Call,
    ) -> Result<Replied<RagGetChunksOutput>, CallError> {
        let begun = Instant::now();
        limits::identifiers("chunk_ids", &input.chunk_ids)?;
        let RagGetChunksInput { chunk_ids, shown } = input;
        let read = with_collections(toolbox, call, READ, move |opened, deadline| {
            read_all(opened, chunk_ids, shown, deadline)
        });
        let mut output = read.await?;
        output.stats.ms = since(begun);
        Ok(output.into())
    }
}

fn read_all(
    opened: &[Opened],
    ids: Vec<String>,
    shown: ChunkReturnInput,
    deadline: &Deadline,
) -> Result<RagGetChunksOutput, SourceError> {
    let mut output = RagGetChunksOutput {
        chunks: Vec::new(),
        missing: Vec::new(),
        truncated: false,
        stats: ReadStats { ms: 0 },
    };
    let mut bytes = 0;
    for id in ids {
        let found = match id.parse() {
            Ok(parsed) => find(opened, &parsed, deadline)?,
            // What is no identifier is that of nothing.
            Err(_) => None,
        };
        let Some(passage) = found else {
            output.missing.push(id);
            continue;
        };
        bytes += passage.body.len();
        if bytes > TEXT_BYTES && !output.chunks.is_empty() {
            output.truncated = true;
            break;
        }
        let chunk = passage.id();
        let document = passage.document;
        output.chunks.push(ChunkText {
            chunk_id: chunk.to_string(),
            doc_id: document.doc_id,
            title: document.title.filter(|_| shown.include_title),
            body: passage.body,
            doc_metadata: shown.include_doc_metadata.then_some(document.metadata),
            chunk_metadata: shown.include_chunk_metadata.then_some(passage.metadata),
        });
    }
    Ok(output)
}

/// The chunk of that name in the first collection that has one.
fn find(
    opened: &[Opened],
    id: &ChunkId,
    deadline: &Deadline,
) -> Result<Option<Passage>, SourceError> {
    let found =
        first(opened, deadline, |one, reader, scope| one.collection.passage(reader, id, scope))?;
    Ok(found.map(|(_, passage)| passage))
}

/// What the first collection has that has such a thing, and which one it is.
pub(super) fn first<'o, T>(
    opened: &'o [Opened],
    deadline: &Deadline,
    find: impl Fn(&Opened, &Reader<'_>, &Scope) -> Result<Option<T>, SourceError>,
) -> Result<Option<(&'o Opened, T)>, SourceError> {
    for one in opened {
        let scope = one.scope(&Filter::default());
        let read = |reader: &Reader<'_>| find(one, reader, &scope);
        if let Some(found) = one.collection.read(deadline.clone(), read)? {
            return Ok(Some((one, found)));
        }
    }
    Ok(None)
}
