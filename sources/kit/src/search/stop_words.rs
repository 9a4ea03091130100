//! Stop words by language, which queries ignore.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::OnceLock,
};

use vademecum_fts5::{fold_word, for_each_word};

/// Minimum number of stop words before a query is treated as another language than English. A
/// single `die` may be English.
const MIN_LANGUAGE_STOP_WORDS: usize = 2;

/// Languages written with spaces that have a stop word list, other than English (ISO 639-1).
const LANGUAGES: [&str; 19] = [
    "ar", "ca", "da", "de", "el", "es", "fi", "fr", "he", "hu", "id", "it", "nl", "no", "pt", "ro",
    "ru", "sv", "tr",
];

/// Stop words of the detected language of a query; `None` means English.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopWords(Option<&'static HashSet<String>>);

impl StopWords {
    /// Detects the language with the most stop words in the text. Ties go to English.
    pub(crate) fn detect(text: &str) -> Self {
        let mut english = 0;
        let mut counts: HashMap<&'static str, usize> = HashMap::new();
        for_each_word(text, |word| {
            english += usize::from(is_stop_word(word.folded));
            for (language, words) in other_languages() {
                if words.contains(word.folded) {
                    *counts.entry(language).or_default() += 1;
                }
            }
            ControlFlow::Continue(())
        });
        let most = counts.iter().map(|(language, count)| (*count, *language)).max();
        let other = most.filter(|(count, _)| *count >= MIN_LANGUAGE_STOP_WORDS.max(english + 1));
        Self(other.and_then(|(_, language)| other_languages().get(language)))
    }

    /// Returns whether a folded word is a stop word.
    pub(crate) fn contains(self, folded: &str) -> bool {
        self.0.map_or_else(|| is_stop_word(folded), |words| words.contains(folded))
    }
}

/// Returns the folded stop words of all languages other than English.
fn other_languages() -> &'static HashMap<&'static str, HashSet<String>> {
    static OTHERS: OnceLock<HashMap<&'static str, HashSet<String>>> = OnceLock::new();
    OTHERS.get_or_init(|| {
        let words = |language: &str| stop_words::lookup(language).unwrap_or_default();
        let folded = |words: &[&str]| words.iter().map(|word| fold_word(word)).collect();
        LANGUAGES.iter().map(|language| (*language, folded(words(language)))).collect()
    })
}

/// Returns whether a folded word is an English stop word.
pub fn is_stop_word(folded: &str) -> bool {
    ENGLISH_STOP_WORDS.binary_search(&folded).is_ok()
}

/// English stop words, sorted for binary search.
const ENGLISH_STOP_WORDS: [&str; 131] = [
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "d", "did", "do", "does", "doing", "don", "down", "during", "each", "few",
    "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "me", "more",
    "most", "my", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other", "our",
    "ours", "out", "over", "own", "please", "re", "s", "same", "shall", "she", "should", "so",
    "some", "such", "t", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "upon", "us",
    "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your", "yours", "yourself",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(ENGLISH_STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("dough"));
    }
}
