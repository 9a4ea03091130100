//! Restriction of a store to the items that a caller may see.
//!
//! Every reader of a restricted store has temporary views with the names of the tables of items.
//! SQLite resolves a name without a schema to a temporary view first, so the statements of the
//! sources read the views without knowing of them, and a statement cannot forget the restriction.
//! Full-text tables have no views: ranking removes the hidden rows from their postings.

use std::path::MAIN_SEPARATOR;

use rusqlite::{Connection, named_params};
use vademecum_model::{ItemAccess, SourceName, pattern_to_like};

use super::{Database, item_damage::sound_items_sql};

/// Denies a folder.
const ACCESS_ADD_FOLDER_SQL: &str = "INSERT OR IGNORE INTO temp.access_folders (source, first, beyond) \
     VALUES (:source, :first, :beyond)";
/// Denies an origin.
const ACCESS_ADD_ORIGIN_SQL: &str =
    "INSERT INTO temp.access_origins (source, origin) VALUES (:source, :origin)";
/// Allows or denies a tag.
const ACCESS_ADD_TAG_SQL: &str = "INSERT OR IGNORE INTO temp.access_tags (source, pattern, denied) \
     VALUES (:source, :pattern, :denied)";
/// Hides all items of a source.
const ACCESS_HIDE_SOURCE_SQL: &str =
    "INSERT OR IGNORE INTO temp.access_hidden_sources (source) VALUES (:source)";
/// Limits a source to items with an allowed tag.
const ACCESS_LIMIT_SOURCE_SQL: &str =
    "INSERT OR IGNORE INTO temp.access_limited_sources (source) VALUES (:source)";

impl Database {
    /// Returns the statements that create the views; empty for databases without items of a
    /// library.
    fn access_views(self) -> &'static str {
        match self {
            Self::Chacha => include_str!("sql/access_chacha.sql"),
            Self::Media => include_str!("sql/access_media.sql"),
            Self::Prompts => include_str!("sql/access_prompts.sql"),
            Self::Imports
            | Self::Index
            | Self::Collection
            | Self::Embeddings
            | Self::Server
            | Self::Audit => "",
        }
    }
}

/// Restricts a new connection. Must run before the connection becomes read-only.
pub(super) fn restrict_connection(
    connection: &Connection,
    database: Database,
    access: &ItemAccess,
) -> rusqlite::Result<()> {
    connection.execute_batch(include_str!("sql/access_rules.sql"))?;
    for (source, rules) in access.restricted_sources() {
        let source: &str = SourceName::as_str(source);
        if rules.is_hidden {
            connection.execute(ACCESS_HIDE_SOURCE_SQL, named_params! { ":source": source })?;
        }
        if rules.allowed_tags.is_some() {
            connection.execute(ACCESS_LIMIT_SOURCE_SQL, named_params! { ":source": source })?;
        }
        let allowed = rules.allowed_tags.iter().flatten().map(|tag| (tag, false));
        for (tag, denied) in allowed.chain(rules.denied_tags.iter().map(|tag| (tag, true))) {
            connection.execute(
                ACCESS_ADD_TAG_SQL,
                named_params! { ":source": source, ":pattern": pattern_to_like(tag), ":denied": denied },
            )?;
        }
        for origin in rules.denied_origins.iter() {
            let origin = origin.as_str();
            connection.execute(
                ACCESS_ADD_ORIGIN_SQL,
                named_params! { ":source": source, ":origin": origin },
            )?;
        }
        for folder in &rules.denied_folders {
            let folder = folder.trim_end_matches(MAIN_SEPARATOR);
            let first = format!("file:{folder}{MAIN_SEPARATOR}");
            // The letter after the separator ends the range of the paths below the folder.
            let end = char::from_u32(u32::from(MAIN_SEPARATOR) + 1).unwrap_or(char::MAX);
            let beyond = format!("file:{folder}{end}");
            connection.execute(
                ACCESS_ADD_FOLDER_SQL,
                named_params! { ":source": source, ":first": first, ":beyond": beyond },
            )?;
        }
    }
    connection.execute_batch(&sound_items_sql(database))?;
    connection.execute_batch(database.access_views())
}
