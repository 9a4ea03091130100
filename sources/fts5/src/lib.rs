//! What FTS5 lends us, behind a safe interface: a tokenizer of our own, and a
//! function that hands out the postings of a phrase, so that they are scored
//! in memory instead of row by row (`docs/adr/0007-postings-in-memory.md`).
//!
//! This is the only crate with `unsafe`, and `ffi` is the only file with it.
//! Start with [`each_word`], which says what a word is.

mod ffi;
mod postings;
mod prepared;
mod stems;
mod tokens;
mod words;

pub use ffi::register;
pub use postings::{Cursor, Posting, Postings, SEGMENT, collect};
pub use prepared::{Prepared, with_prepared};
pub use stems::stem;
pub use tokens::{EXACT, exact_token, index_tokens};
pub use words::{Kind, Word, each_word, each_word_like, fold_word, is_letter, is_solid};
