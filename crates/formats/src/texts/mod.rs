//! Books and documents of a word processor, whose structure becomes Markdown with headings.
//!
//! Start with `markdown_writer`, which all of them share, then read `fiction_book`.

mod fiction_book;
mod markdown_writer;
mod open_document;
mod rich_text;

pub(crate) use self::{
    fiction_book::FictionBook, open_document::OpenDocument, rich_text::RichText,
};
