//! Expressions for rows of a full-text table: a phrase, or alternative terms.

use vademecum_fts5::Alternatives;

/// The rows to find: those with a phrase, or with any of several terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowExpression {
    /// The FTS5 expression of a phrase, if there are no terms.
    pub phrase: String,
    /// The terms.
    pub terms: Vec<String>,
    /// Weights of the terms, or of the phrase.
    pub alternatives: Alternatives,
    /// The columns that are searched; empty means all.
    pub columns: Vec<&'static str>,
}

impl RowExpression {
    /// Returns the FTS5 expression of the phrase, or of the terms.
    pub(super) fn fts5_expression(&self) -> String {
        let mut text = self.phrase.clone();
        if !self.terms.is_empty() {
            let quoted: Vec<String> = self.terms.iter().map(|term| format!("\"{term}\"")).collect();
            text = format!("({})", quoted.join(" OR "));
        }
        if !self.columns.is_empty() {
            text = format!("{{{}}} : ({text})", self.columns.join(" "));
        }
        text
    }
}
