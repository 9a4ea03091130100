//! Integrity checks of a database file.

use std::fmt;

use rusqlite::Connection;

use super::{
    Store, StoreError,
    file::{lock, read_schema_version},
};

/// Maximum number of problems reported per table. Further ones add no information.
const MAX_PROBLEMS_PER_TABLE: usize = 3;

/// Returns a row if the page ?1 is the root of an index.
const INDEX_ROOT_SQL: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND rootpage = ?1";

/// Result of an integrity check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreHealth {
    /// Number of migrations that have run.
    pub schema: usize,
    /// Problems found; empty if there are none.
    pub problems: Vec<StoreProblem>,
}

/// A problem in a database file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreProblem {
    /// Damaged part of the file.
    pub part: DamagedPart,
    /// Description of the problem.
    pub message: String,
}

/// A part of a file, classified by how it can be repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamagedPart {
    /// Rows that are stored nowhere else.
    Rows,
    /// Values or order of rows of this table. Its pages are sound, so that its digests can tell the rows.
    RowValues(String),
    /// A reference to a row that is missing.
    References,
    /// An index of this table, which can be rebuilt from its rows.
    Index(String),
    /// A full-text table, which can be rebuilt from rows.
    FullText(String),
    /// Unused pages; no data is lost.
    FreePages,
}

impl fmt::Display for StoreProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Store {
    /// Checks the file with SQLite, including its indexes, full-text tables and foreign keys.
    pub fn check_integrity(&self) -> Result<StoreHealth, StoreError> {
        let open = self.open()?;
        let connection = lock(&open.writer);
        let schema = read_schema_version(&connection)
            .map_err(|source| StoreError::from_file(self.path(), source))?;
        let mut problems = match run_integrity_check(&connection, None) {
            sound if sound.is_empty() => Vec::new(),
            messages => classify_problems(&connection, messages),
        };
        problems.extend(find_missing_references(&connection));
        if !self.database().digested_tables().is_empty() {
            // The schema of a file with items of a user is that of the migrations. Others may add
            // indexes and views.
            let changed = self.schema_differences(&connection, schema)?;
            problems.extend(changed.into_iter().filter(|it| !it.is_foreign()).map(|difference| {
                StoreProblem { part: DamagedPart::Rows, message: format!("schema: {difference}") }
            }));
        }
        Ok(StoreHealth { schema, problems })
    }
}

/// Returns the messages of SQLite's integrity check for a table, or for the whole file. A check
/// that fails to complete is reported as a message.
fn run_integrity_check(connection: &Connection, table: Option<&str>) -> Vec<String> {
    let mut messages = Vec::new();
    let mut collect_row = |row: &rusqlite::Row<'_>| {
        messages.push(row.get::<_, String>(0)?);
        Ok(())
    };
    let looked = match table {
        Some(table) => connection.pragma(None, "integrity_check", table, &mut collect_row),
        None => connection.pragma_query(None, "integrity_check", &mut collect_row),
    };
    messages.extend(looked.err().map(|error| error.to_string()));
    let lines = messages.iter().flat_map(|text| text.lines());
    lines.filter(|line| *line != "ok" && !line.starts_with("***")).map(str::to_owned).collect()
}

/// Assigns each message to the part of the file it concerns.
fn classify_problems(connection: &Connection, messages: Vec<String>) -> Vec<StoreProblem> {
    let tables = list_tables(connection).unwrap_or_default();
    let mut problems = Vec::new();
    for (table, words) in tables {
        let messages = run_integrity_check(connection, Some(&table));
        let (of_indexes, of_rows): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| is_of_index(connection, message));
        let (index, rows) = match words {
            Some(words) => (DamagedPart::FullText(words.clone()), DamagedPart::FullText(words)),
            None if of_rows.iter().all(|message| is_of_values(message)) => {
                (DamagedPart::Index(table.clone()), DamagedPart::RowValues(table.clone()))
            }
            None => (DamagedPart::Index(table.clone()), DamagedPart::Rows),
        };
        for (part, messages) in [(index, of_indexes), (rows, of_rows)] {
            let first = messages.into_iter().take(MAX_PROBLEMS_PER_TABLE);
            problems.extend(first.map(|what| StoreProblem {
                part: part.clone(),
                message: format!("table {table}: {what}"),
            }));
        }
    }
    let is_room = |line: &&String| line.ends_with("never used") || line.starts_with("Freelist");
    let room: Vec<_> =
        messages.iter().filter(is_room).take(MAX_PROBLEMS_PER_TABLE).cloned().collect();
    problems.extend(
        room.into_iter().map(|what| StoreProblem { part: DamagedPart::FreePages, message: what }),
    );
    if problems.is_empty() {
        // A message that no single table reports may concern the whole file.
        let table_messages = messages.into_iter().take(MAX_PROBLEMS_PER_TABLE);
        problems.extend(
            table_messages.map(|what| StoreProblem { part: DamagedPart::Rows, message: what }),
        );
    }
    problems
}

/// Returns whether a message of the integrity check concerns an index, and not the rows of its table.
fn is_of_index(connection: &Connection, message: &str) -> bool {
    let differs = ["wrong # of entries in index ", "non-unique entry in index "];
    if message.contains(" missing from index ") || differs.iter().any(|it| message.starts_with(it))
    {
        return true;
    }
    let tree = message.strip_prefix("Tree ").and_then(|rest| rest.split(' ').next());
    let Some(root) = tree.and_then(|number| number.parse::<i64>().ok()) else { return false };
    let is_index = connection.prepare(INDEX_ROOT_SQL).and_then(|mut it| it.exists([root]));
    is_index.unwrap_or(false)
}

/// Returns whether a message of the integrity check concerns the values or the order of rows, and not pages.
fn is_of_values(message: &str) -> bool {
    let values =
        ["row not in PRIMARY KEY order for ", "NULL value in ", "CHECK constraint failed in "];
    let kinds = ["TEXT value in ", "NUMERIC value in "];
    values.iter().chain(&kinds).any(|start| message.starts_with(start))
}

/// Returns all tables, each with the full-text table it belongs to.
fn list_tables(connection: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let mut statement = connection.prepare(include_str!("sql/tables.sql"))?;
    let rows = statement.query_map([], |row| Ok((row.get("name")?, row.get("words")?)))?;
    rows.collect()
}

/// Returns the foreign keys that refer to missing rows.
fn find_missing_references(connection: &Connection) -> Vec<StoreProblem> {
    let found = (|| {
        let mut statement = connection.prepare(include_str!("sql/dangling.sql"))?;
        let rows = statement.query_map([], |row| {
            let (name, parent): (String, String) = (row.get("name")?, row.get("parent")?);
            let rows: i64 = row.get("rows")?;
            Ok(format!("table {name}: {rows} rows refer to missing rows of {parent}"))
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    })();
    // A failure of this query was already reported by the integrity check.
    let found = found.unwrap_or_default().into_iter();
    found.map(|what| StoreProblem { part: DamagedPart::References, message: what }).collect()
}
