//! Fuzzing of the guard for statements on other databases.

use vademecum_sql::{
    Engine,
    guard::{check_condition, check_query, check_write},
};

/// Checks a statement in the dialect of every engine, and a condition. The text of an accepted
/// statement is accepted again.
pub(super) fn fuzz_statement(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
        check_condition(engine, text).ok();
        check_write(engine, text).ok();
        if let Ok(query) = check_query(engine, text) {
            let again = check_query(engine, query.text());
            assert_eq!(again, Ok(query), "an accepted statement is accepted again");
        }
    }
}
