//! Words that are made to be slow in FTS5.
//!
//! FTS5 collects about ten thousand words in a hash table before it writes them, and searches a list of
//! all words with the same hash for each word of a text. Its hash is simple: a text whose words all
//! have the same one took 30 times as long as prose. So a text has few words of one list; others are
//! stored as one [`REPLACEMENT`], at their positions.

use std::{collections::HashMap, hash::BuildHasher as _};

use foldhash::fast::RandomState;

/// Token in place of words that are left out. No word contains this character.
pub(crate) const REPLACEMENT: &str = "\u{fffd}";

/// Number of bits of the hash that choose a list, when the table of FTS5 is full.
const LIST_BITS: u32 = 15;
/// Number of different words that are looked at together: about as many as are in the table.
const MAX_WORDS: usize = 8_192;
/// Number of words of one list in any text, and the number of different words for each further one.
/// Among 8,192 numbers, dates, identifiers or words of any language, 14 have the same list.
const FREE_WORDS: usize = 8;
const WORDS_PER_FREE_WORD: usize = 64;
/// Length of a text, in bytes, up to which all of its words are stored.
const MAX_SHORT_TEXT_BYTES: usize = 256;
/// Value with which the hash of FTS5 begins, and the last byte that it takes in.
const HASH_START: u32 = 13;
const MAIN_INDEX: u8 = b'0';

/// The words of a text, by their lists.
#[derive(Debug)]
pub(crate) struct HashLists {
    /// Whether each of the last words is stored, by its hash, which is not that of FTS5.
    known: HashMap<u64, bool, RandomState>,
    /// Number of stored words of each list; empty for short texts.
    counts: Vec<u8>,
}

impl HashLists {
    pub(crate) fn for_text(text: &str) -> Self {
        let counts = if text.len() <= MAX_SHORT_TEXT_BYTES { 0 } else { 1 << LIST_BITS };
        Self { known: HashMap::default(), counts: vec![0; counts] }
    }

    /// Returns the token to store for a word.
    pub(crate) fn admit<'t>(&mut self, token: &'t str) -> &'t str {
        if self.counts.is_empty() {
            return token;
        }
        let hash = self.known.hasher().hash_one(token);
        if let Some(is_stored) = self.known.get(&hash) {
            return if *is_stored { token } else { REPLACEMENT };
        }
        if self.known.len() >= MAX_WORDS {
            self.known.clear();
            self.counts.fill(0);
        }
        let most = FREE_WORDS + self.known.len() / WORDS_PER_FREE_WORD;
        let count = self.counts.get_mut(list_of(token));
        let count = count.filter(|count| usize::from(**count) < most);
        self.known.insert(hash, count.is_some());
        match count {
            Some(count) => {
                *count += 1;
                token
            }
            None => REPLACEMENT,
        }
    }
}

/// Returns the list of a token: the end of the hash of FTS5 (`fts5HashKey2`).
fn list_of(token: &str) -> usize {
    let bytes = token.bytes().rev().chain([MAIN_INDEX]);
    let hash = bytes.fold(HASH_START, |hash, byte| (hash << 3) ^ hash ^ u32::from(byte));
    (hash & ((1 << LIST_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of different words that are stored.
    fn count_stored<'t>(words: impl Iterator<Item = &'t str>) -> usize {
        let mut lists = HashLists::for_text(&"x".repeat(MAX_SHORT_TEXT_BYTES + 1));
        words.filter(|word| lists.admit(word) == *word).count()
    }

    /// Returns different words of six letters.
    fn six_letters() -> impl Iterator<Item = String> {
        (0_u32..).map(|number| {
            let letter = |place: u32| {
                char::from(b'a' + u8::try_from(number / 26_u32.pow(place) % 26).unwrap())
            };
            (0..6).map(letter).collect()
        })
    }

    #[test]
    fn words_of_one_list_are_left_out() {
        let same: Vec<String> =
            six_letters().filter(|word| list_of(&format!("={word}")) == 7).take(300).collect();
        let tokens: Vec<String> = same.iter().map(|word| format!("={word}")).collect();
        let stored = count_stored(tokens.iter().map(String::as_str));
        assert!(
            (FREE_WORDS..=FREE_WORDS + 300 / WORDS_PER_FREE_WORD).contains(&stored),
            "{stored}"
        );
        // A word that was left out stays so, and one that was stored as well.
        let twice = tokens.iter().chain(&tokens).map(String::as_str);
        assert_eq!(count_stored(twice), 2 * stored);
        assert_eq!(HashLists::for_text("short").admit(&tokens[299]), tokens[299]);
    }

    #[test]
    fn usual_words_are_all_stored() {
        let numbers: Vec<String> = (0..40_000).map(|it| (it * 7).to_string()).collect();
        let hexadecimal: Vec<String> = (0..40_000).map(|it| format!("{it:07x}")).collect();
        let identifiers: Vec<String> = (0..40_000).map(|it| format!("id{it:08}")).collect();
        let dates: Vec<String> = (0..40_000)
            .map(|it| format!("{}{:02}{:02}{:02}", 1900 + it / 400, it % 12, it % 28, it % 24))
            .collect();
        let letters: Vec<String> = six_letters().step_by(97).take(40_000).collect();
        for words in [numbers, hexadecimal, identifiers, dates, letters] {
            let stored = count_stored(words.iter().map(String::as_str));
            assert_eq!(stored, words.len(), "{}", words[1]);
        }
    }
}
