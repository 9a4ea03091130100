//! Statements for other people's databases, looked at by the guard.

use vademecum_sql::{
    Engine,
    guard::{condition, one_statement, read},
};

/// Looks at a statement in the language of every engine, and at a condition. What
/// is let through is let through again as it will be run.
pub(super) fn statement(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
        condition(engine, text).ok();
        one_statement(engine, text).ok();
        if let Ok(query) = read(engine, text) {
            let again = read(engine, query.text());
            assert_eq!(again, Ok(query), "what is run is itself let through");
        }
    }
}
