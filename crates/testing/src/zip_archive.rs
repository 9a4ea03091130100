//! ZIP archives made by tests.

use std::io::{Cursor, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

/// Returns a ZIP archive of these files.
pub fn zip_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).expect("a file is added");
        archive.write_all(content).expect("a file is written");
    }
    archive.finish().expect("the archive is finished").into_inner()
}
