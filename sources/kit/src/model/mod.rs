//! The words of the house as types: what is asked, what is found, what is
//! read and what is brought in.

mod ask;
mod cancel;
mod change;
mod draft;
mod field;
mod floor;
mod hit;
mod holdings;
mod item;
mod name;
mod retrieval;
mod statistics;
mod timestamp;
mod uri;

pub use ask::{Ask, By, Deadline, Filters, Order, PromptField, Ranked, Ranking, View};
pub use cancel::Cancel;
pub use change::{Change, Edit, LONGEST_CONTENT, Replacement, Tagging, Written};
pub use draft::{
    Body, CharacterDraft, ChatDraft, Cue, Draft, Fork, Heading, KeptMedia, MediaDraft,
    MessageDraft, NoteDraft, PromptDraft, Saved, StoredChunk, Transcript, Transcription,
};
pub use field::Field;
pub use floor::Floor;
pub use hit::{Highlight, Hit, Loc, ScoreType};
pub use holdings::{Holdings, Stamped, StoredPrompt, Suggestions};
pub use item::{Get, Item, PageOf, Range};
pub use name::SourceName;
pub use retrieval::{Mode, Preferences, Retrieval, RetrievalOptions};
pub use statistics::Statistics;
pub(crate) use statistics::count;
pub use timestamp::{Timestamp, TimestampError};
pub use uri::{ItemId, Uri, UriError};
