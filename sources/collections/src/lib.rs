//! Collections: documents from external sources, stored in chunks with a full-text index and
//! vectors.
//!
//! A chunk is the unit of search, a document the unit of ingestion. Filters and access tags are
//! evaluated inside each search, before any limit is applied. Start with [`Collection`].

#[macro_use]
extern crate vademecum_source;

mod chunk_id;
mod code_cache;
mod collection;
mod document;
mod full_text;
mod nearest;
mod passage;
mod scope;
mod source;
mod stored_text;
mod write;

pub use chunk_id::{ChunkId, ChunkIdError, DocumentPointer, DocumentPointerError, document_uri};
pub use collection::Collection;
pub use document::{Document, NewChunk, PutOutcome};
pub use full_text::{FULL_TEXT_REBUILD, FULL_TEXT_TABLE};
pub use nearest::{NearestChunks, SimilarChunk};
pub use passage::{Passage, StoredDocument};
pub use scope::{Access, DocumentFilter, Scope};
pub use source::{EmbeddingModel, NewSource, SourceCounts, SourceRow, SyncState};
pub use stored_text::StoredTexts;
