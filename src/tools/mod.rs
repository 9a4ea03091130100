//! The contracts: tools with their own names and shapes, each a thin adapter
//! on the same sessions. No search logic lives here.

mod arguments;
mod completion;
mod deep_research;
mod documents;
mod embedding;
mod forgive;
mod gaps;
mod input;
mod knowledge;
mod knowledgebase;
mod meaning;
mod offer;
mod output;
mod places;
mod prompts;
mod rag;
mod related;
mod resources;
mod schema;
mod segments;
mod source;
mod text;
mod tool;
mod transcript;
mod writing;

pub use deep_research::{Fetch, Search};
pub use embedding::GenerateEmbedding;
pub use knowledge::{KnowledgeGet, KnowledgeSearch};
pub use knowledgebase::SearchKnowledgebase;
pub use meaning::SearchMode;
pub use offer::Toolbox;
pub use rag::{
    RagAdminStats, RagAdminSync, RagFetchFromSource, RagGetChunks, RagGetDocs, RagSearchFts,
    RagSearchHybrid, RagSearchVector,
};
pub use related::KnowledgeRelated;
pub use segments::{RagSearch, VerifyDocumentAccess};
pub use source::{
    CharactersGet, CharactersSearch, ChatsGet, ChatsSearch, MediaGet, MediaSearch, NotesGet,
    NotesSearch, PromptsGet, PromptsSearch,
};
pub use tool::{Contract, Form, Replied, Tool};
pub use transcript::MediaTranscript;
pub use writing::{KnowledgeTag, MediaAdd, NotesAppend, NotesCreate, NotesDelete, NotesUpdate};
