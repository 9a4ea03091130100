//! From words to passages: pure functions that are the same for all sources.

mod best;
mod bm25;
mod chunk;
mod codes;
mod field;
mod finder;
mod lookout;
mod markdown;
mod nibbles;
mod opening;
mod passage;
mod phrase;
mod query;
mod rank;
mod similar;
mod snippet;
mod stop_words;
mod suggest;
pub mod vector;
mod window;

pub use chunk::{Chunk, Sizes, chunks};
pub use codes::{Code, Codes, rescored};
pub use field::{Fields, Shown};
pub use finder::{Excerpt, Finder};
pub use markdown::headings;
pub use passage::{Passage, Span, read};
pub use query::FtsQuery;
pub(crate) use rank::known;
pub use rank::{Plan, rank};
pub use similar::Similar;
pub(crate) use similar::similar;
pub use snippet::snippet;
pub use stop_words::is_stop_word;
pub use suggest::{Ids, suggest, words};
pub use vector::{Metric, VectorError};
pub use window::Found;
