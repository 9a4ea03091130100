//! Tools that change the library: off unless the settings say otherwise, and
//! only for who has the right to write.

mod change;
mod input;
mod media;
mod notes;
mod tag;

pub use media::MediaAdd;
pub use notes::{NotesAppend, NotesCreate, NotesDelete, NotesUpdate};
pub use tag::KnowledgeTag;
