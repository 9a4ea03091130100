//! Word segmentation for search.
//!
//! Case, width and diacritics are folded. Scripts written without spaces give one word per
//! character, so that any part of a run can be found. Compound names such as `camelCase` give their
//! parts and, at the position of the first part, the whole name as a [`WordKind::Name`]; so do
//! names with signs such as `C++`. Words that are written in several ways such as `e-mail` give a
//! [`WordKind::Joined`] there.

use std::ops::{ControlFlow, Range};

use unicode_normalization::UnicodeNormalization as _;

use crate::{
    folding::fold_letter_slowly,
    language::Script,
    letters::{is_folded, is_letter, is_mark, is_unspaced},
    spellings::{
        MAX_JOINED_START, emoji_length, is_emoji, is_flag_half, joined_word_end, number_border,
        numbered_name_end,
    },
    word_beginnings::WordBeginnings,
};

/// Maximum length of a word, in bytes. Only the beginning of a longer run (base64, minified code)
/// is used.
const MAX_WORD_BYTES: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Folded letters, not stemmed.
    pub folded: &'a str,
    /// The same with the accents of Latin letters, if it has any.
    pub accented: Option<&'a str>,
    /// Number of preceding words. A compound name has the position of its first part.
    pub position: usize,
    /// Kind of the word.
    pub kind: WordKind,
}

/// Kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A run of letters and digits.
    Plain,
    /// One character of a script without spaces.
    Unspaced,
    /// A compound name, or a name with signs. Its parts follow.
    Name,
    /// Letters and digits of a word with signs or a number, such as `email` of `e-mail`. Its parts
    /// follow.
    Joined,
}

impl WordKind {
    /// Returns whether the word is a whole of which the parts follow.
    pub fn has_parts(self) -> bool {
        matches!(self, Self::Name | Self::Joined)
    }
}

/// Folds the letters of a text like those of a word. Other characters are omitted.
pub fn fold_word(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    text.chars()
        .filter(|letter| is_letter(*letter))
        .for_each(|letter| fold_letter(letter, &mut folded));
    folded
}

/// Calls `visit` for every word of `text`, until it breaks.
pub fn for_each_word(text: &str, visit: impl FnMut(Word<'_>) -> ControlFlow<()>) {
    let _broken_off = WordWalk::new(text, |_| true, visit).visit_part(0..text.len());
}

/// Calls `visit` for every word with one of the beginnings, until it breaks. Other words are not
/// looked at, so positions are no numbers of words: they differ by one between adjacent words, and by
/// more between others.
pub fn for_each_candidate_word(
    text: &str,
    beginnings: &WordBeginnings,
    visit: impl FnMut(Word<'_>) -> ControlFlow<()>,
) {
    let mut walk = WordWalk::new(text, |word| beginnings.may_match(word), visit);
    let mut end = 0;
    while let Some(part) = beginnings.next_part(text, end) {
        walk.skip_part(end..part.start);
        end = part.end;
        if walk.visit_part(part).is_break() {
            break;
        }
    }
}

/// State of the iteration over the words of a text.
struct WordWalk<'a, M, V> {
    text: &'a str,
    position: usize,
    /// End of the last word that was joined.
    joined_until: usize,
    folded: String,
    accented: String,
    /// Returns whether a word is visited. Where possible, it is called before folding, so the word may
    /// be in any case.
    may_matter: M,
    visit: V,
}

impl<'a, M: Fn(&str) -> bool, V: FnMut(Word<'_>) -> ControlFlow<()>> WordWalk<'a, M, V> {
    fn new(text: &'a str, may_matter: M, visit: V) -> Self {
        let (folded, accented) = (String::new(), String::new());
        Self { text, position: 0, joined_until: 0, folded, accented, may_matter, visit }
    }

    /// Counts at most one word of a part of the text without letters of other scripts.
    fn skip_part(&mut self, part: Range<usize>) {
        let skipped = self.text.as_bytes().get(part).unwrap_or_default();
        self.position += usize::from(skipped.iter().any(u8::is_ascii_alphanumeric));
    }

    /// Visits the words that start in a part of the text.
    fn visit_part(&mut self, part: Range<usize>) -> ControlFlow<()> {
        let bytes = self.text.as_bytes();
        let mut at = part.start;
        while at < part.end {
            let start = at;
            at = ascii_run_end(bytes, start);
            // Most runs end at an ASCII character, which needs no decoding.
            let is_ascii = bytes.get(at).is_none_or(u8::is_ascii);
            if !is_ascii && (at == start || continues_word(self.text, at)) {
                at = self.visit_folded_word(start)?;
            } else if at == start {
                at += 1;
            } else {
                self.visit_ascii_run(start..at)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Visits a run of ASCII letters and digits: a word, or several with their parts.
    fn visit_ascii_run(&mut self, place: Range<usize>) -> ControlFlow<()> {
        let run = self.text.get(place.clone()).unwrap_or_default();
        if is_plain_word(self.text.as_bytes(), &place) {
            return self.visit_ascii_word(place, WordKind::Plain);
        }
        let rest = self.text.get(place.end..).unwrap_or_default();
        if place.start >= self.joined_until
            && let Some(end) = joined_word_end(self.text, place.start, place.end)
        {
            self.joined_until = end;
            self.visit_joined_word(place.start..end)?;
        }
        let signs = count_name_signs(run, rest);
        if signs > 0 {
            self.visit_ascii_word(place.start..place.end + signs, WordKind::Name)?;
        }
        let Some(border) = number_border(run).filter(|_| run.len() <= MAX_WORD_BYTES) else {
            return self.visit_name_parts(place);
        };
        let border = place.start + border;
        self.visit_ascii_word(place.clone(), WordKind::Joined)?;
        self.visit_name_parts(place.start..border)?;
        self.visit_name_parts(border..place.end)
    }

    /// Visits a word with signs, without them.
    fn visit_joined_word(&mut self, range: Range<usize>) -> ControlFlow<()> {
        let written = self.text.get(range.clone()).unwrap_or_default();
        self.folded = fold_word(written);
        self.folded.truncate(self.folded.floor_char_boundary(MAX_WORD_BYTES));
        if !(self.may_matter)(&self.folded) {
            return ControlFlow::Continue(());
        }
        let (folded, position) = (&self.folded, self.position);
        (self.visit)(Word { range, folded, accented: None, position, kind: WordKind::Joined })
    }

    /// Visits a word, or a compound name with its parts.
    fn visit_name_parts(&mut self, place: Range<usize>) -> ControlFlow<()> {
        let run = self.text.get(place.clone()).unwrap_or_default();
        let is_name = name_part_starts(run).next().is_some();
        if let Some(end) = numbered_name_end(self.text, place.end).filter(|_| is_name) {
            self.visit_joined_word(place.start..end)?;
        }
        let mut start = place.start;
        if run.len() <= MAX_WORD_BYTES {
            for cut in name_part_starts(run) {
                if start == place.start {
                    self.visit_ascii_word(place.clone(), WordKind::Name)?;
                }
                self.visit_ascii_word(start..place.start + cut, WordKind::Plain)?;
                start = place.start + cut;
            }
        }
        self.visit_ascii_word(start..place.end, WordKind::Plain)
    }

    /// Visits one ASCII word.
    fn visit_ascii_word(&mut self, place: Range<usize>, kind: WordKind) -> ControlFlow<()> {
        let end = place.end.min(place.start + MAX_WORD_BYTES);
        let word = self.text.get(place.start..end).unwrap_or_default();
        let position = self.position;
        if !kind.has_parts() {
            self.position += 1;
        }
        if !(self.may_matter)(word) {
            return ControlFlow::Continue(());
        }
        self.folded.clear();
        self.folded.push_str(word);
        self.folded.make_ascii_lowercase();
        let folded = &self.folded;
        (self.visit)(Word { range: place, folded, accented: None, position, kind })
    }

    /// Visits the word in any script that starts at `start`, if there is one. Returns the position
    /// after it.
    fn visit_folded_word(&mut self, start: usize) -> ControlFlow<(), usize> {
        self.folded.clear();
        let (end, kind) = fold_run(self.text, start, &mut self.folded);
        if self.folded.is_empty() {
            let length = emoji_length(self.text.get(start..).unwrap_or_default());
            self.visit_emoji(start..start + length)?;
            return ControlFlow::Continue(end.max(start + length));
        }
        let position = self.position;
        self.position += 1;
        if (self.may_matter)(&self.folded) {
            let written = self.text.get(start..end).unwrap_or_default();
            let folded = self.folded.as_str();
            let is_latin = || Script::of_word(written) == Some(Script::Latin);
            let accented = (kind != WordKind::Unspaced && folded != written && is_latin())
                .then(|| {
                    fold_case(written, &mut self.accented);
                    self.accented.as_str()
                })
                .filter(|accented| *accented != folded);
            (self.visit)(Word { range: start..end, folded, accented, position, kind })?;
        }
        ControlFlow::Continue(end)
    }

    /// Visits each picture of an emoji as a word, without skin tones. All have the range of the
    /// whole, because a part of it is another character.
    fn visit_emoji(&mut self, range: Range<usize>) -> ControlFlow<()> {
        let written = self.text.get(range.clone()).unwrap_or_default();
        let mut pictures = written.chars().filter(|it| is_emoji(*it));
        while let Some(picture) = pictures.next() {
            self.folded.clear();
            self.folded.push(picture);
            if is_flag_half(picture) {
                self.folded.extend(pictures.next());
            }
            let position = self.position;
            self.position += 1;
            if (self.may_matter)(&self.folded) {
                let (range, folded) = (range.clone(), &self.folded);
                let kind = WordKind::Plain;
                (self.visit)(Word { range, folded, accented: None, position, kind })?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether the character at a position continues the word before it.
fn continues_word(text: &str, at: usize) -> bool {
    let next = text.get(at..).and_then(|rest| rest.chars().next());
    next.is_some_and(|next| is_letter(next) || is_mark(next))
}

/// Returns the end of the run of ASCII letters and digits that starts at `start`.
fn ascii_run_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Returns whether a run of ASCII letters and digits is a plain word: it has neither digits nor inner
/// capitals, and cannot be the beginning of a word with signs. Most words are.
fn is_plain_word(text: &[u8], run: &Range<usize>) -> bool {
    let Some([first, others @ ..]) = text.get(run.clone()) else { return false };
    let has_sign = match text.get(run.end) {
        None | Some(b' ' | b'\n') => false,
        Some(b'+' | b'#') => true,
        Some(_) => run.len() <= MAX_JOINED_START,
    };
    first.is_ascii_alphabetic() && others.iter().all(u8::is_ascii_lowercase) && !has_sign
}

/// Returns the number of signs after a run that belong to its name, as in `C++` and `C#`.
fn count_name_signs(run: &str, rest: &str) -> usize {
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

/// Returns the start of each part of a name such as `camelCase` or `HTTPServer`, except the first.
/// The `s` of `PDFs` is not a part.
fn name_part_starts(run: &str) -> impl Iterator<Item = usize> {
    let bytes = run.as_bytes();
    let lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let plural = move |at: usize| bytes.get(at + 1..).is_some_and(|rest| rest == b"s");
    (1..bytes.len())
        .filter(move |&at| upper(at) && (!upper(at - 1) || (lower(at + 1) && !plural(at))))
}

/// Folds the word that starts at `start` and returns its end and kind. Folds nothing if no word
/// starts there.
fn fold_run(text: &str, start: usize, folded: &mut String) -> (usize, WordKind) {
    let mut letters = text.get(start..).unwrap_or_default().chars();
    let Some(first) = letters.next() else { return (text.len(), WordKind::Plain) };
    let mut end = start + first.len_utf8();
    if !is_letter(first) {
        return (end, WordKind::Plain);
    }
    let solid = is_unspaced(first);
    fold_letter(first, folded);
    for next in letters {
        if !is_mark(next) && (solid || !is_letter(next) || is_unspaced(next)) {
            break;
        }
        if folded.len() < MAX_WORD_BYTES {
            match (next, folded.chars().next_back()) {
                // Decomposed, as in names of files on some systems.
                ('\u{306}', Some('и')) => replace_last(folded, 'й'),
                ('\u{308}', Some('і')) => replace_last(folded, 'ї'),
                _ => fold_letter(next, folded),
            }
        }
        end += next.len_utf8();
    }
    (end, if solid { WordKind::Unspaced } else { WordKind::Plain })
}

fn replace_last(folded: &mut String, letter: char) {
    folded.pop();
    folded.push(letter);
}

/// Appends the folded letter: lowercase, of normal width, without marks except those of scripts in
/// which they are vowels or other letters.
fn fold_letter(letter: char, folded: &mut String) {
    if letter.is_ascii() {
        folded.push(letter.to_ascii_lowercase());
    } else if is_folded(letter) {
        folded.push(letter);
    } else {
        fold_letter_slowly(letter, folded);
    }
}

/// Writes a word in lowercase, with its accents composed.
fn fold_case(word: &str, lower: &mut String) {
    lower.clear();
    lower.extend(word.chars().flat_map(char::to_lowercase).nfc());
    if lower.len() > MAX_WORD_BYTES {
        lower.truncate(lower.floor_char_boundary(MAX_WORD_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of a text, each with its position.
    fn positioned_words(text: &str) -> String {
        let mut words = Vec::new();
        for_each_word(text, |word| {
            words.push(format!("{}{}", word.position, word.folded));
            ControlFlow::Continue(())
        });
        words.join(" ")
    }

    #[test]
    fn words_fold_case_width_and_diacritics() {
        for (written, read) in [
            ("Kneading the DOUGH", "0kneading 1the 2dough"),
            ("Crème Brûlée", "0creme 1brulee"),
            ("Straße", "0strasse"),
            ("ＦＵＬＬ width", "0full 1width"),
            ("don't x2 3.14", "0don 1t 2x2 33 414"),
            ("readFiles… “iPhone”", "0readfiles 0read 1files 2iphone 2i 3phone"),
        ] {
            assert_eq!(positioned_words(written), read);
        }
    }

    #[test]
    fn unspaced_text_gives_one_word_per_character() {
        assert_eq!(positioned_words("東京タワーへ"), "0東 1京 2タ 3ワ 4ー 5へ");
        assert_eq!(positioned_words("서울역"), "0서 1울 2역");
        assert_eq!(positioned_words("Tokyo東京2020"), "0tokyo 1東 2京 32020");
        assert_eq!(positioned_words("佐々木"), "0佐 1々 2木");
    }

    #[test]
    fn compound_name_gives_whole_and_parts() {
        assert_eq!(positioned_words("camelCase x"), "0camelcase 0camel 1case 2x");
        assert_eq!(positioned_words("HTTPServer2Go"), "0httpserver2go 0http 1server2 2go");
        assert_eq!(positioned_words("snake_case quux-bar"), "0snake 1case 2quux 3bar");
        assert_eq!(positioned_words("C++ or C#, not C"), "0c++ 0c 1or 2c# 2c 3not 4c");
        assert_eq!(positioned_words("PDFs of NASA"), "0pdfs 1of 2nasa");
        assert_eq!(positioned_words("a+b #1 x#y"), "0a 1b 21 3x 4y");
    }

    #[test]
    fn word_with_signs_gives_joined_word_and_parts() {
        for (written, read) in [
            ("e-mail re\u{2011}use", "0email 0e 1mail 2reuse 2re 3use"),
            ("e-mail-address T-Müll", "0email 0e 1mail 2address 3tmull 3t 4mull"),
            ("up-to-date two-dimensional", "0up 1to 2date 3two 3dimensional"),
            ("the U.S.A. and e.g. this", "0the 1usa 1u 2s 3a 4and 5eg 5e 6g 7this"),
            ("a.out main.c v1.2.3", "0a 1out 2main 3c 4v1 52 63"),
        ] {
            let read = read.replace("3two 3dim", "3twodimensional 3two 4dim");
            assert_eq!(positioned_words(written), read, "{written}");
        }
    }

    #[test]
    fn grouped_digits_give_joined_number() {
        for (written, read) in [
            ("12,500.00 1.234.567", "012500 012 1500 200 31234567 31 4234 5567"),
            ("12\u{202f}500 and 1'000", "012500 012 1500 2and 31000 31 4000"),
            ("3.14 0.125 192.168.1.1", "03 114 20 3125 4192 5168 61 71"),
            ("1,2500 2024-05-01", "01 12500 22024 305 401"),
        ] {
            assert_eq!(positioned_words(written), read, "{written}");
        }
    }

    #[test]
    fn word_with_number_gives_whole_and_parts() {
        for (written, read) in [
            ("iPhone15 covid19", "0iphone15 0iphone 0i 1phone 215 3covid19 3covid 419"),
            ("iPhone 15, iPhone 15a", "0iphone15 0iphone 0i 1phone 215 3iphone 3i 4phone 515a"),
            ("15mm 2nd x2 a3f5 1990s", "015mm 015 1mm 22nd 3x2 4a3f5 51990s"),
        ] {
            assert_eq!(positioned_words(written), read, "{written}");
        }
    }

    #[test]
    fn emoji_are_words_without_modifiers() {
        for (written, read) in [
            ("great🙂🎉", "0great 1🙂 2🎉"),
            ("👍🏽 ❤️ 🇩🇪🇫🇷", "0👍 1❤ 2🇩🇪 3🇫🇷"),
            ("👩🏽\u{200d}💻 → ™ 1️⃣", "0👩 1💻 21"),
        ] {
            assert_eq!(positioned_words(written), read, "{written}");
        }
    }

    #[test]
    fn word_ranges_match_the_text() {
        let text = "Ä naïve 東京 fooBar C++";
        let mut seen = Vec::new();
        for_each_word(text, |word| {
            seen.push(text[word.range].to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(seen, ["Ä", "naïve", "東", "京", "fooBar", "foo", "Bar", "C++", "C"]);
    }

    #[test]
    fn very_long_word_is_truncated() {
        let mut longest = 0;
        for text in ["a".repeat(10_000), "aB".repeat(10_000), "é".repeat(10_000)] {
            for_each_word(&text, |word| {
                longest = longest.max(word.folded.len());
                ControlFlow::Continue(())
            });
        }
        assert!(longest <= MAX_WORD_BYTES);
    }
}
