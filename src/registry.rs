//! The list: which sources and which tools exist.

use std::sync::Arc;

use vademecum_characters::Characters;
use vademecum_chats::Chats;
use vademecum_kit::source::Source;
use vademecum_media::Media;
use vademecum_notes::Notes;
use vademecum_prompts::Prompts;

use crate::tools::{self, Tool};

/// The sources of every library.
pub fn sources() -> Vec<Arc<dyn Source>> {
    vec![Arc::new(Notes), Arc::new(Media), Arc::new(Chats), Arc::new(Characters), Arc::new(Prompts)]
}

/// The tools, in the order in which they are listed.
pub fn tools() -> Vec<Tool> {
    vec![
        Tool::of::<tools::KnowledgeSearch>(),
        Tool::of::<tools::KnowledgeGet>(),
        Tool::of::<tools::KnowledgeRelated>(),
        Tool::of::<tools::NotesSearch>(),
        Tool::of::<tools::NotesGet>(),
        Tool::of::<tools::MediaSearch>(),
        Tool::of::<tools::MediaGet>(),
        Tool::of::<tools::MediaTranscript>(),
        Tool::of::<tools::ChatsSearch>(),
        Tool::of::<tools::ChatsGet>(),
        Tool::of::<tools::CharactersSearch>(),
        Tool::of::<tools::CharactersGet>(),
        Tool::of::<tools::PromptsSearch>(),
        Tool::of::<tools::PromptsGet>(),
        Tool::of::<tools::Search>(),
        Tool::of::<tools::Fetch>(),
        Tool::of::<tools::GenerateEmbedding>(),
        Tool::of::<tools::RagSearchFts>(),
        Tool::of::<tools::RagSearchVector>(),
        Tool::of::<tools::RagSearchHybrid>(),
        Tool::of::<tools::RagGetChunks>(),
        Tool::of::<tools::RagGetDocs>(),
        Tool::of::<tools::RagFetchFromSource>(),
        Tool::of::<tools::RagAdminStats>(),
        Tool::of::<tools::RagAdminSync>(),
        Tool::of::<tools::SearchKnowledgebase>(),
        Tool::of::<tools::RagSearch>(),
        Tool::of::<tools::VerifyDocumentAccess>(),
        Tool::of::<tools::Query>(),
        Tool::of::<tools::ProfileList>(),
        Tool::of::<tools::ProfileShow>(),
        Tool::of::<tools::QueryDatabase>(),
        Tool::of::<tools::CountRows>(),
        Tool::of::<tools::ExecuteExplain>(),
        Tool::of::<tools::GetSchemaInfo>(),
        Tool::of::<tools::ReadResource>(),
        Tool::of::<tools::SimilaritySearch>(),
        Tool::of::<tools::NotesCreate>(),
        Tool::of::<tools::NotesAppend>(),
        Tool::of::<tools::NotesUpdate>(),
        Tool::of::<tools::NotesDelete>(),
        Tool::of::<tools::MediaAdd>(),
        Tool::of::<tools::KnowledgeTag>(),
    ]
}
