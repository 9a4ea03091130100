//! `rag.fetch_from_source`: rows as they are where documents come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    chunks::ReadStats,
    documents::find,
    limits::{self, READ, positive, with_collections},
};
use crate::{
    actors::CallError,
    mcp::{Call, Toolset},
    tools::{Contract, Form, Replied, Toolbox},
};

/// Rows of one answer: as many, if nobody says, and at most.
const ROWS: usize = 10;
const MOST_ROWS: usize = 100;
/// Bytes of one answer, likewise.
const BYTES: usize = 200_000;
const MOST_BYTES: usize = 1_000_000;
/// The longest name of a column.
const COLUMN: usize = 128;

/// Reads rows where documents come from.
#[derive(Debug)]
pub struct RagFetchFromSource;

/// Which rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagFetchInput {
    /// Documents.
    doc_ids: Vec<String>,
    /// Columns; all that are allowed, if none is named.
    #[serde(default)]
    columns: Vec<String>,
    /// How much at most.
    #[serde(default)]
    limits: FetchLimits,
}

/// How much is read at most.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FetchLimits {
    /// 1 to 100, default 10.
    max_rows: Option<i64>,
    /// 1 to 1000000, default 200000.
    max_bytes: Option<i64>,
}

/// The rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagFetchOutput {
    /// One for each document.
    rows: Vec<SourceRow>,
    /// Whether there was no room for all.
    truncated: bool,
    /// How it went.
    stats: ReadStats,
}

/// A row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SourceRow {
    doc_id: String,
    source_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Contract for RagFetchFromSource {
    const NAME: &'static str = "rag.fetch_from_source";
    const TITLE: &'static str = "Read source rows";
    const DESCRIPTION: &'static str =
        "Read documents as they are now in the database that they come from.";
    const TOOLSET: Toolset = Toolset::Rag;
    const FORM: Form = Form::Coded;
    type Input = RagFetchInput;
    type Output = RagFetchOutput;

    async fn call(
        toolbox: &Toolbox,
        input: RagFetchInput,
        call: &Call,
    ) -> Result<Replied<RagFetchOutput>, CallError> {
        limits::identifiers("doc_ids", &input.doc_ids)?;
        input.columns.iter().try_for_each(|column| check_column(column))?;
        positive("limits.max_rows", input.limits.max_rows, ROWS, MOST_ROWS)?;
        positive("limits.max_bytes", input.limits.max_bytes, BYTES, MOST_BYTES)?;
        let ids = input.doc_ids;
        let from = with_collections(toolbox, call, READ, move |opened, deadline| {
            for id in &ids {
                if let Some((one, _)) = find(opened, id, deadline)? {
                    return Ok(Some(one.record.name.clone()));
                }
            }
            Ok(None)
        });
        match from.await? {
            Some(name) => Err(CallError::NotConfigured(format!(
                "the collection `{name}` comes from files, not from a database: read its \
                 documents with rag.get_docs"
            ))),
            None => Err(CallError::NotFound("doc_ids: there is no such document".to_owned())),
        }
    }
}

/// A column is named plainly: whatever else stands there is an attack.
fn check_column(column: &str) -> Result<(), CallError> {
    let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    if (1..=COLUMN).contains(&column.len()) && column.chars().all(plain) {
        return Ok(());
    }
    let shown: String = column.chars().take(60).collect();
    Err(CallError::Invalid(format!("columns: `{shown}` is not the name of a column")))
}
