//! `rag.*`: chunk-level access to collections, compatible with the RAG tools of `ProxySQL`.
//! Searches return ids and scores; the `get` tools return texts.

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
pub(super) use vector::embed_query;
