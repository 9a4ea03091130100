//! Archives of files of any kind: a vault, a folder of documents, a Takeout.

mod archive_importer;

pub(crate) use self::archive_importer::ArchiveImporter;
