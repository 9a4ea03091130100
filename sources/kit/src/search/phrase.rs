//! A phrase of a query: one or more adjacent words.

use crate::{model::Field, store::FtsColumn};

/// Adjacent tokens, in the form stored in the full-text tables
/// (`vademecum_fts5::for_each_index_token`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Phrase {
    /// Tokens in order.
    pub(crate) tokens: Vec<String>,
    /// Whether the last token is a prefix.
    pub(crate) prefix: bool,
    /// Field that must contain the phrase; `None` means any field.
    pub(crate) field: Option<Field>,
    /// Number of times the phrase occurs in the query.
    pub(crate) repetitions: usize,
}

impl Default for Phrase {
    fn default() -> Self {
        Self { tokens: Vec::new(), prefix: false, field: None, repetitions: 1 }
    }
}

impl Phrase {
    pub(crate) fn from_token(token: impl Into<String>) -> Self {
        Self { tokens: vec![token.into()], ..Self::default() }
    }

    /// Returns an FTS5 expression that is always valid. Tokens contain no quotes, so no escaping is
    /// needed.
    pub(crate) fn expression(&self) -> String {
        let words = self.tokens.join(" ");
        if self.prefix {
            // Only the exact form of an inflected word starts with the prefix.
            format!("(\"{words}\" * OR \"={words}\" *)")
        } else {
            format!("\"{words}\"")
        }
    }

    /// Returns the expression restricted to the columns in `allowed`, or to all columns if it is
    /// empty. Returns `None` if no such column holds the phrase's field.
    pub(crate) fn expression_for_columns(
        &self,
        columns: &[FtsColumn],
        allowed: &[&str],
    ) -> Option<String> {
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
