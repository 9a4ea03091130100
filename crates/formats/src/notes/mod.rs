//! Notes of other programs.
//!
//! Start with `simplenote`, the shortest, then read `evernote`.

mod day_one;
mod enml;
mod evernote;
mod front_matter;
mod joplin;
mod joplin_item;
mod roam;
mod simplenote;
mod standard_notes;
mod text_bundle;
mod tomboy;

pub(crate) use self::{
    day_one::DayOne, evernote::Evernote, joplin::Joplin, roam::Roam, simplenote::Simplenote,
    standard_notes::StandardNotes, text_bundle::TextBundle, tomboy::Tomboy,
};
