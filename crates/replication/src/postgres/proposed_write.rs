//! A write that is proposed until its outcome is known.

use tokio_postgres::types::ToSql;
use vademecum_store::{Head, PartName, Put, WriteId};

use super::{
    connection::ArchiveConnection,
    entry_columns::EntryColumns,
    failure::Failure,
    heads::{damaged, read_heads},
    statements::ArchiveStatement,
};

/// A write that the archive stores only if its head is still `seen`.
pub(crate) struct ProposedWrite<'a> {
    pub(crate) part: &'a PartName,
    pub(crate) seen: Head,
    pub(crate) write: WriteId,
    pub(crate) schema: u32,
    pub(crate) groups: Vec<EntryColumns<'a>>,
}

impl ProposedWrite<'_> {
    /// Attempts the write once.
    pub(crate) async fn put(&self, connection: &ArchiveConnection) -> Result<Put, Failure> {
        let head = |seq: i64| {
            Put::Done(Head { seq: seq.cast_unsigned(), write: self.write, schema: self.schema })
        };
        if let Some(seq) = self.store(connection).await? {
            return Ok(head(seq));
        }
        // Another write came first, or this one did in an attempt before.
        let PartName { user, part } = self.part;
        let next = self.seen.seq.cast_signed() + 1;
        let settled =
            connection.query(ArchiveStatement::Settle, &[user, part, &next, &self.write.0]).await?;
        if !settled.is_empty() {
            return Ok(head(next));
        }
        let heads = read_heads(connection, std::slice::from_ref(self.part)).await?;
        Ok(Put::Behind(heads.first().copied().unwrap_or_default()))
    }

    /// Stores the write if the database is still at the head that was seen. Returns its number.
    async fn store(&self, connection: &ArchiveConnection) -> Result<Option<i64>, Failure> {
        let Some((first, rest)) = self.groups.split_first() else { return Ok(None) };
        if rest.is_empty() {
            return self.begin(connection, first).await;
        }
        connection.batch("BEGIN").await?;
        let Some(seq) = self.begin(connection, first).await? else {
            connection.batch("ROLLBACK").await?;
            return Ok(None);
        };
        let PartName { user, part } = self.part;
        for group in rest {
            let EntryColumns { tables, keys, long_keys, contents, .. } = group;
            let parameters: [&(dyn ToSql + Sync); 7] =
                [user, part, &seq, tables, keys, long_keys, contents];
            connection.execute(ArchiveStatement::AddEntries, &parameters).await?;
        }
        connection.batch("COMMIT").await?;
        Ok(Some(seq))
    }

    async fn begin(
        &self,
        connection: &ArchiveConnection,
        group: &EntryColumns<'_>,
    ) -> Result<Option<i64>, Failure> {
        let PartName { user, part } = self.part;
        let seen = self.seen.seq.cast_signed();
        let schema = i32::try_from(self.schema).unwrap_or(i32::MAX);
        let EntryColumns { tables, keys, long_keys, contents, .. } = group;
        let parameters: [&(dyn ToSql + Sync); 10] = [
            user,
            part,
            &seen,
            &self.seen.write.0,
            &self.write.0,
            &schema,
            tables,
            keys,
            long_keys,
            contents,
        ];
        let rows = connection.query(ArchiveStatement::Put, &parameters).await?;
        let seq = rows.first().map(|row| row.try_get(0)).transpose();
        seq.map_err(|error| Failure::Final(damaged(&error)))
    }
}
