//! Texts that are tokenized on another thread before FTS5 stores them.
//!
//! Only one thread can write to a database. Tokenizing elsewhere leaves it more time to write.

use std::{cell::RefCell, ops::ControlFlow, sync::Arc};

use crate::tokens::for_each_index_token;

/// Estimated number of bytes of a text per word.
const BYTES_PER_WORD: usize = 6;

thread_local! {
    /// Tokenized texts that this thread is about to pass to FTS5.
    static PREPARED: RefCell<Vec<PreparedText>> = const { RefCell::new(Vec::new()) };
}

/// A text with its tokens.
#[derive(Debug)]
pub struct PreparedText {
    text: Arc<str>,
    /// All tokens, concatenated.
    tokens: String,
    /// End of each token in `tokens`, and whether it has the same position as the previous token.
    token_ends: Vec<(usize, bool)>,
}

impl PreparedText {
    /// Tokenizes a text.
    pub fn new(text: Arc<str>) -> Self {
        let mut tokens = String::with_capacity(text.len());
        let mut token_ends = Vec::with_capacity(text.len() / BYTES_PER_WORD);
        for_each_index_token(&text, |word, _, same| {
            tokens.push_str(word);
            token_ends.push((tokens.len(), same));
            ControlFlow::Continue(())
        });
        Self { text, tokens, token_ends }
    }

    /// Calls `visit` for every token, with a flag for the same position as the previous token.
    fn for_each_token(&self, mut visit: impl FnMut(&str, bool) -> ControlFlow<()>) {
        let mut start = 0;
        let _broken_off = self.token_ends.iter().try_for_each(|(end, same)| {
            let word = self.tokens.get(start..*end).unwrap_or_default();
            start = *end;
            visit(word, *same)
        });
    }
}

/// Runs `work` with the given texts prepared on this thread. When FTS5 stores one of them, its
/// tokens are reused.
pub fn with_prepared_texts<T>(texts: Vec<PreparedText>, work: impl FnOnce() -> T) -> T {
    /// Clears the prepared texts, even on panic.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            PREPARED.take();
        }
    }
    PREPARED.set(texts);
    let _forget = Forget;
    work()
}

/// Calls `visit` for every token of a prepared text. Returns whether the text is prepared.
pub(crate) fn visit_prepared_tokens(
    text: &[u8],
    visit: impl FnMut(&str, bool) -> ControlFlow<()>,
) -> bool {
    PREPARED.with_borrow(|prepared| {
        let known = prepared.iter().find(|known| known.text.as_bytes() == text);
        known.map(|known| known.for_each_token(visit)).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Option<String> {
        let mut tokens = String::new();
        let known = visit_prepared_tokens(text.as_bytes(), |word, same| {
            tokens.push_str(if same { "|" } else { " " });
            tokens.push_str(word);
            ControlFlow::Continue(())
        });
        known.then_some(tokens)
    }

    #[test]
    fn prepared_tokens_exist_only_inside_the_scope() {
        let texts = ["Kneading the dough", "", "東京"].map(|text| PreparedText::new(text.into()));
        with_prepared_texts(texts.into(), || {
            let known = tokens("Kneading the dough");
            assert_eq!(known.as_deref(), Some(" =kneading|^en the =dough"));
            assert_eq!(tokens("東京").as_deref(), Some(" 東|^zh 京|東京"));
            assert_eq!(tokens("").as_deref(), Some(""));
            assert_eq!(tokens("Kneading the Dough"), None);
        });
        assert_eq!(tokens("東京"), None);
    }
}
