//! Verification of rows in the background: a few at a time, from where the last process stopped.

use std::sync::atomic::Ordering;

use rusqlite::{Connection, named_params};

use super::{
    DigestedTable, RowDamage, RowDamageKind, Store, StoreError,
    file::{lock, open_connection},
    row_digest::is_sealed,
    verification_state::Position,
};

/// Where the verification goes on, and whether the last one is less than a day old.
const STATE_SQL: &str = "SELECT verified_table, verified_key, \
     coalesce(verified_at > datetime('now', '-1 day'), 0) AS is_recent FROM digest_state";
/// Stores where the verification goes on.
const SET_STATE_SQL: &str = "UPDATE digest_state SET verified_table = :table, verified_key = :key";
/// Stores that all rows are verified.
const COMPLETE_SQL: &str =
    "UPDATE digest_state SET verified_table = 0, verified_key = 0, verified_at = datetime('now')";
/// Number of slices after which the position is stored, so that an idle disk stays idle.
const SLICES_PER_SAVE: u32 = 20;

impl Store {
    /// Returns the number of damaged rows that the verification in the background has found since it
    /// last began.
    pub fn damaged_rows(&self) -> usize {
        self.background.damaged.load(Ordering::Relaxed)
    }

    /// Verifies at most `limit` rows of a table, or all rows of one without numbers, and returns the
    /// damaged ones. Verified files rest for a day.
    pub fn verify_next_rows(&self, limit: u32) -> Result<Vec<RowDamage>, StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let tables = self.database().digested_tables();
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        self.open()?;
        let mut position = lock(&self.background.position);
        let connection = open_connection(self.path()).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        let known = match *position {
            Some(position) => Some(position),
            None => read_position(&connection).map_err(failed)?,
        };
        let Some(mut next) = known else { return Ok(Vec::new()) };
        let Some(table) = tables.iter().find(|table| table.number >= next.table) else {
            *position = None;
            connection.execute(COMPLETE_SQL, []).map_err(failed)?;
            return Ok(Vec::new());
        };
        if next.table == 0 {
            self.background.damaged.store(0, Ordering::Relaxed);
        }
        let after = if table.number == next.table { next.key } else { i64::MIN };
        let last = table.last_key(&connection, after, limit).map_err(failed)?;
        let damage = table.find_damage(&connection, after, last).map_err(failed)?;
        self.background.damaged.fetch_add(damage.len(), Ordering::Relaxed);
        next = match last {
            Some(key) => Position { table: table.number, key, unsaved: next.unsaved + 1 },
            None => Position { table: table.number + 1, key: i64::MIN, unsaved: next.unsaved + 1 },
        };
        if next.unsaved >= SLICES_PER_SAVE {
            let state = named_params! { ":table": next.table, ":key": next.key };
            connection.execute(SET_STATE_SQL, state).map_err(failed)?;
            next.unsaved = 0;
        }
        *position = Some(next);
        Ok(damage)
    }
}

/// Returns where the verification goes on; `None` if the last one is recent.
fn read_position(connection: &Connection) -> rusqlite::Result<Option<Position>> {
    connection.query_row(STATE_SQL, [], |row| {
        let (table, key) = (row.get("verified_table")?, row.get("verified_key")?);
        let rests = row.get::<_, bool>("is_recent")? && table == 0;
        Ok((!rests).then_some(Position { table, key, unsaved: 0 }))
    })
}

impl DigestedTable {
    /// Returns the key of the last of the next rows; `None` if there are no more, or all are next.
    fn last_key(
        &self,
        connection: &Connection,
        after: i64,
        limit: u32,
    ) -> rusqlite::Result<Option<i64>> {
        let Some(key) = &self.row_key else { return Ok(None) };
        let sql = format!(
            "SELECT max(key) AS last FROM (SELECT {key} AS key FROM main.{} \
             WHERE {key} > ?1 ORDER BY {key} LIMIT ?2)",
            self.name
        );
        connection.query_row(&sql, (after, limit), |row| row.get("last"))
    }

    /// Returns the damaged rows up to a key, or all.
    fn find_damage(
        &self,
        connection: &Connection,
        after: i64,
        last: Option<i64>,
    ) -> rusqlite::Result<Vec<RowDamage>> {
        let range = last.map(|last| (after, last));
        if self.row_key.is_some() && range.is_none() {
            return Ok(Vec::new());
        }
        let misfits = self.find_misfits(connection, range)?.into_iter();
        let damaged = misfits.filter(|row| row.digest.is_some_and(is_sealed));
        Ok(damaged
            .map(|row| RowDamage {
                table: self.name,
                kind: RowDamageKind::Changed,
                item: row.item,
                key: row.key,
                digest: row.digest,
            })
            .collect())
    }
}
