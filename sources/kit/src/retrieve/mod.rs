//! From words to passages: pure functions that are the same for all sources.

mod best;
mod chunk;
mod field;
mod passage;
mod query;
mod rank;
mod snippet;
mod stop_words;
mod words;

pub use chunk::{Chunk, chunks};
pub use field::Fields;
pub use passage::{Passage, Span, read};
pub use query::FtsQuery;
pub use rank::{Statements, rank};
pub use snippet::snippet;
pub use stop_words::is_stop_word;
pub use words::folded_text;
