//! `rag.fetch_from_source`: reads the current rows of documents from their source database.
//!
//! The database is defined by the collection and the columns by the profile; the caller chooses
//! neither. Rows are found by primary key only.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_actors::{
    CallError,
    collections::{CollectionPlan, TableSql, VisibleCollection, to_parameter},
};
use vademecum_core::config::CollectionTable;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{ContentOrigin, Deadline};
use vademecum_source::SourceError;
use vademecum_sql::{Engine, Parameter, ProfileConnection, QueryCaps, Rows, SqlError};

use super::{
    chunks::ReadStats,
    documents::find_document,
    limits::{self, READ_TIMEOUT, parse_count, with_collections},
    results::elapsed_ms,
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices, sql::run_until_cancelled};

/// Number of rows in a result: default and maximum.
const DEFAULT_ROWS: usize = 10;
const MAX_ROWS: usize = 100;
/// Size of a result in bytes: default and maximum.
const DEFAULT_BYTES: usize = 200_000;
const MAX_BYTES: usize = 1_000_000;
/// Maximum length of a column name, in bytes.
const MAX_COLUMN_NAME_BYTES: usize = 128;
/// Statement timeout; a profile may set a shorter one.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Reads the current rows of documents from their source database.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagFetchFromSource {
    /// Documents.
    doc_ids: Vec<String>,
    /// Columns; default all that are allowed.
    #[serde(default)]
    columns: Vec<String>,
    /// Result limits.
    #[serde(default)]
    limits: FetchLimits,
}

/// Limits of a result.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FetchLimits {
    /// 1 to 100, default 10.
    max_rows: Option<i64>,
    /// 1 to 1000000, default 200000.
    max_bytes: Option<i64>,
}

/// Result of `rag.fetch_from_source`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagFetchOutput {
    /// One row for each document.
    rows: Vec<SourceRow>,
    /// Whether rows were dropped because of a limit.
    truncated: bool,
    /// Ids of the documents whose rows were dropped; pass them in another call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<String>,
    /// Statistics of the call.
    stats: ReadStats,
}

/// A row, or the reason why it is missing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SourceRow {
    doc_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_id: Option<i64>,
    source_name: Option<String>,
    /// Where the row comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<ContentOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend_type: Option<Engine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A requested document and the location of its row, if the document exists.
#[derive(Clone, Debug)]
struct FetchRequest {
    doc_id: String,
    location: Option<RowLocation>,
}

/// Table and primary key from which a document was ingested.
#[derive(Clone, Debug)]
struct RowLocation {
    source_id: i64,
    source_name: String,
    /// Primary key, as it was when the document was ingested.
    key: Value,
    /// Table; `None` if the document comes from a file.
    table: Option<CollectionTable>,
}

/// Rows read from one table.
struct TableRows {
    engine: Engine,
    /// Rows by primary key, serialized as JSON; or the error of the query.
    rows: Result<HashMap<String, Map<String, Value>>, SqlError>,
    /// Whether rows were dropped because of a limit.
    truncated: bool,
}

impl Tool for RagFetchFromSource {
    const NAME: &'static str = "rag.fetch_from_source";
    const TITLE: &'static str = "Read source rows";
    const DESCRIPTION: &'static str =
        "Read documents as they are now in the database that they come from.";
    const TOOLSET: Toolset = Toolset::Rag;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    const HAS_LONG_RESULTS: bool = true;
    type Output = RagFetchOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let begun = Instant::now();
        let Self { doc_ids, columns, limits } = self;
        limits::check_ids("doc_ids", &doc_ids)?;
        columns.iter().try_for_each(|column| check_column(column))?;
        let most_rows = parse_count("limits.max_rows", limits.max_rows, DEFAULT_ROWS, MAX_ROWS)?;
        let most_bytes =
            parse_count("limits.max_bytes", limits.max_bytes, DEFAULT_BYTES, MAX_BYTES)?;
        let (too_many, requested_ids) = (doc_ids.len() > most_rows, doc_ids.clone());
        let placing = with_collections(services, call, READ_TIMEOUT, move |opened, deadline| {
            let placed =
                doc_ids.into_iter().take(most_rows).map(|id| locate_row(opened, id, deadline));
            placed.collect::<Result<Vec<_>, _>>()
        });
        let requests = placing.await?;
        check_locations(&requests)?;
        // Boxed because the futures of database drivers are large.
        let found = Box::pin(fetch_rows(services, call, &requests, &columns, most_bytes)).await?;
        let mut output = RagFetchOutput {
            rows: Vec::new(),
            truncated: too_many || found.values().any(|found| found.truncated),
            omitted: Vec::new(),
            stats: ReadStats { ms: 0 },
        };
        let mut left = most_bytes;
        for one in requests {
            let Some(row) = to_source_row(one, &found) else { continue };
            let bytes = row.row.as_ref().map_or(0, |row| serde_json::json!(row).to_string().len());
            if bytes > left {
                output.truncated = true;
                break;
            }
            left -= bytes;
            output.rows.push(row);
        }
        if output.truncated {
            // The rows are in the order of the ids.
            let mut shown = output.rows.iter().map(|row| &row.doc_id).peekable();
            let is_omitted = |id: &String| shown.next_if_eq(&id).is_none();
            output.omitted = requested_ids.into_iter().filter(is_omitted).collect();
        }
        let read = output.rows.iter().filter(|row| row.row.is_some());
        let documents = read.map(|row| &row.doc_id);
        call.items.record_all_of(ContentOrigin::SharedCollection, documents);
        output.stats.ms = elapsed_ms(begun);
        Ok(output.into())
    }
}

/// Finds the row of a document, if the caller may see the document.
fn locate_row(
    opened: &[VisibleCollection],
    doc_id: String,
    deadline: &Deadline,
) -> Result<FetchRequest, SourceError> {
    let place = find_document(opened, &doc_id, deadline)?.map(|(one, document)| {
        let record = &one.record;
        let plan = CollectionPlan::parse(&record.name, &record.plan).ok();
        RowLocation {
            source_id: record.source_id,
            source_name: record.name.clone(),
            key: document.primary_key.into_iter().next().map(|(_, key)| key).unwrap_or_default(),
            table: plan.and_then(|plan| plan.table),
        }
    });
    Ok(FetchRequest { doc_id, location: place })
}

/// Fails unless at least one document exists and comes from a database.
fn check_locations(requests: &[FetchRequest]) -> Result<(), CallError> {
    let locations = || requests.iter().filter_map(|one| one.location.as_ref());
    match locations().next() {
        None => Err(CallError::NotFound("doc_ids: there is no such document".to_owned())),
        Some(first) if locations().all(|place| place.table.is_none()) => {
            Err(CallError::NotConfigured(format!(
                "the collection `{}` comes from files, not from a database: read its documents \
                 with rag.get_docs",
                first.source_name
            )))
        }
        Some(_) => Ok(()),
    }
}

/// Reads the rows table by table; the result is keyed by source id.
async fn fetch_rows(
    services: &ToolServices,
    call: &RequestContext,
    requests: &[FetchRequest],
    columns: &[String],
    most_bytes: usize,
) -> Result<BTreeMap<i64, TableRows>, CallError> {
    let mut keys: BTreeMap<i64, (&CollectionTable, Vec<&Value>)> = BTreeMap::new();
    for place in requests.iter().filter_map(|one| one.location.as_ref()) {
        if let Some(table) = &place.table {
            let of_source = keys.entry(place.source_id).or_insert_with(|| (table, Vec::new()));
            of_source.1.push(&place.key);
        }
    }
    let tables = services.syncs.tables().ok_or(CallError::Unavailable)?;
    let mut found = BTreeMap::new();
    for (source_id, (table, keys)) in keys {
        let connecting = tables.connect(&call.principal, table);
        let connection = run_until_cancelled(call, connecting).await.map_err(explain_forbidden)?;
        let columns = allowed_columns(&connection, table, columns)?;
        let reading = read_rows(&connection, table, &columns, &keys, most_bytes);
        let (rows, truncated) = match Box::pin(run_until_cancelled(call, reading)).await {
            Ok((rows, truncated)) => (Ok(rows), truncated),
            Err(CallError::Sql(error)) => (Err(error), false),
            Err(other) => return Err(other),
        };
        found.insert(source_id, TableRows { engine: connection.engine(), rows, truncated });
    }
    Ok(found)
}

/// Says what a caller can do who may not use the profile of a document.
fn explain_forbidden(error: CallError) -> CallError {
    match error {
        CallError::Sql(error) if error.reason == Some("profile_not_found") => CallError::Refused(
            "doc_ids: a document comes from a database that you may not use: read it with \
                 rag.get_docs, or have the owner of the server add you to `users` of its profile"
                .to_owned(),
        ),
        other => other,
    }
}

/// Returns the columns to read. Fails if a requested column is not allowed by the profile.
fn allowed_columns<'a>(
    connection: &'a ProfileConnection,
    table: &CollectionTable,
    requested: &'a [String],
) -> Result<Vec<&'a str>, CallError> {
    let (profile, table) = (connection.profile(), &table.table);
    let allowed = profile.readable_columns(table);
    if let Some(outside) = requested.iter().find(|column| !allowed.contains(column)) {
        let may_be = match allowed {
            [] => "no column is allowed".to_owned(),
            names => format!("allowed are {}", names.join(", ")),
        };
        let problem = format!("columns: `{outside}` of `{table}` is not allowed; {may_be}");
        return Err(CallError::Invalid(problem));
    }
    let columns = if requested.is_empty() { allowed } else { requested };
    if columns.is_empty() {
        return Err(CallError::NotConfigured(format!(
            "no column of `{table}` may be read: `columns` of the profile `{}` names those that \
             may",
            profile.name()
        )));
    }
    Ok(columns.iter().map(String::as_str).collect())
}

/// Reads the rows with these keys. Also returns whether rows were dropped because of a limit.
async fn read_rows(
    connection: &ProfileConnection,
    table: &CollectionTable,
    columns: &[&str],
    keys: &[&Value],
    most_bytes: usize,
) -> Result<(HashMap<String, Map<String, Value>>, bool), SqlError> {
    let sql = TableSql::new(connection.engine(), table)?;
    let selected: Vec<&str> =
        std::iter::once(table.pk_column.as_str()).chain(columns.iter().copied()).collect();
    let keys: Vec<Parameter> = keys.iter().map(|key| to_parameter(key, key_type(key))).collect();
    let bound = sql.select_by_keys(&selected, &keys);
    let profile = connection.profile().query_caps();
    let timeout = profile.timeout.min(STATEMENT_TIMEOUT);
    let caps = QueryCaps { timeout, offset: 0, max_rows: keys.len(), max_bytes: most_bytes };
    let Rows { rows, truncated, .. } =
        connection.run_query(&bound.text, &bound.parameters, caps).await?;
    let named = rows.into_iter().filter_map(|row| {
        let mut values = row.into_iter();
        let key = values.next()?.to_string();
        Some((key, columns.iter().map(|name| (*name).to_owned()).zip(values).collect()))
    });
    Ok((named.collect(), truncated))
}

/// Returns the SQL type to bind a key with. Integers beyond 2^53 are stored as strings, because
/// JSON numbers would lose precision.
fn key_type(key: &Value) -> &'static str {
    let number = key.as_str().and_then(|text| Some((text, text.parse::<i64>().ok()?)));
    let is_number = number.is_some_and(|(text, number)| {
        number.unsigned_abs() > 1 << 53 && number.to_string() == text
    });
    if is_number { "int" } else { "" }
}

/// Builds the result row of a document; `None` if its row was dropped because of a limit.
fn to_source_row(request: FetchRequest, found: &BTreeMap<i64, TableRows>) -> Option<SourceRow> {
    let FetchRequest { doc_id, location: place } = request;
    let mut source_row = SourceRow {
        doc_id,
        source_id: place.as_ref().map(|it| it.source_id),
        source_name: place.as_ref().map(|it| it.source_name.clone()),
        origin: None,
        backend_type: None,
        row: None,
        error: None,
    };
    let of_source = place.as_ref().and_then(|place| Some((place, found.get(&place.source_id)?)));
    let Some((place, found)) = of_source else {
        let problem = match place {
            None => "not found: there is no such document",
            Some(_) => "it comes from a file, not from a database; read it with rag.get_docs",
        };
        source_row.error = Some(problem.to_owned());
        return Some(source_row);
    };
    source_row.backend_type = Some(found.engine);
    match &found.rows {
        Ok(rows) => match rows.get(&place.key.to_string()) {
            Some(row) => {
                source_row.origin = Some(ContentOrigin::SharedCollection);
                source_row.row = Some(row.clone());
            }
            None if found.truncated => return None,
            None => {
                source_row.error = Some("not found: the row was deleted from the table".to_owned());
            }
        },
        Err(error) => source_row.error = Some(error.message.clone()),
    }
    Some(source_row)
}

/// Accepts only plain identifiers: letters, digits, `_` and `$`. Anything else may be an injection
/// attempt.
fn check_column(column: &str) -> Result<(), CallError> {
    let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    if (1..=MAX_COLUMN_NAME_BYTES).contains(&column.len()) && column.chars().all(plain) {
        return Ok(());
    }
    let shown: String = column.chars().take(60).collect();
    Err(CallError::Invalid(format!("columns: `{shown}` is not the name of a column")))
}
