//! Macros for the statements in the `sql` folder of a source. The same file name has the same task in
//! each of them.

/// Includes the statement `sql/<name>.sql` of the calling crate.
#[macro_export]
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/", $name, ".sql"))
    };
}

/// Describes the statements that check and rebuild a full-text table.
#[macro_export]
macro_rules! derived_fts_table {
    ($table:expr) => {
        $crate::DerivedFtsTable {
            table: $table.name,
            count_differences_sql: $crate::sql!("fts_differences"),
            fill_sql: $crate::sql!("fill_fts"),
            index: &$table,
            reindex_sql: $crate::sql!("reindex"),
            unindex_sql: $crate::sql!("unindex"),
        }
    };
}

/// Describes the standard statements on the items of a source.
#[macro_export]
macro_rules! item_statements {
    ($id_type:expr, $table:expr) => {
        $crate::ItemStatements {
            id_type: $id_type,
            identify_sql: $crate::sql!("identify"),
            suggest_sql: $crate::sql!("suggest"),
            list: $crate::ListStatements {
                list_sql: $crate::sql!("list"),
                list_tags_sql: $crate::sql!("list_tags"),
                find_sql: $crate::sql!("find"),
            },
            versions_sql: $crate::sql!("versions"),
            version_sql: $crate::sql!("version"),
            set_version_sql: $crate::sql!("set_version"),
            title_sql: $crate::sql!("title"),
            passes_sql: $crate::sql!("passes"),
            tagged_sql: $crate::sql!("tagged"),
            hidden_sql: $crate::sql!("hidden"),
            stats_sql: $crate::sql!("stats"),
            remove_sql: $crate::sql!("remove"),
            derived_fts_table: $crate::derived_fts_table!($table),
        }
    };
}
