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
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "pragma_list",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that read a setting, and would change it if a value is given.
const SETTING_PRAGMAS: &[&str] = &[
    "analysis_limit",
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "case_sensitive_like",
    "cell_size_check",
    "checkpoint_fullfsync",
    "data_version",
    "defer_foreign_keys",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "fullfsync",
    "hard_heap_limit",
    "ignore_check_constraints",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "page_count",
    "page_size",
    "query_only",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "schema_version",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "user_version",
    "wal_autocheckpoint",
];

/// Returns true if a pragma, in lower case, only reads when it is used in this form.
pub(crate) fn is_read_only_pragma(name: &str, has_argument: bool) -> bool {
    INTROSPECTION_PRAGMAS.contains(&name) || (!has_argument && SETTING_PRAGMAS.contains(&name))
}

/// Checks the tokens after the word PRAGMA.
pub(super) fn check_pragma(text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    let rest = if symbol_at(tokens, 1, ".") { tokens.get(2..) } else { Some(tokens) };
    let Some((name, rest)) = rest.and_then(<[Token]>::split_first) else {
        return Err(reject_at(text, text.len(), "PRAGMA needs a name"));
    };
    let is_allowed = match rest {
        [] => is_read_only_pragma(&name.text, false),
        [open, _, close] => {
            is_read_only_pragma(&name.text, true) && open.is_symbol("(") && close.is_symbol(")")
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

/// Returns the reason to reject a table `pragma_…`, if any. Its argument, if it has one, follows
/// `at` in parentheses.
pub(super) fn rejection_reason(table: &str, tokens: &[Token], at: usize) -> Option<&'static str> {
    let name = table.strip_prefix("pragma_")?;
    let has_argument = symbol_at(tokens, at + 1, "(") && !symbol_at(tokens, at + 2, ")");
    if name == "database_list" {
        return Some("shows folders of the server; use PRAGMA database_list instead");
    }
    (!is_read_only_pragma(name, has_argument))
        .then_some("is a PRAGMA that is not read-only in this form; use another one")
}
