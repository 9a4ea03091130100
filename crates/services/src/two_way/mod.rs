//! Folders that are kept in sync with a library. In a two-way folder, a change of a note in the
//! library is written to its file, and edits of the files are imported.
//!
//! Start with `sync`, then read `write_back`.

mod daily_note;
mod file_text;
mod folders;
mod follow;
mod note_file;
mod sync;
mod write_back;

pub use daily_note::{DailyNote, DailyNoteError};
pub use folders::{FollowedFolders, NoteFileStatus};
pub use follow::follow_folders;
pub use sync::{SyncLock, SyncScope, sync_folder};
