//! Reading heads from rows.

use std::fmt;

use tokio_postgres::Row;
use uuid::Uuid;
use vademecum_store::{ArchiveError, Head, PartName, WriteId};

use super::{connection::ArchiveConnection, failure::Failure, statements::ArchiveStatement};

/// Returns the heads of databases, in their order.
pub(crate) async fn read_heads(
    connection: &ArchiveConnection,
    parts: &[PartName],
) -> Result<Vec<Head>, Failure> {
    let users: Vec<&str> = parts.iter().map(|part| part.user.as_str()).collect();
    let names: Vec<&str> = parts.iter().map(|part| part.part.as_str()).collect();
    let rows = connection.query(ArchiveStatement::Heads, &[&users, &names]).await?;
    rows.iter()
        .map(|row| {
            check_primary(row)?;
            let seq: Option<i64> = row.try_get("seq").map_err(|error| final_failure(&error))?;
            match seq {
                Some(seq) => read_head(row, seq).map_err(|error| final_failure(&error)),
                None => Ok(Head::default()),
            }
        })
        .collect()
}

/// Refuses the answer of a standby, which may be behind.
pub(crate) fn check_primary(row: &Row) -> Result<(), Failure> {
    match row.try_get("is_standby") {
        Ok(false) => Ok(()),
        Ok(true) => Err(Failure::Unreachable("the server is a standby".to_owned())),
        Err(error) => Err(final_failure(&error)),
    }
}

/// Returns the head in a row, whose number is known.
pub(crate) fn read_head(row: &Row, seq: i64) -> Result<Head, tokio_postgres::Error> {
    let (write, schema): (Uuid, i32) = (row.try_get("write_id")?, row.try_get("schema_version")?);
    Ok(Head { seq: seq.cast_unsigned(), write: WriteId(write), schema: schema.unsigned_abs() })
}

/// Returns the error of an answer that has another form.
pub(crate) fn damaged(error: &impl fmt::Display) -> ArchiveError {
    ArchiveError::Refused(format!("its answer cannot be read: {error}"))
}

fn final_failure(error: &tokio_postgres::Error) -> Failure {
    Failure::Final(damaged(error))
}
