//! Expressions for rows of a full-text table: a phrase, or alternative terms.

use vademecum_fts5::{Alternatives, LanguageSet};

/// The rows to find: those with a phrase, or with any of several terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowExpression {
    /// The FTS5 expression of a phrase, if there are no terms.
    pub phrase: String,
    /// The terms.
    pub terms: Vec<String>,
    /// Languages of the texts in which each term counts; terms without an entry count in all.
    pub languages: Vec<Option<LanguageSet>>,
    /// Weights of the terms, or of the phrase.
    pub alternatives: Alternatives,
    /// The columns that are searched; empty means all.
    pub columns: Vec<&'static str>,
}

impl RowExpression {
    /// Returns whether any term counts only in texts of some languages.
    pub(super) fn has_languages(&self) -> bool {
        self.languages.iter().any(Option::is_some)
    }

    /// Returns the languages of the texts in which a term counts, if it does not in all.
    pub(super) fn languages_of_term(&self, term: usize) -> Option<LanguageSet> {
        self.languages.get(term).copied().flatten()
    }

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
