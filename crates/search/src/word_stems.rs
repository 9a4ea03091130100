//! The stems of a word of a query, and the letters with which its forms begin.

use std::collections::BTreeSet;

use vademecum_fts5::{Language, Script, fold_word, with_stem};

use super::phrase::TypedWord;

/// Stems of a word as typed, in one language.
#[derive(Clone, Debug, Default)]
pub struct WordStems(BTreeSet<String>);

impl WordStems {
    /// Finds the stems of a word.
    pub fn new(language: Language, typed: &TypedWord) -> Self {
        let stem = |word: &str| with_stem(language, word, str::to_owned);
        let mut stems = BTreeSet::from([stem(&typed.folded)]);
        if let Some(accented) = typed.accented.as_deref().map(stem) {
            // Stored words are mostly folded.
            stems.extend([fold_word(&accented), accented]);
        }
        Self(stems)
    }

    /// Returns whether the word has this stem, folded or with its accents.
    pub fn contains(&self, stem: &str) -> bool {
        self.0.contains(stem)
    }

    /// Returns the stems in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the letters that all stored words with one of the stems start with.
    pub fn beginnings(&self, language: Language) -> Vec<String> {
        let mut beginnings = Vec::new();
        for stem in &self.0 {
            let length = stem.chars().count();
            let kept = length.saturating_sub(count_changed_letters(language, stem)).max(1);
            let kept: String = stem.chars().take(kept).collect();
            let removed = language.removed_prefixes().iter();
            beginnings.extend(removed.map(|removed| format!("{removed}{kept}")));
        }
        beginnings
    }
}

/// Returns the number of letters at the end of a stem that its words may have changed. Many stemmers
/// only remove endings, or change a few letters (`docs/adr/0069-forms-of-own-language.md`).
fn count_changed_letters(language: Language, stem: &str) -> usize {
    let length = stem.chars().count();
    let last = stem.chars().next_back().unwrap_or_default();
    let any_letters = if length <= 4 { 1 } else { 2 };
    match language {
        // `dying` has the stem `die`.
        Language::English if length == 3 && stem.ends_with("ie") => 2,
        Language::English => usize::from(matches!(last, 'e' | 'i' | 'l' | 'y')),
        // Accents may change too.
        _ if !stem.is_ascii() && language.script() == Script::Latin => any_letters,
        Language::Basque
        | Language::Danish
        | Language::Lithuanian
        | Language::Norwegian
        | Language::Polish
        | Language::Portuguese
        | Language::Swedish => 0,
        // `agentiques` has the stem `agentic`.
        Language::Catalan => usize::from(last == 'c'),
        // `advertencia` has the stem `advertent`.
        Language::Italian | Language::Romanian | Language::Spanish => usize::from(last == 't'),
        Language::French if !matches!(last, 'i' | 'l' | 't' | 'u' | 'x') => 0,
        // `kulccsal` has the stem `kulcs`.
        Language::Hungarian => usize::from(matches!(last, 's' | 'y' | 'z')),
        Language::Turkish => 1,
        // `tuer` has the stem `tur`, like `tür`.
        Language::German => {
            let after_vowel = stem.chars().rev().position(|it| matches!(it, 'a' | 'o' | 'u'));
            after_vowel.filter(|letters| *letters <= 2).unwrap_or(0)
        }
        _ => any_letters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_words_begin_like_their_stems() {
        let beginnings = [
            "happ", "relat", "sens", "stud", "hop", "plann", "agre", "fl", "troubl", "conform",
            "hesit", "digit", "radic", "vile", "ana", "oper", "feudal", "decis", "call", "form",
            "electr", "good", "adjust", "irrit", "repl", "depend", "adopt", "effect", "bowdler",
            "prob", "contr", "ceas", "argu", "possibl", "vis", "ug", "earl", "on", "sing", "id",
            "gent", "d", "l", "t", "sk", "n", "inn", "cann", "proc", "exce", "succ", "gener",
            "commun", "arsen",
        ];
        let endings = [
            "", "y", "ie", "ies", "ied", "ying", "e", "es", "ed", "ing", "ings", "s", "ly", "ily",
            "ational", "ation", "ator", "ations", "ization", "izer", "ibility", "ibly", "ible",
            "ability", "able", "ably", "alism", "ality", "al", "ally", "ousness", "ously", "ous",
            "iveness", "ivity", "ive", "fulness", "fully", "ful", "lessly", "less", "icate",
            "iciti", "icity", "ical", "ically", "ness", "ance", "ancy", "ence", "ency", "ement",
            "ments", "ment", "ently", "ent", "ant", "ism", "ist", "ology", "ologist", "ologies",
            "eed", "eedly", "ingly", "edly", "ion", "sion", "tion", "izing", "ating", "bling",
            "ll", "lled", "ling", "ily", "gly",
        ];
        for (beginning, ending) in
            beginnings.into_iter().flat_map(|one| endings.map(|other| (one, other)))
        {
            let folded = format!("{beginning}{ending}");
            let typed = TypedWord { folded, accented: None };
            let stems = WordStems::new(Language::English, &typed);
            let letters = stems.beginnings(Language::English);
            assert!(
                letters.iter().any(|letters| typed.folded.starts_with(letters)),
                "{} has {stems:?}",
                typed.folded
            );
        }
    }
}
