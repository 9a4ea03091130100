//! Macros for the statements in the `sql` folder of a source. The same file name has the same task in
//! each of them.

/// Includes the statement `sql/<name>.sql` of the calling crate.
#[macro_export]
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/", $name, ".sql"))
    };
}

/// Includes the statements of the calling crate that have no common form.
#[macro_export]
macro_rules! own_statements {
    () => {
        $crate::OwnStatements {
            list_sql: $crate::sql!("list"),
            passes_sql: $crate::sql!("passes"),
            fill_sql: $crate::sql!("fill_fts"),
            reindex_sql: $crate::sql!("reindex"),
        }
    };
}
