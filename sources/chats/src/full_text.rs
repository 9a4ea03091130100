//! The full-text table of the source, and the keys of its rows.

use vademecum_model::{ChatMatchScope, Field, Filters, FtsColumn, FtsTable};

/// The full-text table, with the ranking weight of each column.
pub(crate) const FULL_TEXT_TABLE: FtsTable = FtsTable::new(
    "chat_fts",
    "chat_words",
    &[
        FtsColumn { name: "content", field: Field::Text, weight: 1.0 },
        FtsColumn { name: "title", field: Field::Title, weight: 2.0 },
        FtsColumn { name: "sender", field: Field::Author, weight: 2.0 },
        FtsColumn { name: "neighbours", field: Field::Neighbours, weight: 0.3 },
    ],
);

/// Returns the columns to search; empty means all. A filter by sender excludes titles, which have
/// none.
pub(crate) fn searched_columns(filters: &Filters) -> Vec<&'static str> {
    match (filters.chat_scope, &filters.sender) {
        (ChatMatchScope::Both, None) => Vec::new(),
        (ChatMatchScope::Title, _) => vec!["title"],
        (ChatMatchScope::Both, Some(_)) | (ChatMatchScope::Message, _) => {
            vec!["sender", "content", "neighbours"]
        }
    }
}

/// Returns the rowid in the full-text table of a conversation's title and opening message.
pub(crate) fn conversation_key(row: i64) -> i64 {
    row * 2
}

/// Returns the rowid in the full-text table of a message other than the opening one.
pub(crate) fn message_key(row: i64) -> i64 {
    row * 2 + 1
}
