//! Actors of the search pipeline: one per source of each user, one aggregator that merges them, and
//! one per conversation.
//!
//! Requests go down (session → aggregator → source) and replies go up. Below the user registry, the
//! actor's address determines whose data is used; no message carries a user.

mod aggregator;
mod blocking_pool;
mod call_context;
mod change_notifier;
mod chunks;
pub mod collections;
mod derived_value;
mod error;
mod gauges;
mod hybrid;
mod index_rounds;
mod indexer;
mod item_reading;
mod library;
mod library_copies;
mod link_contexts;
mod link_states;
mod links;
mod listing;
mod mailbox;
mod merged_results;
mod quota;
mod repeats;
mod replica;
mod row_verification;
mod search_page;
mod section_links;
mod seen_uris;
mod session;
mod session_requests;
mod session_state;
mod session_store;
mod shown_items;
mod shown_origins;
mod sign_reading;
mod source;
mod source_call;
mod source_selection;
mod supersession;
mod user_registry;
mod vector_hit;
mod vector_indexes;
mod word_correction;

pub use call_context::{CallContext, WithContext};
pub use error::{CallError, StoreFault, error_chain};
pub use hybrid::{SearchMode, VectorQuery};
pub use library::Library;
pub use library_copies::copies_size;
pub use links::{ConnectedItems, ItemLinks, LinkDirection, LinkGraph, ResolvedLink};
pub use listing::{ListItems, ListPage};
pub use quota::{LibraryQuotas, LibraryRoom, LibraryUse, QuotaTurn, library_use};
pub use replica::TldwDirectory;
pub use search_page::{AlreadyShown, SearchPage};
pub use session::Session;
pub use session_requests::{ForgetShown, ReadRequest, SearchRequest, Spelling};
pub use shown_origins::provenance_of_session;
pub use source::{CompletionKind, OriginParts, SourceHandle};
pub use source_selection::{SourceFailure, SourceSelection};
pub use user_registry::{LibraryConfig, UserRegistry};
