//! Derives index advice from the plans of statements.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    candidates::{IndexCandidate, find_candidates},
    plan::{PlanFacts, read_mysql_plan, read_postgres_plan},
    table::{TableFacts, fetch_table},
};
use crate::{HIDDEN_QUERY, extension_schema, top_queries};
use vademecum_sql::{
    Engine, ErrorCode, ProfileConnection, SqlError,
    driver::HypotheticalIndexes,
    guard::{self, ReadOnlyQuery, StatementKind},
    plan::{ExplainOptions, PlanBody, PlanFormat, explain_query},
};

/// Number of the costliest statements to examine if none are given.
const TOP_STATEMENTS: u32 = 20;
/// Maximum number of indexes for one statement.
const MAX_INDEXES: usize = 3;
/// Share of the cost of the statement that an index must save to be worth its upkeep.
const WORTHWHILE_SAVING: f64 = 0.2;
/// Cost that an index must save at least, in units of the planner: about a hundred pages.
const MIN_SAVING: f64 = 100.0;
/// An index with fewer columns is preferred if it saves at least this share of the most that any
/// candidate saves.
const SIMILAR_SAVING: f64 = 0.95;

/// Source of the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceMethod {
    /// The planner was asked with hypothetical indexes.
    Hypopg,
    /// Only the plan without the index is known.
    Plan,
}

/// Outcome for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementOutcome {
    /// At least one index helps.
    Advice,
    /// No index is known to help.
    NoAdvice,
    /// The statement has no plan.
    Skipped,
}

/// Statement that was examined.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AdvisedStatement {
    /// Number of the statement, from 1.
    pub number: usize,
    /// The statement; literals of recorded statements are masked.
    pub query: String,
    /// Outcome.
    pub outcome: StatementOutcome,
    /// Estimated cost now, in units of the planner.
    pub cost: Option<f64>,
    /// Description for people.
    pub sentence: String,
}

/// Index that would help.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AdvisedIndex {
    /// Name of the index.
    pub index: String,
    /// Table.
    pub table: String,
    /// Columns in order.
    pub columns: Vec<String>,
    /// Statement that a person may run; this program does not.
    pub suggestion: String,
    /// Numbers of the statements that it helps.
    pub statements: Vec<usize>,
    /// Estimated cost of the first of them without the index.
    pub cost_before: Option<f64>,
    /// Estimated cost of the first of them with the index.
    pub cost_after: Option<f64>,
    /// Description for people.
    pub sentence: String,
}

/// Advice for a database.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexAdvice {
    /// Source of the advice.
    pub method: AdviceMethod,
    /// Indexes that would help.
    pub indexes: Vec<AdvisedIndex>,
    /// Statements that were examined.
    pub statements: Vec<AdvisedStatement>,
}

/// Candidate with the cost of a statement before and after.
type ChosenIndex = (IndexCandidate, Option<f64>, Option<f64>);

/// Advises indexes for the given statements, or without any for the costliest ones that
/// `PostgreSQL` has recorded. A given statement that the guard rejects is an error; a recorded one
/// is skipped.
pub async fn advise_indexes(
    connection: &ProfileConnection,
    given: &[String],
) -> Result<IndexAdvice, SqlError> {
    let engine = connection.engine();
    let (texts, is_recorded) = match (given, engine) {
        (_, Engine::Sqlite) => {
            let message = "index advice needs PostgreSQL, MySQL or MariaDB; execute_explain shows \
                           which tables SQLite reads whole";
            return Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message));
        }
        ([], Engine::Postgres) => (top_queries(connection, TOP_STATEMENTS).await?, true),
        ([], Engine::MySql) => {
            let message = "statements: is empty; pass the statements to examine, because this \
                           server records no statement that can be planned";
            return Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message));
        }
        (given, _) => (given.to_vec(), false),
    };
    let hypopg = match engine {
        Engine::Postgres => extension_schema(connection, "hypopg").await?,
        Engine::MySql | Engine::Sqlite => None,
    };
    let method = if hypopg.is_some() { AdviceMethod::Hypopg } else { AdviceMethod::Plan };
    let mut advisor = Advisor {
        connection,
        hypopg,
        tables: HashMap::new(),
        advice: IndexAdvice { method, indexes: Vec::new(), statements: Vec::new() },
    };
    for text in texts {
        advisor.examine(text, is_recorded).await?;
    }
    Ok(advisor.advice)
}

/// Collects advice, statement by statement.
struct Advisor<'a> {
    connection: &'a ProfileConnection,
    /// Schema of the extension.
    hypopg: Option<String>,
    tables: HashMap<(String, String), Option<TableFacts>>,
    advice: IndexAdvice,
}

impl Advisor<'_> {
    async fn examine(&mut self, text: String, is_recorded: bool) -> Result<(), SqlError> {
        let engine = self.connection.engine();
        let number = self.advice.statements.len() + 1;
        let shown = match text.as_str() {
            HIDDEN_QUERY => text.clone(),
            _ if is_recorded => guard::mask_literals(engine, &text),
            given => given.trim().to_owned(),
        };
        let query = guard::check_query(engine, &text).and_then(|query| match query.kind() {
            StatementKind::Rows => Ok(query),
            StatementKind::Explain | StatementKind::Show => {
                let message = "is no query; write the query without EXPLAIN or SHOW";
                Err(SqlError::new(ErrorCode::XsqlRoBlocked, message))
            }
        });
        let query = match query {
            Err(error) if !is_recorded => {
                let message = format!("statements[{}]: {}", number - 1, error.message);
                return Err(SqlError { message, ..error });
            }
            query => query,
        };
        let examined = match query {
            Ok(query) => self.choose_indexes(&query).await,
            Err(error) => Err(error),
        };
        let (outcome, cost, sentence) = match examined {
            Ok((cost, chosen)) => {
                let outcome = self.add_indexes(number, chosen);
                let sentence = match outcome {
                    StatementOutcome::Advice => "An index would make this statement cheaper.",
                    StatementOutcome::NoAdvice | StatementOutcome::Skipped => {
                        "No index is known that would make this statement much cheaper."
                    }
                };
                (outcome, cost, sentence.to_owned())
            }
            Err(error) if is_about_statement(&error) => {
                let sentence = format!("The statement could not be planned: {}.", error.message);
                (StatementOutcome::Skipped, None, sentence)
            }
            Err(error) => return Err(error),
        };
        let statement = AdvisedStatement { number, query: shown, outcome, cost, sentence };
        self.advice.statements.push(statement);
        Ok(())
    }

    /// Returns the cost of a query and the indexes that lower it.
    async fn choose_indexes(
        &mut self,
        query: &ReadOnlyQuery,
    ) -> Result<(Option<f64>, Vec<ChosenIndex>), SqlError> {
        let engine = self.connection.engine();
        let facts = self.fetch_plan(query).await?;
        let (mut candidates, mut likely) = (Vec::new(), Vec::new());
        for scan in &facts.scans {
            let key = (scan.schema.clone(), scan.table.clone());
            if !self.tables.contains_key(&key) {
                let table = fetch_table(self.connection, &scan.schema, &scan.table).await?;
                self.tables.insert(key.clone(), table);
            }
            let Some(Some(table)) = self.tables.get(&key) else { continue };
            let found = find_candidates(engine, &facts, scan, table);
            likely.extend(found.iter().find(|it| it.is_likely).cloned());
            candidates.extend(found);
        }
        let chosen = match (&self.hypopg, facts.cost) {
            (Some(schema), Some(cost)) => {
                self.choose_by_planner(query, schema, candidates, cost).await?
            }
            _ => likely.into_iter().map(|candidate| (candidate, facts.cost, None)).collect(),
        };
        Ok((facts.cost, chosen))
    }

    async fn fetch_plan(&self, query: &ReadOnlyQuery) -> Result<PlanFacts, SqlError> {
        if self.connection.engine() == Engine::Postgres {
            let none = HypotheticalIndexes::default();
            let plans = self.connection.plan_statement(query, &none).await?;
            let plan = plans.into_iter().next().flatten().unwrap_or_default();
            return Ok(read_postgres_plan(&plan));
        }
        let options = ExplainOptions { analyze: false, buffers: false, format: PlanFormat::Json };
        let plan = explain_query(self.connection, query.text(), options).await?;
        Ok(match plan.body {
            PlanBody::Json(json) => read_mysql_plan(&json, query.text()),
            PlanBody::Text(_) => PlanFacts::default(),
        })
    }

    /// Chooses the indexes that the planner estimates to save most, one after the other.
    async fn choose_by_planner(
        &self,
        query: &ReadOnlyQuery,
        schema: &str,
        mut candidates: Vec<IndexCandidate>,
        mut cost: f64,
    ) -> Result<Vec<ChosenIndex>, SqlError> {
        let mut chosen: Vec<ChosenIndex> = Vec::new();
        let worthwhile = (cost * WORTHWHILE_SAVING).max(MIN_SAVING);
        while chosen.len() < MAX_INDEXES && !candidates.is_empty() {
            let with = |candidate: &IndexCandidate| {
                let all = chosen.iter().map(|(known, _, _)| known).chain([candidate]);
                all.map(IndexCandidate::hypothetical_definition).collect()
            };
            let indexes = HypotheticalIndexes {
                extension_schema: schema.to_owned(),
                sets: candidates.iter().map(with).collect(),
            };
            let plans = self.connection.plan_statement(query, &indexes).await?;
            let costs = plans.iter().skip(1);
            let costs = costs.map(|plan| plan.as_ref().and_then(|it| read_postgres_plan(it).cost));
            let costs: Vec<f64> = costs.map(|cost| cost.unwrap_or(f64::INFINITY)).collect();
            let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let enough = cost - (cost - lowest) * SIMILAR_SAVING;
            let similar = costs.iter().enumerate().filter(|(_, it)| **it <= enough);
            let best = similar.min_by_key(|(at, _)| candidates.get(*at).map(|it| it.columns.len()));
            let Some((at, after)) = best.filter(|_| cost - lowest >= worthwhile) else {
                break;
            };
            chosen.push((candidates.swap_remove(at), Some(cost), Some(*after)));
            cost = *after;
        }
        Ok(chosen)
    }

    /// Adds the indexes for a statement; one that an earlier statement asked for is named once.
    fn add_indexes(&mut self, number: usize, chosen: Vec<ChosenIndex>) -> StatementOutcome {
        let engine = self.connection.engine();
        if chosen.is_empty() {
            return StatementOutcome::NoAdvice;
        }
        for (candidate, cost_before, cost_after) in chosen {
            let suggestion = candidate.create_statement(engine);
            let known = self.advice.indexes.iter_mut().find(|it| it.suggestion == suggestion);
            if let Some(known) = known {
                known.statements.push(number);
                continue;
            }
            let sentence = sentence(engine, &candidate, number, cost_before.zip(cost_after));
            self.advice.indexes.push(AdvisedIndex {
                index: candidate.name(),
                table: qualified_table(&candidate),
                columns: candidate.columns,
                suggestion,
                statements: vec![number],
                cost_before,
                cost_after,
                sentence,
            });
        }
        StatementOutcome::Advice
    }
}

fn qualified_table(candidate: &IndexCandidate) -> String {
    match candidate.schema.as_str() {
        "" => candidate.table.clone(),
        schema => format!("{schema}.{}", candidate.table),
    }
}

/// Describes the effect of an index.
fn sentence(
    engine: Engine,
    candidate: &IndexCandidate,
    number: usize,
    costs: Option<(f64, f64)>,
) -> String {
    let (table, columns) = (qualified_table(candidate), candidate.columns.join(", "));
    if let Some((before, after)) = costs {
        let saved = 100.0 * (1.0 - after / before);
        return format!(
            "With an index on ({columns}) of {table}, the planner estimates the cost of statement \
             {number} at {after:.0} and not {before:.0} ({saved:.0}% less)."
        );
    }
    let kept = candidate.kept_rows.map(|rows| format!(" to find about {rows:.0}"));
    let reason = match engine {
        Engine::Postgres => "the extension hypopg is not installed",
        Engine::MySql | Engine::Sqlite => "this server has no hypothetical indexes",
    };
    format!(
        "Statement {number} reads all {:.0} rows of {table}{}; an index on ({columns}) leads to \
         them. Its cost with the index is not known, because {reason}.",
        candidate.table_rows,
        kept.unwrap_or_default()
    )
}

/// Returns true if only this statement is the reason for the error.
fn is_about_statement(error: &SqlError) -> bool {
    matches!(error.code, ErrorCode::XsqlDbExecFailed | ErrorCode::XsqlRoBlocked)
}
