//! Importer of Notion: pages in a folder, and the archive as delivered.

mod export;
mod importer;
mod page_html;

pub(crate) use self::importer::NotionImporter;
