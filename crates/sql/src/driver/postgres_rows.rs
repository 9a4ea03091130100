//! `PostgreSQL` statements and result rows.
//!
//! The server converts rows to JSON, because it knows every type, including those of extensions. A
//! query is wrapped in parentheses as a sub-select, where the grammar allows only a query.

use std::{error::Error, pin::pin};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::TryStreamExt;
use serde::de::IgnoredAny;
use serde_json::{Value, value::RawValue};
use tokio_postgres::{
    Client, Row, RowStream, Statement,
    types::{
        Format, FromSql, IsNull, Kind as TypeKind, ToSql, Type, private::BytesMut, to_sql_checked,
    },
};

use crate::{
    Column, ErrorCode, Parameter, QueryCaps, SqlError,
    driver::{
        WriteResult,
        error::{self, invalid_response},
        lossless_json::{self, ObjectMembers},
        postgres_error::statement_error,
        postgres_guard::{CheckedStatement, StatementCheck},
        row_collector::{FetchedRows, RowCollector, RowSender, json_length},
    },
    guard::{ReadOnlyQuery, StatementKind, WriteStatement},
};

/// Checks and runs a query in the open transaction.
pub(super) async fn fetch_rows(
    client: &Client,
    check: &StatementCheck,
    query: &ReadOnlyQuery,
    parameters: &[Parameter],
    caps: QueryCaps,
    sender: Option<&RowSender>,
) -> Result<FetchedRows, SqlError> {
    // The text is prepared alone first: only a single valid statement is wrapped.
    let CheckedStatement { plain, keeps_state } =
        check.check_statement(client, query, caps).await?;
    if plain.params().len() != parameters.len() {
        return Err(error::parameter_mismatch(plain.params().len(), parameters.len()));
    }
    let (statement, shape) = match query.kind() {
        StatementKind::Rows => {
            let text = wrap_query_as_json(query.text(), plain.columns().len(), caps);
            (prepare_statement(client, &text, caps).await?, RowFormat::Json)
        }
        StatementKind::Explain | StatementKind::Show => (plain.clone(), RowFormat::Text),
    };
    let rows = start_query(client, &statement, parameters, caps).await?;
    // A wrapped query already skips the offset on the server.
    let before = if shape == RowFormat::Json { 0 } else { caps.offset };
    let caps_here = QueryCaps { offset: before, ..caps };
    let mut gathered = RowCollector::new(describe_columns(&plain), caps_here, sender);
    let counted = collect_rows(rows, shape, &plain, &mut gathered, caps).await?;
    let rows = gathered.into_rows();
    // For a wrapped query the server stops after one row more than needed.
    let has_unread_rows =
        rows.truncated && !(shape == RowFormat::Json && counted > caps.max_rows as u64);
    Ok(FetchedRows { rows, has_unread_rows, keeps_state })
}

/// Runs a statement that may write, in the open transaction.
pub(super) async fn execute_write(
    client: &Client,
    statement: &WriteStatement,
    parameters: &[Parameter],
    caps: QueryCaps,
) -> Result<WriteResult, SqlError> {
    let plain = prepare_statement(client, statement.text(), caps).await?;
    if plain.params().len() != parameters.len() {
        return Err(error::parameter_mismatch(plain.params().len(), parameters.len()));
    }
    if plain.columns().is_empty() {
        let done = client.execute_raw(&plain, parameters.iter().map(BoundParameter)).await;
        let rows_affected = done.map_err(|fault| statement_error(&fault, caps.timeout))?;
        return Ok(WriteResult { rows_affected, ..WriteResult::default() });
    }
    let (statement, shape) =
        match prepare_write_as_json(client, statement.text(), &plain, caps).await? {
            Some(named) => (named, RowFormat::Json),
            None => (plain.clone(), RowFormat::Text),
        };
    let rows = start_query(client, &statement, parameters, caps).await?;
    let mut gathered = RowCollector::new(describe_columns(&plain), caps, None);
    let rows_affected = collect_all_rows(rows, shape, &plain, &mut gathered, caps).await?;
    Ok(WriteResult { rows_affected, rows: gathered.into_rows() })
}

async fn prepare_statement(
    client: &Client,
    text: &str,
    caps: QueryCaps,
) -> Result<Statement, SqlError> {
    client.prepare(text).await.map_err(|fault| statement_error(&fault, caps.timeout))
}

async fn start_query(
    client: &Client,
    statement: &Statement,
    parameters: &[Parameter],
    caps: QueryCaps,
) -> Result<RowStream, SqlError> {
    let given = parameters.iter().map(BoundParameter);
    client.query_raw(statement, given).await.map_err(|fault| statement_error(&fault, caps.timeout))
}

/// Wraps a query so that each row is JSON text. Returns one row more than the limit, and NULL for
/// rows above the byte limit. Columns get generated names, so that duplicate names and names equal
/// to the row alias are safe.
fn wrap_query_as_json(text: &str, columns: usize, caps: QueryCaps) -> String {
    let names = column_aliases(columns);
    let limit = i64::try_from(caps.max_rows).unwrap_or(i64::MAX).saturating_add(1);
    let offset = caps.offset;
    // Generated names and punctuation do not count towards the limit.
    let longest = caps.max_bytes.saturating_add(columns * 8 + 2).min(1 << 30);
    format!(
        "SELECT CASE WHEN pg_catalog.octet_length(__line) <= {longest} THEN __line END \
         FROM (SELECT pg_catalog.row_to_json(__row)::pg_catalog.text AS __line FROM (\n{text}\n) \
         AS __row{names} LIMIT {limit} OFFSET {offset}) AS __lines"
    )
}

/// Wraps a statement that writes and returns rows, if the server accepts that; it does not for
/// plans and for statements with data-modifying CTEs.
async fn prepare_write_as_json(
    client: &Client,
    text: &str,
    plain: &Statement,
    caps: QueryCaps,
) -> Result<Option<Statement>, SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    let names = column_aliases(plain.columns().len());
    let text = format!(
        "WITH __row{names} AS (\n{text}\n) SELECT pg_catalog.row_to_json(__row)::pg_catalog.text FROM __row"
    );
    client.batch_execute("SAVEPOINT named").await.map_err(failed)?;
    if let Ok(named) = client.prepare(&text).await {
        return Ok(Some(named));
    }
    client.batch_execute("ROLLBACK TO SAVEPOINT named").await.map_err(failed)?;
    let readable = plain.columns().iter().all(|column| is_text_type(column.type_()));
    if readable {
        return Ok(None);
    }
    let message = "rows of this statement cannot be returned; leave RETURNING out, or write in one place only";
    Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message))
}

/// Returns column aliases `(c1, c2)`, or an empty text for rows without columns.
fn column_aliases(columns: usize) -> String {
    let names: Vec<String> = (1..=columns).map(|number| format!("c{number}")).collect();
    if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) }
}

/// Format of the rows sent by the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowFormat {
    /// One JSON object as text.
    Json,
    /// Plain text columns.
    Text,
}

/// Collects rows until a limit is reached. Returns the number of received rows.
async fn collect_rows(
    rows: RowStream,
    shape: RowFormat,
    plain: &Statement,
    gathered: &mut RowCollector,
    caps: QueryCaps,
) -> Result<u64, SqlError> {
    let mut rows = pin!(rows);
    let mut counted = 0;
    while let Some(row) = map_row_error(rows.try_next().await, caps)? {
        counted += 1;
        if gathered.skip_row() {
            continue;
        }
        if !push_row(&row, shape, plain, gathered, caps)? {
            break;
        }
        gathered.send_batch().await?;
    }
    Ok(counted)
}

/// Receives and counts all rows; those beyond a limit are dropped.
async fn collect_all_rows(
    rows: RowStream,
    shape: RowFormat,
    plain: &Statement,
    gathered: &mut RowCollector,
    caps: QueryCaps,
) -> Result<u64, SqlError> {
    let mut rows = pin!(rows);
    let (mut counted, mut has_room) = (0, true);
    while let Some(row) = map_row_error(rows.try_next().await, caps)? {
        counted += 1;
        has_room = has_room && push_row(&row, shape, plain, gathered, caps)?;
    }
    Ok(counted)
}

fn map_row_error<T>(row: Result<T, tokio_postgres::Error>, caps: QueryCaps) -> Result<T, SqlError> {
    row.map_err(|fault| statement_error(&fault, caps.timeout))
}

fn push_row(
    row: &Row,
    shape: RowFormat,
    plain: &Statement,
    gathered: &mut RowCollector,
    caps: QueryCaps,
) -> Result<bool, SqlError> {
    match shape {
        RowFormat::Json => {
            let line: Option<&str> = map_row_error(row.try_get(0), caps)?;
            let Some(line) = line else { return Ok(gathered.mark_truncated()) };
            let (values, bytes) =
                decode_json_row(line, plain).map_err(|fault| invalid_response(&fault))?;
            Ok(gathered.push_row(values, bytes))
        }
        RowFormat::Text => {
            let values: Vec<Value> = (0..row.len())
                .map(|at| decode_text_column(row, at, caps))
                .collect::<Result<_, _>>()?;
            let bytes = json_length(&values);
            Ok(gathered.push_row(values, bytes))
        }
    }
}

/// Decodes a JSON row. Returns its values and their size in bytes of JSON.
fn decode_json_row(
    line: &str,
    plain: &Statement,
) -> Result<(Vec<Value>, usize), serde_json::Error> {
    let ObjectMembers::<IgnoredAny>(members) = serde_json::from_str(line)?;
    let bytes = members.iter().map(|(_, member)| member.get().len() + 1).sum::<usize>() + 1;
    let typed = members.iter().zip(plain.columns());
    let values = typed.map(|((_, member), column)| decode_value(member.get(), column.type_()));
    Ok((values.collect::<Result<_, _>>()?, bytes))
}

/// Decodes a value of the given column type.
fn decode_value(json: &str, of: &Type) -> Result<Value, serde_json::Error> {
    if json == "null" {
        return Ok(Value::Null);
    }
    match of.kind() {
        // For a column, the server reports the base type; for the elements of an array it does not.
        TypeKind::Domain(base) => return decode_value(json, base),
        TypeKind::Array(item) => return decode_array(json, item),
        _ => {}
    }
    match *of {
        Type::NUMERIC => Ok(lossless_json::decimal_value(json.trim_matches('"'))),
        Type::BYTEA => {
            let written: String = serde_json::from_str(json)?;
            Ok(hex_to_base64(&written).map_or(Value::String(written), Value::String))
        }
        _ => lossless_json::parse_json(json),
    }
}

/// Decodes an array of any number of dimensions; its elements are decoded like columns.
fn decode_array(json: &str, item: &Type) -> Result<Value, serde_json::Error> {
    if [Type::JSON, Type::JSONB].contains(item) {
        return lossless_json::parse_json(json);
    }
    if !json.starts_with('[') {
        return decode_value(json, item);
    }
    let items: Vec<&RawValue> = serde_json::from_str(json)?;
    items.into_iter().map(|json| decode_array(json.get(), item)).collect()
}

/// Converts bytes in hex format (`\x00ff`) to base64.
fn hex_to_base64(written: &str) -> Option<String> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = written.strip_prefix("\\x")?.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    Some(STANDARD.encode(bytes?))
}

/// Decodes a text column of a plan or a setting.
fn decode_text_column(row: &Row, at: usize, caps: QueryCaps) -> Result<Value, SqlError> {
    let of = row.columns()[at].type_();
    if !is_text_type(of) {
        return Err(invalid_response(&format!("a column of type {}", of.name())));
    }
    let raw: Option<RawBytes<'_>> = map_row_error(row.try_get(at), caps)?;
    let Some(RawBytes(bytes)) = raw else { return Ok(Value::Null) };
    let text = String::from_utf8_lossy(bytes);
    if *of == Type::JSON {
        lossless_json::parse_json(&text).map_err(|fault| invalid_response(&fault))
    } else {
        Ok(Value::from(text))
    }
}

/// Returns true if the binary format of the type is its text.
fn is_text_type(of: &Type) -> bool {
    [Type::TEXT, Type::VARCHAR, Type::NAME, Type::BPCHAR, Type::JSON, Type::XML].contains(of)
}

fn describe_columns(plain: &Statement) -> Vec<Column> {
    let columns = plain.columns().iter();
    columns
        .map(|column| Column { name: column.name().to_owned(), kind: type_name(column.type_()) })
        .collect()
}

fn type_name(of: &Type) -> String {
    match of.kind() {
        TypeKind::Array(item) => format!("{}[]", type_name(item)),
        _ => of.name().to_lowercase(),
    }
}

/// Raw bytes of a value of any type.
struct RawBytes<'a>(&'a [u8]);

impl<'a> FromSql<'a> for RawBytes<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Parameter sent as text; the server parses it as the expected type.
#[derive(Debug)]
struct BoundParameter<'a>(&'a Parameter);

impl ToSql for BoundParameter<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Parameter::Null => return Ok(IsNull::Yes),
            Parameter::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Parameter::Real(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Parameter::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hex_bytes_become_base64() {
        assert_eq!(hex_to_base64("\\x00ff10").unwrap(), "AP8Q");
        assert_eq!(hex_to_base64("\\x").unwrap(), "");
        assert_eq!(hex_to_base64("abc"), None);
    }

    #[test]
    fn values_are_decoded_by_column_type() {
        for (written, of, read) in [
            ("1.50", Type::NUMERIC, json!("1.50")),
            ("\"NaN\"", Type::NUMERIC, json!("NaN")),
            ("1.50", Type::JSONB, json!(1.5)),
            ("9007199254740993", Type::INT8, json!("9007199254740993")),
            ("null", Type::NUMERIC, json!(null)),
            ("[1.50,null,\"NaN\"]", Type::NUMERIC_ARRAY, json!(["1.50", null, "NaN"])),
            ("[[1.50],[2]]", Type::NUMERIC_ARRAY, json!([["1.50"], [2]])),
            ("[[1.50],[2]]", Type::JSONB_ARRAY, json!([[1.5], [2]])),
            ("[\"\\\\x6869\"]", Type::BYTEA_ARRAY, json!(["aGk="])),
            ("\"\\\\x6869\"", Type::BYTEA, json!("aGk=")),
        ] {
            assert_eq!(decode_value(written, &of).unwrap(), read, "{written} {of}");
        }
    }

    #[test]
    fn trailing_comment_does_not_hide_parenthesis() {
        let timeout = std::time::Duration::from_secs(1);
        let caps = QueryCaps { timeout, offset: 20, max_rows: 10, max_bytes: 100 };
        let text = wrap_query_as_json("SELECT 1 -- one", 1, caps);
        assert!(text.contains("\nSELECT 1 -- one\n) AS __row(c1) LIMIT 11 OFFSET 20)"), "{text}");
    }
}
