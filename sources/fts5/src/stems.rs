//! English stemming with a cache per thread.
//!
//! Stemming costs more than all other processing of a word, and texts repeat the same words.

use std::cell::RefCell;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// Number of words in the cache.
const CACHED_WORDS: usize = 1 << CACHE_INDEX_BITS;
const CACHE_INDEX_BITS: u32 = 12;
/// Maximum length of a cached word, in bytes. Few words are longer.
const MAX_CACHED_WORD_BYTES: usize = 16;

thread_local! {
    static STEMS: RefCell<StemCache> = RefCell::new(StemCache::new());
}

/// Calls `then` with the English stem of a folded word.
pub fn with_stem<T>(folded: &str, then: impl FnOnce(&str) -> T) -> T {
    let inflected = folded.len() > 2 && folded.bytes().all(|byte| byte.is_ascii_lowercase());
    if !inflected {
        return then(folded);
    }
    // Copied, because `then` may call this function again.
    let known = STEMS.with_borrow_mut(|stems| stems.stem_of(folded));
    match known.as_ref().and_then(CachedWord::as_str) {
        Some(stem) => then(stem),
        None => then(&STEMS.with_borrow(|stems| stems.stemmer.stem(folded).into_owned())),
    }
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
    stemmer: Stemmer,
    entries: Vec<(CachedWord, CachedWord)>,
}

impl StemCache {
    fn new() -> Self {
        let known = vec![(CachedWord::default(), CachedWord::default()); CACHED_WORDS];
        Self { stemmer: Stemmer::create(Algorithm::English), entries: known }
    }

    /// Returns the stem of a word, or `None` if the word or its stem is too long for the cache.
    fn stem_of(&mut self, word: &str) -> Option<CachedWord> {
        let letters = CachedWord::from_word(word)?;
        let known = self.entries.get_mut(letters.cache_index())?;
        if known.0 != letters {
            *known = (letters, CachedWord::from_word(&self.stemmer.stem(word))?);
        }
        Some(known.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_stem(word: &str) -> String {
        with_stem(word, str::to_owned)
    }

    #[test]
    fn cached_stem_equals_computed_stem() {
        let stemmer = Stemmer::create(Algorithm::English);
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
    fn only_lowercase_ascii_words_are_stemmed() {
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
            with_stem("breads", |bread| with_stem("baking", |bake| format!("{bread} {bake}"))),
            "bread bake"
        );
    }
}
