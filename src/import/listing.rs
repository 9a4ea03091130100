//! Which files are meant by the paths that a user names.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use vademecum_kit::model::SourceName;
use walkdir::{DirEntry, WalkDir};

use super::{
    Glance, Problem,
    registry::{formats, recognise},
};

/// The files to be read, and what was named but cannot be.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The files, folder by folder, sorted by name.
    pub files: Vec<Found>,
    /// Paths that are missing, unreadable or of no use to the source.
    pub skipped: Vec<Problem>,
}

/// A file that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// The folder that the user named, if it was found in one.
    pub root: Option<PathBuf>,
}

/// Lists the files that `source` can take: those named, and in folders those
/// of a fitting kind. Hidden files and folders are passed by, and links in a
/// folder are not followed, so nothing outside of it is ever read.
pub fn files(source: SourceName, paths: &[PathBuf]) -> Listing {
    let mut listing = Listing::default();
    for path in paths {
        match fs::metadata(path) {
            Err(error) => listing.skip(path, error.to_string()),
            Ok(found) if found.is_dir() => listing.walk(source, path),
            Ok(_) if takes(source, path, None) => {
                listing.files.push(Found { path: path.clone(), root: None });
            }
            Ok(_) => listing
                .skip(path, format!("cannot go into `{source}`, which takes {}", formats(source))),
        }
    }
    let mut seen = HashSet::new();
    listing.files.retain(|file| {
        seen.insert(fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone()))
    });
    listing
}

impl Listing {
    fn walk(&mut self, source: SourceName, folder: &Path) {
        let entries = WalkDir::new(folder)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry));
        for entry in entries {
            match entry {
                Ok(entry)
                    if entry.file_type().is_file() && takes(source, entry.path(), Some(folder)) =>
                {
                    let root = Some(folder.to_owned());
                    self.files.push(Found { path: entry.into_path(), root });
                }
                Ok(_) => {}
                Err(error) => {
                    let place = error.path().unwrap_or(folder).to_owned();
                    let reason =
                        error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.skip(&place, reason);
                }
            }
        }
    }

    fn skip(&mut self, path: &Path, reason: String) {
        self.skipped.push(Problem { place: path.display().to_string(), reason });
    }
}

fn takes(source: SourceName, path: &Path, root: Option<&Path>) -> bool {
    Glance::take(path, root).is_ok_and(|glance| recognise(Some(source), &glance).is_some())
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> tempfile::TempDir {
        let vault = tempfile::tempdir().unwrap();
        for path in ["b.md", "a/z.md", "a/picture.png", ".obsidian/x.md", ".trash/y.md", ".h.md"] {
            let path = vault.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        vault
    }

    #[test]
    fn folders_are_walked_in_order_and_hidden_ones_passed_by() {
        let vault = vault();
        let listing = files(SourceName::Notes, &[vault.path().to_owned()]);
        let paths: Vec<_> = listing.files.into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [vault.path().join("a/z.md"), vault.path().join("b.md")]);
        assert!(listing.skipped.is_empty());
    }

    #[test]
    fn a_file_named_twice_is_read_once() {
        let vault = vault();
        let file = vault.path().join("b.md");
        let listing = files(SourceName::Notes, &[file.clone(), vault.path().to_owned(), file]);
        assert_eq!(listing.files.len(), 2);
    }

    #[test]
    fn a_path_that_is_missing_or_of_no_use_is_named_with_the_reason() {
        let vault = vault();
        let named = [vault.path().join("a/picture.png"), vault.path().join("none.md")];
        let listing = files(SourceName::Notes, &named);
        assert!(listing.files.is_empty());
        assert_eq!(listing.skipped.len(), 2);
        assert!(listing.skipped[0].reason.contains("cannot go into `notes`"));
        assert!(listing.skipped[1].place.ends_with("none.md"));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_folder_are_not_followed() {
        let (vault, outside) = (vault(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.md"), "text").unwrap();
        std::os::unix::fs::symlink(outside.path(), vault.path().join("linked")).unwrap();
        let file = outside.path().join("secret.md");
        std::os::unix::fs::symlink(file, vault.path().join("linked.md")).unwrap();
        let listing = files(SourceName::Notes, &[vault.path().to_owned()]);
        assert_eq!(listing.files.len(), 2);
    }
}
