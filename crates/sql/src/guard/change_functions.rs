//! Functions that a change may call: those of the engines that compute a value from their arguments,
//! the rows of a group or the clock. None writes, reads files, runs text or waits.
//!
//! The lists are those of each engine: a name that an engine does not have itself may be that of a
//! function of the database. `SQLite` has none of these.

use crate::Engine;

/// Functions of `PostgreSQL`.
static POSTGRES: &str = include_str!("change_functions/postgres.txt");

/// Functions of `MySQL` and `MariaDB`.
static MYSQL: &str = include_str!("change_functions/mysql.txt");

/// Functions of `SQLite` besides those of the other engines.
static SQLITE: &str = include_str!("change_functions/sqlite.txt");

/// Returns true for a function of the engine that a change may call.
pub(super) fn is_harmless(engine: Engine, name: &str) -> bool {
    let lists: &[&str] = match engine {
        Engine::Postgres => &[POSTGRES],
        Engine::MySql => &[MYSQL],
        Engine::Sqlite => &[POSTGRES, MYSQL, SQLITE],
    };
    lists.iter().any(|list| list.split_whitespace().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_their_engine() {
        assert!(is_harmless(Engine::Sqlite, "total") && !is_harmless(Engine::Postgres, "total"));
        assert!(is_harmless(Engine::MySql, "ifnull") && !is_harmless(Engine::MySql, "to_char"));
        assert!(is_harmless(Engine::Postgres, "lower") && !is_harmless(Engine::Postgres, ""));
    }
}
