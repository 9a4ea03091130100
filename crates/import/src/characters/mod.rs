//! Importers of characters: cards in JSON, in pictures and in archives.
//!
//! Start with `card`, which reads the fields for all of them.

pub(crate) mod card;
mod charx;
pub(crate) mod json_card;
mod png_card;

pub(crate) use self::{
    charx::CharxImporter, json_card::CharacterImporter, png_card::PngCardImporter,
};
