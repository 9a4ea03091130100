//! `rag.get_docs`: returns full documents.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_actors::collections::VisibleCollection;
use vademecum_collections::{StoredDocument, document_uri};
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{ContentOrigin, Deadline, Range};
use vademecum_source::SourceError;

use super::{
    chunks::{ReadStats, find_in_first},
    limits::{self, MAX_TEXT_BYTES, READ_TIMEOUT, with_collections},
    results::elapsed_ms,
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices, resources::read_on_sentence};

/// Reads documents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagGetDocs {
    /// Ids from a search, such as posts:1.
    doc_ids: Vec<String>,
    /// Fields shown.
    #[serde(default, rename = "return")]
    shown: DocReturnInput,
}

/// Fields of a document to return.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DocReturnInput {
    /// Default true.
    include_body: bool,
    /// Default true.
    include_metadata: bool,
}

impl Default for DocReturnInput {
    fn default() -> Self {
        Self { include_body: true, include_metadata: true }
    }
}

/// Result of `rag.get_docs`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagGetDocsOutput {
    /// Documents in the order of `doc_ids`.
    docs: Vec<DocumentOutput>,
    /// Ids of documents that were not found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Whether documents were cut or dropped because of the size limit.
    truncated: bool,
    /// Ids of the dropped documents; pass them in another call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<String>,
    /// Statistics of the call.
    stats: ReadStats,
}

/// A document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DocumentOutput {
    doc_id: String,
    source_id: i64,
    source_name: String,
    /// Where the content comes from.
    origin: ContentOrigin,
    pk_json: Map<String, Value>,
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// If the body is cut: the call that reads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
}

impl Tool for RagGetDocs {
    const NAME: &'static str = "rag.get_docs";
    const TITLE: &'static str = "Read documents";
    const DESCRIPTION: &'static str = "Read whole documents of collections by their ids.";
    const TOOLSET: Toolset = Toolset::Rag;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    const HAS_LONG_RESULTS: bool = true;
    type Output = RagGetDocsOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let begun = Instant::now();
        limits::check_ids("doc_ids", &self.doc_ids)?;
        let Self { doc_ids, shown } = self;
        let read = with_collections(services, call, READ_TIMEOUT, move |opened, deadline| {
            read_documents(opened, doc_ids, shown, deadline)
        });
        let mut output = read.await?;
        let documents = output.docs.iter().map(|document| &document.doc_id);
        call.items.record_all_of(ContentOrigin::SharedCollection, documents);
        output.stats.ms = elapsed_ms(begun);
        Ok(output.into())
    }
}

fn read_documents(
    opened: &[VisibleCollection],
    ids: Vec<String>,
    shown: DocReturnInput,
    deadline: &Deadline,
) -> Result<RagGetDocsOutput, SourceError> {
    let mut output = RagGetDocsOutput {
        docs: Vec::new(),
        missing: Vec::new(),
        truncated: false,
        omitted: Vec::new(),
        stats: ReadStats { ms: 0 },
    };
    let mut bytes = 0;
    let mut ids = ids.into_iter();
    while let Some(id) = ids.next() {
        let Some((one, document)) = find_document(opened, &id, deadline)? else {
            output.missing.push(id);
            continue;
        };
        bytes += if shown.include_body { document.body.len() } else { 0 };
        // The first document is always returned, cut if necessary, so that a request for fewer
        // documents succeeds.
        if bytes > MAX_TEXT_BYTES {
            output.truncated = true;
            if !output.docs.is_empty() {
                output.omitted = std::iter::once(id).chain(ids).collect();
                break;
            }
        }
        let end = document.body.floor_char_boundary(MAX_TEXT_BYTES);
        let body = document.body.get(..end).unwrap_or_default().to_owned();
        let is_cut = shown.include_body && body.len() < document.body.len();
        let read_on = is_cut.then(|| {
            let uri = document_uri(&one.record.name, &document.doc_id, None).to_string();
            let (end, total) = (body.chars().count(), document.body.chars().count());
            read_on_sentence(&uri, Range::new(0, end, total))
        });
        output.docs.push(DocumentOutput {
            doc_id: document.doc_id,
            source_id: document.source_id,
            source_name: document.source_name,
            origin: ContentOrigin::SharedCollection,
            pk_json: document.primary_key,
            title: document.title,
            body: shown.include_body.then_some(body),
            read_on: read_on.flatten(),
            metadata: shown.include_metadata.then_some(document.metadata),
        });
    }
    Ok(output)
}

/// Returns the document with this id, and the first collection that has it.
pub(super) fn find_document<'o>(
    opened: &'o [VisibleCollection],
    id: &str,
    deadline: &Deadline,
) -> Result<Option<(&'o VisibleCollection, StoredDocument)>, SourceError> {
    find_in_first(opened, deadline, |one, reader, scope| {
        one.collection.read_document(reader, id, scope)
    })
}
