//! Importers of notes, and the text of a note's file after a change in the library.
//!
//! Start with `note_draft`, which all importers of single notes share, then read `text_notes`.

mod agent_instructions;
mod google_keep;
mod html_notes;
mod logseq;
mod note_draft;
mod note_edit;
mod notion;
mod obsidian;
mod org;
mod text_notes;

pub use self::note_edit::{
    InsertPlace, appended_text, edit_note_text, insert_text, replace_parts, set_properties,
};
pub(crate) use self::{
    google_keep::KeepImporter, html_notes::HtmlNoteImporter, logseq::LogseqImporter,
    notion::NotionImporter, org::OrgImporter, text_notes::NoteImporter,
};
