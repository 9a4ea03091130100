//! Tables that no statement may read: where servers keep their passwords, and
//! where a database is a table of its own pages.

use super::{
    pragma,
    refusal::refuse_at,
    token::{Kind, Token, symbol_at},
};
use crate::{Engine, SqlError};

/// Tables of `PostgreSQL` with passwords in them.
const POSTGRES: &[&str] = &[
    "pg_authid",
    "pg_shadow",
    "pg_user_mapping",
    "pg_user_mappings",
    "_pg_user_mappings",
    "user_mapping_options",
    "pg_subscription",
];

/// Tables of `MySQL`'s own database with passwords in them.
const MYSQL: &[&str] = &[
    "user",
    "global_priv",
    "password_history",
    "servers",
    "slave_master_info",
    "slave_relay_log_info",
];

/// Tables of `SQLite` that tell how it is made, or hold its raw pages.
const SQLITE: &[(&str, &str)] = &[
    ("sqlite_schema", "tells how tables are made; get_schema_info says what there is"),
    ("sqlite_master", "tells how tables are made; get_schema_info says what there is"),
    ("sqlite_temp_schema", "tells how tables are made; get_schema_info says what there is"),
    ("sqlite_temp_master", "tells how tables are made; get_schema_info says what there is"),
    ("sqlite_dbpage", "holds raw pages; read a table instead"),
    ("sqlite_dbdata", "holds raw pages; read a table instead"),
    ("sqlite_dbptr", "holds raw pages; read a table instead"),
    ("sqlite_stmt", "tells what others run; read a table instead"),
    ("fsdir", "lists files; read a table instead"),
];

/// Refuses to read such a table.
pub(super) fn check(engine: Engine, text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    for (at, token) in tokens.iter().enumerate() {
        let is_table = token.is_name() || (engine == Engine::Sqlite && is_quoted_table(tokens, at));
        if !is_table {
            continue;
        }
        let name = token.text.to_ascii_lowercase();
        let why = match engine {
            Engine::Postgres if POSTGRES.contains(&name.as_str()) => {
                Some("holds passwords; read another table")
            }
            Engine::MySql if MYSQL.contains(&name.as_str()) && is_in_mysql(tokens, at) => {
                Some("holds passwords; read another table")
            }
            Engine::Sqlite => {
                let listed = SQLITE.iter().find(|(table, _)| *table == name);
                listed.map(|(_, why)| *why).or_else(|| pragma::refusal(&name))
            }
            Engine::Postgres | Engine::MySql => None,
        };
        if let Some(why) = why {
            return Err(refuse_at(text, token.at, &format!("the table `{name}` {why}")));
        }
    }
    Ok(())
}

/// Whether a string stands where `SQLite` takes it for a table.
fn is_quoted_table(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let is_place = |token: &Token| {
        token.is_one_of(&["from", "join"]) || [".", ",", "("].iter().any(|it| token.is_symbol(it))
    };
    tokens.get(at).is_some_and(|token| token.kind == Kind::Literal) && before.is_some_and(is_place)
}

/// Whether it is a table of the database `mysql`.
fn is_in_mysql(tokens: &[Token], at: usize) -> bool {
    let database = at.checked_sub(2).and_then(|at| tokens.get(at));
    symbol_at(tokens, at.wrapping_sub(1), ".")
        && database.is_some_and(|it| it.is_name() && it.text.eq_ignore_ascii_case("mysql"))
}
