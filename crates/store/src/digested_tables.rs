//! The tables whose rows have digests, and the temporary triggers that write them.
//!
//! Triggers in the schema remove the digest of a row that another program changes; those of a writer
//! replace it. `digest_state.is_writing` tells them apart.

use std::sync::OnceLock;

use rusqlite::{Connection, OptionalExtension as _};

use super::{Database, StoreError, error::DAMAGED_ROW};

/// The columns of the table ?1 in order, with their defaults; `pk` is the position in the primary key.
const COLUMNS_SQL: &str =
    "SELECT name, type, pk, dflt_value FROM pragma_table_info(?1) ORDER BY cid";
const IS_ORDINARY_SQL: &str =
    "SELECT 1 FROM sqlite_schema WHERE name = ?1 AND sql NOT LIKE '%WITHOUT ROWID%'";
/// Returns a row if ?1 is a table.
pub(super) const IS_TABLE_SQL: &str =
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
const SET_WRITING_SQL: &str = "UPDATE digest_state SET is_writing = ?1";

/// Name of a table, and the source and identifier of the item of a row, in SQL.
type TableItem = (&'static str, &'static str, &'static str);

/// The tables that each database has. `None` stands for tables of links, which had digests before: the numbers
/// of tables are never changed.
const JOURNAL: [Option<TableItem>; 6] = [
    Some(("imported", "source", "item")),
    Some(("changes", "source", "item")),
    Some(("import_bases", "source", "item")),
    None,
    None,
    Some(("provenance", "source", "item")),
];
const CHACHA: [TableItem; 8] = [
    ("notes", "'notes'", "id"),
    ("keywords", "NULL", "NULL"),
    ("note_keywords", "'notes'", "note_id"),
    ("character_cards", "'characters'", "id"),
    ("conversations", "'chats'", "id"),
    ("messages", "'chats'", "conversation_id"),
    ("conversation_keywords", "'chats'", "conversation_id"),
    (
        "message_metadata",
        "'chats'",
        "(SELECT conversation_id FROM main.messages AS message WHERE message.id = message_id)",
    ),
];
const MEDIA: [TableItem; 7] = [
    ("Media", "'media'", "id"),
    ("Keywords", "NULL", "NULL"),
    ("MediaKeywords", "'media'", "media_id"),
    ("DocumentVersions", "'media'", "media_id"),
    ("DocumentChunks", "'media'", "media_id"),
    ("Transcripts", "'media'", "media_id"),
    ("DocumentDates", "'media'", "media_id"),
];
const PROMPTS: [TableItem; 3] = [
    ("Prompts", "'prompts'", "id"),
    ("PromptKeywordsTable", "NULL", "NULL"),
    ("PromptKeywordLinks", "'prompts'", "prompt_id"),
];

/// Tables that link tags and origins to items.
pub(super) const LINKING_TABLES: [&str; 6] = [
    "note_keywords",
    "conversation_keywords",
    "MediaKeywords",
    "PromptKeywordLinks",
    "imported",
    "provenance",
];
/// Columns of items that rules of access read, besides an INTEGER PRIMARY KEY.
const RULED_COLUMNS: [(&str, &[&str]); 4] = [
    ("notes", &["id"]),
    ("conversations", &["id"]),
    ("character_cards", &["tags"]),
    ("Media", &["type", "url"]),
];

/// A table whose rows have digests.
#[derive(Debug)]
pub struct DigestedTable {
    /// Number of the table in `row_digests`.
    pub(super) number: i64,
    /// Name of the table.
    pub name: &'static str,
    /// Source of the item of a row, in SQL.
    pub(super) source_sql: &'static str,
    /// Identifier of the item of a row, in SQL.
    pub(super) item_sql: &'static str,
    /// The INTEGER PRIMARY KEY, if there is one. It is not part of the digest.
    pub(super) row_key: Option<String>,
    /// Whether its rows have numbers besides the primary key.
    has_rowid: bool,
    /// Columns of the primary key.
    key: Vec<String>,
    /// All other columns, with their defaults.
    pub(super) columns: Vec<(String, Option<String>)>,
}

impl Database {
    /// Returns the tables whose rows have digests; none for databases without items of a library.
    pub fn digested_tables(self) -> &'static [DigestedTable] {
        static TABLES: [OnceLock<Vec<DigestedTable>>; 3] = [const { OnceLock::new() }; 3];
        let [chacha, media, prompts] = &TABLES;
        let (tables, items): (_, &[TableItem]) = match self {
            Self::Chacha => (chacha, &CHACHA),
            Self::Media => (media, &MEDIA),
            Self::Prompts => (prompts, &PROMPTS),
            Self::Imports
            | Self::Index
            | Self::Collection
            | Self::Embeddings
            | Self::Server
            | Self::Audit => return &[],
        };
        // The migrations of this program are correct, so an error cannot occur; a test covers them.
        tables.get_or_init(|| find_tables(self, items).unwrap_or_default())
    }
}

fn find_tables(database: Database, items: &[TableItem]) -> rusqlite::Result<Vec<DigestedTable>> {
    let connection = Connection::open_in_memory()?;
    vademecum_fts5::register(&connection)?;
    for migration in database.migrations() {
        connection.execute_batch(migration)?;
    }
    (1..)
        .zip(items.iter().copied().map(Some).chain(JOURNAL))
        .filter_map(|(number, item)| Some(DigestedTable::find(&connection, number, item?)))
        .collect()
}

impl DigestedTable {
    fn find(
        connection: &Connection,
        number: i64,
        (name, source_sql, item_sql): TableItem,
    ) -> rusqlite::Result<Self> {
        let read = |row: &rusqlite::Row<'_>| {
            let default: Option<String> = row.get("dflt_value")?;
            Ok((row.get("name")?, row.get("type")?, row.get("pk")?, default))
        };
        let columns = connection
            .prepare(COLUMNS_SQL)?
            .query_map([name], read)?
            .collect::<rusqlite::Result<Vec<(String, String, i64, Option<String>)>>>()?;
        let has_rowid =
            connection.query_row(IS_ORDINARY_SQL, [name], |_| Ok(())).optional()?.is_some();
        let mut key: Vec<_> = columns.iter().filter(|(_, _, place, _)| *place > 0).collect();
        key.sort_by_key(|(_, _, place, _)| *place);
        let row_key = match key.as_slice() {
            [(column, kind, ..)] if has_rowid && kind == "INTEGER" => Some(column.clone()),
            _ => None,
        };
        let key = key.into_iter().map(|(column, ..)| column.clone()).collect();
        let others = columns.into_iter().filter(|(column, ..)| Some(column) != row_key.as_ref());
        let columns = others.map(|(column, _, _, default)| (column, default)).collect();
        Ok(Self { number, name, source_sql, item_sql, row_key, has_rowid, key, columns })
    }

    /// Returns the table as `stored` for statements that verify its rows. They must not read an index
    /// instead, which may still have the right values of a damaged row.
    pub(super) fn rows_sql(&self) -> String {
        let name = self.name;
        if self.has_rowid {
            return format!("main.{name} AS stored NOT INDEXED");
        }
        // The table itself.
        format!("main.{name} AS stored INDEXED BY sqlite_autoindex_{name}_1")
    }

    /// Returns the key of a row in `row_digests`, in SQL.
    pub(super) fn key_sql(&self, row: &str) -> String {
        if let Some(column) = &self.row_key {
            return format!("{row}.{column}");
        }
        let columns = self.key.iter().map(|column| format!("{row}.{column}"));
        format!("vademecum_row_key({})", columns.collect::<Vec<_>>().join(", "))
    }

    /// Returns the digest of a row, in SQL. A column with its default counts as NULL.
    pub(super) fn digest_sql(&self, row: &str) -> String {
        let value = |(column, default): &(String, Option<String>)| match default {
            Some(default) => format!("nullif({row}.{column}, {default})"),
            None => format!("{row}.{column}"),
        };
        let values: Vec<_> = self.columns.iter().map(value).collect();
        format!("vademecum_row_digest({})", values.join(", "))
    }

    /// Returns what rules of access depend on: for a link to a tag or an origin, its item; for an item, the
    /// columns that rules read. NULL for other tables.
    pub(super) fn access_key_sql(&self, row: &str) -> String {
        if LINKING_TABLES.contains(&self.name) {
            // A literal, or a column.
            let qualifier =
                if self.source_sql.starts_with('\'') { String::new() } else { format!("{row}.") };
            let (source, item) = (self.source_sql, self.item_sql);
            return format!("vademecum_row_key({qualifier}{source}, CAST({row}.{item} AS TEXT))");
        }
        match RULED_COLUMNS.iter().find(|(table, _)| *table == self.name) {
            Some((_, columns)) => {
                let columns = columns.iter().map(|column| format!("{row}.{column}"));
                format!("vademecum_row_key({})", columns.collect::<Vec<_>>().join(", "))
            }
            None => "NULL".to_owned(),
        }
    }

    /// Returns the triggers that write the digest of each row that the connection writes.
    fn triggers_sql(&self) -> String {
        let Self { number, name, .. } = self;
        let (new_key, old_key) = (self.key_sql("NEW"), self.key_sql("OLD"));
        let (new, old) = (self.digest_sql("NEW"), self.digest_sql("OLD"));
        let known = |key: &str| {
            format!("FROM main.row_digests WHERE table_number = {number} AND key = {key}")
        };
        let access_key = self.access_key_sql("NEW");
        let put = |digest: &str| {
            format!(
                "INSERT INTO row_digests (table_number, key, digest, access_key) \
                 VALUES ({number}, {new_key}, {digest}, {access_key}) \
                 ON CONFLICT (table_number, key) DO UPDATE \
                 SET digest = excluded.digest, access_key = excluded.access_key;"
            )
        };
        let remove =
            format!("DELETE FROM row_digests WHERE table_number = {number} AND key = {old_key}");
        // A damaged row can be deleted, but stays damaged: its text must not return as a right one.
        let is_deletable = self.columns.iter().any(|(column, _)| column == "deleted");
        let kept = if is_deletable { "NOT (NEW.deleted AND NOT OLD.deleted)" } else { "1" };
        let other = format!(
            "iif((SELECT digest {}) <> {old}, vademecum_other_digest({new}), {new})",
            known(&old_key)
        );
        let changed = if is_deletable { &other } else { &new };
        format!(
            "CREATE TEMP TRIGGER digest_{name}_insert AFTER INSERT ON main.{name} BEGIN {} END; \
             CREATE TEMP TRIGGER digest_{name}_delete AFTER DELETE ON main.{name} \
             BEGIN {remove}; END; \
             CREATE TEMP TRIGGER digest_{name}_update AFTER UPDATE ON main.{name} BEGIN \
             SELECT RAISE(ABORT, '{DAMAGED_ROW}') {} AND digest <> {old} AND {kept}; \
             {} {remove} AND {old_key} <> {new_key}; END;",
            put(&new),
            known(&old_key),
            put(changed),
        )
    }
}

/// Has a connection write the digest of each row that it writes.
pub(super) fn attach_digest_triggers(
    connection: &Connection,
    database: Database,
) -> rusqlite::Result<()> {
    let mut is_table = connection.prepare(IS_TABLE_SQL)?;
    for table in database.digested_tables() {
        // A check reports a view in the place of a table.
        if is_table.exists([table.name])? {
            connection.execute_batch(&table.triggers_sql())?;
        }
    }
    Ok(())
}

/// Begins or ends the writing of digests in a transaction. Between, the triggers in the schema leave
/// digests alone.
pub fn set_digest_writing(
    connection: &Connection,
    database: Database,
    is_writing: bool,
) -> Result<(), StoreError> {
    if database.digested_tables().is_empty() {
        return Ok(());
    }
    let set = connection.prepare_cached(SET_WRITING_SQL);
    let set = set.and_then(|mut statement| statement.execute([is_writing]));
    set.map(drop).map_err(|error| StoreError::from_connection(connection, error))
}
