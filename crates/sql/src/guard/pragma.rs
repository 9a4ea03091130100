//! PRAGMAs of `SQLite` that only tell something.

use super::{
    refusal::refuse_at,
    token::{Token, symbol_at},
};
use crate::SqlError;

/// Those that are asked about a table or an index, or about nothing.
const ABOUT: &[&str] = &[
    "collation_list",
    "compile_options",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "module_list",
    "pragma_list",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Those that tell a setting, and change it if a value is given.
const SETTINGS: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "case_sensitive_like",
    "data_version",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "journal_mode",
    "max_page_count",
    "mmap_size",
    "page_count",
    "page_size",
    "query_only",
    "read_uncommitted",
    "recursive_triggers",
    "schema_version",
    "secure_delete",
    "synchronous",
    "temp_store",
    "user_version",
];

/// Checks the tokens behind the word PRAGMA.
pub(super) fn check(text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    let rest = if symbol_at(tokens, 1, ".") { tokens.get(2..) } else { Some(tokens) };
    let Some((name, rest)) = rest.and_then(<[Token]>::split_first) else {
        return Err(refuse_at(text, text.len(), "PRAGMA says nothing alone; write which"));
    };
    let is_allowed = match rest {
        [] => ABOUT.contains(&name.text.as_str()) || SETTINGS.contains(&name.text.as_str()),
        [open, _, close] => {
            ABOUT.contains(&name.text.as_str()) && open.is_symbol("(") && close.is_symbol(")")
        }
        _ => false,
    };
    if is_allowed {
        return Ok(());
    }
    let message = format!(
        "PRAGMA `{}` is refused in this form; those that only tell something are: {}",
        name.text,
        ABOUT.join(", ")
    );
    Err(refuse_at(text, name.at, &message))
}

/// What speaks against a table `pragma_…`.
pub(super) fn refusal(table: &str) -> Option<&'static str> {
    let name = table.strip_prefix("pragma_")?;
    (!ABOUT.contains(&name))
        .then_some("is a PRAGMA that does more than tell of tables; read another one")
}
