//! What people read: highlights in books and pages, saved pages, bookmarks, papers. Each book, page or
//! paper is a document, and each highlight in it a passage.
//!
//! Start with `entry`, which all of them share, then read `hypothesis`.

mod bibtex;
mod browser;
mod csl;
mod csv_list;
mod csv_rows;
mod entry;
mod hypothesis;
mod karakeep;
mod kindle;
mod kindle_clipping;
mod kobo;
mod latex;
mod linkwarden;
mod omnivore;
mod opml;
mod pocket_html;
mod reference;
mod ris;
mod zotero;

pub(crate) use self::{
    bibtex::BibTex, browser::BrowserBookmarks, csl::CslJson, csv_list::CsvReadingList,
    hypothesis::Hypothesis, karakeep::Karakeep, kindle::Kindle, kobo::Kobo, linkwarden::Linkwarden,
    omnivore::Omnivore, opml::Opml, pocket_html::PocketPage, ris::Ris, zotero::Zotero,
};
