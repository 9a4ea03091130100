//! A first look at a file: its name, how it begins, what is packed in it.

use std::{
    cell::OnceCell,
    fs::File,
    io::{BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use super::{ImportError, archive, file::ends_in};

/// How much of a file is looked at, in bytes.
const HEAD: u64 = 8 * 1_024;

/// A file as it looks before it is read.
#[derive(Debug)]
pub struct Glance {
    path: PathBuf,
    root: Option<PathBuf>,
    head: Vec<u8>,
    file: File,
    entries: OnceCell<Vec<String>>,
}

impl Glance {
    /// Looks at a file. `root` is the folder that the user named, for a file
    /// that was found in one.
    pub fn take(path: &Path, root: Option<&Path>) -> Result<Self, ImportError> {
        let failed = |cause| ImportError::Open { path: path.to_owned(), cause };
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(ImportError::NotAFile { path: path.to_owned() });
        }
        let mut file = File::open(path).map_err(failed)?;
        let mut head = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut head).map_err(failed)?;
        let root = root.map(Path::to_owned);
        Ok(Self { path: path.to_owned(), root, head, file, entries: OnceCell::new() })
    }

    /// Where the file is, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in which it was found.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// How it begins: 8 KiB, or all of a shorter file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// How it begins as text, up to the first byte that is none; without a byte
    /// order mark and white space before it.
    pub fn opening(&self) -> &str {
        let text = match std::str::from_utf8(&self.head) {
            Ok(text) => text,
            Err(error) => {
                let whole = self.head.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(whole).unwrap_or_default()
            }
        };
        text.trim_start_matches('\u{feff}').trim_start()
    }

    /// Whether its name ends in one of `extensions`, in any case.
    pub fn ends_in(&self, extensions: &[&str]) -> bool {
        ends_in(&self.path, extensions)
    }

    /// The whole file, from its beginning; nothing if it cannot be read.
    pub fn reader(&self) -> Option<impl Read + Seek + '_> {
        let mut file = &self.file;
        file.rewind().ok().map(|()| BufReader::new(file))
    }

    /// The names of what is packed in it, for a ZIP archive; none for anything
    /// else.
    pub fn entries(&self) -> &[String] {
        self.entries.get_or_init(|| {
            let is_zip = self.head.starts_with(b"PK\x03\x04");
            let names = self.reader().filter(|_| is_zip).map(archive::names);
            names.and_then(Result::ok).unwrap_or_default()
        })
    }
}

/// How surely a file is of some format; the surest importer reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is something else.
    No,
    /// Its name ends like that of many formats, and nothing in it says which.
    Maybe,
    /// Its name says so, and nothing in it speaks against it.
    Name,
    /// What is in it says so.
    Content,
}

impl Fit {
    /// `self` if that holds, else no fit.
    #[must_use]
    pub fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::No }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, io::Write};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    /// An archive of these files.
    pub(crate) fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    /// A glance at a file of that name with these bytes.
    pub(crate) fn glance(name: &str, bytes: impl AsRef<[u8]>) -> Glance {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        // An open file is there until it is closed.
        Glance::take(&path, Some(folder.path())).unwrap()
    }

    #[test]
    fn a_file_is_looked_at_from_its_beginning() {
        let long = glance("a.MD", format!("\u{feff}\n {}\u{20ac}", "x".repeat(8_187)));
        assert!(long.ends_in(&["md"]) && !long.ends_in(&["m", "txt"]));
        assert_eq!(long.head().len(), 8_192);
        assert_eq!(long.opening(), "x".repeat(8_187));
        assert_eq!(glance("b", b"ab\xffcd").opening(), "ab");
        assert!(long.entries().is_empty());
    }

    #[test]
    fn what_is_packed_in_an_archive_is_named() {
        let zip = packed(&[("a/b.txt", b"x"), ("c.json", b"{}")]);
        assert_eq!(glance("x.zip", zip).entries(), ["a/b.txt", "c.json"]);
        assert!(glance("x.zip", b"PK\x03\x04 and nothing else").entries().is_empty());
    }

    #[test]
    fn content_says_more_than_a_name() {
        assert!(Fit::Content > Fit::Name && Fit::Name > Fit::Maybe && Fit::Maybe > Fit::No);
        assert_eq!((Fit::Name.when(true), Fit::Name.when(false)), (Fit::Name, Fit::No));
    }
}
