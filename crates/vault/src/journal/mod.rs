//! The journal of a database: every change of an item since it was stored, with its author and the
//! difference to the version before, so that earlier versions can be read and restored.
//!
//! The text of a version is the JSON of its [`DraftBody`](vademecum_model::DraftBody), without the time
//! of the last change. Entries are bounded by age and size; the oldest are deleted first.
//! Conversations have entries without texts, because they only grow.

mod as_of;
mod delta;
mod entry;
mod exported;
mod import;
mod line_merge;
mod merge;
mod received;
mod received_versions;
mod record;
mod undo;
mod versions;

pub use self::{
    as_of::{AsOf, PastListing, list_items_as_of, load_item_as_of},
    entry::JournalEntry,
    exported::{
        ExportedChange, ExportedVersions, MAX_EXPORTED_BYTES, MAX_EXPORTED_CHANGES,
        export_all_versions, export_versions, import_versions,
    },
    import::{
        ConflictCopies, LocalChange, list_local_changes, remove_changed_origin, remove_origin,
        save_draft,
    },
    received::{ReceivedItem, add_received_origins, link_received, write_received},
    received_versions::{find_received_version, find_version, last_client, merge_versions},
    record::{apply_change, canonical_text, import_base, import_base_texts},
    undo::{UndoOutcome, UndoSelection, UndoneItem, undo_changes},
    versions::{
        FieldChange, ItemChange, ItemHistory, list_changes, list_client_changes, read_history,
    },
};
