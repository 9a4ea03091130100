//! Importers of documents: articles, web pages, papers, books, tables, files of office programs.
//!
//! Start with `document`, which all importers of media share, then read `text`.

pub(crate) mod document;
mod epub;
pub(crate) mod html;
mod isolated_thread;
mod notebook;
#[cfg(feature = "office")]
mod office;
#[cfg(feature = "pdf")]
mod pdf;
mod rst;
mod table;
mod text;

pub(crate) use vademecum_formats::html_markdown;

#[cfg(feature = "office")]
pub(crate) use self::office::{COMPOUND_SIGNATURE, OfficeImporter};
#[cfg(feature = "pdf")]
pub(crate) use self::pdf::PdfImporter;
pub(crate) use self::{
    epub::EpubImporter, html::HtmlImporter, isolated_thread::has_abandoned_thread,
    notebook::NotebookImporter, rst::RstImporter, table::TableImporter, text::TextImporter,
};
