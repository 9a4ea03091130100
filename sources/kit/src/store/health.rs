//! Whether a file is sound, and what of it is not.

use std::fmt;

use rusqlite::Connection;

use super::{
    Store, StoreError,
    file::{lock, schema},
};

/// Complaints about one table that are told; more say the same.
const TOLD: usize = 3;

/// What a look at a store found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// How many migrations have run.
    pub schema: usize,
    /// What SQLite's own checks complain about; empty if nothing.
    pub problems: Vec<Problem>,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is wrong with.
    pub part: Part,
    /// What is wrong.
    pub what: String,
}

/// A part of a file, by what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows that are kept nowhere else.
    Rows,
    /// A full-text table, which can be filled anew from rows.
    Words(String),
    /// Pages that belong to nobody: nothing is lost in them.
    Room,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Store {
    /// Lets SQLite check the file, its indexes, its full-text tables and what its rows
    /// refer to.
    pub fn check(&self) -> Result<Health, StoreError> {
        let open = self.open()?;
        let connection = lock(&open.writer);
        let schema =
            schema(&connection).map_err(|source| StoreError::about(self.path(), source))?;
        let mut problems = match complaints(&connection, None) {
            sound if sound.is_empty() => Vec::new(),
            said => by_part(&connection, said),
        };
        problems.extend(dangling(&connection));
        Ok(Health { schema, problems })
    }
}

/// What SQLite says of a table, or of all of the file. A check that breaks off is a
/// complaint as well.
fn complaints(connection: &Connection, table: Option<&str>) -> Vec<String> {
    let mut said = Vec::new();
    let mut hear = |row: &rusqlite::Row<'_>| {
        said.push(row.get::<_, String>(0)?);
        Ok(())
    };
    let looked = match table {
        Some(table) => connection.pragma(None, "integrity_check", table, &mut hear),
        None => connection.pragma_query(None, "integrity_check", &mut hear),
    };
    said.extend(looked.err().map(|error| error.to_string()));
    let lines = said.iter().flat_map(|text| text.lines());
    lines.filter(|line| *line != "ok" && !line.starts_with("***")).map(str::to_owned).collect()
}

/// Says of each complaint what part of the file it is about.
fn by_part(connection: &Connection, said: Vec<String>) -> Vec<Problem> {
    let tables = tables(connection).unwrap_or_default();
    let mut problems = Vec::new();
    for (table, words) in tables {
        let part = words.map_or(Part::Rows, Part::Words);
        let told = complaints(connection, Some(&table)).into_iter().take(TOLD);
        problems.extend(
            told.map(|what| Problem { part: part.clone(), what: format!("table {table}: {what}") }),
        );
    }
    let is_room = |line: &&String| line.ends_with("never used") || line.starts_with("Freelist");
    let room: Vec<_> = said.iter().filter(is_room).take(TOLD).cloned().collect();
    problems.extend(room.into_iter().map(|what| Problem { part: Part::Room, what }));
    if problems.is_empty() {
        // What cannot be said of any table may be of all.
        let told = said.into_iter().take(TOLD);
        problems.extend(told.map(|what| Problem { part: Part::Rows, what }));
    }
    problems
}

/// All tables, and the full-text tables that they are part of.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let mut statement = connection.prepare(include_str!("sql/tables.sql"))?;
    let rows = statement.query_map([], |row| Ok((row.get("name")?, row.get("words")?)))?;
    rows.collect()
}

/// Rows that refer to rows that are not there.
fn dangling(connection: &Connection) -> Vec<Problem> {
    let found = (|| {
        let mut statement = connection.prepare(include_str!("sql/dangling.sql"))?;
        let rows = statement.query_map([], |row| {
            let (name, parent): (String, String) = (row.get("name")?, row.get("parent")?);
            let rows: i64 = row.get("rows")?;
            Ok(format!("table {name}: {rows} rows refer to rows of {parent} that are not there"))
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    })();
    // Why it could not be looked at was said already.
    let found = found.unwrap_or_default().into_iter();
    found.map(|what| Problem { part: Part::Rows, what }).collect()
}
