//! Data model: search requests, hits, items, drafts and changes.

mod cancel;
mod change;
mod deadline;
mod draft;
mod field;
mod file_name;
mod filters;
mod front_matter;
mod fts_table;
mod hit;
mod item_access;
mod item_ref;
mod listing;
mod month_name;
mod origin;
mod property;
mod range;
mod retrieval;
mod score_threshold;
mod session_details;
mod source_name;
mod source_stats;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statistics;
mod timestamp;
mod uri;

pub use cancel::CancelFlag;
pub use change::{
    Change, ChangeAction, ChangeAuthor, ChangedItem, Edit, FieldReplacement, JournalLimits,
    MAX_CONTENT_CHARS, NoteRewrite, TagChange,
};
pub use deadline::Deadline;
pub use draft::{
    CharacterDraft, ChatBranch, ChatDraft, Cue, Draft, DraftBody, GeneratedMediaData, Heading,
    MediaDraft, MessageDraft, NoteDraft, PromptDraft, SaveOutcome, StoredChunk, Transcript,
    Transcription,
};
pub use field::Field;
pub use file_name::safe_file_name;
pub use filters::{ChatMatchScope, Filters, Order, PromptField, json_list};
pub use front_matter::{FrontMatterBlock, FrontMatterSyntax};
pub use fts_table::{FtsColumn, FtsTable, VARIANT_WEIGHT};
pub use hit::{Highlight, Hit, Loc, ScoreType};
pub use item_access::{ItemAccess, SourceAccess, matches_pattern, pattern_to_like};
pub use item_ref::{Backlinks, ItemRef};
pub use listing::{
    Facet, FacetCounts, ItemName, ListOrder, ListRequest, ListedItem, Listing, NameForm,
};
pub use month_name::month_number;
pub use origin::{ContentOrigin, DerivedFrom, OriginSet, Provenance, UnknownOrigin};
pub use property::{LinkState, PropertyCondition, PropertyValue, TaskState};
pub use range::{PageRequest, Range};
pub use retrieval::{Preferences, Retrieval, RetrievalMode, RetrievalOptions};
pub use score_threshold::ScoreThreshold;
pub use session_details::SessionDetails;
pub use source_name::SourceName;
pub use source_stats::{ItemVersion, SourceStats, StoredPrompt, Suggestions};
pub use statistics::CorpusStatistics;
pub use statistics::to_f64;
pub use timestamp::{Timestamp, TimestampError};
pub use uri::{ItemId, Uri, UriError, is_invisible};
