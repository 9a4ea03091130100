//! Tables that no statement may read: password tables of servers, and internal tables with raw
//! pages.

use super::{
    pragma,
    rejection::reject_at,
    token::{Token, TokenKind, symbol_at},
};
use crate::{Engine, SqlError};

/// `PostgreSQL` tables that contain passwords.
const POSTGRES_SECRET_TABLES: &[&str] = &[
    "pg_authid",
    "pg_shadow",
    "pg_user_mapping",
    "pg_user_mappings",
    "_pg_user_mappings",
    "user_mapping_options",
    "pg_subscription",
    // Values of columns, also of tables that the user may not read.
    "pg_statistic",
    "pg_statistic_ext_data",
];

/// Tables of the database `mysql` that contain passwords.
const MYSQL_SECRET_TABLES: &[&str] = &[
    "user",
    "global_priv",
    "password_history",
    "servers",
    "slave_master_info",
    "slave_relay_log_info",
];

/// Tables that show statements, variables or rows of other accounts, to accounts with the right PROCESS
/// or SELECT on them, by database.
const MYSQL_STATEMENT_TABLES: &[(&str, &[&str])] = &[
    ("information_schema", &["innodb_trx", "processlist", "query_cache_info"]),
    ("mysql", &["general_log", "slow_log"]),
    (
        "performance_schema",
        &[
            "events_statements_current",
            "events_statements_history",
            "events_statements_history_long",
            "events_statements_summary_by_digest",
            "prepared_statements_instances",
            "processlist",
            "threads",
            "user_variables_by_thread",
        ],
    ),
    (
        "sys",
        &[
            "innodb_lock_waits",
            "processlist",
            "schema_table_lock_waits",
            "session",
            "x$innodb_lock_waits",
            "x$processlist",
            "x$schema_table_lock_waits",
            "x$session",
        ],
    ),
];

/// `SQLite` tables with raw pages or other internals, and the rejection message.
const SQLITE_INTERNAL_TABLES: &[(&str, &str)] = &[
    ("sqlite_dbpage", "holds raw pages; read a table instead"),
    ("sqlite_dbdata", "holds raw pages; read a table instead"),
    ("sqlite_dbptr", "holds raw pages; read a table instead"),
    ("sqlite_stmt", "shows statements of other clients; read a table instead"),
    ("fsdir", "lists files; read a table instead"),
];

/// Rejects statements that name such a table.
pub(super) fn check_relations(
    engine: Engine,
    text: &str,
    tokens: &[Token],
) -> Result<(), SqlError> {
    for (at, token) in tokens.iter().enumerate() {
        let is_table = token.is_name() || (engine == Engine::Sqlite && is_quoted_table(tokens, at));
        if !is_table {
            continue;
        }
        let name = token.text.to_ascii_lowercase();
        let why = match engine {
            Engine::Postgres if POSTGRES_SECRET_TABLES.contains(&name.as_str()) => {
                Some("holds passwords or values of any table; read another table")
            }
            Engine::MySql
                if MYSQL_SECRET_TABLES.contains(&name.as_str())
                    && is_in_mysql_database(tokens, at) =>
            {
                Some("holds passwords; read another table")
            }
            Engine::Sqlite => {
                let listed = SQLITE_INTERNAL_TABLES.iter().find(|(table, _)| *table == name);
                listed.map(|(_, why)| *why).or_else(|| pragma::rejection_reason(&name, tokens, at))
            }
            Engine::Postgres | Engine::MySql => None,
        };
        if let Some(why) = why {
            return Err(reject_at(text, token.offset, &format!("the table `{name}` {why}")));
        }
    }
    Ok(())
}

/// Rejects statements that name one of [`MYSQL_STATEMENT_TABLES`].
pub(super) fn check_statement_tables(
    engine: Engine,
    text: &str,
    tokens: &[Token],
) -> Result<(), SqlError> {
    let found = tokens.iter().enumerate().find(|(at, token)| {
        engine == Engine::MySql && token.is_name() && shows_statements(tokens, *at, &token.text)
    });
    found.map_or(Ok(()), |(_, token)| {
        let message =
            format!("the table `{}` shows statements of other accounts; leave it out", token.text);
        Err(reject_at(text, token.offset, &message))
    })
}

/// Returns true for a string at a position where `SQLite` accepts it as a table name.
fn is_quoted_table(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let is_place = |token: &Token| {
        token.is_one_of(&["from", "join"]) || [".", ",", "("].iter().any(|it| token.is_symbol(it))
    };
    tokens.get(at).is_some_and(|token| token.kind == TokenKind::Literal)
        && before.is_some_and(is_place)
}

/// Returns true for a table of the database `mysql`.
fn is_in_mysql_database(tokens: &[Token], at: usize) -> bool {
    is_in_database(tokens, at, "mysql")
}

fn is_in_database(tokens: &[Token], at: usize, name: &str) -> bool {
    let database = at.checked_sub(2).and_then(|at| tokens.get(at));
    symbol_at(tokens, at.wrapping_sub(1), ".")
        && database.is_some_and(|it| it.is_name() && it.text.eq_ignore_ascii_case(name))
}

/// Returns true for one of [`MYSQL_STATEMENT_TABLES`].
fn shows_statements(tokens: &[Token], at: usize, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    MYSQL_STATEMENT_TABLES.iter().any(|(database, tables)| {
        tables.contains(&name.as_str()) && is_in_database(tokens, at, database)
    })
}
