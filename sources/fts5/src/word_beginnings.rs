//! The letters with which words begin, and where such words may be in a text.
//!
//! Most words of a text are not looked for. The scan reads each byte once and stops at bytes with
//! which a word may begin, and at letters of other scripts, which change when they are folded. What
//! is between them is not divided into words.

use std::ops::Range;

/// Class of a byte that begins a word unless a letter of ASCII is before it.
const WORD_START: u8 = 1;
/// Class of a byte that may begin a word anywhere: capitals and digits begin parts of names.
const PART_START: u8 = 2;
/// Class of a byte of a letter that is not ASCII.
const OTHER_SCRIPT: u8 = 4;

/// Beginnings of words, folded.
#[derive(Clone, Debug)]
pub struct WordBeginnings {
    /// The beginnings by their first byte.
    by_first: Vec<Vec<Box<[u8]>>>,
    /// Class of each byte.
    classes: [u8; 256],
}

impl Default for WordBeginnings {
    fn default() -> Self {
        let class = |byte: usize| if byte < 0x80 { 0 } else { OTHER_SCRIPT };
        Self { by_first: vec![Vec::new(); 256], classes: std::array::from_fn(class) }
    }
}

impl WordBeginnings {
    /// Adds a beginning.
    pub fn add(&mut self, beginning: &str) {
        self.add_bytes(beginning.as_bytes());
    }

    /// Adds all beginnings of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.by_first.iter().flatten().for_each(|beginning| self.add_bytes(beginning));
    }

    fn add_bytes(&mut self, beginning: &[u8]) {
        let first = beginning.first().copied().unwrap_or(0);
        let known = self.by_first.get_mut(usize::from(first));
        if let Some(known) = known.filter(|all| !all.iter().any(|known| **known == *beginning)) {
            known.push(beginning.into());
        }
        let class = if first.is_ascii_lowercase() { WORD_START } else { PART_START };
        for (byte, class) in [(first, class), (first.to_ascii_uppercase(), PART_START)] {
            if let Some(known) = self.classes.get_mut(usize::from(byte)).filter(|it| **it == 0) {
                *known = class;
            }
        }
    }

    /// Returns whether a word starts like one of them. ASCII case is ignored.
    pub fn may_match(&self, word: &str) -> bool {
        let word = word.as_bytes();
        self.starting_like(word).iter().any(|beginning| {
            word.get(..beginning.len()).is_some_and(|same| same.eq_ignore_ascii_case(beginning))
        })
    }

    /// Returns the beginnings with the first byte of a word.
    fn starting_like(&self, word: &[u8]) -> &[Box<[u8]>] {
        let first = word.first().map_or(0, |first| usize::from(first.to_ascii_lowercase()));
        self.by_first.get(first).map_or(&[], Vec::as_slice)
    }

    /// Returns the next part of a text, from `start` on, that may have a word with one of these
    /// beginnings. It is all between two spaces or ends of lines. No word, also of several parts,
    /// goes beyond them, except names with a number such as `iPhone 15`.
    pub(crate) fn next_part(&self, text: &str, start: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let rest = bytes.get(start..)?;
        let mut last = b' ';
        for (at, byte) in rest.iter().copied().enumerate() {
            let class = self.classes.get(usize::from(byte)).copied().unwrap_or(OTHER_SCRIPT);
            let before = std::mem::replace(&mut last, byte);
            let possible = if before.is_ascii_alphabetic() { !WORD_START } else { u8::MAX };
            if class & possible == 0 {
                continue;
            }
            let here = rest.get(at..).unwrap_or_default();
            if class != OTHER_SCRIPT && !(is_part_start(before, here) && self.may_start(here)) {
                continue;
            }
            let is_space = |byte: &u8| byte.is_ascii_whitespace();
            let first = rest.get(..at)?.iter().rposition(is_space).map_or(0, |space| space + 1);
            let length = rest.get(at..)?.iter().position(is_space);
            let end = length.map_or(bytes.len(), |length| start + at + length);
            return Some(start + first..end);
        }
        None
    }

    /// Returns whether a word that starts at the first byte of ASCII text may have one of the
    /// beginnings: as it is written there, or without the signs inside.
    fn may_start(&self, text: &[u8]) -> bool {
        self.starting_like(text).iter().any(|beginning| {
            let pairs = text.iter().zip(beginning.iter());
            let same = pairs.take_while(|(it, other)| it.eq_ignore_ascii_case(other)).count();
            same == beginning.len()
                || match text.get(same..) {
                    Some([b'-' | b'.' | b',' | b'\'', ..]) => true,
                    Some([b' ', next, ..]) => next.is_ascii_digit(),
                    _ => false,
                }
        })
    }
}

/// Returns whether a word may begin between a byte and a capital or digit. Each digit and capital of a
/// long run would be compared otherwise.
fn is_part_start(before: u8, text: &[u8]) -> bool {
    let are_both = |is: fn(&u8) -> bool| is(&before) && text.first().is_some_and(is);
    let ends_capitals = text.get(1).is_some_and(u8::is_ascii_lowercase);
    !are_both(u8::is_ascii_digit) && (ends_capitals || !are_both(u8::is_ascii_uppercase))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{WordKind, for_each_candidate_word, for_each_word};

    /// A word without its place among the others.
    type Found = (Range<usize>, String, Option<String>, WordKind);

    fn beginnings(words: &[&str]) -> WordBeginnings {
        let mut beginnings = WordBeginnings::default();
        for word in words {
            beginnings.add(word);
        }
        beginnings
    }

    /// Returns the words that begin so, by looking at all words, and as candidates. Each has the
    /// distance to the one before: 0, 1, or 2 for more.
    fn found_both_ways(text: &str, words: &[&str]) -> [Vec<(Found, usize)>; 2] {
        let beginnings = beginnings(words);
        let mut all = Vec::new();
        for_each_word(text, |word| {
            if beginnings.may_match(word.folded) {
                all.push(owned(&word));
            }
            ControlFlow::Continue(())
        });
        let mut candidates = Vec::new();
        for_each_candidate_word(text, &beginnings, |word| {
            candidates.push(owned(&word));
            ControlFlow::Continue(())
        });
        [all, candidates].map(|found| {
            let mut last = None;
            let steps = found.into_iter().map(|(word, position)| {
                let step = last.replace(position).map_or(2, |last| (position - last).min(2));
                (word, step)
            });
            steps.collect()
        })
    }

    fn owned(word: &crate::Word<'_>) -> (Found, usize) {
        let accented = word.accented.map(str::to_owned);
        ((word.range.clone(), word.folded.to_owned(), accented, word.kind), word.position)
    }

    /// Parts of texts in several languages and scripts, and signs that join and divide words.
    const PARTS: [&str; 64] = [
        "bread",
        "Bread",
        "breads",
        "rye",
        "RyeBread",
        "iPhone",
        "15",
        "iPhone15",
        "e-mail",
        "E",
        "mail",
        "-",
        "U.S.A.",
        "u",
        "12,500.00",
        "500",
        "12\u{a0}500\u{a0}123",
        "C++",
        "c#",
        "x2",
        "—",
        "’",
        "don't",
        "naïve",
        "naive",
        "École",
        "ecole",
        "Straße",
        "HÄUSER",
        "хлеб",
        "Хлеба",
        "خبز",
        "रोटी",
        "東京都",
        "京",
        "กำลัง",
        "서울역",
        "🙂",
        "👍🏽",
        "1️⃣",
        "e\u{301}cole",
        "\u{301}",
        "ﬁre",
        "ＦＵＬＬ",
        "snake_case",
        "a.out",
        "re\u{2011}use",
        "PDFs",
        "HTTPServer",
        "2nd",
        "15mm",
        "ab1",
        "aB",
        "İzmir",
        "[[",
        "](",
        "/",
        "\u{2028}",
        "\u{0}",
        "\u{b}",
        "ÀÉb",
        "a",
        "B",
        "ǅ",
    ];
    const GLUE: [&str; 8] = ["", " ", " ", "\n", "\t", "-", ".", "\u{a0}"];
    const LOOKED_FOR: [&[&str]; 7] = [
        &["bread", "rye"],
        &["iphone15", "ab1", "15", "email"],
        &["usa", "12500", "500123", "c++", "ecol", "mm"],
        &["хлеб", "خبز", "京", "서", "🙂", "กำ"],
        &["e", "b", "1", "s"],
        &["naiv", "strass", "haus", "full", "fire", "izmir", "reuse", "server2"],
        &[""],
    ];

    #[test]
    fn candidates_are_words_with_these_beginnings() {
        let mut rng = 7_u32;
        let mut next = |below: usize| {
            rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (rng >> 16) as usize % below
        };
        let mut count = 0;
        for _ in 0..600 {
            let text: String = (0..40)
                .map(|_| PARTS[next(PARTS.len())].to_owned() + GLUE[next(GLUE.len())])
                .collect();
            for words in LOOKED_FOR {
                let [all, candidates] = found_both_ways(&text, words);
                count += all.len();
                assert_eq!(all, candidates, "{words:?} in {text:?}");
            }
        }
        assert!(count > 20_000, "{count}");
    }

    #[test]
    fn long_runs_of_one_class_have_no_inner_starts() {
        for (run, starts) in [("AAAAAAAA", 0), ("11111111", 0), ("A1A1", 3)] {
            let found = |at: &usize| is_part_start(run.as_bytes()[*at - 1], &run.as_bytes()[*at..]);
            assert_eq!((1..run.len()).filter(found).count(), starts, "{run}");
        }
    }

    #[test]
    fn parts_without_beginnings_are_skipped() {
        let text = "Hay, sobread and straw.\nMy ryeBread  (is)\tbread; brea-d Bre";
        let (found, mut at) = (beginnings(&["bread"]), 0);
        let mut parts = Vec::new();
        while let Some(part) = found.next_part(text, at) {
            at = part.end;
            parts.push(&text[part]);
        }
        assert_eq!(parts, ["ryeBread", "bread;", "brea-d"]);
    }
}
