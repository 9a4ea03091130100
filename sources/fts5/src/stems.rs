//! Stemming with a cache per thread and language.
//!
//! Stemming costs more than all other processing of a word, and texts repeat the same words.

use std::{cell::RefCell, collections::HashMap};

use snowball_stemmers_rs::Stemmer;

use crate::language::Language;

/// Number of words in the cache of a language.
const CACHED_WORDS: usize = 1 << CACHE_INDEX_BITS;
const CACHE_INDEX_BITS: u32 = 12;
/// Maximum length of a cached word, in bytes. Few words are longer.
const MAX_CACHED_WORD_BYTES: usize = 16;

thread_local! {
    static STEMS: RefCell<HashMap<Language, StemCache>> = RefCell::default();
}

/// Calls `then` with the stem of a lowercase word in a language. Words of up to two bytes have no
/// other forms.
pub fn with_stem<T>(language: Language, word: &str, then: impl FnOnce(&str) -> T) -> T {
    if word.len() <= 2 || (language == Language::English && !is_inflected_english(word)) {
        return then(word);
    }
    // Copied, because `then` may call this function again.
    let known = with_cache(language, |stems| stems.stem_of(word));
    match known.as_ref().and_then(CachedWord::as_str) {
        Some(stem) => then(stem),
        None => then(&with_cache(language, |stems| stems.compute_stem(word))),
    }
}

fn with_cache<T>(language: Language, work: impl FnOnce(&mut StemCache) -> T) -> T {
    STEMS.with_borrow_mut(|caches| {
        work(caches.entry(language).or_insert_with(|| StemCache::new(language)))
    })
}

/// Words with digits and names with signs are not words of English.
fn is_inflected_english(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// A word short enough for the cache, zero-padded.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct CachedWord([u8; MAX_CACHED_WORD_BYTES]);

impl CachedWord {
    fn from_word(word: &str) -> Option<Self> {
        let mut letters = [0; MAX_CACHED_WORD_BYTES];
        letters.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
        Some(Self(letters))
    }

    fn as_str(&self) -> Option<&str> {
        let behind = u128::from_le_bytes(self.0).leading_zeros() / u8::BITS;
        let length = MAX_CACHED_WORD_BYTES.saturating_sub(usize::try_from(behind).ok()?);
        str::from_utf8(self.0.get(..length)?).ok()
    }

    /// Returns the cache index of the word, computed by hashing.
    fn cache_index(self) -> usize {
        let (parts, _) = self.0.as_chunks();
        let mixed = parts.iter().fold(0_u64, |mixed, part| {
            (mixed.rotate_left(29) ^ u64::from_le_bytes(*part)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        usize::try_from(mixed >> (u64::BITS - CACHE_INDEX_BITS)).unwrap_or(0)
    }
}

/// A direct-mapped cache of stems. A later word replaces an earlier one with the same index.
struct StemCache {
    language: Language,
    stemmer: Stemmer,
    entries: Vec<(CachedWord, CachedWord)>,
}

impl StemCache {
    fn new(language: Language) -> Self {
        let known = vec![(CachedWord::default(), CachedWord::default()); CACHED_WORDS];
        Self { language, stemmer: Stemmer::create(language.algorithm()), entries: known }
    }

    fn compute_stem(&self, word: &str) -> String {
        // Folding has replaced letters that the stemmers know.
        if self.language == Language::Persian {
            let word: String = word.chars().map(to_persian_letter).collect();
            return self.stemmer.stem(&word).into_owned();
        }
        if let Some(before) = word.strip_suffix('ه').filter(|_| self.language == Language::Arabic)
        {
            return self.stemmer.stem(&format!("{before}ة")).into_owned();
        }
        self.stemmer.stem(word).into_owned()
    }

    /// Returns the stem of a word, or `None` if the word or its stem is too long for the cache.
    fn stem_of(&mut self, word: &str) -> Option<CachedWord> {
        let letters = CachedWord::from_word(word)?;
        let place = letters.cache_index();
        if let Some((_, stem)) = self.entries.get(place).filter(|known| known.0 == letters) {
            return Some(*stem);
        }
        let stem = CachedWord::from_word(&self.compute_stem(word))?;
        if let Some(known) = self.entries.get_mut(place) {
            *known = (letters, stem);
        }
        Some(stem)
    }
}

/// Returns the Persian form of a letter that folding turns into the Arabic one.
fn to_persian_letter(letter: char) -> char {
    match letter {
        'ي' => 'ی',
        'ك' => 'ک',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_stem(word: &str) -> String {
        stem_in(Language::English, word)
    }

    fn stem_in(language: Language, word: &str) -> String {
        with_stem(language, word, str::to_owned)
    }

    #[test]
    fn cached_stem_equals_computed_stem() {
        let stemmer = Stemmer::create(Language::English.algorithm());
        let endings = ["", "s", "ing", "ed", "ational", "iveness", "ousnesses", "ly", "y", "ying"];
        let beginnings = (0..2_000_u32).map(|number| {
            let letter = |shift| char::from(b'a' + u8::try_from(number / shift % 26).unwrap());
            [letter(1), 'o', letter(26), letter(676)].iter().collect::<String>()
        });
        // More words than the cache holds, each looked up again after the others with the same
        // prefix, and after all words.
        let words: Vec<String> = beginnings
            .flat_map(|beginning| endings.map(|ending| beginning.clone() + ending))
            .collect();
        for part in words.chunks(endings.len()).chain([words.as_slice()]) {
            for word in part.iter().chain(part) {
                assert_eq!(to_stem(word), stemmer.stem(word), "{word}");
            }
        }
    }

    #[test]
    fn forms_of_each_language_share_stem() {
        for (language, forms) in [
            (Language::Arabic, ["كتاب", "الكتاب", "كتابهم"]),
            (Language::Arabic, ["المكتبه", "مكتبه", "المكتبة"]),
            (Language::Dutch, ["huizen", "huis", "huizen"]),
            (Language::Finnish, ["talossa", "talo", "taloissa"]),
            (Language::German, ["häuser", "hauser", "haus"]),
            (Language::Greek, ["ανθρωπος", "ανθρωποσ", "ανθρωπων"]),
            (Language::Hindi, ["किताब", "किताबें", "किताबों"]),
            (Language::Persian, ["كتاب", "كتابهاي", "کتاب"]),
            (Language::Russian, ["книга", "книгами", "книг"]),
            (Language::Turkish, ["kitap", "kitaplarımızdan", "kitabı"]),
        ] {
            // Twice, because the second stem is that of the cache.
            for form in forms.iter().chain(&forms) {
                assert_eq!(stem_in(language, form), stem_in(language, forms[0]), "{form}");
            }
        }
    }

    #[test]
    fn only_lowercase_words_of_english_are_stemmed() {
        for (word, cut) in [
            ("kneading", "knead"),
            ("is", "is"),
            ("x2ing", "x2ing"),
            ("über", "über"),
            ("counterrevolutionaries", "counterrevolutionari"),
            ("abcdefghijklmnop", "abcdefghijklmnop"),
        ] {
            assert_eq!(to_stem(word), cut);
        }
    }

    #[test]
    fn stemming_may_be_nested() {
        assert_eq!(
            with_stem(Language::English, "breads", |bread| {
                with_stem(Language::English, "baking", |bake| format!("{bread} {bake}"))
            }),
            "bread bake"
        );
    }
}
