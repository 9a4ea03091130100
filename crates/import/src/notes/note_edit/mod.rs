//! Text of the file of a note that was changed in the library: the new text with the title and the
//! tags where the format has them. Nothing else in the text changes.

mod front_matter;
mod logseq;
mod org;
mod property;
mod tag_edit;
mod text;

use self::tag_edit::{TagEdit, replace_range};
pub use self::text::{appended_text, edit_note_text};
