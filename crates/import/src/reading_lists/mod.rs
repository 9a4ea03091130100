//! Importers of lists of pages that people keep or follow: bookmarks and feeds. Each entry is a
//! document.

mod bookmarks;
mod feed;

pub(crate) use self::{bookmarks::BookmarkImporter, feed::FeedImporter};
