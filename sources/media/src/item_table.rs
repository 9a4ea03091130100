//! The table of the source's items, and the statements on it.

use std::sync::LazyLock;

use vademecum_model::SourceName;
use vademecum_source::{IdType, ItemStatements, ItemTable, KeywordStamp, KeywordTables};

use crate::full_text::FULL_TEXT_TABLE;

/// Lists all documents with a stamp that changes whenever the document changes.
const VERSIONS_SQL: &str = "SELECT id AS key, CAST(id AS TEXT) AS id, version || ' ' || content_hash AS stamp \
     FROM Media WHERE deleted = 0 AND is_trash = 0";

/// Selects identifier, last modification, title and names of files, and date of the matching document
/// `:key`.
const IDENTIFY_SQL: &str = "SELECT id, last_modified, title || coalesce(char(10) || ( \
         SELECT group_concat(vademecum_file_name(origin), char(10)) \
         FROM main.imported INDEXED BY imported_by_item \
         WHERE source = 'media' AND item = CAST(Media.id AS TEXT) \
     ), '') AS titles, ( \
         SELECT created_at FROM DocumentDates WHERE media_id = Media.id \
     ) AS dated_at FROM Media WHERE id = :key";

/// Selects the kind of document and its web address.
const KIND_SQL: &str = "SELECT type AS media_type, url FROM Media WHERE id = CAST(:id AS INTEGER)";

/// The table of the items.
const ITEM_TABLE: ItemTable = ItemTable {
    source: SourceName::Media,
    table: "Media",
    id_type: IdType::Numbers,
    row: "id",
    key: "id",
    row_of_key: "rowid",
    title: "title",
    address: "url",
    live: "deleted = 0 AND is_trash = 0",
    full_text: &FULL_TEXT_TABLE,
    keywords: Some(KEYWORD_TABLES),
};

/// The tables of the keywords.
pub(crate) const KEYWORD_TABLES: KeywordTables = KeywordTables {
    keywords: "Keywords",
    links: "MediaKeywords",
    item: "media_id",
    stamp: KeywordStamp::Uuid,
};

/// Statements of the default methods of [`Source`].
pub(crate) static ITEM_STATEMENTS: LazyLock<ItemStatements> = LazyLock::new(|| {
    let shared = ITEM_TABLE.statements(own_statements!());
    let (versions_sql, stats_sql) = (VERSIONS_SQL, sql!("stats"));
    ItemStatements {
        identify_sql: IDENTIFY_SQL,
        versions_sql,
        kind_sql: KIND_SQL,
        stats_sql,
        ..shared
    }
});
