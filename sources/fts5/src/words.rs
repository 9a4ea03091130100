//! The words of a text, as search sees them.
//!
//! Case, width and diacritics are folded away. Scripts that are written
//! without spaces give one word for each character, so that any part of a run
//! can be found. Names such as `camelCase` give their parts, and themselves as
//! a [`Kind::Whole`] at the place of their first part; so does `C++`.

use std::ops::{ControlFlow, Range};

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The longest run of characters that is looked at as one word, in bytes.
/// What is longer (base64, minified code) counts by its beginning.
const LONGEST: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Where it stands in the text, in bytes.
    pub place: Range<usize>,
    /// Its letters, folded; endings are still there.
    pub folded: &'a str,
    /// How many words come before it. A whole name stands where its first part does.
    pub position: usize,
    /// What kind of word it is.
    pub kind: Kind,
}

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run of letters and digits.
    Plain,
    /// One character of a run without spaces.
    Solid,
    /// A name of several parts, or one with its signs; the parts come after it.
    Whole,
}

/// The letters of a text, folded as those of a word are; what is no letter is
/// left out.
pub fn fold_word(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    text.chars().filter(|letter| is_letter(*letter)).for_each(|letter| fold(letter, &mut folded));
    folded
}

/// Hands every word of `text` to `visit`, until it breaks off.
pub fn each_word(text: &str, visit: impl FnMut(Word<'_>) -> ControlFlow<()>) {
    each_word_like(text, |_| true, visit);
}

/// The same, passing over words that `may_matter` does not accept. It is asked
/// before a word is folded where it can be: case may be as it is written.
pub fn each_word_like(
    text: &str,
    may_matter: impl Fn(&str) -> bool,
    visit: impl FnMut(Word<'_>) -> ControlFlow<()>,
) {
    let mut walk = Walk { text, position: 0, folded: String::new(), may_matter, visit };
    let _broken_off = walk.run();
}

/// A walk over the words of a text.
struct Walk<'a, M, V> {
    text: &'a str,
    position: usize,
    folded: String,
    may_matter: M,
    visit: V,
}

impl<M: Fn(&str) -> bool, V: FnMut(Word<'_>) -> ControlFlow<()>> Walk<'_, M, V> {
    fn run(&mut self) -> ControlFlow<()> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            at = ascii_end(bytes, start);
            if !bytes.get(at).is_none_or(u8::is_ascii) {
                at = self.folding(start)?;
            } else if at == start {
                at += 1;
            } else {
                self.ascii(start..at)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A run of ASCII letters and digits: a word, or a name with its parts.
    fn ascii(&mut self, place: Range<usize>) -> ControlFlow<()> {
        let run = self.text.get(place.clone()).unwrap_or_default();
        let rest = self.text.get(place.end..).unwrap_or_default();
        let signs = signs_after(run, rest);
        if signs > 0 {
            self.plain(place.start..place.end + signs, Kind::Whole)?;
        }
        let mut start = place.start;
        if run.len() <= LONGEST {
            for cut in cuts(run) {
                if start == place.start {
                    self.plain(place.clone(), Kind::Whole)?;
                }
                self.plain(start..place.start + cut, Kind::Plain)?;
                start = place.start + cut;
            }
        }
        self.plain(start..place.end, Kind::Plain)
    }

    /// Shows a piece of ASCII.
    fn plain(&mut self, place: Range<usize>, kind: Kind) -> ControlFlow<()> {
        let end = place.end.min(place.start + LONGEST);
        let word = self.text.get(place.start..end).unwrap_or_default();
        let position = self.position;
        if kind != Kind::Whole {
            self.position += 1;
        }
        if !(self.may_matter)(word) {
            return ControlFlow::Continue(());
        }
        self.folded.clear();
        self.folded.push_str(word);
        self.folded.make_ascii_lowercase();
        (self.visit)(Word { place, folded: &self.folded, position, kind })
    }

    /// Folds the word that begins at `start`, in any script, and shows it, if
    /// one begins there; tells where to go on.
    fn folding(&mut self, start: usize) -> ControlFlow<(), usize> {
        self.folded.clear();
        let (end, kind) = fold_run(self.text, start, &mut self.folded);
        if self.folded.is_empty() {
            return ControlFlow::Continue(end);
        }
        let position = self.position;
        self.position += 1;
        if (self.may_matter)(&self.folded) {
            (self.visit)(Word { place: start..end, folded: &self.folded, position, kind })?;
        }
        ControlFlow::Continue(end)
    }
}

/// Where the run of ASCII letters and digits that begins at `start` ends.
fn ascii_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// How many signs after a run belong to its name: `C++`, `C#`.
fn signs_after(run: &str, rest: &str) -> usize {
    if !run.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return 0;
    }
    let signs = match rest.as_bytes() {
        [b'+', b'+', ..] => 2,
        [b'#', ..] => 1,
        _ => 0,
    };
    let next = rest.get(signs..).and_then(|rest| rest.chars().next());
    if next.is_some_and(|next| is_letter(next) || matches!(next, '+' | '#')) { 0 } else { signs }
}

/// Where the parts of a name like `camelCase` or `HTTPServer` begin, but for
/// the first. The `s` of `PDFs` is no part.
fn cuts(run: &str) -> impl Iterator<Item = usize> {
    let bytes = run.as_bytes();
    let lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let plural = move |at: usize| bytes.get(at + 1..).is_some_and(|rest| rest == b"s");
    (1..bytes.len())
        .filter(move |&at| upper(at) && (!upper(at - 1) || (lower(at + 1) && !plural(at))))
}

/// Folds the word that begins at `start`; tells where it ends and what kind it
/// is. Folds nothing if none begins there.
fn fold_run(text: &str, start: usize, folded: &mut String) -> (usize, Kind) {
    let mut letters = text.get(start..).unwrap_or_default().chars();
    let Some(first) = letters.next() else { return (text.len(), Kind::Plain) };
    let mut end = start + first.len_utf8();
    if !is_letter(first) {
        return (end, Kind::Plain);
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
    (end, if solid { Kind::Solid } else { Kind::Plain })
}

/// Whether it is part of a word.
pub fn is_letter(letter: char) -> bool {
    if letter.is_ascii() { letter.is_ascii_alphanumeric() } else { letter.is_alphanumeric() }
}

/// Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar: written without spaces, or
/// with endings that cling to the word.
pub fn is_solid(letter: char) -> bool {
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

    /// The words of a text, with their positions.
    fn words(text: &str) -> String {
        let mut words = Vec::new();
        each_word(text, |word| {
            words.push(format!("{}{}", word.position, word.folded));
            ControlFlow::Continue(())
        });
        words.join(" ")
    }

    #[test]
    fn case_width_and_diacritics_do_not_matter() {
        for (written, read) in [
            ("Kneading the DOUGH", "0kneading 1the 2dough"),
            ("Crème Brûlée", "0creme 1brulee"),
            ("Straße", "0strasse"),
            ("ＦＵＬＬ width", "0full 1width"),
            ("don't x2 3.14", "0don 1t 2x2 33 414"),
        ] {
            assert_eq!(words(written), read);
        }
    }

    #[test]
    fn a_run_without_spaces_is_read_character_by_character() {
        assert_eq!(words("東京タワーへ"), "0東 1京 2タ 3ワ 4ー 5へ");
        assert_eq!(words("서울역"), "0서 1울 2역");
        assert_eq!(words("Tokyo東京2020"), "0tokyo 1東 2京 32020");
        assert_eq!(words("佐々木"), "0佐 1々 2木");
    }

    #[test]
    fn a_name_is_read_whole_and_in_parts() {
        assert_eq!(words("camelCase x"), "0camelcase 0camel 1case 2x");
        assert_eq!(words("HTTPServer2Go"), "0httpserver2go 0http 1server2 2go");
        assert_eq!(words("snake_case foo-bar"), "0snake 1case 2foo 3bar");
        assert_eq!(words("C++ or C#, not C"), "0c++ 0c 1or 2c# 2c 3not 4c");
        assert_eq!(words("PDFs of NASA"), "0pdfs 1of 2nasa");
        assert_eq!(words("a+b #1 x#y"), "0a 1b 21 3x 4y");
    }

    #[test]
    fn every_word_stands_where_it_says() {
        let text = "Ä naïve 東京 fooBar C++";
        let mut seen = Vec::new();
        each_word(text, |word| {
            seen.push(text[word.place].to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(seen, ["Ä", "naïve", "東", "京", "fooBar", "foo", "Bar", "C++", "C"]);
    }

    #[test]
    fn an_endless_word_is_cut() {
        let mut longest = 0;
        for text in ["a".repeat(10_000), "aB".repeat(10_000), "é".repeat(10_000)] {
            each_word(&text, |word| {
                longest = longest.max(word.folded.len());
                ControlFlow::Continue(())
            });
        }
        assert!(longest <= LONGEST);
    }
}
