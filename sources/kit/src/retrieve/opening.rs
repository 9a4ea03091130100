//! Where a snippet may begin: at a sentence, else at a word.

use std::ops::Range;

use vademecum_fts5::{is_letter, is_solid};

/// Which of several beginnings is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first: as much as possible is shown before a match.
    Early,
    /// The last sentence, so that more is shown after a match.
    Late,
}

/// What has been read of a text so far, as far as it matters for what comes.
#[derive(Clone, Copy)]
struct Before {
    sentence: Sentence,
    last: Last,
}

/// Whether a sentence ended, and no other began yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sentence {
    GoesOn,
    Ended,
    /// In a script that needs no space after it.
    EndedWide,
}

/// What the last character belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// White space with so many line breaks.
    Space(usize),
    /// A word that goes on with the next letter.
    Word,
    Other,
}

/// The places where a snippet may begin, as far as they were met.
#[derive(Default)]
struct Places {
    first_sentence: Option<usize>,
    last_sentence: Option<usize>,
    first_word: Option<usize>,
    first_part: Option<usize>,
}

/// The best place to begin in a part of `text`, which ends where a match begins.
pub(crate) fn opening(text: &str, part: Range<usize>, side: Side) -> usize {
    let mut places = Places::default();
    let mut before = Before { sentence: Sentence::GoesOn, last: Last::Word };
    // Without a sentence, words do well with a little less before the match.
    let ahead = text.get(part.clone()).unwrap_or_default();
    let near = match side {
        Side::Early => part.start,
        Side::Late => {
            part.start + ahead.char_indices().nth(ahead.chars().count() / 3).map_or(0, |(at, _)| at)
        }
    };
    let rest = text.get(part.start..).unwrap_or_default();
    for (at, letter) in rest.char_indices() {
        let at = part.start + at;
        if at > part.end {
            break;
        }
        if !letter.is_whitespace() {
            places.note(at, letter, before, near);
        }
        before = before.then(letter);
    }
    let sentence = match side {
        Side::Early => places.first_sentence,
        Side::Late => places.last_sentence,
    };
    // The match begins a word: that is better than the part of another.
    let word = places.first_word.filter(|word| *word < part.end);
    sentence.or(word).or(places.first_part).unwrap_or(part.end)
}

impl Places {
    fn note(&mut self, at: usize, letter: char, before: Before, near: usize) {
        let begins_one = match (before.sentence, before.last) {
            (_, Last::Space(breaks)) if breaks > 1 => true,
            (_, Last::Space(1)) | (Sentence::Ended, Last::Space(_)) => !letter.is_lowercase(),
            (Sentence::EndedWide, _) => !is_closing(letter),
            (Sentence::GoesOn | Sentence::Ended, _) => false,
        };
        if begins_one {
            self.first_sentence = self.first_sentence.or(Some(at));
            self.last_sentence = Some(at);
        }
        if at >= near && (matches!(before.last, Last::Space(_)) || is_solid(letter)) {
            self.first_word = self.first_word.or(Some(at));
        }
        if at >= near && is_letter(letter) && before.last != Last::Word {
            self.first_part = self.first_part.or(Some(at));
        }
    }
}

impl Before {
    fn then(self, letter: char) -> Self {
        if letter.is_whitespace() {
            let so_far = if let Last::Space(breaks) = self.last { breaks } else { 0 };
            let last = Last::Space(so_far + usize::from(letter == '\n'));
            return Self { last, ..self };
        }
        let sentence = match letter {
            '。' | '！' | '？' | '｡' => Sentence::EndedWide,
            '.' | '!' | '?' | '…' => Sentence::Ended,
            letter if is_closing(letter) => self.sentence,
            _ => Sentence::GoesOn,
        };
        let in_word = is_letter(letter) && !is_solid(letter);
        Self { sentence, last: if in_word { Last::Word } else { Last::Other } }
    }
}

/// What may stand between the end of a sentence and the space after it.
fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        ')' | ']'
            | '"'
            | '\''
            | '”'
            | '’'
            | '»'
            | '」'
            | '』'
            | '）'
            | '】'
            | '*'
            | '_'
            | '。'
            | '！'
            | '？'
            | '｡'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes before `needle` if one begins at the best place.
    fn before(text: &str, side: Side) -> &str {
        let needle = text.find("needle").unwrap();
        let start = opening(text, text.char_indices().nth(1).unwrap().0..needle, side);
        &text[start..needle]
    }

    #[test]
    fn a_sentence_is_known_by_what_comes_before_it() {
        let hay = "Some hay lies here, e.g. some straw";
        for (end, next) in [
            (". ", "The "),
            ("! ", "A "),
            (".\" ", "(The "),
            ("\n\n", "the "),
            ("\r\n", "- a "),
            ("\n", "## Of "),
            ("。", "その"),
            ("。」", "「その"),
        ] {
            let text = format!("{hay}{end}{next}needle");
            assert_eq!(before(&text, Side::Late), next, "{text}");
        }
    }

    #[test]
    fn a_point_inside_a_sentence_ends_none() {
        for inside in ["version 3.14 of the ", "e.g. the ", "wrapped\nlines of the ", "see a.b/"] {
            let text = format!("Hay straw. A {inside}needle");
            assert_eq!(before(&text, Side::Late), format!("A {inside}"), "{text}");
        }
    }

    #[test]
    fn the_first_of_several_sentences_shows_most() {
        let text = "Hay. One two. Three four. Five needle";
        assert_eq!(before(text, Side::Early), "One two. Three four. Five ");
        assert_eq!(before(text, Side::Late), "Five ");
    }

    #[test]
    fn without_a_sentence_it_begins_with_a_word() {
        assert_eq!(before("hay straw grass needle", Side::Early), "straw grass ");
        assert_eq!(before("hay/straw/needle", Side::Early), "straw/");
        assert_eq!(before("haystraw-needle", Side::Early), "");
        assert_eq!(before("昨日京都needle", Side::Early), "日京都");
    }
}
