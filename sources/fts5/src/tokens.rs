//! Index tokens of a text.
//!
//! Every word is stored once, as it is written but folded. A query for all forms of a word searches
//! the stored words with the same stem. Latin words with accents are stored with them as well, so
//! that a query with accents can prefer them. In scripts without spaces, each pair of adjacent
//! characters is a token as well; a query for such text searches its pairs.

use std::ops::{ControlFlow, Range};

use crate::{
    hash_lists::HashLists,
    language::Language,
    stems::with_stem,
    text_language::detect_languages,
    words::{WordKind, for_each_word},
};

/// Prefix of most words of ASCII letters in the index. Tables written by version 0.1.0 also hold
/// stems, without the mark.
pub const EXACT_MARK: char = '=';
/// Prefix of the token that names the language of a text.
pub const LANGUAGE_MARK: char = '^';
/// Prefix of tokens with accents.
pub const ACCENT_MARK: char = '~';

/// Separates the tokens of a query of which any may stand at a position.
pub const ALTERNATIVE_SEPARATOR: char = '\u{1}';

/// Frequent English words without inflections. They are stored without a mark.
const UNINFLECTED_WORDS: [&str; 12] =
    ["the", "and", "that", "for", "with", "from", "this", "not", "are", "was", "you", "have"];

/// Returns the token that matches a folded word exactly as written.
pub fn exact_token(folded: &str) -> String {
    if has_exact_mark(folded) { format!("{EXACT_MARK}{folded}") } else { folded.to_owned() }
}

/// Returns the token that matches a word with its accents.
pub fn accented_token(accented: &str) -> String {
    format!("{ACCENT_MARK}{accented}")
}

/// Returns the token of the texts in a language.
fn language_token(code: &str) -> String {
    format!("{LANGUAGE_MARK}{code}")
}

fn has_exact_mark(folded: &str) -> bool {
    folded.len() > 2
        && folded.bytes().all(|byte| byte.is_ascii_lowercase())
        && !UNINFLECTED_WORDS.contains(&folded)
}

/// Calls `visit` for every token of a text: the token, its byte range, and whether it has the same
/// position as the previous token. Words that are made to be slow share one token.
pub fn for_each_index_token(
    text: &str,
    mut visit: impl FnMut(&str, &Range<usize>, bool) -> ControlFlow<()>,
) {
    let mut lists = HashLists::for_text(text);
    let mut visit =
        |token: &str, range: &Range<usize>, same: bool| visit(lists.admit(token), range, same);
    let mut last_position = None;
    // End and content of the last character of a script without spaces.
    let mut last_solid: Option<(usize, String)> = None;
    let mut token = String::new();
    let mut languages = detect_languages(text);
    for_each_word(text, |word| {
        let same = last_position == Some(word.position);
        last_position = Some(word.position);
        if !same && word.position > 0 && !languages.is_empty() {
            // At the position of the first word, like its other tokens.
            for code in languages.drain(..) {
                visit(&language_token(code), &(0..0), true)?;
            }
        }
        token.clear();
        if word.kind == WordKind::Unspaced {
            visit(word.folded, &word.range, same)?;
            if let Some((_, before)) = last_solid.take_if(|(end, _)| *end == word.range.start) {
                token.push_str(&before);
                token.push_str(word.folded);
                visit(&token, &word.range, true)?;
            }
            last_solid = Some((word.range.end, word.folded.to_owned()));
            return ControlFlow::Continue(());
        }
        if has_exact_mark(word.folded) {
            token.push(EXACT_MARK);
        }
        token.push_str(word.folded);
        visit(&token, &word.range, same)?;
        if let Some(accented) = word.accented {
            token.clear();
            token.push(ACCENT_MARK);
            token.push_str(accented);
            visit(&token, &word.range, true)?;
        }
        ControlFlow::Continue(())
    });
}

/// Calls `give` with the English stem of an index token, except for tokens with accents.
pub(crate) fn with_english_stem(
    token: &str,
    give: impl FnOnce(&str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if token.starts_with(ACCENT_MARK) {
        return ControlFlow::Continue(());
    }
    with_stem(Language::English, token.trim_start_matches(EXACT_MARK), give)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens of a text; tokens at the same position are joined by a bar.
    fn tokens(text: &str) -> String {
        let mut tokens = String::new();
        for_each_index_token(text, |token, _, same| {
            tokens.push_str(if same { "|" } else { " " });
            tokens.push_str(token);
            ControlFlow::Continue(())
        });
        tokens.trim().to_owned()
    }

    #[test]
    fn every_word_has_one_token() {
        assert_eq!(tokens("kneading dough"), "=kneading =dough");
        assert_eq!(tokens("Kneading the dough"), "=kneading|^en the =dough");
        assert_eq!(tokens("Дома v2"), "дома v2");
        assert_eq!(
            (exact_token("kneading"), exact_token("the")),
            ("=kneading".into(), "the".into())
        );
    }

    #[test]
    fn accented_word_has_both_tokens() {
        assert_eq!(tokens("Häuser, ÉCOLE"), "=hauser|~häuser =ecole|~école");
        assert_eq!(tokens("ёлка الكِتاب"), "елка الكتاب");
    }

    #[test]
    fn text_has_token_of_its_language() {
        assert_eq!(tokens("Das ist ein Haus"), "=das|^de =ist =ein =haus");
        assert_eq!(tokens("this is a house"), "this|^en is a =house");
    }

    #[test]
    fn unspaced_text_has_character_and_pair_tokens() {
        assert_eq!(tokens("東京都 x"), "東|^zh 京|東京 都|京都 x");
        assert_eq!(tokens("東 京"), "東|^zh 京");
    }

    #[test]
    fn compound_name_has_whole_and_part_tokens() {
        assert_eq!(tokens("readFiles in C++"), "=readfiles|=read|^en =files in c++|c");
    }

    #[test]
    fn word_written_in_several_ways_has_joined_token() {
        assert_eq!(tokens("e-mail 12,500 🙂"), "=email|e =mail 12500|12 500 🙂");
        assert_eq!(tokens("iPhone15"), "iphone15|=iphone|i =phone 15");
    }
}
