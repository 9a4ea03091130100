//! The table of the source's items, and the statements on it.

use std::sync::LazyLock;

use vademecum_model::SourceName;
use vademecum_source::{IdType, ItemStatements, ItemTable, ListStatements};

use crate::full_text::FULL_TEXT_TABLE;

/// Returns a row if some character has a tag.
const TAGGED_SQL: &str = "SELECT 1 FROM character_cards WHERE tags NOT IN ('', '[]') LIMIT 1";

/// The table of the items.
const ITEM_TABLE: ItemTable = ItemTable {
    source: SourceName::Characters,
    table: "character_cards",
    id_type: IdType::Numbers,
    row: "id",
    key: "id",
    row_of_key: "rowid",
    title: "name",
    address: "NULL",
    live: "deleted = 0",
    full_text: &FULL_TEXT_TABLE,
    keywords: None,
};

/// Statements of the default methods of [`Source`].
pub(crate) static ITEM_STATEMENTS: LazyLock<ItemStatements> = LazyLock::new(|| {
    let shared = ITEM_TABLE.statements(own_statements!());
    ItemStatements {
        list: ListStatements { list_tags_sql: sql!("list_tags"), ..shared.list },
        tagged_sql: TAGGED_SQL,
        ..shared
    }
});
