//! The stored forms of the words of a query.
//!
//! The full-text tables hold words as they are written. A query for any form of a word looks up the
//! stored words with the same beginning, and searches those with the same stem, in each language
//! that the query or the table may have (`docs/adr/0009-custom-tokenizer.md`).

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use vademecum_fts5::{
    ACCENT_MARK, ALTERNATIVE_SEPARATOR, Alternatives, EXACT_MARK, Language, LanguageSet, Script,
    accented_token, exact_token, with_stem,
};
use vademecum_search::{InflectedWord, Phrase, QueryLanguage, QueryWord, TypedWord, WordStems};
use vademecum_store::{FtsIndex, RowExpression, StoreError};

/// Maximum number of forms of a word. The most frequent ones are searched.
const MAX_FORMS: usize = 200;
/// Maximum number of rows for each row in a language that the table holds. Rarer languages are
/// mostly quotations.
const MAX_ROWS_PER_ROW_IN_LANGUAGE: u64 = 1_500;

/// Returns the expression of a phrase over all columns.
pub(crate) fn find_expression(
    index: &FtsIndex<'_>,
    phrase: &Phrase,
) -> Result<RowExpression, StoreError> {
    if let [QueryWord::Inflected(word)] = phrase.words.as_slice() {
        let WordForms { mut exact, variants } = find_forms(index, word)?;
        for spelling in &phrase.spellings {
            exact.push(find_tokens(index, spelling)?);
        }
        let alternatives =
            Alternatives { exact: exact.len(), variant_weight: index.variant_weight() };
        let languages = exact.iter().map(|_| None);
        // The languages of rows are not asked for a form that counts in all.
        let of_form = |(_, languages): &(String, LanguageSet)| {
            Some(*languages).filter(|it| *it != LanguageSet::ALL)
        };
        let languages = languages.chain(variants.iter().map(of_form));
        let languages = languages.collect();
        let tokens: Vec<String> =
            exact.into_iter().chain(variants.into_iter().map(|(token, _)| token)).collect();
        if tokens.iter().all(|token| is_term(token)) {
            let terms = tokens;
            return Ok(RowExpression { terms, languages, alternatives, ..Default::default() });
        }
        let quoted: Vec<String> = tokens.iter().map(|token| format!("\"{token}\"")).collect();
        let phrase = format!("({})", quoted.join(" OR "));
        return Ok(RowExpression { phrase, alternatives, ..RowExpression::default() });
    }
    let tokens = find_tokens(index, &phrase.words)?;
    if !phrase.prefix && is_term(&tokens) {
        return Ok(RowExpression { terms: vec![tokens], ..RowExpression::default() });
    }
    Ok(RowExpression { phrase: phrase.quote(&tokens), ..RowExpression::default() })
}

/// Returns whether an expression finds the rows of one term.
fn is_term(token: &str) -> bool {
    !token.is_empty() && !token.contains([' ', ALTERNATIVE_SEPARATOR])
}

/// Returns the tokens of adjacent words; the forms of a word are alternatives.
fn find_tokens(index: &FtsIndex<'_>, words: &[QueryWord]) -> Result<String, StoreError> {
    let mut tokens = Vec::with_capacity(words.len());
    for word in words {
        tokens.push(match word {
            QueryWord::Exact(token) => token.clone(),
            QueryWord::Inflected(word) => {
                let WordForms { exact, variants } = find_forms(index, word)?;
                let variants = variants.into_iter().map(|(token, _)| token);
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
    /// Other forms that are stored, each with the languages in which it is one.
    variants: Vec<(String, LanguageSet)>,
}

fn find_forms(index: &FtsIndex<'_>, word: &InflectedWord) -> Result<WordForms, StoreError> {
    let mut forms = WordForms::default();
    let mut variants = BTreeMap::new();
    for typed in &word.typed {
        if word.language == Some(QueryLanguage::Vietnamese)
            && let Some(accented) = typed.accented.as_deref().map(accented_token)
            && index.count_rows(&accented)? > 0
        {
            forms.exact.push(accented);
            continue;
        }
        forms.exact.push(exact_token(&typed.folded));
        let languages = languages_of(index, word.language, typed)?;
        for (term, languages) in find_variants(index, &languages, typed)? {
            let known: &mut LanguageSet = variants.entry(term).or_default();
            *known = known.union(languages);
        }
    }
    for token in &forms.exact {
        variants.remove(token);
    }
    forms.variants = most_frequent(index, variants)?;
    Ok(forms)
}

/// Returns the [`MAX_FORMS`] terms with the most rows.
fn most_frequent(
    index: &FtsIndex<'_>,
    terms: BTreeMap<String, LanguageSet>,
) -> Result<Vec<(String, LanguageSet)>, StoreError> {
    if terms.len() <= MAX_FORMS {
        return Ok(terms.into_iter().collect());
    }
    let mut by_rows = Vec::with_capacity(terms.len());
    for (term, languages) in terms {
        by_rows.push((Reverse(index.count_rows(&term)?), term, languages));
    }
    by_rows.sort_unstable_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    by_rows.truncate(MAX_FORMS);
    Ok(by_rows.into_iter().map(|(_, term, languages)| (term, languages)).collect())
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
    let rows = index.languages()?;
    let held = Language::ALL.into_iter().filter(|language| {
        let is_held = || rows.count_rows(*language) * MAX_ROWS_PER_ROW_IN_LANGUAGE;
        language.script() == script && is_held() >= index.cache().rows().max(1)
    });
    let default = script.default_language();
    Ok(default.into_iter().chain(held.filter(|it| Some(*it) != default)).collect())
}

/// Returns the stored words with the stem of the typed one, each with the languages of this stem.
fn find_variants(
    index: &FtsIndex<'_>,
    languages: &[Language],
    typed: &TypedWord,
) -> Result<HashMap<String, LanguageSet>, StoreError> {
    let mut searched = Vec::with_capacity(languages.len());
    for language in languages {
        let stems = WordStems::new(*language, typed);
        let ranges: Vec<String> =
            stems.beginnings(*language).iter().map(|start| stored_beginning(start)).collect();
        searched.push((*language, stems, ranges));
    }
    let languages_of_form = |term: &str| {
        let word = term.trim_start_matches([EXACT_MARK, ACCENT_MARK]);
        let mut languages = LanguageSet::default();
        for (language, stems, ranges) in &searched {
            if ranges.iter().any(|from| term.starts_with(from))
                && with_stem(*language, word, |stem| stems.contains(stem))
            {
                languages = languages.union(languages_with_forms_of(*language));
            }
        }
        languages
    };
    // A term may stand in several segments.
    let mut variants = HashMap::new();
    for from in widest(searched.iter().flat_map(|(_, _, ranges)| ranges)) {
        index.for_each_term(from, &format!("{from}{}", char::MAX), |term| {
            if variants.contains_key(term) {
                return;
            }
            let languages = languages_of_form(term);
            if !languages.is_empty() {
                variants.insert(term.to_owned(), languages);
            }
        })?;
    }
    Ok(variants)
}

/// Returns the languages in whose texts the forms of a word in a language count. Those of English count in
/// all: its stemmer removes little, such as the plural ending that the Spanish one leaves.
fn languages_with_forms_of(language: Language) -> LanguageSet {
    match language {
        Language::English => LanguageSet::ALL,
        other => other.into(),
    }
}

/// Returns how the stored words begin that begin with some letters.
fn stored_beginning(start: &str) -> String {
    let is_accented = !start.is_ascii() && Script::of_word(start) == Some(Script::Latin);
    match (is_accented, start.is_ascii()) {
        (true, _) => format!("{ACCENT_MARK}{start}"),
        (false, true) => format!("{EXACT_MARK}{start}"),
        (false, false) => start.to_owned(),
    }
}

/// Returns the beginnings that do not begin with another one.
fn widest<'b>(beginnings: impl Iterator<Item = &'b String>) -> Vec<&'b str> {
    // In order, each follows those that it begins with.
    let sorted: BTreeSet<&str> = beginnings.map(String::as_str).collect();
    let mut kept: Vec<&str> = Vec::new();
    for beginning in sorted {
        if kept.last().is_none_or(|last| !beginning.starts_with(last)) {
            kept.push(beginning);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_within_others_are_left_out() {
        let beginnings = ["=kne", "=kn", "=knead", "~kné", "=ko", "kn"].map(str::to_owned);
        assert_eq!(widest(beginnings.iter()), ["=kn", "=ko", "kn", "~kné"]);
    }
}
