//! Index tokens of a text.
//!
//! Every word is stored under its stem. A word that may be inflected is also stored unchanged with
//! the prefix [`EXACT_MARK`], so that exact searches are possible. In scripts without spaces, each
//! pair of adjacent characters is a token as well; a query for such text searches its pairs.

use std::ops::{ControlFlow, Range};

use crate::{
    stems::with_stem,
    words::{WordKind, for_each_word},
};

/// Prefix of tokens that match a word exactly. No word contains it.
pub const EXACT_MARK: char = '=';

/// Frequent English words without inflections, about a fifth of any text. They are stored only
/// once.
const UNINFLECTED_WORDS: [&str; 12] =
    ["the", "and", "that", "for", "with", "from", "this", "not", "are", "was", "you", "have"];

/// Returns the token that matches a folded word exactly as written.
pub fn exact_token(folded: &str) -> String {
    if may_be_inflected(folded) { format!("{EXACT_MARK}{folded}") } else { folded.to_owned() }
}

/// Returns whether another word may have the same stem.
pub(crate) fn may_be_inflected(folded: &str) -> bool {
    folded.len() > 2
        && folded.bytes().all(|byte| byte.is_ascii_lowercase())
        && !UNINFLECTED_WORDS.contains(&folded)
}

/// Calls `visit` for every token of a text: the token, its byte range, and whether it has the same
/// position as the previous token.
pub fn for_each_index_token(
    text: &str,
    mut visit: impl FnMut(&str, &Range<usize>, bool) -> ControlFlow<()>,
) {
    let mut last_position = None;
    // End and content of the last character of a script without spaces.
    let mut last_solid: Option<(usize, String)> = None;
    let mut other = String::new();
    for_each_word(text, |word| {
        let same = last_position == Some(word.position);
        last_position = Some(word.position);
        if word.kind == WordKind::Unspaced {
            visit(word.folded, &word.range, same)?;
            other.clear();
            if let Some((_, before)) = last_solid.take_if(|(end, _)| *end == word.range.start) {
                other.push_str(&before);
                other.push_str(word.folded);
                visit(&other, &word.range, true)?;
            }
            last_solid = Some((word.range.end, word.folded.to_owned()));
            return ControlFlow::Continue(());
        }
        with_stem(word.folded, |stem| {
            visit(stem, &word.range, same)?;
            if !may_be_inflected(word.folded) {
                return ControlFlow::Continue(());
            }
            other.clear();
            other.push(EXACT_MARK);
            other.push_str(word.folded);
            visit(&other, &word.range, true)
        })
    });
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
    fn inflected_word_has_stem_and_exact_token() {
        assert_eq!(tokens("Kneading the dough"), "knead|=kneading the dough|=dough");
        assert_eq!(
            (exact_token("kneading"), exact_token("dough")),
            ("=kneading".into(), "=dough".into())
        );
    }

    #[test]
    fn unspaced_text_has_character_and_pair_tokens() {
        assert_eq!(tokens("東京都 x"), "東 京|東京 都|京都 x");
        assert_eq!(tokens("東 京"), "東 京");
    }

    #[test]
    fn compound_name_has_whole_and_part_tokens() {
        assert_eq!(
            tokens("readFiles in C++"),
            "readfil|=readfiles|read|=read file|=files in c++|c"
        );
    }
}
