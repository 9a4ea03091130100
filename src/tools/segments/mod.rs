//! `rag_search` and `verify_document_access`, for agents that know nothing
//! else of a server: segments of whatever a user may see, each under a name
//! that only this server can read.

mod brief;
mod place;
mod search;
mod verify;

pub use search::RagSearch;
pub(crate) use search::visible;
pub use verify::VerifyDocumentAccess;
