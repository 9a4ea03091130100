//! The `similarity_search` tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_actors::CallError;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_search::MmrLambda;
use vademecum_sql::Engine;

use super::{
    super::sql_call::{connect_profile, run_until_cancelled},
    chunk_selection::{ChunkSelection, SourceText},
    nearest_rows::{DistanceMetric, find_nearest_rows},
    render,
    vector_columns::VectorTable,
};
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Number of rows to search for: maximum and default.
const MAX_ROWS: usize = 100;
const DEFAULT_ROWS: usize = 10;
/// Size of a chunk, in tokens: maximum and default.
const MAX_CHUNK_TOKENS: usize = 2_000;
const DEFAULT_CHUNK_TOKENS: usize = 100;
/// Size of the output, in tokens: maximum and default.
const MAX_OUTPUT_TOKENS: usize = 50_000;
const DEFAULT_OUTPUT_TOKENS: usize = 1_000;
/// Default weight of relevance against novelty.
const DEFAULT_LAMBDA: f64 = 0.6;

/// Searches a table by meaning and words.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimilaritySearch {
    /// Optionally with schema.
    table_name: String,
    /// A question.
    query_text: String,
    /// Rows, 1 to 100; default 10.
    top_n: Option<i64>,
    /// Tokens of a chunk, 1 to 2000; default 100.
    chunk_size_tokens: Option<i64>,
    /// Relevance against novelty, 0 to 1; default 0.6.
    lambda: Option<f64>,
    /// Tokens of the answer, 1 to 50000; default 1000.
    max_output_tokens: Option<i64>,
    /// Default cosine.
    #[serde(default)]
    distance_metric: DistanceMetric,
    /// Default full.
    #[serde(default)]
    output_format: OutputFormat,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// Amount of text returned with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum OutputFormat {
    /// Full text.
    #[default]
    Full,
    /// Beginning of the text.
    Summary,
    /// No text, only the row.
    IdsOnly,
}

/// Result of `similarity_search`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimilarityOutput {
    /// Chunks, best first.
    pub(super) results: Vec<SimilarityResult>,
    /// Number of chunks that `max_output_tokens` left out or cut.
    pub(super) omitted: usize,
    /// Weights of the columns.
    pub(super) columns: Vec<ColumnWeight>,
    /// Estimated number of tokens of all texts.
    pub(super) tokens: usize,
}

/// A chunk of a text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SimilarityResult {
    /// Table and column of the text.
    pub(super) source: String,
    /// Primary key of the row.
    pub(super) key: Map<String, Value>,
    /// Rank of the row in the vector search, counted from 1.
    pub(super) rank: usize,
    /// Number of the chunk within its text, counted from 1.
    pub(super) chunk: usize,
    /// Score from 0 to 1: half BM25, half vector rank of the row.
    pub(super) score: f64,
    /// Estimated number of tokens of the text.
    pub(super) tokens: usize,
    /// Text, depending on `output_format`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// Weight of a column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ColumnWeight {
    /// Text column.
    text: String,
    /// Vector column.
    vector: String,
    /// Weight from 0 to 1.
    weight: f64,
}

/// Validated arguments.
#[derive(Clone, Debug)]
pub(super) struct SimilarityRequest {
    pub(super) table_name: String,
    pub(super) query_text: String,
    pub(super) max_rows: usize,
    pub(super) chunk_selection: ChunkSelection,
    pub(super) lambda: f64,
    pub(super) metric: DistanceMetric,
    pub(super) format: OutputFormat,
}

impl Tool for SimilaritySearch {
    const NAME: &'static str = "similarity_search";
    const TITLE: &'static str = "Search a table by meaning";
    const DESCRIPTION: &'static str = "Search a PostgreSQL table that has pgvector columns, by \
        meaning and words. Long texts are returned in chunks. get_schema_info with \
        vector_tables_only=true lists such tables.";
    const TOOLSET: Toolset = Toolset::Databases;
    const HAS_LONG_RESULTS: bool = true;
    type Output = SimilarityOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let profile = self.profile.clone();
        let request = SimilarityRequest::validate(self)?;
        let connection = connect_profile(services, call, profile.as_deref()).await?;
        if connection.engine() != Engine::Postgres {
            return Err(CallError::Refused(format!(
                "similarity_search needs PostgreSQL with pgvector; `{}` is {}",
                connection.profile().name(),
                connection.engine()
            )));
        }
        let embeddings = services.embeddings.as_ref().ok_or_else(|| {
            CallError::NotConfigured(
                "similarity_search needs an embedding provider: set embeddings.provider to the one \
                 that made the vectors of the table"
                    .to_owned(),
            )
        })?;
        let table = VectorTable::find_table(&connection, &request.table_name).await?;
        let vector = embeddings.embed_query(&request.query_text).await.map_err(|error| {
            tracing::warn!(%error, "a query could not be embedded");
            CallError::Refused(format!("the query could not be embedded: {error}"))
        })?;
        for pair in &table.vector_columns {
            if pair.dimensions.is_some_and(|dimensions| dimensions != vector.len()) {
                return Err(CallError::Refused(format!(
                    "the vectors in `{}` have {} dimensions, those of `{}` have {}: set \
                     embeddings.model to the model that made them",
                    pair.column,
                    pair.dimensions.unwrap_or_default(),
                    embeddings.model().name,
                    vector.len()
                )));
            }
        }
        let looking =
            find_nearest_rows(&connection, &table, &vector, request.metric, request.max_rows);
        let near = run_until_cancelled(call, looking).await?;
        let mut sources = Vec::new();
        for (row, near) in near.iter().enumerate() {
            for (column, text) in table.text_columns().into_iter().zip(&near.texts) {
                sources.extend(text.clone().map(|text| SourceText {
                    row,
                    column: column.to_owned(),
                    text,
                }));
            }
        }
        let (chosen, omitted) =
            request.chunk_selection.select_chunks(&sources, near.len(), &request.query_text);
        let results: Vec<SimilarityResult> = chosen
            .into_iter()
            .filter_map(|chunk| {
                let source = sources.get(chunk.source)?;
                Some(SimilarityResult {
                    source: format!("{}.{}", request.table_name, source.column),
                    key: near.get(source.row)?.key.clone(),
                    rank: source.row + 1,
                    chunk: chunk.number,
                    score: chunk.score,
                    tokens: chunk.tokens,
                    text: request.format.shown_text(chunk.text),
                })
            })
            .collect();
        let columns = table.vector_columns.iter().map(|pair| ColumnWeight {
            text: pair.text_column.clone(),
            vector: pair.column.clone(),
            weight: pair.weight,
        });
        let output = SimilarityOutput {
            tokens: results.iter().map(|result| result.tokens).sum(),
            results,
            omitted,
            columns: columns.collect(),
        };
        let text = services.text(|| render::render_results(&request, &table, &output));
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl OutputFormat {
    /// Maximum length of a summary, in characters.
    const MAX_SUMMARY_CHARS: usize = 100;

    fn shown_text(self, text: String) -> Option<String> {
        match self {
            Self::Summary if text.chars().count() > Self::MAX_SUMMARY_CHARS => {
                Some(text.chars().take(Self::MAX_SUMMARY_CHARS).chain(['…']).collect())
            }
            Self::Full | Self::Summary => Some(text),
            Self::IdsOnly => None,
        }
    }
}

impl SimilarityRequest {
    fn validate(input: SimilaritySearch) -> Result<Self, CallError> {
        let within = |name: &str, value: Option<i64>, usual: usize, most: usize| match value {
            None => Ok(usual),
            Some(value) => {
                usize::try_from(value).ok().filter(|value| (1..=most).contains(value)).ok_or_else(
                    || CallError::Invalid(format!("{name}: expected 1 to {most}, got {value}")),
                )
            }
        };
        if input.query_text.trim().is_empty() {
            return Err(CallError::Invalid("query_text: is empty; pass a question".to_owned()));
        }
        let lambda = input.lambda.unwrap_or(DEFAULT_LAMBDA);
        let wrong = || CallError::Invalid(format!("lambda: expected 0 to 1, got {lambda}"));
        Ok(Self {
            max_rows: within("top_n", input.top_n, DEFAULT_ROWS, MAX_ROWS)?,
            chunk_selection: ChunkSelection {
                chunk_tokens: within(
                    "chunk_size_tokens",
                    input.chunk_size_tokens,
                    DEFAULT_CHUNK_TOKENS,
                    MAX_CHUNK_TOKENS,
                )?,
                lambda: MmrLambda::new(lambda).ok_or_else(wrong)?,
                max_tokens: within(
                    "max_output_tokens",
                    input.max_output_tokens,
                    DEFAULT_OUTPUT_TOKENS,
                    MAX_OUTPUT_TOKENS,
                )?,
            },
            table_name: input.table_name,
            query_text: input.query_text,
            lambda,
            metric: input.distance_metric,
            format: input.output_format,
        })
    }
}
