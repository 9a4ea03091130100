//! Stems, and those of the words that were stemmed lately.
//!
//! Cutting an ending off takes longer than all else that happens to a word, and
//! a text says the same words again and again.

use std::cell::RefCell;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// Words that are remembered at most.
const WORDS: usize = 1 << WORD_BITS;
const WORD_BITS: u32 = 12;
/// Longest word that is remembered, in letters. Few are longer.
const LONGEST: usize = 16;

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::new(Stems::new());
}

/// Cuts an English ending off a folded word.
pub fn stem<T>(folded: &str, then: impl FnOnce(&str) -> T) -> T {
    let inflected = folded.len() > 2 && folded.bytes().all(|byte| byte.is_ascii_lowercase());
    if !inflected {
        return then(folded);
    }
    // Copied out, for `then` may ask for another stem.
    let known = STEMS.with_borrow_mut(|stems| stems.of(folded));
    match known.as_ref().and_then(Letters::as_str) {
        Some(stem) => then(stem),
        None => then(&STEMS.with_borrow(|stems| stems.stemmer.stem(folded).into_owned())),
    }
}

/// A word that is short enough to be remembered; behind it are zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Letters([u8; LONGEST]);

impl Letters {
    fn of(word: &str) -> Option<Self> {
        let mut letters = [0; LONGEST];
        letters.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
        Some(Self(letters))
    }

    fn as_str(&self) -> Option<&str> {
        let behind = u128::from_le_bytes(self.0).leading_zeros() / u8::BITS;
        let length = LONGEST.saturating_sub(usize::try_from(behind).ok()?);
        str::from_utf8(self.0.get(..length)?).ok()
    }

    /// The place at which the word is remembered.
    fn place(self) -> usize {
        let (parts, _) = self.0.as_chunks();
        let mixed = parts.iter().fold(0_u64, |mixed, part| {
            (mixed.rotate_left(29) ^ u64::from_le_bytes(*part)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        usize::try_from(mixed >> (u64::BITS - WORD_BITS)).unwrap_or(0)
    }
}

/// The stems of words. Of two words that have the same place, the later one is
/// remembered.
struct Stems {
    stemmer: Stemmer,
    known: Vec<(Letters, Letters)>,
}

impl Stems {
    fn new() -> Self {
        let known = vec![(Letters::default(), Letters::default()); WORDS];
        Self { stemmer: Stemmer::create(Algorithm::English), known }
    }

    /// The stem of a word; none of one that is too long, or whose stem is.
    fn of(&mut self, word: &str) -> Option<Letters> {
        let letters = Letters::of(word)?;
        let known = self.known.get_mut(letters.place())?;
        if known.0 != letters {
            *known = (letters, Letters::of(&self.stemmer.stem(word))?);
        }
        Some(known.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        stem(word, str::to_owned)
    }

    #[test]
    fn a_stem_that_is_remembered_is_the_one_that_was_cut() {
        let stemmer = Stemmer::create(Algorithm::English);
        let endings = ["", "s", "ing", "ed", "ational", "iveness", "ousnesses", "ly", "y", "ying"];
        let beginnings = (0..2_000_u32).map(|number| {
            let letter = |shift| char::from(b'a' + u8::try_from(number / shift % 26).unwrap());
            [letter(1), 'o', letter(26), letter(676)].iter().collect::<String>()
        });
        // More words than are remembered, each asked for again after the others
        // of its beginning, and after all.
        let words: Vec<String> = beginnings
            .flat_map(|beginning| endings.map(|ending| beginning.clone() + ending))
            .collect();
        for part in words.chunks(endings.len()).chain([words.as_slice()]) {
            for word in part.iter().chain(part) {
                assert_eq!(stemmed(word), stemmer.stem(word), "{word}");
            }
        }
    }

    #[test]
    fn only_words_that_can_have_english_endings_are_cut() {
        for (word, cut) in [
            ("kneading", "knead"),
            ("is", "is"),
            ("x2ing", "x2ing"),
            ("über", "über"),
            ("counterrevolutionaries", "counterrevolutionari"),
            ("abcdefghijklmnop", "abcdefghijklmnop"),
        ] {
            assert_eq!(stemmed(word), cut);
        }
    }

    #[test]
    fn a_stem_may_be_asked_for_inside_another() {
        assert_eq!(
            stem("breads", |bread| stem("baking", |bake| format!("{bread} {bake}"))),
            "bread bake"
        );
    }
}
