//! The table of the source's items, and the statements on it.

use std::sync::LazyLock;

use vademecum_model::SourceName;
use vademecum_source::{
    DerivedFtsTable, IdType, ItemStatements, ItemTable, KeywordStamp, KeywordTables,
};

use crate::full_text::FULL_TEXT_TABLE;

/// The table of the items.
const ITEM_TABLE: ItemTable = ItemTable {
    source: SourceName::Chats,
    table: "conversations",
    id_type: IdType::Texts,
    row: "row",
    key: "row * 2",
    row_of_key: "rowid / 2",
    title: "title",
    address: "NULL",
    live: "deleted = 0",
    full_text: &FULL_TEXT_TABLE,
    keywords: Some(KEYWORD_TABLES),
};

/// The tables of the keywords.
pub(crate) const KEYWORD_TABLES: KeywordTables = KeywordTables {
    keywords: "keywords",
    links: "conversation_keywords",
    item: "conversation_id",
    stamp: KeywordStamp::CreatedAt,
};

/// Statements of the default methods of [`Source`].
pub(crate) static ITEM_STATEMENTS: LazyLock<ItemStatements> = LazyLock::new(|| {
    let shared = ITEM_TABLE.statements(own_statements!());
    ItemStatements {
        identify_sql: sql!("identify"),
        versions_sql: sql!("versions"),
        hidden_sql: sql!("hidden"),
        stats_sql: sql!("stats"),
        derived_fts_table: DerivedFtsTable {
            count_differences_sql: sql!("fts_differences"),
            ..shared.derived_fts_table
        },
        ..shared
    }
});
