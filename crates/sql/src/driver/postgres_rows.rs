//! `PostgreSQL`: statements as they are sent, and their rows as they come.
//!
//! The server turns rows into JSON. It knows every type, also those of extensions;
//! and a query that stands in brackets can be nothing but a query.

use std::{error::Error, pin::pin};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::TryStreamExt;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio_postgres::{
    Client, Row, RowStream, Statement,
    types::{
        Format, FromSql, IsNull, Kind as TypeKind, ToSql, Type, private::BytesMut, to_sql_checked,
    },
};

use crate::{
    Caps, Column, ErrorCode, Parameter, Rows, SqlError,
    driver::{
        Written,
        error::{self, unreadable},
        exact::{self, Members},
        gather::{Gathered, length},
        postgres::failure,
    },
    guard::{self, Kind, ReadOnlyQuery, WriteStatement},
};

/// Runs a query in the transaction that has begun: its rows, and whether there
/// are more on their way.
pub(super) async fn read(
    client: &Client,
    query: &ReadOnlyQuery,
    parameters: &[Parameter],
    caps: Caps,
) -> Result<(Rows, bool), SqlError> {
    check_functions(client, query, caps).await?;
    // The text by itself must be one statement. Only then is it put in brackets.
    let plain = prepare(client, query.text(), caps).await?;
    if plain.params().len() != parameters.len() {
        return Err(error::parameters(plain.params().len(), parameters.len()));
    }
    let (statement, shape) = match query.kind() {
        Kind::Rows => {
            let text = in_brackets(query.text(), plain.columns().len(), caps);
            (prepare(client, &text, caps).await?, Shape::Json)
        }
        Kind::Explain | Kind::Show => (plain.clone(), Shape::Texts),
    };
    let rows = run(client, &statement, parameters, caps).await?;
    // In brackets, the server passes rows over by itself.
    let before = if shape == Shape::Json { 0 } else { caps.offset };
    let mut gathered = Gathered::new(columns(&plain), Caps { offset: before, ..caps });
    let counted = gather(rows, shape, &plain, &mut gathered, caps).await?;
    let rows = gathered.finish();
    // In brackets, the server sends one row more than wanted and stops.
    let unread = rows.truncated && !(shape == Shape::Json && counted > caps.rows as u64);
    Ok((rows, unread))
}

/// Runs a statement that may write, in the transaction that has begun.
pub(super) async fn write(
    client: &Client,
    statement: &WriteStatement,
    caps: Caps,
) -> Result<Written, SqlError> {
    let plain = prepare(client, statement.text(), caps).await?;
    if !plain.params().is_empty() {
        return Err(error::parameters(plain.params().len(), 0));
    }
    if plain.columns().is_empty() {
        let done = client.execute(&plain, &[]).await;
        let rows_affected = done.map_err(|fault| failure(&fault, caps.timeout))?;
        return Ok(Written { rows_affected, ..Written::default() });
    }
    let (statement, shape) = match named(client, statement.text(), &plain, caps).await? {
        Some(named) => (named, Shape::Json),
        None => (plain.clone(), Shape::Texts),
    };
    let rows = run(client, &statement, &[], caps).await?;
    let mut gathered = Gathered::new(columns(&plain), caps);
    let rows_affected = gather_all(rows, shape, &plain, &mut gathered, caps).await?;
    Ok(Written { rows_affected, rows: gathered.finish() })
}

/// Refuses functions that may change something. The server knows which they are.
async fn check_functions(
    client: &Client,
    query: &ReadOnlyQuery,
    caps: Caps,
) -> Result<(), SqlError> {
    if query.functions().is_empty() && query.attributes().is_empty() {
        return Ok(());
    }
    let schemas: Vec<_> = query.functions().iter().map(|it| it.schema.as_deref()).collect();
    let names: Vec<_> = query.functions().iter().map(|it| it.name.as_str()).collect();
    let called: [(&(dyn ToSql + Sync), Type); 3] = [
        (&schemas, Type::TEXT_ARRAY),
        (&names, Type::TEXT_ARRAY),
        (&query.attributes(), Type::TEXT_ARRAY),
    ];
    let volatile = client.query_typed(include_str!("sql/postgres_volatile.sql"), &called).await;
    for row in volatile.map_err(|fault| failure(&fault, caps.timeout))? {
        let read = || -> Result<(String, String, bool), tokio_postgres::Error> {
            Ok((row.try_get("schema")?, row.try_get("name")?, row.try_get("is_known")?))
        };
        let (schema, name, is_known) = read().map_err(|fault| failure(&fault, caps.timeout))?;
        if !is_known || !guard::may_be_volatile(&schema, &name) {
            let message = format!(
                "the function `{schema}.{name}` is VOLATILE, so it may change something; \
                 leave it out, or have it declared STABLE if it only reads"
            );
            return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message));
        }
    }
    Ok(())
}

async fn prepare(client: &Client, text: &str, caps: Caps) -> Result<Statement, SqlError> {
    client.prepare(text).await.map_err(|fault| failure(&fault, caps.timeout))
}

async fn run(
    client: &Client,
    statement: &Statement,
    parameters: &[Parameter],
    caps: Caps,
) -> Result<RowStream, SqlError> {
    let given = parameters.iter().map(Given);
    client.query_raw(statement, given).await.map_err(|fault| failure(&fault, caps.timeout))
}

/// A query whose rows are JSON: one more than wanted, and NULL for those that
/// would not fit at all. Its columns get names of our own, so that two may have the
/// same and none is called as a row is.
fn in_brackets(text: &str, columns: usize, caps: Caps) -> String {
    let names = names(columns);
    let limit = i64::try_from(caps.rows).unwrap_or(i64::MAX).saturating_add(1);
    let offset = caps.offset;
    // Names and punctuation take space that is not counted.
    let longest = caps.bytes.saturating_add(columns * 8 + 2).min(1 << 30);
    format!(
        "SELECT CASE WHEN pg_catalog.octet_length(__line) <= {longest} THEN __line END \
         FROM (SELECT pg_catalog.row_to_json(__row)::pg_catalog.text AS __line FROM (\n{text}\n) \
         AS __row{names} LIMIT {limit} OFFSET {offset}) AS __lines"
    )
}

/// The same for a statement that writes and gives rows, where the server takes it:
/// not for plans, nor where a part of the statement writes as well.
async fn named(
    client: &Client,
    text: &str,
    plain: &Statement,
    caps: Caps,
) -> Result<Option<Statement>, SqlError> {
    let failed = |fault| failure(&fault, caps.timeout);
    let names = names(plain.columns().len());
    let text = format!(
        "WITH __row{names} AS (\n{text}\n) SELECT pg_catalog.row_to_json(__row)::pg_catalog.text FROM __row"
    );
    client.batch_execute("SAVEPOINT named").await.map_err(failed)?;
    if let Ok(named) = client.prepare(&text).await {
        return Ok(Some(named));
    }
    client.batch_execute("ROLLBACK TO SAVEPOINT named").await.map_err(failed)?;
    let readable = plain.columns().iter().all(|column| is_text(column.type_()));
    if readable {
        return Ok(None);
    }
    let message = "rows of this statement cannot be returned; leave RETURNING out, or write in one place only";
    Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message))
}

/// `(c1, c2)`, or nothing for rows without columns.
fn names(columns: usize) -> String {
    let names: Vec<String> = (1..=columns).map(|number| format!("c{number}")).collect();
    if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) }
}

/// How rows come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// As one text each, which is a JSON object.
    Json,
    /// As they are: texts.
    Texts,
}

/// Reads rows until a cap is reached, and tells how many came.
async fn gather(
    rows: RowStream,
    shape: Shape,
    plain: &Statement,
    gathered: &mut Gathered,
    caps: Caps,
) -> Result<u64, SqlError> {
    let mut rows = pin!(rows);
    let mut counted = 0;
    while let Some(row) = next(rows.try_next().await, caps)? {
        counted += 1;
        if gathered.passes_over() {
            continue;
        }
        if !add(&row, shape, plain, gathered, caps)? {
            break;
        }
    }
    Ok(counted)
}

/// Reads and counts all rows, of which those beyond a cap are let go.
async fn gather_all(
    rows: RowStream,
    shape: Shape,
    plain: &Statement,
    gathered: &mut Gathered,
    caps: Caps,
) -> Result<u64, SqlError> {
    let mut rows = pin!(rows);
    let (mut counted, mut wanted) = (0, true);
    while let Some(row) = next(rows.try_next().await, caps)? {
        counted += 1;
        wanted = wanted && add(&row, shape, plain, gathered, caps)?;
    }
    Ok(counted)
}

fn next<T>(row: Result<T, tokio_postgres::Error>, caps: Caps) -> Result<T, SqlError> {
    row.map_err(|fault| failure(&fault, caps.timeout))
}

fn add(
    row: &Row,
    shape: Shape,
    plain: &Statement,
    gathered: &mut Gathered,
    caps: Caps,
) -> Result<bool, SqlError> {
    match shape {
        Shape::Json => {
            let line: Option<&str> = next(row.try_get(0), caps)?;
            let Some(line) = line else { return Ok(gathered.cut()) };
            let (values, bytes) = members(line, plain).map_err(|fault| unreadable(&fault))?;
            Ok(gathered.add(values, bytes))
        }
        Shape::Texts => {
            let values: Vec<Value> =
                (0..row.len()).map(|at| text_at(row, at, caps)).collect::<Result<_, _>>()?;
            let bytes = length(&values);
            Ok(gathered.add(values, bytes))
        }
    }
}

/// The values of a row that is JSON, and how many bytes they have.
fn members(line: &str, plain: &Statement) -> Result<(Vec<Value>, usize), serde_json::Error> {
    let Members::<IgnoredAny>(members) = serde_json::from_str(line)?;
    let bytes = members.iter().map(|(_, member)| member.get().len() + 1).sum::<usize>() + 1;
    let typed = members.iter().zip(plain.columns());
    let values = typed.map(|((_, member), column)| value(member.get(), column.type_()));
    Ok((values.collect::<Result<_, _>>()?, bytes))
}

/// A value of a column of this type.
fn value(json: &str, of: &Type) -> Result<Value, serde_json::Error> {
    if json == "null" {
        return Ok(Value::Null);
    }
    // Of a domain, the server tells the type that it is made of.
    match *of {
        Type::NUMERIC => Ok(exact::decimal(json.trim_matches('"'))),
        Type::BYTEA => {
            let written: String = serde_json::from_str(json)?;
            Ok(bytes(&written).map_or(Value::String(written), Value::String))
        }
        _ => exact::value(json),
    }
}

/// Bytes as the server writes them (`\x00ff`), in base64.
fn bytes(written: &str) -> Option<String> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = written.strip_prefix("\\x")?.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    Some(STANDARD.encode(bytes?))
}

/// A value of plans and settings.
fn text_at(row: &Row, at: usize, caps: Caps) -> Result<Value, SqlError> {
    let of = row.columns()[at].type_();
    if !is_text(of) {
        return Err(unreadable(&format!("a column of type {}", of.name())));
    }
    let raw: Option<Raw<'_>> = next(row.try_get(at), caps)?;
    let Some(Raw(bytes)) = raw else { return Ok(Value::Null) };
    let text = String::from_utf8_lossy(bytes);
    if *of == Type::JSON {
        exact::value(&text).map_err(|fault| unreadable(&fault))
    } else {
        Ok(Value::from(text))
    }
}

/// Whether the bytes of a value are its text.
fn is_text(of: &Type) -> bool {
    [Type::TEXT, Type::VARCHAR, Type::NAME, Type::BPCHAR, Type::JSON, Type::XML].contains(of)
}

fn columns(plain: &Statement) -> Vec<Column> {
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

/// The bytes of a value, whatever its type.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A value that a statement is given: as a text, which the server reads by
/// the type that it wants there.
#[derive(Debug)]
struct Given<'a>(&'a Parameter);

impl ToSql for Given<'_> {
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
    fn bytes_become_base64() {
        assert_eq!(bytes("\\x00ff10").unwrap(), "AP8Q");
        assert_eq!(bytes("\\x").unwrap(), "");
        assert_eq!(bytes("abc"), None);
    }

    #[test]
    fn values_are_read_by_the_type_of_their_column() {
        for (written, of, read) in [
            ("1.50", Type::NUMERIC, json!("1.50")),
            ("\"NaN\"", Type::NUMERIC, json!("NaN")),
            ("1.50", Type::JSONB, json!(1.5)),
            ("9007199254740993", Type::INT8, json!("9007199254740993")),
            ("null", Type::NUMERIC, json!(null)),
            ("\"\\\\x6869\"", Type::BYTEA, json!("aGk=")),
        ] {
            assert_eq!(value(written, &of).unwrap(), read, "{written} {of}");
        }
    }

    #[test]
    fn a_comment_at_the_end_does_not_swallow_the_bracket() {
        let timeout = std::time::Duration::from_secs(1);
        let caps = Caps { timeout, offset: 20, rows: 10, bytes: 100 };
        let text = in_brackets("SELECT 1 -- one", 1, caps);
        assert!(text.contains("\nSELECT 1 -- one\n) AS __row(c1) LIMIT 11 OFFSET 20)"), "{text}");
    }
}
