//! From words to passages: pure functions that are the same for all sources.

mod best;
mod bm25;
mod chunk;
mod field;
mod passage;
mod phrase;
mod query;
mod rank;
mod snippet;
mod stop_words;

pub use chunk::{Chunk, chunks};
pub use field::Fields;
pub use passage::{Passage, Span, read};
pub use query::FtsQuery;
pub(crate) use rank::known;
pub use rank::{Plan, rank};
pub use snippet::snippet;
pub use stop_words::is_stop_word;
