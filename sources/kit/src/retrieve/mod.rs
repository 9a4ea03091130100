//! From words to passages: pure functions that are the same for all sources.

mod best;
mod chunk;
mod field;
mod finder;
mod lookout;
mod markdown;
mod opening;
mod passage;
mod query;
mod rank;
mod snippet;
mod stop_words;
mod window;
mod words;

pub use chunk::{Chunk, Sizes, chunks};
pub use field::{Fields, Shown};
pub use finder::{Excerpt, Finder};
pub use passage::{Passage, Span, read};
pub use query::FtsQuery;
pub use rank::{Statements, rank};
pub use snippet::snippet;
pub use window::Found;
pub use words::folded_text;
