//! `rag.*`: collections in chunks, as agents of `ProxySQL` know them. Searching
//! answers identifiers and scores, reading answers texts.

mod admin;
mod chunks;
mod documents;
mod fetch;
mod filter;
mod fts;
mod hybrid;
mod limits;
mod results;
mod vector;

pub use admin::{RagAdminStats, RagAdminSync};
pub use chunks::RagGetChunks;
pub use documents::RagGetDocs;
pub use fetch::RagFetchFromSource;
pub use fts::RagSearchFts;
pub use hybrid::RagSearchHybrid;
pub(super) use limits::with_collections;
pub use vector::RagSearchVector;
pub(super) use vector::of_text;
