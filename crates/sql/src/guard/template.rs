//! Statements with named places for values, `:name`.
//!
//! The lexer finds the places, so a `:name` in a string, a comment or a quoted name is none, and
//! neither is a cast `::type`. A template is not checked: the statement that is made from it is.

use super::{
    lexer::{LexedStatement, tokenize_template},
    rejection::reject_at,
    token::{Token, TokenKind, words_at},
};
use crate::{Engine, SqlError};

/// Statement with named places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementTemplate {
    engine: Engine,
    parts: Vec<TemplatePart>,
}

/// Text, or a place for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Text of the statement, without comments.
    Text(String),
    /// Place for a value.
    Place {
        /// Name of the value.
        name: String,
        /// Surroundings of the place.
        form: PlaceForm,
    },
}

/// Surroundings of a place, which decide how a list is written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceForm {
    /// The place is alone in the parentheses of `IN (:name)`.
    InList,
    /// The place is tested by `:name IS NULL` or `:name IS NOT NULL`.
    NullTest,
    /// Any other place.
    Single,
}

impl StatementTemplate {
    /// Parses a template. Fails if the statement has places without a name, or ends within a string
    /// or a comment.
    pub fn parse(engine: Engine, text: &str) -> Result<Self, SqlError> {
        let LexedStatement { tokens, without_comments, .. } = tokenize_template(engine, text)?;
        if let Some(nameless) = tokens.iter().find(|token| is_nameless_place(engine, token)) {
            let message = "a parameter needs a name; write `:name`";
            return Err(reject_at(text, nameless.offset, message));
        }
        let (mut parts, mut end) = (Vec::new(), 0);
        let slice = |from, to| without_comments.get(from..to).unwrap_or_default().to_owned();
        for (at, token) in tokens.iter().enumerate() {
            if token.kind == TokenKind::Place {
                parts.push(TemplatePart::Text(slice(end, token.offset)));
                let form = place_form(&tokens, at);
                parts.push(TemplatePart::Place { name: token.text.clone(), form });
                end = token.offset + 1 + token.text.len();
            }
        }
        parts.push(TemplatePart::Text(slice(end, without_comments.len())));
        Ok(Self { engine, parts })
    }

    /// Returns the engine whose syntax the template has.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }

    /// Returns the placeholders in order, with their names.
    pub fn placeholders(&self) -> impl Iterator<Item = (&str, PlaceForm)> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Place { name, form } => Some((name.as_str(), *form)),
        })
    }
}

/// Returns true if the server would read the token as a place for a value.
fn is_nameless_place(engine: Engine, token: &Token) -> bool {
    match engine {
        Engine::Postgres => token.kind == TokenKind::Number && token.text.starts_with('$'),
        Engine::MySql | Engine::Sqlite => token.is_symbol("?"),
    }
}

/// Returns the form of the place that is token `at`.
fn place_form(tokens: &[Token], at: usize) -> PlaceForm {
    let is_tested = [&["is", "null"][..], &["is", "not", "null"]];
    if is_tested.iter().any(|words| words_at(tokens, at + 1, words)) {
        return PlaceForm::NullTest;
    }
    let around = at.checked_sub(2).and_then(|start| tokens.get(start..at + 2));
    match around {
        Some([before, open, _, close])
            if before.is_word("in") && open.is_symbol("(") && close.is_symbol(")") =>
        {
            PlaceForm::InList
        }
        _ => PlaceForm::Single,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_names(engine: Engine, text: &str) -> Vec<String> {
        let template = StatementTemplate::parse(engine, text).unwrap();
        template.placeholders().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn only_code_contains_places() {
        for (engine, text) in [
            (
                Engine::Postgres,
                "SELECT ':a', E'\\':b', $x$:c$x$, \":d\", x::int, f(y := 1) -- :e\n\
                 /* :f */, t[1:2] FROM t WHERE k = :key",
            ),
            (Engine::MySql, "SELECT ':a', \":b\", `:c`, '\\':d' # :e\n FROM t WHERE k = :key"),
            (Engine::Sqlite, "SELECT ':a', \":b\", [:c], `:d` -- :e\n FROM t WHERE k = :key"),
        ] {
            assert_eq!(place_names(engine, text), ["key"], "{text}");
        }
        let casts = "SELECT :a::int, :b ::text, :a";
        assert_eq!(place_names(Engine::Postgres, casts), ["a", "b", "a"]);
    }

    #[test]
    fn parts_keep_text_around_places() {
        let text = "SELECT 1 FROM t WHERE a=:a/* x */AND b IN (:b) OR :c IS NOT NULL";
        let template = StatementTemplate::parse(Engine::MySql, text).unwrap();
        let place = |name: &str, form| TemplatePart::Place { name: name.to_owned(), form };
        assert_eq!(
            template.parts(),
            [
                TemplatePart::Text("SELECT 1 FROM t WHERE a=".to_owned()),
                place("a", PlaceForm::Single),
                TemplatePart::Text("       AND b IN (".to_owned()),
                place("b", PlaceForm::InList),
                TemplatePart::Text(") OR ".to_owned()),
                place("c", PlaceForm::NullTest),
                TemplatePart::Text(" IS NOT NULL".to_owned()),
            ]
        );
    }

    #[test]
    fn nameless_place_is_rejected() {
        for (engine, text) in [
            (Engine::Postgres, "SELECT 1\nWHERE a = $1"),
            (Engine::MySql, "SELECT 1\nWHERE a = ?"),
            (Engine::Sqlite, "SELECT 1\nWHERE a = ?"),
        ] {
            let message = StatementTemplate::parse(engine, text).unwrap_err().message;
            assert!(message.contains("write `:name` (line 2, column 11)"), "{message}");
        }
        // In `PostgreSQL` this is an operator of JSON.
        assert!(place_names(Engine::Postgres, "SELECT a ? 'b' FROM t").is_empty());
        for text in ["SELECT :näme", "SELECT $name", "SELECT @name", "SELECT :1"] {
            assert!(StatementTemplate::parse(Engine::Sqlite, text).is_err(), "{text}");
        }
    }
}
