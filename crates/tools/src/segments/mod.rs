//! `rag_search` and `verify_document_access`: search over everything a user may see, for agents
//! that use no other tools. Segment ids are encrypted, so that only this server can read them.

mod search;
mod segment_location;
mod verify;

pub use search::RagSearch;
pub(crate) use search::visible_collections;
pub use verify::VerifyDocumentAccess;
