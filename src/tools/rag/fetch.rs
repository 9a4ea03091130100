//! `rag.fetch_from_source`: rows as they are where documents come from.
//!
//! Which database is asked is said by the collection, never by the caller; which
//! columns, by the profile. A row is found by its primary key and by nothing else.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_kit::{model::Deadline, source::SourceError};

use super::{
    chunks::ReadStats,
    documents::find,
    limits::{self, READ, positive, with_collections},
    results::since,
};
use crate::{
    actors::CallError,
    collections::{Opened, Plan, TableSql, parameter},
    tools::{Contract, Form, Replied, Toolbox, sql::while_wanted},
};
use vademecum_core::config::Table;
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::{Caps, Connection, Engine, Parameter, Rows, SqlError};

/// Rows of one answer: as many, if nobody says, and at most.
const ROWS: usize = 10;
const MOST_ROWS: usize = 100;
/// Bytes of one answer, likewise.
const BYTES: usize = 200_000;
const MOST_BYTES: usize = 1_000_000;
/// The longest name of a column.
const COLUMN: usize = 128;
/// How long a statement may run, if the profile does not say less.
const TIMEOUT: Duration = Duration::from_secs(2);

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
    #[serde(skip_serializing_if = "Option::is_none")]
    source_id: Option<i64>,
    source_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend_type: Option<Engine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A document, and where its row is.
#[derive(Clone, Debug)]
struct Wanted {
    doc_id: String,
    place: Option<Place>,
}

/// Where a row is.
#[derive(Clone, Debug)]
struct Place {
    source_id: i64,
    source_name: String,
    /// Its key, as it was when the document was made.
    key: Value,
    /// The table; none if the document comes from a file.
    table: Option<Table>,
}

/// The rows of one table.
struct Found {
    engine: Engine,
    /// By their keys as JSON; or why there are none.
    rows: Result<HashMap<String, Map<String, Value>>, SqlError>,
    /// Whether there was no room for all.
    truncated: bool,
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
        let begun = Instant::now();
        let RagFetchInput { doc_ids, columns, limits } = input;
        limits::identifiers("doc_ids", &doc_ids)?;
        columns.iter().try_for_each(|column| check_column(column))?;
        let most_rows = positive("limits.max_rows", limits.max_rows, ROWS, MOST_ROWS)?;
        let most_bytes = positive("limits.max_bytes", limits.max_bytes, BYTES, MOST_BYTES)?;
        let too_many = doc_ids.len() > most_rows;
        let placing = with_collections(toolbox, call, READ, move |opened, deadline| {
            let placed = doc_ids.into_iter().take(most_rows).map(|id| place(opened, id, deadline));
            placed.collect::<Result<Vec<_>, _>>()
        });
        let wanted = placing.await?;
        check_places(&wanted)?;
        // Boxed: what talks to databases is large.
        let found = Box::pin(rows(toolbox, call, &wanted, &columns, most_bytes)).await?;
        let mut output = RagFetchOutput {
            rows: Vec::new(),
            truncated: too_many || found.values().any(|found| found.truncated),
            stats: ReadStats { ms: 0 },
        };
        let mut left = most_bytes;
        for one in wanted {
            let Some(row) = told(one, &found) else { continue };
            let bytes = row.row.as_ref().map_or(0, |row| serde_json::json!(row).to_string().len());
            if bytes > left {
                output.truncated = true;
                break;
            }
            left -= bytes;
            output.rows.push(row);
        }
        output.stats.ms = since(begun);
        Ok(output.into())
    }
}

/// Looks where the row of a document is, if its caller may see it.
fn place(opened: &[Opened], doc_id: String, deadline: &Deadline) -> Result<Wanted, SourceError> {
    let place = find(opened, &doc_id, deadline)?.map(|(one, document)| {
        let record = &one.record;
        let plan = Plan::parse(&record.name, &record.plan).ok();
        Place {
            source_id: record.source_id,
            source_name: record.name.clone(),
            key: document.primary_key.into_iter().next().map(|(_, key)| key).unwrap_or_default(),
            table: plan.and_then(|plan| plan.table),
        }
    });
    Ok(Wanted { doc_id, place })
}

/// Whether there is any row to look for.
fn check_places(wanted: &[Wanted]) -> Result<(), CallError> {
    let places = || wanted.iter().filter_map(|one| one.place.as_ref());
    match places().next() {
        None => Err(CallError::NotFound("doc_ids: there is no such document".to_owned())),
        Some(first) if places().all(|place| place.table.is_none()) => {
            Err(CallError::NotConfigured(format!(
                "the collection `{}` comes from files, not from a database: read its documents \
                 with rag.get_docs",
                first.source_name
            )))
        }
        Some(_) => Ok(()),
    }
}

/// Reads the rows, table by table: what is found of each collection.
async fn rows(
    toolbox: &Toolbox,
    call: &Call,
    wanted: &[Wanted],
    columns: &[String],
    most_bytes: usize,
) -> Result<BTreeMap<i64, Found>, CallError> {
    let mut keys: BTreeMap<i64, (&Table, Vec<&Value>)> = BTreeMap::new();
    for place in wanted.iter().filter_map(|one| one.place.as_ref()) {
        if let Some(table) = &place.table {
            let of_source = keys.entry(place.source_id).or_insert_with(|| (table, Vec::new()));
            of_source.1.push(&place.key);
        }
    }
    let tables = toolbox.syncs().tables().ok_or(CallError::Unavailable)?;
    let mut found = BTreeMap::new();
    for (source_id, (table, keys)) in keys {
        let connection = while_wanted(call, tables.connect(table)).await?;
        let columns = allowed(&connection, table, columns)?;
        let reading = read(&connection, table, &columns, &keys, most_bytes);
        let (rows, truncated) = match Box::pin(while_wanted(call, reading)).await {
            Ok((rows, truncated)) => (Ok(rows), truncated),
            Err(CallError::Sql(error)) => (Err(error), false),
            Err(other) => return Err(other),
        };
        found.insert(source_id, Found { engine: connection.engine(), rows, truncated });
    }
    Ok(found)
}

/// The columns of a table that are read: those that are wanted, if each is allowed.
fn allowed<'a>(
    connection: &'a Connection,
    table: &Table,
    wanted: &'a [String],
) -> Result<Vec<&'a str>, CallError> {
    let (profile, table) = (connection.profile(), &table.table);
    let allowed = profile.columns(table);
    if let Some(outside) = wanted.iter().find(|column| !allowed.contains(column)) {
        let may_be = match allowed {
            [] => "no column of it may".to_owned(),
            names => format!("those that may are {}", names.join(", ")),
        };
        let problem = format!("columns: `{outside}` of `{table}` may not be read; {may_be}");
        return Err(CallError::Invalid(problem));
    }
    let columns = if wanted.is_empty() { allowed } else { wanted };
    if columns.is_empty() {
        return Err(CallError::NotConfigured(format!(
            "no column of `{table}` may be read: `columns` of the profile `{}` names those that \
             may",
            profile.name()
        )));
    }
    Ok(columns.iter().map(String::as_str).collect())
}

/// Reads the rows with these keys, and tells whether there was no room for all.
async fn read(
    connection: &Connection,
    table: &Table,
    columns: &[&str],
    keys: &[&Value],
    most_bytes: usize,
) -> Result<(HashMap<String, Map<String, Value>>, bool), SqlError> {
    let sql = TableSql::new(connection.engine(), table)?;
    let selected: Vec<&str> =
        std::iter::once(table.pk_column.as_str()).chain(columns.iter().copied()).collect();
    let keys: Vec<Parameter> = keys.iter().map(|key| parameter(key, kind(key))).collect();
    let bound = sql.of_keys(&selected, &keys);
    let profile = connection.profile().caps();
    let timeout = profile.timeout.min(TIMEOUT);
    let caps = Caps { timeout, offset: 0, rows: keys.len(), bytes: most_bytes };
    let Rows { rows, truncated, .. } =
        connection.read(&bound.text, &bound.parameters, caps).await?;
    let named = rows.into_iter().filter_map(|row| {
        let mut values = row.into_iter();
        let key = values.next()?.to_string();
        Some((key, columns.iter().map(|name| (*name).to_owned()).zip(values).collect()))
    });
    Ok((named.collect(), truncated))
}

/// The type that a key seems to be of. Numbers that JSON cannot hold were kept as texts.
fn kind(key: &Value) -> &'static str {
    let number = key.as_str().and_then(|text| Some((text, text.parse::<i64>().ok()?)));
    let is_number = number.is_some_and(|(text, number)| {
        number.unsigned_abs() > 1 << 53 && number.to_string() == text
    });
    if is_number { "int" } else { "" }
}

/// What is told of a document; nothing, if there was no room for its row.
fn told(wanted: Wanted, found: &BTreeMap<i64, Found>) -> Option<SourceRow> {
    let Wanted { doc_id, place } = wanted;
    let mut told = SourceRow {
        doc_id,
        source_id: place.as_ref().map(|it| it.source_id),
        source_name: place.as_ref().map(|it| it.source_name.clone()),
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
        told.error = Some(problem.to_owned());
        return Some(told);
    };
    told.backend_type = Some(found.engine);
    match &found.rows {
        Ok(rows) => match rows.get(&place.key.to_string()) {
            Some(row) => told.row = Some(row.clone()),
            None if found.truncated => return None,
            None => told.error = Some("not found: its row is gone from the table".to_owned()),
        },
        Err(error) => told.error = Some(error.message.clone()),
    }
    Some(told)
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
