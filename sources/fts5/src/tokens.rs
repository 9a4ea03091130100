//! The tokens under which the words of a text are stored.
//!
//! Every word is stored under its stem, and one that may have endings under
//! itself too, with [`EXACT`] before it, so that exact words are not lost. Two
//! characters of a run without spaces that stand next to each other are a
//! token as well: a query for a run is a query for its pairs.

use std::ops::{ControlFlow, Range};

use crate::{
    stems::stem,
    words::{Kind, each_word},
};

/// Stands before a word that is meant exactly as it is. No word contains it.
pub const EXACT: char = '=';

/// Words that are a fifth of any English text and have no inflections: they are
/// stored once.
const UNINFLECTED: [&str; 12] =
    ["the", "and", "that", "for", "with", "from", "this", "not", "are", "was", "you", "have"];

/// The token under which a folded word is found exactly as it is written.
pub fn exact_token(folded: &str) -> String {
    if may_be_inflected(folded) { format!("{EXACT}{folded}") } else { folded.to_owned() }
}

/// Whether another word may have the same stem.
fn may_be_inflected(folded: &str) -> bool {
    folded.len() > 2
        && folded.bytes().all(|byte| byte.is_ascii_lowercase())
        && !UNINFLECTED.contains(&folded)
}

/// Hands every token of a text to `visit`: the token, its place in bytes, and
/// whether it stands at the same position as the one before.
pub fn index_tokens(
    text: &str,
    mut visit: impl FnMut(&str, &Range<usize>, bool) -> ControlFlow<()>,
) {
    let mut last_position = None;
    // The last character of a run: where it ends, and what it is.
    let mut last_solid: Option<(usize, String)> = None;
    let mut other = String::new();
    each_word(text, |word| {
        let same = last_position == Some(word.position);
        last_position = Some(word.position);
        if word.kind == Kind::Solid {
            visit(word.folded, &word.place, same)?;
            other.clear();
            if let Some((_, before)) = last_solid.take_if(|(end, _)| *end == word.place.start) {
                other.push_str(&before);
                other.push_str(word.folded);
                visit(&other, &word.place, true)?;
            }
            last_solid = Some((word.place.end, word.folded.to_owned()));
            return ControlFlow::Continue(());
        }
        stem(word.folded, |stem| {
            visit(stem, &word.place, same)?;
            if !may_be_inflected(word.folded) {
                return ControlFlow::Continue(());
            }
            other.clear();
            other.push(EXACT);
            other.push_str(word.folded);
            visit(&other, &word.place, true)
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text; those at the same position are joined by a bar.
    fn tokens(text: &str) -> String {
        let mut tokens = String::new();
        index_tokens(text, |token, _, same| {
            tokens.push_str(if same { "|" } else { " " });
            tokens.push_str(token);
            ControlFlow::Continue(())
        });
        tokens.trim().to_owned()
    }

    #[test]
    fn an_inflected_word_is_stored_under_its_stem_and_under_itself() {
        assert_eq!(tokens("Kneading the dough"), "knead|=kneading the dough|=dough");
        assert_eq!(
            (exact_token("kneading"), exact_token("dough")),
            ("=kneading".into(), "=dough".into())
        );
    }

    #[test]
    fn a_run_without_spaces_is_stored_by_characters_and_pairs() {
        assert_eq!(tokens("東京都 x"), "東 京|東京 都|京都 x");
        assert_eq!(tokens("東 京"), "東 京");
    }

    #[test]
    fn a_name_is_stored_whole_and_in_parts() {
        assert_eq!(
            tokens("readFiles in C++"),
            "readfil|=readfiles|read|=read file|=files in c++|c"
        );
    }
}
