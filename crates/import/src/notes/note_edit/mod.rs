//! Edits of the text of a note: its title, its tags and other properties where the format has them,
//! insertions, and replaced parts. Nothing else in the text changes.

mod front_matter;
mod insert;
mod logseq;
mod org;
mod property;
mod tag_edit;
mod text;

use self::tag_edit::{TagEdit, replace_range};
pub use self::{
    insert::{InsertPlace, insert_text, replace_parts, set_properties},
    text::{appended_text, edit_note_text},
};
