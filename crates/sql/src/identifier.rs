//! Quoting of identifiers in generated statements.

use super::Engine;

/// Quotes an identifier for its engine and doubles quotes inside it. `SQLite` gets backticks,
/// because it reads an unknown name in double quotes as a string.
pub fn quote_identifier(engine: Engine, name: &str) -> String {
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
    fn quote_identifier_doubles_inner_quotes() {
        assert_eq!(quote_identifier(Engine::Postgres, "a\"; DROP"), "\"a\"\"; DROP\"");
        assert_eq!(quote_identifier(Engine::MySql, "a`\"b"), "`a``\"b`");
        assert_eq!(quote_identifier(Engine::Sqlite, "plain"), "`plain`");
    }
}
