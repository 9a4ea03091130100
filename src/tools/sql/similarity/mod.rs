//! `similarity_search`: a table with vectors of its own, searched by meaning and
//! words. Start reading at `search`.

mod chunks;
mod columns;
mod nearest;
mod search;
mod told;

pub use search::SimilaritySearch;
