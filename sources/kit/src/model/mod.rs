//! Data model: search requests, hits, items, drafts and changes.

mod cancel;
mod change;
mod draft;
mod field;
mod file_name;
mod hit;
mod item;
mod item_access;
mod listing;
mod rank_request;
mod retrieval;
mod score_threshold;
mod source_name;
mod source_stats;
mod statistics;
mod timestamp;
mod uri;

pub use cancel::CancelFlag;
pub use change::{
    Change, ChangeAction, ChangeAuthor, ChangedItem, Edit, FieldReplacement, JournalLimits,
    MAX_CONTENT_CHARS, TagChange,
};
pub use draft::{
    CharacterDraft, ChatBranch, ChatDraft, Cue, Draft, DraftBody, GeneratedMediaData, Heading,
    MediaDraft, MessageDraft, NoteDraft, PromptDraft, SaveOutcome, StoredChunk, Transcript,
    Transcription,
};
pub use field::Field;
pub use file_name::safe_file_name;
pub use hit::{ContentOrigin, Highlight, Hit, Loc, ScoreType};
pub use item::{Backlinks, GetRequest, Item, PageRequest, Range};
pub use item_access::{ItemAccess, SourceAccess, matches_pattern, pattern_to_like};
pub use listing::{Facet, FacetCounts, ItemName, ListOrder, ListRequest, ListedItem, Listing};
pub use rank_request::{
    ChatMatchScope, Deadline, FilterParameters, Filters, HitRequest, Order, PromptField,
    RankRequest, RankedMatch, Ranking, json_list,
};
pub use retrieval::{Preferences, Retrieval, RetrievalMode, RetrievalOptions};
pub use score_threshold::ScoreThreshold;
pub use source_name::SourceName;
pub use source_stats::{ItemVersion, SourceStats, StoredPrompt, Suggestions};
pub use statistics::CorpusStatistics;
pub(crate) use statistics::to_f64;
pub use timestamp::{Timestamp, TimestampError};
pub use uri::{ItemId, Uri, UriError, is_invisible};
