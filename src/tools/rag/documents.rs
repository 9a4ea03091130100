//! `rag.get_docs`: whole documents.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_collections::StoredDocument;
use vademecum_kit::{model::Deadline, source::SourceError};

use super::{
    chunks::{ReadStats, first},
    limits::{self, READ, TEXT_BYTES, with_collections},
    results::since,
};
use crate::{
    actors::CallError,
    collections::Opened,
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};

/// Reads documents.
#[derive(Debug)]
pub struct RagGetDocs;

/// Which documents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagGetDocsInput {
    /// What a search gave, such as posts:1.
    doc_ids: Vec<String>,
    /// What is shown.
    #[serde(default, rename = "return")]
    shown: DocReturnInput,
}

/// What is shown of a document.
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

/// The documents.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagGetDocsOutput {
    /// In the order in which they were asked for.
    docs: Vec<Doc>,
    /// Those that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Whether there was no room for all.
    truncated: bool,
    /// How it went.
    stats: ReadStats,
}

/// A document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the contract names them so")]
struct Doc {
    doc_id: String,
    source_id: i64,
    source_name: String,
    pk_json: Map<String, Value>,
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
}

impl Contract for RagGetDocs {
    const NAME: &'static str = "rag.get_docs";
    const TITLE: &'static str = "Read documents";
    const DESCRIPTION: &'static str = "Read whole documents of collections by their ids.";
    const TOOLSET: Toolset = Toolset::Rag;
    const FORM: Form = Form::Coded;
    type Input = RagGetDocsInput;
    type Output = RagGetDocsOutput;

    async fn call(
        toolbox: &Toolbox,
        input: RagGetDocsInput,
        call: &Call,
    ) -> Result<Replied<RagGetDocsOutput>, CallError> {
        let begun = Instant::now();
        limits::identifiers("doc_ids", &input.doc_ids)?;
        let RagGetDocsInput { doc_ids, shown } = input;
        let read = with_collections(toolbox, call, READ, move |opened, deadline| {
            read_all(opened, doc_ids, shown, deadline)
        });
        let mut output = read.await?;
        output.stats.ms = since(begun);
        Ok(output.into())
    }
}

fn read_all(
    opened: &[Opened],
    ids: Vec<String>,
    shown: DocReturnInput,
    deadline: &Deadline,
) -> Result<RagGetDocsOutput, SourceError> {
    let mut output = RagGetDocsOutput {
        docs: Vec::new(),
        missing: Vec::new(),
        truncated: false,
        stats: ReadStats { ms: 0 },
    };
    let mut bytes = 0;
    for id in ids {
        let Some((_, document)) = find(opened, &id, deadline)? else {
            output.missing.push(id);
            continue;
        };
        bytes += if shown.include_body { document.body.len() } else { 0 };
        // The first is read however long it is cut, so that asking for less helps.
        if bytes > TEXT_BYTES {
            output.truncated = true;
            if !output.docs.is_empty() {
                break;
            }
        }
        let end = document.body.floor_char_boundary(TEXT_BYTES);
        let body = document.body.get(..end).unwrap_or_default().to_owned();
        output.docs.push(Doc {
            doc_id: document.doc_id,
            source_id: document.source_id,
            source_name: document.source_name,
            pk_json: document.primary_key,
            title: document.title,
            body: shown.include_body.then_some(body),
            metadata: shown.include_metadata.then_some(document.metadata),
        });
    }
    Ok(output)
}

/// The document of that name in the first collection that has one, and where.
pub(super) fn find<'o>(
    opened: &'o [Opened],
    id: &str,
    deadline: &Deadline,
) -> Result<Option<(&'o Opened, StoredDocument)>, SourceError> {
    first(opened, deadline, |one, reader, scope| one.collection.document(reader, id, scope))
}
