//! Tools that change the library. They are disabled by default and require the right to write.

mod change;
mod input;
mod media;
mod notes;
mod restore;
mod tag;

pub use media::MediaAdd;
pub use notes::{NotesAppend, NotesCreate, NotesDelete, NotesUpdate};
pub use restore::KnowledgeRestore;
pub use tag::KnowledgeTag;
