//! The stored forms of the words of a query.
//!
//! The full-text tables hold words as they are written. A query for any form of a word looks up the
//! stored words with the same beginning, and searches those with the same stem, in each language
//! that the query or the table may have (`docs/adr/0009-custom-tokenizer.md`).

use std::{cmp::Reverse, collections::BTreeSet};

use vademecum_fts5::{
    ACCENT_MARK, ALTERNATIVE_SEPARATOR, Alternatives, EXACT_MARK, Language, Script, accented_token,
    exact_token, fold_word, language_token, with_stem,
};

use super::phrase::{InflectedWord, Phrase, QueryLanguage, QueryWord, TypedWord};
use crate::store::{FtsIndex, StoreError};

/// Maximum number of forms of a word. The most frequent ones are searched.
const MAX_FORMS: usize = 200;
/// Maximum number of rows for each row in a language that the table holds. Rarer languages are
/// mostly quotations.
const MAX_ROWS_PER_ROW_IN_LANGUAGE: u64 = 5_000;

/// An expression for the rows with a phrase.
#[derive(Debug)]
pub(crate) struct PhraseExpression {
    /// The FTS5 expression.
    pub(crate) text: String,
    /// Weights of its parts.
    pub(crate) alternatives: Alternatives,
}

/// Returns the expression of a phrase over all columns.
pub(crate) fn find_expression(
    index: &FtsIndex<'_>,
    phrase: &Phrase,
) -> Result<PhraseExpression, StoreError> {
    if let [QueryWord::Inflected(word)] = phrase.words.as_slice() {
        let WordForms { mut exact, variants } = find_forms(index, word)?;
        for spelling in &phrase.spellings {
            exact.push(find_tokens(index, spelling)?);
        }
        let alternatives =
            Alternatives { exact: exact.len(), variant_weight: index.variant_weight() };
        let tokens: Vec<String> =
            exact.iter().chain(&variants).map(|token| format!("\"{token}\"")).collect();
        return Ok(PhraseExpression { text: format!("({})", tokens.join(" OR ")), alternatives });
    }
    let text = phrase.quote(&find_tokens(index, &phrase.words)?);
    Ok(PhraseExpression { text, alternatives: Alternatives::default() })
}

/// Returns the tokens of adjacent words; the forms of a word are alternatives.
fn find_tokens(index: &FtsIndex<'_>, words: &[QueryWord]) -> Result<String, StoreError> {
    let mut tokens = Vec::with_capacity(words.len());
    for word in words {
        tokens.push(match word {
            QueryWord::Exact(token) => token.clone(),
            QueryWord::Inflected(word) => {
                let WordForms { exact, variants } = find_forms(index, word)?;
                let forms: Vec<String> = exact.into_iter().chain(variants).collect();
                forms.join(&ALTERNATIVE_SEPARATOR.to_string())
            }
        });
    }
    Ok(tokens.join(" "))
}

/// Tokens of the forms of a word.
#[derive(Debug, Default)]
struct WordForms {
    /// The forms that the query has.
    exact: Vec<String>,
    /// Other forms that are stored.
    variants: Vec<String>,
}

fn find_forms(index: &FtsIndex<'_>, word: &InflectedWord) -> Result<WordForms, StoreError> {
    let mut forms = WordForms::default();
    let mut variants = BTreeSet::new();
    for typed in &word.typed {
        if word.language == Some(QueryLanguage::Vietnamese)
            && let Some(accented) = typed.accented.as_deref().map(accented_token)
            && index.count_rows(&accented)? > 0
        {
            forms.exact.push(accented);
            continue;
        }
        forms.exact.push(exact_token(&typed.folded));
        for language in languages_of(index, word.language, typed)? {
            find_variants(index, language, typed, &mut variants)?;
        }
    }
    for token in &forms.exact {
        variants.remove(token);
    }
    forms.variants = most_frequent(index, variants)?;
    Ok(forms)
}

/// Returns the [`MAX_FORMS`] terms with the most rows.
fn most_frequent(index: &FtsIndex<'_>, terms: BTreeSet<String>) -> Result<Vec<String>, StoreError> {
    if terms.len() <= MAX_FORMS {
        return Ok(terms.into_iter().collect());
    }
    let mut by_rows = Vec::with_capacity(terms.len());
    for term in terms {
        by_rows.push((Reverse(index.count_rows(&term)?), term));
    }
    by_rows.sort_unstable();
    by_rows.truncate(MAX_FORMS);
    Ok(by_rows.into_iter().map(|(_, term)| term).collect())
}

/// Returns the languages in which the word may have other forms: that of the query, otherwise those
/// of the table in the script of the word.
fn languages_of(
    index: &FtsIndex<'_>,
    language: Option<QueryLanguage>,
    typed: &TypedWord,
) -> Result<Vec<Language>, StoreError> {
    let has_digit = typed.folded.contains(|letter: char| letter.is_ascii_digit());
    let Some(script) = typed.script().filter(|_| !has_digit) else { return Ok(Vec::new()) };
    let of_query = match language {
        Some(QueryLanguage::Vietnamese) if script == Script::Latin => return Ok(Vec::new()),
        Some(QueryLanguage::Stemmed(language)) => Some(language),
        Some(QueryLanguage::Vietnamese) | None => None,
    };
    if let Some(language) = of_query.filter(|it| it.script() == script) {
        return Ok(vec![language]);
    }
    let held = index.languages(|| find_languages(index))?;
    let held = held.iter().copied().filter(|language| language.script() == script);
    let default = script.default_language();
    Ok(default.into_iter().chain(held.filter(|it| Some(*it) != default)).collect())
}

/// Returns the languages of the texts, English excepted.
fn find_languages(index: &FtsIndex<'_>) -> Result<Vec<Language>, StoreError> {
    let mut held = Vec::new();
    for language in Language::ALL {
        let rows = index.count_rows(&language_token(language.code()))?;
        if rows > 0 && rows * MAX_ROWS_PER_ROW_IN_LANGUAGE >= index.memory().rows() {
            held.push(language);
        }
    }
    Ok(held)
}

/// Adds the stored words with the stem of the typed one.
fn find_variants(
    index: &FtsIndex<'_>,
    language: Language,
    typed: &TypedWord,
    variants: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    let stems = WordStems::new(language, typed);
    let mut ranges = BTreeSet::new();
    for start in stems.beginnings(language) {
        let is_accented = !start.is_ascii() && Script::of_word(&start) == Some(Script::Latin);
        let mark = match (is_accented, start.is_ascii()) {
            (true, _) => ACCENT_MARK.to_string(),
            (false, true) => EXACT_MARK.to_string(),
            (false, false) => String::new(),
        };
        ranges.insert(format!("{mark}{start}"));
    }
    let mut terms = BTreeSet::new();
    for from in ranges {
        let to = format!("{from}{}", char::MAX);
        index.for_each_term(&from, &to, |term| {
            if !terms.contains(term) {
                terms.insert(term.to_owned());
            }
        })?;
    }
    let has_stem = |term: &String| {
        let word = term.trim_start_matches([EXACT_MARK, ACCENT_MARK]);
        with_stem(language, word, |stem| stems.contains(stem))
    };
    variants.extend(terms.into_iter().filter(has_stem));
    Ok(())
}

/// Stems of a word as typed, in one language.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordStems(BTreeSet<String>);

impl WordStems {
    pub(crate) fn new(language: Language, typed: &TypedWord) -> Self {
        let stem = |word: &str| with_stem(language, word, str::to_owned);
        let mut stems = BTreeSet::from([stem(&typed.folded)]);
        if let Some(accented) = typed.accented.as_deref().map(stem) {
            // Stored words are mostly folded.
            stems.extend([fold_word(&accented), accented]);
        }
        Self(stems)
    }

    fn contains(&self, stem: &str) -> bool {
        self.0.contains(stem)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the letters that all stored words with one of the stems start with: stemmers change
    /// at most the last two letters of what remains, and one of a short word.
    pub(crate) fn beginnings(&self, language: Language) -> Vec<String> {
        let mut beginnings = Vec::new();
        for stem in &self.0 {
            let length = stem.chars().count();
            // The English stem of `dying` is `die`.
            let is_short = length <= 4 && !(length == 3 && stem.ends_with("ie"));
            let changed = if is_short { 1 } else { 2 };
            let kept: String = stem.chars().take(length.saturating_sub(changed).max(1)).collect();
            let removed = language.removed_prefixes().iter();
            beginnings.extend(removed.map(|removed| format!("{removed}{kept}")));
        }
        beginnings
    }
}
