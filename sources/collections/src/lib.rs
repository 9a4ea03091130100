//! Collections: documents that come from elsewhere, in chunks, with their
//! words and their vectors.
//!
//! A chunk is what is found, a document what it is part of. Everything that
//! says which of them count (filters, access tags) is asked inside of each
//! search, before anything is limited. Start with [`Collection`].

mod collection;
mod document;
mod id;
mod near;
mod passage;
mod put;
mod scope;
mod source;
mod words;

pub use collection::Collection;
pub use document::{Document, NewChunk, Put};
pub use id::{ChunkId, ChunkIdError, Pointer, PointerError, document_uri};
pub use near::{Near, Nearest};
pub use passage::{Passage, StoredDocument};
pub use scope::{Access, Filter, Scope};
pub use source::{Counts, EmbeddingModel, NewSource, SourceRow, SyncState};
pub use words::{DERIVED, TABLE};
