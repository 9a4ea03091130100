//! MCP tools: names, input and output schemas, and thin adapters that translate calls into session
//! requests. Search logic lives in `actors`, `collections` and `sql`, not here.

mod answer_budget;
mod argument_coercion;
mod arguments;
mod completion;
mod database_prompts;
mod deep_research;
mod display;
mod documents;
mod embedding;
mod failure;
mod history;
mod input;
mod item_lookup;
mod knowledge;
mod knowledgebase;
mod link_notes;
mod links;
mod list;
mod list_output;
mod output;
mod page_output;
mod prompts;
mod query_embedding;
mod rag;
mod recall;
mod registered_tool;
mod related;
mod render;
mod resources;
mod results_app;
mod safe_text;
mod schema;
mod segments;
mod session_calls;
mod skills;
mod source_resolution;
mod source_tools;
mod sql;
mod token_estimate;
mod tool;
mod tool_registry;
mod tool_services;
mod tool_set;
mod transcript;
mod transcript_window;
mod writing;

pub use deep_research::{DeepResearchFetch, DeepResearchSearch};
pub use embedding::GenerateEmbedding;
pub use history::KnowledgeHistory;
pub use knowledge::{KnowledgeGet, KnowledgeSearch};
pub use knowledgebase::SearchKnowledgebase;
pub use links::{KnowledgeLinks, LinkedItem, LinksResponse, UnresolvedLink};
pub use list::KnowledgeList;
pub use output::{NO_ANSWER, PageNotes, SearchResponse, SearchResults, sign_sentences};
pub use query_embedding::SearchModeInput;
pub use rag::{
    RagAdminStats, RagAdminSync, RagFetchFromSource, RagGetChunks, RagGetDocs, RagSearchFts,
    RagSearchHybrid, RagSearchVector,
};
pub use registered_tool::RegisteredTool;
pub use related::KnowledgeRelated;
pub use segments::{RagSearch, VerifyDocumentAccess};
pub use skills::{BUILT_IN_SKILL, SkillCatalog};
pub use source_tools::{
    CharactersGet, CharactersSearch, ChatsGet, ChatsSearch, MediaGet, MediaSearch, NotesGet,
    NotesSearch, PromptsGet, PromptsSearch,
};
pub use sql::{
    AdviseIndexes, CountRows, DatabaseActivity, DatabaseHealth, ExecuteExplain, GetSchemaInfo,
    ProfileList, ProfileShow, Query, QueryDatabase, ReadResource, SimilaritySearch,
};
pub use token_estimate::estimate_tokens;
pub use tool::{ErrorFormat, Tool, ToolOutput, ToolResult};
pub use tool::{round_similarity, similarity_floor_meta};
pub use tool_registry::ToolRegistry;
pub use tool_services::{ToolCaller, ToolServices};
pub use transcript::MediaTranscript;
pub use writing::{
    KnowledgeRestore, KnowledgeTag, MediaAdd, NotesAppend, NotesCreate, NotesDelete, NotesUpdate,
};
