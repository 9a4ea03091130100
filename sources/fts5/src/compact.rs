//! Index tokens without the stems that equal their word (`tokenize = 'vademecum_compact'`).
//!
//! The tokenizer `vademecum` stores `dough` twice, as a stem and exactly. The compact one stores
//! only the exact token, which saves a third of the index, and a query for the stem looks for both.
//! Both find the same words at the same positions.

use std::{
    mem,
    ops::{ControlFlow, Range},
};

use crate::{EXACT_MARK, stems::with_stem, tokens::may_be_inflected};

/// Leaves out the stems that equal their word. [`finish`](Self::finish) passes on the last token.
pub(crate) struct CompactTokens<V> {
    visit: V,
    /// The last token, which may be the stem of the next.
    held: Option<HeldToken>,
    /// A text for the next held token.
    spare: String,
}

struct HeldToken {
    text: String,
    range: Range<usize>,
    same: bool,
}

impl<V: FnMut(&str, usize, usize, bool) -> ControlFlow<()>> CompactTokens<V> {
    pub(crate) fn new(visit: V) -> Self {
        Self { visit, held: None, spare: String::new() }
    }

    /// Adds a token of [`for_each_index_token`](crate::for_each_index_token).
    pub(crate) fn push(&mut self, token: &str, range: Range<usize>, same: bool) -> ControlFlow<()> {
        if let Some(held) = self.held.take() {
            let exact = token.strip_prefix(EXACT_MARK);
            if same && exact == Some(&held.text) {
                self.spare = held.text;
                return (self.visit)(token, range.start, range.end, held.same);
            }
            let passed = (self.visit)(&held.text, held.range.start, held.range.end, held.same);
            self.spare = held.text;
            passed?;
        }
        let mut text = mem::take(&mut self.spare);
        text.clear();
        text.push_str(token);
        self.held = Some(HeldToken { text, range, same });
        ControlFlow::Continue(())
    }

    pub(crate) fn finish(mut self) -> ControlFlow<()> {
        let Some(HeldToken { text, range, same }) = self.held.take() else {
            return ControlFlow::Continue(());
        };
        (self.visit)(&text, range.start, range.end, same)
    }
}

/// Returns the token under which words that equal the stem `token` are stored, if there are any.
pub(crate) fn equal_word_token(token: &str) -> Option<String> {
    let is_stem = may_be_inflected(token) && with_stem(token, |stem| stem == token);
    is_stem.then(|| format!("{EXACT_MARK}{token}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_each_index_token;

    fn compact(text: &str) -> String {
        let mut joined = String::new();
        let mut tokens = CompactTokens::new(|token, _, _, same| {
            joined.push_str(if same { "|" } else { " " });
            joined.push_str(token);
            ControlFlow::Continue(())
        });
        for_each_index_token(text, |token, range, same| tokens.push(token, range.clone(), same));
        let _continues = tokens.finish();
        joined.trim().to_owned()
    }

    #[test]
    fn stem_equal_to_its_word_is_left_out() {
        assert_eq!(compact("Kneading the dough"), "knead|=kneading the =dough");
        assert_eq!(compact("knead"), "=knead");
        assert_eq!(compact("readFiles in C++"), "readfil|=readfiles|=read file|=files in c++|c");
        assert_eq!(
            (compact("東京都 x").as_str(), compact("")),
            ("東 京|東京 都|京都 x", String::new())
        );
    }

    #[test]
    fn stem_has_token_for_equal_words() {
        assert_eq!(equal_word_token("dough").as_deref(), Some("=dough"));
        for token in ["kneading", "the", "in", "=dough", "東", "c++"] {
            assert_eq!(equal_word_token(token), None, "{token}");
        }
    }
}
