//! Stemming of text for an index without our tokenizer.

use std::ops::ControlFlow;

use vademecum_fts5::{Language, for_each_word, with_stem};

/// Returns the stems of a text, separated by spaces.
pub(crate) fn stem_text(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for_each_word(text, |word| {
        if !word.kind.has_parts() {
            if !words.is_empty() {
                words.push(' ');
            }
            with_stem(Language::English, word.folded, |stem| words.push_str(stem));
        }
        ControlFlow::Continue(())
    });
    words
}
