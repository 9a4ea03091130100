//! One thing that a query looks for: words that stand next to each other.

use crate::{model::Field, store::Column};

/// Tokens that must stand next to each other, as the full-text tables hold
/// them (`vademecum_fts5::index_tokens`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Phrase {
    /// The tokens, in order.
    pub(crate) tokens: Vec<String>,
    /// Whether the last token is only the beginning of a word.
    pub(crate) prefix: bool,
    /// Where it must stand, if that was said.
    pub(crate) field: Option<Field>,
    /// How often it was said.
    pub(crate) times: usize,
}

impl Default for Phrase {
    fn default() -> Self {
        Self { tokens: Vec::new(), prefix: false, field: None, times: 1 }
    }
}

impl Phrase {
    pub(crate) fn of(token: impl Into<String>) -> Self {
        Self { tokens: vec![token.into()], ..Self::default() }
    }

    /// As an expression that FTS5 always accepts: tokens hold no quotes, so
    /// none needs to be doubled.
    pub(crate) fn expression(&self) -> String {
        let words = self.tokens.join(" ");
        if self.prefix {
            // Inflected words begin so only where they are stored as they are.
            format!("(\"{words}\" * OR \"={words}\" *)")
        } else {
            format!("\"{words}\"")
        }
    }

    /// The expression over the columns of a table that `allowed` names, or all
    /// of them if it names none; `None` if the table has not the field.
    pub(crate) fn expression_in(&self, columns: &[Column], allowed: &[&str]) -> Option<String> {
        if self.field.is_none() && allowed.is_empty() {
            return Some(self.expression());
        }
        let names: Vec<&str> = columns
            .iter()
            .filter(|column| self.field.is_none_or(|field| field == column.field))
            .map(|column| column.name)
            .filter(|name| allowed.is_empty() || allowed.contains(name))
            .collect();
        let some = !names.is_empty();
        some.then(|| format!("{{{}}} : ({})", names.join(" "), self.expression()))
    }
}
