//! The table of the source's items, and the statements on it.

use std::sync::LazyLock;

use vademecum_model::SourceName;
use vademecum_source::{IdType, ItemStatements, ItemTable, KeywordStamp, KeywordTables};

use crate::full_text::FULL_TEXT_TABLE;

/// The table of the items.
const ITEM_TABLE: ItemTable = ItemTable {
    source: SourceName::Prompts,
    table: "Prompts",
    id_type: IdType::Numbers,
    row: "id",
    key: "id",
    row_of_key: "rowid",
    title: "name",
    address: "NULL",
    live: "deleted = 0",
    full_text: &FULL_TEXT_TABLE,
    keywords: Some(KEYWORD_TABLES),
};

/// The tables of the keywords.
pub(crate) const KEYWORD_TABLES: KeywordTables = KeywordTables {
    keywords: "PromptKeywordsTable",
    links: "PromptKeywordLinks",
    item: "prompt_id",
    stamp: KeywordStamp::Uuid,
};

/// Statements of the default methods of [`Source`].
pub(crate) static ITEM_STATEMENTS: LazyLock<ItemStatements> =
    LazyLock::new(|| ITEM_TABLE.statements(own_statements!()));
