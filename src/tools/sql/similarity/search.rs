//! The tool itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_kit::retrieve::Lambda;

use super::{
    super::asked::{connect, while_wanted},
    chunks::{Choice, Source},
    columns::Table,
    nearest::{DistanceMetric, nearest},
    told,
};
use crate::{
    actors::CallError,
    tools::{Contract, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::Engine;

/// Rows that are looked for: at most, and if nobody says.
const MOST_ROWS: usize = 100;
const ROWS: usize = 10;
/// Tokens of a chunk, likewise.
const MOST_SIZE: usize = 2_000;
const SIZE: usize = 100;
/// Tokens of an answer, likewise.
const MOST_TOKENS: usize = 50_000;
const TOKENS: usize = 1_000;
/// How much relevance counts against novelty, if nobody says.
const LAMBDA: f64 = 0.6;

/// Searches a table.
#[derive(Debug)]
pub struct SimilaritySearch;

/// What is searched for, where and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimilarityInput {
    /// Perhaps with its schema.
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

/// How much of each result is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum OutputFormat {
    /// All of it.
    #[default]
    Full,
    /// Its beginning.
    Summary,
    /// Its row.
    IdsOnly,
}

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimilarityOutput {
    /// Best first.
    pub(super) results: Vec<SimilarityResult>,
    /// How much each column counts.
    pub(super) columns: Vec<ColumnWeight>,
    /// About how many tokens all texts have.
    pub(super) tokens: usize,
}

/// A chunk of a text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SimilarityResult {
    /// Table and column.
    pub(super) source: String,
    /// The primary key of the row.
    pub(super) key: Map<String, Value>,
    /// The place of the row among the nearest, counted from 1.
    pub(super) rank: usize,
    /// The place of the chunk in the text, counted from 1.
    pub(super) chunk: usize,
    /// 0 to 1: half of it the words, half the place of the row.
    pub(super) score: f64,
    /// About how many tokens the text has.
    pub(super) tokens: usize,
    /// The text, as far as it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// How much a column counts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ColumnWeight {
    /// The texts.
    text: String,
    /// Their vectors.
    vector: String,
    /// 0 to 1.
    weight: f64,
}

/// What is asked for, as far as it is right.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) table_name: String,
    pub(super) query_text: String,
    pub(super) rows: usize,
    pub(super) choice: Choice,
    pub(super) lambda: f64,
    pub(super) metric: DistanceMetric,
    pub(super) format: OutputFormat,
}

impl Contract for SimilaritySearch {
    const NAME: &'static str = "similarity_search";
    const TITLE: &'static str = "Search a table by meaning";
    const DESCRIPTION: &'static str = "Search a PostgreSQL table that has pgvector columns, by \
        meaning and words. Long texts are cut when they are found. get_schema_info with \
        vector_tables_only=true lists such tables.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Input = SimilarityInput;
    type Output = SimilarityOutput;

    async fn call(
        toolbox: &Toolbox,
        input: SimilarityInput,
        call: &Call,
    ) -> Result<Replied<SimilarityOutput>, CallError> {
        let profile = input.profile.clone();
        let asked = Asked::read(input)?;
        let connection = connect(toolbox, call, profile.as_deref()).await?;
        if connection.engine() != Engine::Postgres {
            return Err(CallError::Refused(format!(
                "similarity_search needs PostgreSQL with pgvector; `{}` is {}",
                connection.profile().name(),
                connection.engine()
            )));
        }
        let embeddings = toolbox.embeddings().ok_or_else(|| {
            CallError::NotConfigured(
                "similarity_search needs vectors of questions: set embeddings.provider to that \
                 which made the vectors of the table"
                    .to_owned(),
            )
        })?;
        let table = Table::find(&connection, &asked.table_name).await?;
        let vector = embeddings.query(&asked.query_text).await.map_err(|error| {
            tracing::warn!(%error, "a query could not be embedded");
            CallError::Refused(format!("the question has no vector: {error}"))
        })?;
        for pair in &table.pairs {
            if pair.dimensions.is_some_and(|dimensions| dimensions != vector.len()) {
                return Err(CallError::Refused(format!(
                    "the vectors in `{}` have {} dimensions, those of `{}` have {}: set \
                     embeddings.model to the model that made them",
                    pair.vector,
                    pair.dimensions.unwrap_or_default(),
                    embeddings.model().name,
                    vector.len()
                )));
            }
        }
        let looking = nearest(&connection, &table, &vector, asked.metric, asked.rows);
        let near = while_wanted(call, looking).await?;
        let mut sources = Vec::new();
        for (row, near) in near.iter().enumerate() {
            for (column, text) in table.shown().into_iter().zip(&near.texts) {
                sources.extend(text.clone().map(|text| Source {
                    row,
                    column: column.to_owned(),
                    text,
                }));
            }
        }
        let chosen = asked.choice.choose(&sources, near.len(), &asked.query_text);
        let results: Vec<SimilarityResult> = chosen
            .into_iter()
            .filter_map(|chunk| {
                let source = sources.get(chunk.source)?;
                Some(SimilarityResult {
                    source: format!("{}.{}", asked.table_name, source.column),
                    key: near.get(source.row)?.key.clone(),
                    rank: source.row + 1,
                    chunk: chunk.number,
                    score: chunk.score,
                    tokens: chunk.tokens,
                    text: asked.format.text(chunk.text),
                })
            })
            .collect();
        let columns = table.pairs.iter().map(|pair| ColumnWeight {
            text: pair.text.clone(),
            vector: pair.vector.clone(),
            weight: pair.weight,
        });
        let output = SimilarityOutput {
            tokens: results.iter().map(|result| result.tokens).sum(),
            results,
            columns: columns.collect(),
        };
        let text = toolbox.text(|| told::page(&asked, &table, &output));
        Ok(Replied { output, text, meta: None })
    }
}

impl OutputFormat {
    /// Characters of a summary.
    const SUMMARY: usize = 100;

    fn text(self, text: String) -> Option<String> {
        match self {
            Self::Summary if text.chars().count() > Self::SUMMARY => {
                Some(text.chars().take(Self::SUMMARY).chain(['…']).collect())
            }
            Self::Full | Self::Summary => Some(text),
            Self::IdsOnly => None,
        }
    }
}

impl Asked {
    fn read(input: SimilarityInput) -> Result<Self, CallError> {
        let within = |name: &str, value: Option<i64>, usual: usize, most: usize| match value {
            None => Ok(usual),
            Some(value) => {
                usize::try_from(value).ok().filter(|value| (1..=most).contains(value)).ok_or_else(
                    || CallError::Invalid(format!("{name}: expected 1 to {most}, got {value}")),
                )
            }
        };
        if input.query_text.trim().is_empty() {
            return Err(CallError::Invalid(
                "query_text: is empty; say what to look for".to_owned(),
            ));
        }
        let lambda = input.lambda.unwrap_or(LAMBDA);
        let wrong = || CallError::Invalid(format!("lambda: expected 0 to 1, got {lambda}"));
        Ok(Self {
            rows: within("top_n", input.top_n, ROWS, MOST_ROWS)?,
            choice: Choice {
                size: within("chunk_size_tokens", input.chunk_size_tokens, SIZE, MOST_SIZE)?,
                lambda: Lambda::new(lambda).ok_or_else(wrong)?,
                budget: within("max_output_tokens", input.max_output_tokens, TOKENS, MOST_TOKENS)?,
            },
            table_name: input.table_name,
            query_text: input.query_text,
            lambda,
            metric: input.distance_metric,
            format: input.output_format,
        })
    }
}
