//! Start position of a snippet: a sentence boundary, else a word boundary.

use std::ops::Range;

use vademecum_fts5::{is_letter, is_unspaced};

/// Preference among several start positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentencePreference {
    /// The first sentence start, which shows as much as possible before the match.
    First,
    /// The last sentence start, which shows more after the match.
    Last,
}

/// Scanner state at a position of the text.
#[derive(Clone, Copy)]
struct ScanState {
    sentence: SentenceState,
    last: LastCharacter,
}

/// Whether a sentence has ended and the next one has not started yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentenceState {
    GoesOn,
    Ended,
    /// Ended with full-width punctuation, which needs no space after it.
    EndedWide,
}

/// Class of the last character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastCharacter {
    /// White space; contains the number of line breaks.
    Space(usize),
    /// A letter of a word that a following letter continues.
    Word,
    Other,
}

/// Start positions found so far.
#[derive(Default)]
struct StartCandidates {
    first_sentence: Option<usize>,
    last_sentence: Option<usize>,
    first_word: Option<usize>,
    first_part: Option<usize>,
}

/// Returns the best start position in `part`, a byte range of `text` that ends where a match
/// starts.
pub(crate) fn find_snippet_start(
    text: &str,
    part: Range<usize>,
    side: SentencePreference,
) -> usize {
    let mut candidates = StartCandidates::default();
    let mut before = ScanState { sentence: SentenceState::GoesOn, last: LastCharacter::Word };
    // Without a sentence boundary, less context before the match is enough.
    let ahead = text.get(part.clone()).unwrap_or_default();
    let near = match side {
        SentencePreference::First => part.start,
        SentencePreference::Last => {
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
            candidates.add_candidate(at, letter, before, near);
        }
        before = before.advance(letter);
    }
    let sentence = match side {
        SentencePreference::First => candidates.first_sentence,
        SentencePreference::Last => candidates.last_sentence,
    };
    // The match itself starts a word, which is better than a word part.
    let word = candidates.first_word.filter(|word| *word < part.end);
    sentence.or(word).or(candidates.first_part).unwrap_or(part.end)
}

impl StartCandidates {
    /// Adds the position `at` of a letter, if an excerpt may start there.
    fn add_candidate(&mut self, at: usize, letter: char, before: ScanState, near: usize) {
        let begins_one = match (before.sentence, before.last) {
            (_, LastCharacter::Space(breaks)) if breaks > 1 => true,
            (_, LastCharacter::Space(1)) | (SentenceState::Ended, LastCharacter::Space(_)) => {
                !letter.is_lowercase()
            }
            (SentenceState::EndedWide, _) => !is_closing(letter),
            (SentenceState::GoesOn | SentenceState::Ended, _) => false,
        };
        if begins_one {
            self.first_sentence = self.first_sentence.or(Some(at));
            self.last_sentence = Some(at);
        }
        if at >= near && (matches!(before.last, LastCharacter::Space(_)) || is_unspaced(letter)) {
            self.first_word = self.first_word.or(Some(at));
        }
        if at >= near && is_letter(letter) && before.last != LastCharacter::Word {
            self.first_part = self.first_part.or(Some(at));
        }
    }
}

impl ScanState {
    fn advance(self, letter: char) -> Self {
        if letter.is_whitespace() {
            let so_far = if let LastCharacter::Space(breaks) = self.last { breaks } else { 0 };
            let last = LastCharacter::Space(so_far + usize::from(letter == '\n'));
            return Self { last, ..self };
        }
        let sentence = match letter {
            '。' | '！' | '？' | '｡' => SentenceState::EndedWide,
            '.' | '!' | '?' | '…' => SentenceState::Ended,
            letter if is_closing(letter) => self.sentence,
            _ => SentenceState::GoesOn,
        };
        let in_word = is_letter(letter) && !is_unspaced(letter);
        Self { sentence, last: if in_word { LastCharacter::Word } else { LastCharacter::Other } }
    }
}

/// Returns whether a character can stand between the end of a sentence and the following space.
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

    /// Returns the text between the start position and `needle`.
    fn before(text: &str, side: SentencePreference) -> &str {
        let needle = text.find("needle").unwrap();
        let start = find_snippet_start(text, text.char_indices().nth(1).unwrap().0..needle, side);
        &text[start..needle]
    }

    #[test]
    fn sentence_start_follows_terminator() {
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
            assert_eq!(before(&text, SentencePreference::Last), next, "{text}");
        }
    }

    #[test]
    fn inner_period_ends_no_sentence() {
        for inside in ["version 3.14 of the ", "e.g. the ", "wrapped\nlines of the ", "see a.b/"] {
            let text = format!("Hay straw. A {inside}needle");
            assert_eq!(before(&text, SentencePreference::Last), format!("A {inside}"), "{text}");
        }
    }

    #[test]
    fn first_preference_selects_earliest_sentence() {
        let text = "Hay. One two. Three four. Five needle";
        assert_eq!(before(text, SentencePreference::First), "One two. Three four. Five ");
        assert_eq!(before(text, SentencePreference::Last), "Five ");
    }

    #[test]
    fn snippet_starts_at_word_without_sentence() {
        assert_eq!(before("hay straw grass needle", SentencePreference::First), "straw grass ");
        assert_eq!(before("hay/straw/needle", SentencePreference::First), "straw/");
        assert_eq!(before("haystraw-needle", SentencePreference::First), "");
        assert_eq!(before("昨日京都needle", SentencePreference::First), "日京都");
    }
}
