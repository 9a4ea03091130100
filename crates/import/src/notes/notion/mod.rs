//! Importer of Notion: pages in a folder, and the archive as delivered.

mod export;
mod importer;
mod page;
mod page_html;

pub(crate) use self::importer::NotionImporter;
