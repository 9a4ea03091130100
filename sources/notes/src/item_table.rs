//! The table of the source's items, and the statements on it.

use std::sync::LazyLock;

use vademecum_model::SourceName;
use vademecum_source::{
    IdType, ItemStatements, ItemTable, KeywordStamp, KeywordTables, ListStatements,
};

use crate::full_text::FULL_TEXT_TABLE;

/// Identifier, last modification and names of the matching note `:key`.
const IDENTIFY_SQL: &str = "SELECT id, last_modified, title || char(10) || names AS titles, created_at AS dated_at \
     FROM notes WHERE row = :key";

/// The table of the items.
const ITEM_TABLE: ItemTable = ItemTable {
    source: SourceName::Notes,
    table: "notes",
    id_type: IdType::Texts,
    row: "row",
    key: "row",
    row_of_key: "rowid",
    title: "title",
    address: "NULL",
    live: "deleted = 0",
    full_text: &FULL_TEXT_TABLE,
    keywords: Some(KEYWORD_TABLES),
};

/// The tables of the keywords.
pub(crate) const KEYWORD_TABLES: KeywordTables = KeywordTables {
    keywords: "keywords",
    links: "note_keywords",
    item: "note_id",
    stamp: KeywordStamp::CreatedAt,
};

/// Statements of the default methods of [`Source`].
pub(crate) static ITEM_STATEMENTS: LazyLock<ItemStatements> = LazyLock::new(|| {
    let shared = ITEM_TABLE.statements(own_statements!());
    ItemStatements {
        identify_sql: IDENTIFY_SQL,
        list: ListStatements { find_sql: sql!("find"), ..shared.list },
        ..shared
    }
});
