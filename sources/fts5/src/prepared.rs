//! Tokens that were looked for before FTS5 asks for them, on another thread.
//!
//! Only one thread can write to a database. What it need not do itself lets it
//! write more.

use std::{cell::RefCell, ops::ControlFlow, sync::Arc};

use crate::tokens::index_tokens;

thread_local! {
    /// The texts that this thread is about to hand to FTS5.
    static PREPARED: RefCell<Vec<Prepared>> = const { RefCell::new(Vec::new()) };
}

/// A text and its tokens.
#[derive(Debug)]
pub struct Prepared {
    text: Arc<str>,
    /// All tokens, one behind the other.
    words: String,
    /// Where each ends, and whether it stands where the one before does.
    ends: Vec<(usize, bool)>,
}

impl Prepared {
    /// Looks for the tokens of a text.
    pub fn new(text: Arc<str>) -> Self {
        let mut prepared = Self { text, words: String::new(), ends: Vec::new() };
        index_tokens(&prepared.text, |word, _, same| {
            prepared.words.push_str(word);
            prepared.ends.push((prepared.words.len(), same));
            ControlFlow::Continue(())
        });
        prepared
    }

    /// Hands every token to `visit`, and whether it stands where the one before does.
    fn each(&self, mut visit: impl FnMut(&str, bool) -> ControlFlow<()>) {
        let mut start = 0;
        let _broken_off = self.ends.iter().try_for_each(|(end, same)| {
            let word = self.words.get(start..*end).unwrap_or_default();
            start = *end;
            visit(word, *same)
        });
    }
}

/// Does something on this thread. Where FTS5 stores one of these texts meanwhile,
/// its tokens are not looked for again.
pub fn with_prepared<T>(texts: Vec<Prepared>, work: impl FnOnce() -> T) -> T {
    /// Forgets them, whatever happens.
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

/// Hands the tokens of a text that is prepared to `visit`; tells whether it is.
pub(crate) fn prepared_tokens(
    text: &[u8],
    visit: impl FnMut(&str, bool) -> ControlFlow<()>,
) -> bool {
    PREPARED.with_borrow(|prepared| {
        let known = prepared.iter().find(|known| known.text.as_bytes() == text);
        known.map(|known| known.each(visit)).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Option<String> {
        let mut tokens = String::new();
        let known = prepared_tokens(text.as_bytes(), |word, same| {
            tokens.push_str(if same { "|" } else { " " });
            tokens.push_str(word);
            ControlFlow::Continue(())
        });
        known.then_some(tokens)
    }

    #[test]
    fn tokens_are_known_of_texts_that_are_prepared_and_only_so_long() {
        let texts = ["Kneading the dough", "", "東京"].map(|text| Prepared::new(text.into()));
        with_prepared(texts.into(), || {
            let known = tokens("Kneading the dough");
            assert_eq!(known.as_deref(), Some(" knead|=kneading the dough|=dough"));
            assert_eq!(tokens("東京").as_deref(), Some(" 東 京|東京"));
            assert_eq!(tokens("").as_deref(), Some(""));
            assert_eq!(tokens("Kneading the Dough"), None);
        });
        assert_eq!(tokens("東京"), None);
    }
}
