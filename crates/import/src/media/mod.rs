//! Media: articles, pages, papers, books, recordings, mail. One format a file.
//!
//! Start with `document`, what they have in common, then take `text`.

mod bounded;
mod cue_text;
mod document;
mod email;
mod epub;
mod feed;
pub(super) mod html;
mod markup;
mod notebook;
mod office;
mod outlook;
mod pdf;
mod podcast;
mod rst;
mod speakers;
mod subtitles;
mod table;
mod text;

pub(super) use self::{
    email::Email, epub::Epub, feed::Feeds, html::Html, notebook::Notebook, office::Office,
    outlook::Outlook, pdf::Pdf, podcast::Podcast, rst::Rst, subtitles::Subtitles, table::Table,
    text::Text,
};
