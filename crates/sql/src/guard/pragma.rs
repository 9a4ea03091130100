//! Read-only PRAGMAs of `SQLite`.

use super::{
    rejection::reject_at,
    token::{Token, symbol_at},
};
use crate::SqlError;

/// Pragmas that are read-only, with or without an argument such as a table or an index.
const INTROSPECTION_PRAGMAS: &[&str] = &[
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

/// Pragmas that read a setting, and would change it if a value is given.
const SETTING_PRAGMAS: &[&str] = &[
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

/// Checks the tokens after the word PRAGMA.
pub(super) fn check_pragma(text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    let rest = if symbol_at(tokens, 1, ".") { tokens.get(2..) } else { Some(tokens) };
    let Some((name, rest)) = rest.and_then(<[Token]>::split_first) else {
        return Err(reject_at(text, text.len(), "PRAGMA needs a name"));
    };
    let is_allowed = match rest {
        [] => {
            INTROSPECTION_PRAGMAS.contains(&name.text.as_str())
                || SETTING_PRAGMAS.contains(&name.text.as_str())
        }
        [open, _, close] => {
            INTROSPECTION_PRAGMAS.contains(&name.text.as_str())
                && open.is_symbol("(")
                && close.is_symbol(")")
        }
        _ => false,
    };
    if is_allowed {
        return Ok(());
    }
    let message = format!(
        "PRAGMA `{}` is not permitted in this form; these are read-only: {}",
        name.text,
        INTROSPECTION_PRAGMAS.join(", ")
    );
    Err(reject_at(text, name.offset, &message))
}

/// Returns the reason to reject a table `pragma_…`, if any.
pub(super) fn rejection_reason(table: &str) -> Option<&'static str> {
    let name = table.strip_prefix("pragma_")?;
    (!INTROSPECTION_PRAGMAS.contains(&name))
        .then_some("is a PRAGMA that is not read-only; use another one")
}
