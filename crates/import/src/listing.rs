//! Which files are meant by the paths that a user names.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use walkdir::{DirEntry, WalkDir};

use super::Problem;

/// The files to be looked at, and what was named but cannot be read.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The files, folder by folder, sorted by name; each once.
    pub files: Vec<Found>,
    /// The folders and files that were named and are there: absolute, without
    /// links.
    pub named: Vec<PathBuf>,
    /// Paths that are missing or unreadable, and links in folders.
    pub skipped: Vec<Problem>,
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is: absolute, without links.
    pub path: PathBuf,
    /// The folder that the user named, if it was found in one.
    pub root: Option<PathBuf>,
}

/// Lists the files that are meant: those named, and all in folders. Hidden files
/// and folders and `node_modules` are passed by, and links in a folder are not followed, so nothing
/// outside of it is ever read.
pub fn files(paths: &[PathBuf]) -> Listing {
    let mut listing = Listing::default();
    for path in paths {
        let found = fs::canonicalize(path).and_then(|path| Ok((fs::metadata(&path)?, path)));
        match found {
            Err(error) => listing.skip(path, &error),
            Ok((about, path)) => {
                if about.is_dir() {
                    listing.walk(&path);
                } else {
                    listing.files.push(Found { path: path.clone(), root: None });
                }
                listing.named.push(path);
            }
        }
    }
    let mut seen = HashSet::new();
    listing.files.retain(|file| seen.insert(file.path.clone()));
    listing
}

impl Listing {
    fn walk(&mut self, folder: &Path) {
        let entries = WalkDir::new(folder)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.depth() == 0 || !is_passed_by(entry));
        for entry in entries {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    let root = Some(folder.to_owned());
                    self.files.push(Found { path: entry.into_path(), root });
                }
                Ok(entry) if entry.file_type().is_symlink() => {
                    let reason = "is a link, which is not followed; name what it points at";
                    self.skip(entry.path(), &io::Error::other(reason));
                }
                Ok(_) => {}
                Err(error) => {
                    let place = error.path().unwrap_or(folder).to_owned();
                    let reason =
                        error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.skip(&place, &io::Error::other(reason));
                }
            }
        }
    }

    fn skip(&mut self, path: &Path, error: &io::Error) {
        self.skipped.push(Problem { place: path.display().to_string(), reason: error.to_string() });
    }
}

/// Hidden files, and folders of what others wrote and a program only fetched.
fn is_passed_by(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    name.to_string_lossy().starts_with('.') || name == "node_modules" && entry.file_type().is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> tempfile::TempDir {
        let vault = tempfile::tempdir().unwrap();
        for path in [
            "b.md",
            "a/z.md",
            "a/picture.png",
            ".obsidian/x.md",
            ".trash/y.md",
            ".h.md",
            "node_modules/z.md",
        ] {
            let path = vault.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        vault
    }

    fn names(listing: &Listing, vault: &tempfile::TempDir) -> Vec<String> {
        let vault = fs::canonicalize(vault.path()).unwrap();
        let inside = |file: &Found| file.path.strip_prefix(&vault).unwrap().display().to_string();
        listing.files.iter().map(inside).collect()
    }

    #[test]
    fn folders_are_walked_in_order_and_hidden_ones_passed_by() {
        let vault = vault();
        let listing = files(&[vault.path().to_owned()]);
        assert_eq!(names(&listing, &vault), ["a/picture.png", "a/z.md", "b.md"]);
        let root = fs::canonicalize(vault.path()).unwrap();
        assert!(listing.files.iter().all(|file| file.root.as_ref() == Some(&root)));
        assert!(listing.skipped.is_empty() && listing.named == [root]);
    }

    #[test]
    fn a_file_named_twice_is_read_once() {
        let vault = vault();
        let file = vault.path().join("b.md");
        let listing = files(&[file.clone(), vault.path().to_owned(), file]);
        assert_eq!(names(&listing, &vault), ["b.md", "a/picture.png", "a/z.md"]);
        assert_eq!(listing.files[0].root, None);
    }

    #[test]
    fn a_path_that_is_not_there_is_named_with_the_reason() {
        let listing = files(&[vault().path().join("none.md")]);
        assert!(listing.files.is_empty() && listing.named.is_empty());
        assert!(listing.skipped[0].place.ends_with("none.md"));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_folder_are_named_and_not_followed() {
        let (vault, outside) = (vault(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.md"), "text").unwrap();
        std::os::unix::fs::symlink(outside.path(), vault.path().join("linked")).unwrap();
        let file = outside.path().join("secret.md");
        std::os::unix::fs::symlink(file, vault.path().join("linked.md")).unwrap();
        let listing = files(&[vault.path().to_owned()]);
        assert_eq!(listing.files.len(), 3);
        assert_eq!(listing.skipped.len(), 2);
        assert!(listing.skipped[0].reason.contains("link"));
    }
}
