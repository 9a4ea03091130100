//! The words of a text, as search sees them.
//!
//! Case, width and diacritics are folded away and English endings are cut
//! off, the same for what is stored, what is asked and what is shown. Scripts
//! that are written without spaces give one word for each character, so that
//! any part of a run can be found. The full-text tables hold these words
//! instead of the text (`docs/adr/0002-folded-words.md`).

use std::ops::{ControlFlow, Range};

use snowball_stemmers_rs::{Algorithm, Stemmer};
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The longest run of characters that is looked at as one word, in bytes.
/// What is longer (base64, minified code) counts by its beginning.
const LONGEST: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// Where it stands in the text, in bytes.
    pub(crate) place: Range<usize>,
    /// Its letters, folded; endings are still there.
    pub(crate) folded: &'a str,
    /// Whether it is one character of a run without spaces.
    pub(crate) solid: bool,
}

thread_local! {
    static STEMMER: Stemmer = Stemmer::create(Algorithm::English);
}

/// Hands every word of `text` to `visit`, until it breaks off.
pub(crate) fn each_word(text: &str, visit: impl FnMut(Word<'_>) -> ControlFlow<()>) {
    each_word_like(text, |_| true, visit);
}

/// The same, passing over words that `may_matter` does not accept. It is asked
/// before a word is folded where it can be: case may be as it is written.
pub(crate) fn each_word_like(
    text: &str,
    may_matter: impl Fn(&str) -> bool,
    mut visit: impl FnMut(Word<'_>) -> ControlFlow<()>,
) {
    let bytes = text.as_bytes();
    let mut folded = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let mut solid = false;
        at = ascii_end(bytes, start);
        let plain = bytes.get(at).is_none_or(u8::is_ascii);
        folded.clear();
        if plain {
            if at == start {
                at += 1;
                continue;
            }
            let word = text.get(start..at.min(start + LONGEST)).unwrap_or_default();
            if !may_matter(word) {
                continue;
            }
            folded.push_str(word);
            folded.make_ascii_lowercase();
        } else {
            (at, solid) = fold_word(text, start, &mut folded);
            if folded.is_empty() || !may_matter(&folded) {
                continue;
            }
        }
        if visit(Word { place: start..at, folded: &folded, solid }).is_break() {
            return;
        }
    }
}

/// Where the run of ASCII letters and digits that begins at `start` ends.
fn ascii_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Folds the word that begins at `start`, in any script; tells where it ends
/// and whether it is one character of a run. Folds nothing if none begins there.
fn fold_word(text: &str, start: usize, folded: &mut String) -> (usize, bool) {
    let mut letters = text.get(start..).unwrap_or_default().chars();
    let Some(first) = letters.next() else { return (text.len(), false) };
    let mut end = start + first.len_utf8();
    if !is_letter(first) {
        return (end, false);
    }
    let solid = is_solid(first);
    fold(first, folded);
    for next in letters {
        if !is_combining_mark(next) && (solid || !is_letter(next) || is_solid(next)) {
            break;
        }
        if folded.len() < LONGEST {
            fold(next, folded);
        }
        end += next.len_utf8();
    }
    (end, solid)
}

/// Cuts an English ending off a folded word.
pub(crate) fn with_stem<T>(folded: &str, then: impl FnOnce(&str) -> T) -> T {
    let inflected = folded.len() > 2 && folded.bytes().all(|byte| byte.is_ascii_lowercase());
    if inflected { STEMMER.with(|stemmer| then(&stemmer.stem(folded))) } else { then(folded) }
}

/// The words of a text as a full-text table stores them, apart by spaces.
pub fn folded_text(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    each_word(text, |word| {
        if !words.is_empty() {
            words.push(' ');
        }
        with_stem(word.folded, |stem| words.push_str(stem));
        ControlFlow::Continue(())
    });
    words
}

pub(super) fn is_letter(letter: char) -> bool {
    if letter.is_ascii() { letter.is_ascii_alphanumeric() } else { letter.is_alphanumeric() }
}

/// Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar: written without spaces, or
/// with endings that cling to the word.
pub(super) fn is_solid(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x3130..=0x318F | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0xFF66..=0xFFDC | 0x2_0000..=0x3_FFFF)
}

fn fold(letter: char, folded: &mut String) {
    if letter.is_ascii() {
        folded.push(letter.to_ascii_lowercase());
        return;
    }
    // Hangul would fall apart into its strokes.
    if matches!(u32::from(letter), 0xAC00..=0xD7AF) {
        folded.push(letter);
        return;
    }
    for lower in letter.to_lowercase() {
        decompose_compatible(lower, |part| match u32::from(part) {
            0x0300..=0x036F => {}
            0x00DF => folded.push_str("ss"),
            _ => folded.extend(part.to_lowercase()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_width_diacritics_and_endings_do_not_matter() {
        for (written, stored) in [
            ("Kneading the DOUGH", "knead the dough"),
            ("Crème Brûlée", "creme brule"),
            ("Straße", "strass"),
            ("ＦＵＬＬ width", "full width"),
            ("don't R&D C++ foo-bar", "don t r d c foo bar"),
            ("x2 3.14", "x2 3 14"),
        ] {
            assert_eq!(folded_text(written), stored);
        }
    }

    #[test]
    fn a_run_without_spaces_is_stored_character_by_character() {
        assert_eq!(folded_text("東京タワーへ"), "東 京 タ ワ ー へ");
        assert_eq!(folded_text("서울역"), "서 울 역");
        assert_eq!(folded_text("Tokyo東京2020"), "tokyo 東 京 2020");
    }

    #[test]
    fn the_ideographic_number_and_iteration_marks_are_words() {
        assert_eq!(folded_text("佐々木"), "佐 々 木");
    }

    #[test]
    fn every_word_stands_where_it_says() {
        let text = "Ä naïve 東京 fox";
        let mut seen = Vec::new();
        each_word(text, |word| {
            seen.push(text[word.place].to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(seen, ["Ä", "naïve", "東", "京", "fox"]);
    }

    #[test]
    fn an_endless_word_is_cut() {
        assert!(folded_text(&"a".repeat(10_000)).len() <= LONGEST);
    }
}
