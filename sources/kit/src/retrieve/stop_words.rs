//! Words that say nothing about what a text is about.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::OnceLock,
};

use vademecum_fts5::{each_word, fold_word};

/// Stop words that a query must contain before it is taken to be in a language
/// other than English: `die` alone may be English.
const SIGNS_OF_A_LANGUAGE: usize = 2;

/// Languages that are written with spaces and have stop words here, but for
/// English (ISO 639-1).
const LANGUAGES: [&str; 19] = [
    "ar", "ca", "da", "de", "el", "es", "fi", "fr", "he", "hu", "id", "it", "nl", "no", "pt", "ro",
    "ru", "sv", "tr",
];

/// The stop words of the language that a query seems to be in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopWords(Option<&'static HashSet<String>>);

impl StopWords {
    /// Those of the language of which the text has most; of several, English.
    pub(crate) fn of(text: &str) -> Self {
        let mut english = 0;
        let mut counts: HashMap<&'static str, usize> = HashMap::new();
        each_word(text, |word| {
            english += usize::from(is_stop_word(word.folded));
            for (language, words) in others() {
                if words.contains(word.folded) {
                    *counts.entry(language).or_default() += 1;
                }
            }
            ControlFlow::Continue(())
        });
        let most = counts.iter().map(|(language, count)| (*count, *language)).max();
        let other = most.filter(|(count, _)| *count >= SIGNS_OF_A_LANGUAGE.max(english + 1));
        Self(other.and_then(|(_, language)| others().get(language)))
    }

    /// Whether the folded word is one of them.
    pub(crate) fn contains(self, folded: &str) -> bool {
        self.0.map_or_else(|| is_stop_word(folded), |words| words.contains(folded))
    }
}

/// The stop words of all other languages, folded.
fn others() -> &'static HashMap<&'static str, HashSet<String>> {
    static OTHERS: OnceLock<HashMap<&'static str, HashSet<String>>> = OnceLock::new();
    OTHERS.get_or_init(|| {
        let words = |language: &str| stop_words::lookup(language).unwrap_or_default();
        let folded = |words: &[&str]| words.iter().map(|word| fold_word(word)).collect();
        LANGUAGES.iter().map(|language| (*language, folded(words(language)))).collect()
    })
}

/// Whether a folded word is an English stop word.
pub fn is_stop_word(folded: &str) -> bool {
    STOP_WORDS.binary_search(&folded).is_ok()
}

/// Sorted, so that it can be searched.
const STOP_WORDS: [&str; 131] = [
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
    fn the_list_is_sorted_and_so_can_be_searched() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("dough"));
    }
}
