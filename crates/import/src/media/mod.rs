//! Importers of media: articles, web pages, papers, books, recordings, mail. Each format has one
//! file.
//!
//! Start with `document`, which is shared by all, then read `text`.

mod bookmarks;
mod cue_text;
mod document;
mod email;
mod epub;
mod feed;
pub(super) mod html;
mod html_markdown;
mod isolated_thread;
mod notebook;
pub(super) mod notion_html;
#[cfg(feature = "office")]
mod office;
#[cfg(feature = "office")]
mod outlook;
#[cfg(feature = "pdf")]
mod pdf;
mod podcast;
mod rst;
mod speakers;
mod subtitles;
mod table;
mod text;

#[cfg(feature = "pdf")]
pub(super) use self::pdf::PdfImporter;
pub(super) use self::{
    bookmarks::BookmarkImporter, email::EmailImporter, epub::EpubImporter, feed::FeedImporter,
    html::HtmlImporter, isolated_thread::has_abandoned_thread, notebook::NotebookImporter,
    podcast::PodcastImporter, rst::RstImporter, subtitles::SubtitleImporter, table::TableImporter,
    text::TextImporter,
};
#[cfg(feature = "office")]
pub(super) use self::{office::OfficeImporter, outlook::OutlookImporter};
