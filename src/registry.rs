//! The list of all sources and tools.

use std::sync::Arc;

use vademecum_characters::Characters;
use vademecum_chats::Chats;
use vademecum_media::Media;
use vademecum_notes::Notes;
use vademecum_prompts::Prompts;
use vademecum_source::Source;
use vademecum_tools as tools;
use vademecum_tools::RegisteredTool;

/// Returns the sources of every library.
pub fn sources() -> Vec<Arc<dyn Source>> {
    vec![Arc::new(Notes), Arc::new(Media), Arc::new(Chats), Arc::new(Characters), Arc::new(Prompts)]
}

/// Returns all tools, in the order in which they are listed.
pub fn tools() -> Vec<RegisteredTool> {
    vec![
        RegisteredTool::new::<tools::KnowledgeSearch>(),
        RegisteredTool::new::<tools::KnowledgeGet>(),
        RegisteredTool::new::<tools::KnowledgeList>(),
        RegisteredTool::new::<tools::KnowledgeRelated>(),
        RegisteredTool::new::<tools::KnowledgeLinks>(),
        RegisteredTool::new::<tools::NotesSearch>(),
        RegisteredTool::new::<tools::NotesGet>(),
        RegisteredTool::new::<tools::MediaSearch>(),
        RegisteredTool::new::<tools::MediaGet>(),
        RegisteredTool::new::<tools::MediaTranscript>(),
        RegisteredTool::new::<tools::ChatsSearch>(),
        RegisteredTool::new::<tools::ChatsGet>(),
        RegisteredTool::new::<tools::CharactersSearch>(),
        RegisteredTool::new::<tools::CharactersGet>(),
        RegisteredTool::new::<tools::PromptsSearch>(),
        RegisteredTool::new::<tools::PromptsGet>(),
        RegisteredTool::new::<tools::DeepResearchSearch>(),
        RegisteredTool::new::<tools::DeepResearchFetch>(),
        RegisteredTool::new::<tools::GenerateEmbedding>(),
        RegisteredTool::new::<tools::RagSearchFts>(),
        RegisteredTool::new::<tools::RagSearchVector>(),
        RegisteredTool::new::<tools::RagSearchHybrid>(),
        RegisteredTool::new::<tools::RagGetChunks>(),
        RegisteredTool::new::<tools::RagGetDocs>(),
        RegisteredTool::new::<tools::RagFetchFromSource>(),
        RegisteredTool::new::<tools::RagAdminStats>(),
        RegisteredTool::new::<tools::RagAdminSync>(),
        RegisteredTool::new::<tools::SearchKnowledgebase>(),
        RegisteredTool::new::<tools::RagSearch>(),
        RegisteredTool::new::<tools::VerifyDocumentAccess>(),
        RegisteredTool::new::<tools::Query>(),
        RegisteredTool::new::<tools::ProfileList>(),
        RegisteredTool::new::<tools::ProfileShow>(),
        RegisteredTool::new::<tools::QueryDatabase>(),
        RegisteredTool::new::<tools::CountRows>(),
        RegisteredTool::new::<tools::ExecuteExplain>(),
        RegisteredTool::new::<tools::GetSchemaInfo>(),
        RegisteredTool::new::<tools::ReadResource>(),
        RegisteredTool::new::<tools::SimilaritySearch>(),
        RegisteredTool::new::<tools::DatabaseHealth>(),
        RegisteredTool::new::<tools::DatabaseActivity>(),
        RegisteredTool::new::<tools::AdviseIndexes>(),
        RegisteredTool::new::<tools::KnowledgeHistory>(),
        RegisteredTool::new::<tools::NotesCreate>(),
        RegisteredTool::new::<tools::NotesAppend>(),
        RegisteredTool::new::<tools::NotesUpdate>(),
        RegisteredTool::new::<tools::NotesDelete>(),
        RegisteredTool::new::<tools::MediaAdd>(),
        RegisteredTool::new::<tools::KnowledgeTag>(),
        RegisteredTool::new::<tools::KnowledgeRestore>(),
    ]
}
