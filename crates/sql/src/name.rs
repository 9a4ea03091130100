//! Names of tables and columns, as they stand in a statement of ours.

use super::Engine;

/// A name in the quotes of its engine: whatever it is, it stays a name. In double quotes
/// `SQLite` would take one that is not there for a text.
pub fn quoted(engine: Engine, name: &str) -> String {
    let quote = match engine {
        Engine::Postgres => '"',
        Engine::MySql | Engine::Sqlite => '`',
    };
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_name_does_not_end_it() {
        assert_eq!(quoted(Engine::Postgres, "a\"; DROP"), "\"a\"\"; DROP\"");
        assert_eq!(quoted(Engine::MySql, "a`\"b"), "`a``\"b`");
        assert_eq!(quoted(Engine::Sqlite, "plain"), "`plain`");
    }
}
