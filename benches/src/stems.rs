//! The words of a text for an index that has not our tokenizer.

use std::ops::ControlFlow;

use vademecum_fts5::{Kind, each_word, stem};

/// The stems of a text, apart by spaces.
pub(crate) fn stems(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    each_word(text, |word| {
        if word.kind != Kind::Whole {
            if !words.is_empty() {
                words.push(' ');
            }
            stem(word.folded, |stem| words.push_str(stem));
        }
        ControlFlow::Continue(())
    });
    words
}
