//! Content words of a text: those that tell its subject, in any language.
//!
//! Stop words and numbers are left out. The forms of a word have the same stem. In scripts that are
//! written without spaces, each pair of adjacent characters is a word.

use std::ops::{ControlFlow, Range};

use vademecum_fts5::{
    Language, Script, StopWords, Word, WordKind, detect_language, for_each_word, is_any_stop_word,
    is_stop_word, is_unspaced, with_stem,
};

/// Minimum length of a word in lowercase Latin letters. Shorter ones are mostly particles.
const MIN_LATIN_CHARS: usize = 3;
/// Characters of Chinese that are words without a meaning of their own.
const FUNCTION_CHARACTERS: &str =
    "的了是在和與与及也都而但或就這这那其之於于被把們们我你他她它嗎吗呢吧啊着個个";
/// Words of Chinese without a meaning of their own, of two characters.
const FUNCTION_PAIRS: [&str; 64] = [
    "一个", "一些", "一种", "一样", "一直", "不同", "不是", "不能", "主要", "之前", "之后", "之间",
    "人们", "什么", "从而", "以及", "以来", "任何", "但是", "作为", "例如", "使用", "使得", "关于",
    "其中", "其他", "包括", "只有", "可以", "可能", "各种", "同时", "因为", "因此", "大量", "如何",
    "如果", "对于", "导致", "尽管", "已经", "并且", "年代", "开始", "成为", "或者", "所以", "所有",
    "整个", "最大", "最后", "没有", "然后", "由于", "甚至", "目前", "认为", "许多", "进行", "通常",
    "通过", "部分", "需要", "非常",
];

/// A content word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentWord {
    /// Form that is the same for all forms of the word.
    pub stem: String,
    /// Byte range in the text. Those of adjacent pairs of characters overlap.
    pub range: Range<usize>,
}

/// Returns the content words of a text, in order.
pub fn content_words(text: &str) -> Vec<ContentWord> {
    let filter = WordFilter::for_text(text);
    let addresses = find_addresses(text);
    let mut words = Vec::new();
    let mut whole_until = 0;
    let mut previous: Option<(CharacterClass, Range<usize>, String)> = None;
    for_each_word(text, |word| {
        let is_address = addresses.iter().any(|address| address.contains(&word.range.start));
        if is_address || word.range.start < whole_until {
            return ControlFlow::Continue(());
        }
        if word.kind == WordKind::Unspaced {
            let class = CharacterClass::of(word.folded);
            if let Some((before, range, first)) = previous.take()
                && range.end == word.range.start
                && before == class
                && class != CharacterClass::Function
            {
                let stem = format!("{first}{}", word.folded);
                if !FUNCTION_PAIRS.contains(&stem.as_str()) {
                    words.push(ContentWord { stem, range: range.start..word.range.end });
                }
            }
            previous = Some((class, word.range, word.folded.to_owned()));
            return ControlFlow::Continue(());
        }
        if word.kind.has_parts() {
            whole_until = word.range.end;
        }
        if filter.accepts(text, &word) {
            let stem = filter.with_stem(word.folded, str::to_owned);
            words.push(ContentWord { stem, range: word.range });
        }
        ControlFlow::Continue(())
    });
    words
}

/// Filter and stemmer for the words of one text.
struct WordFilter {
    /// Language of the text, if it is known and has a stemmer.
    language: Option<Language>,
    /// Stop words of the language; without one, those of all languages count.
    stop_words: Option<StopWords>,
}

impl WordFilter {
    fn for_text(text: &str) -> Self {
        let code = detect_language(text);
        Self {
            language: code.and_then(Language::from_code),
            stop_words: code.and_then(StopWords::of_language),
        }
    }

    fn accepts(&self, text: &str, word: &Word<'_>) -> bool {
        let written = word.accented.unwrap_or(word.folded);
        let is_stop = match self.stop_words {
            Some(list) => list.contains(written) || is_stop_word(word.folded),
            None => is_any_stop_word(written),
        };
        !is_stop && word.folded.contains(char::is_alphabetic) && is_long_enough(text, word)
    }

    fn with_stem<T>(&self, folded: &str, then: impl FnOnce(&str) -> T) -> T {
        let Some(script) = Script::of_word(folded) else { return then(folded) };
        let language = self.language.filter(|language| language.script() == script);
        match language.or_else(|| script.default_language()) {
            Some(language) => with_stem(language, folded, then),
            None => then(folded),
        }
    }
}

/// Returns whether a word is long enough to mean something: short Latin ones only if they are names
/// such as `AI` and `C++`.
fn is_long_enough(text: &str, word: &Word<'_>) -> bool {
    let length = word.folded.chars().count();
    let is_capital = |written: &str| written.chars().all(char::is_uppercase);
    match Script::of_word(word.folded) {
        Some(Script::Latin) if length < MIN_LATIN_CHARS => {
            word.kind == WordKind::Name
                || (length > 1 && text.get(word.range.clone()).is_some_and(is_capital))
        }
        _ => length > 1,
    }
}

/// Returns the byte ranges of web addresses.
fn find_addresses(text: &str) -> Vec<Range<usize>> {
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, ')' | '>' | '"' | ']');
    text.match_indices("://")
        .map(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            let scheme = before.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
            let rest = text.get(at..).unwrap_or_default();
            at - scheme..at + rest.find(ends).unwrap_or(rest.len())
        })
        .collect()
}

/// Class of a character of a script without spaces. A pair of different classes is no word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharacterClass {
    Han,
    Katakana,
    Hangul,
    /// Characters of endings and particles: Hiragana, and some of Chinese.
    Function,
    Other,
}

impl CharacterClass {
    fn of(character: &str) -> Self {
        let Some(first) = character.chars().next().filter(|first| is_unspaced(*first)) else {
            return Self::Other;
        };
        match u32::from(first) {
            _ if FUNCTION_CHARACTERS.contains(first) => Self::Function,
            0x3040..=0x309F => Self::Function,
            0x30A0..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Self::Katakana,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => Self::Hangul,
            0x3005..=0x3007
            | 0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x2_0000..=0x3_FFFF => Self::Han,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<&str> {
        content_words(text).into_iter().map(|word| &text[word.range]).collect()
    }

    #[test]
    fn content_words_leave_out_stop_words_and_numbers() {
        let text = "The 12 loaves of an AI in 2024, with C++ and e-mail: see https://a.example/b?c";
        assert_eq!(written(text), ["loaves", "AI", "C++", "e-mail", "see"]);
        assert_eq!(written("Der Hund und die Katze sind im Haus"), ["Hund", "Katze", "Haus"]);
        assert!(written("").is_empty());
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let stems =
            |text| content_words(text).into_iter().map(|word| word.stem).collect::<Vec<_>>();
        assert_eq!(stems("Loaf kneading"), stems("loaf kneaded"));
        assert_eq!(stems("книга"), stems("книги"));
        let german = stems("Das ist ein Buch und nicht die Bücher");
        assert_eq!(german[0], german[1]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(written("图书馆的书"), ["图书", "书馆"]);
        assert_eq!(written("例如图书"), ["如图", "图书"]);
        assert_eq!(written("データを"), ["デー", "ータ"]);
        assert_eq!(written("猫。犬"), Vec::<&str>::new());
    }
}
