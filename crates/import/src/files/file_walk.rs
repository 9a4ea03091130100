//! Expansion of the paths named by a user into a list of files.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use walkdir::{DirEntry, WalkDir};

use crate::Problem;

/// The files to import and the paths that cannot be read.
#[derive(Clone, Debug, Default)]
pub struct FileWalk {
    /// Files without duplicates, folder by folder, sorted by name.
    pub files: Vec<FileEntry>,
    /// Named folders and files that exist; absolute, with links resolved.
    pub named_paths: Vec<PathBuf>,
    /// Missing or unreadable paths, and links in folders.
    pub skipped: Vec<Problem>,
}

/// A file to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Absolute path, with links resolved.
    pub path: PathBuf,
    /// Folder named by the user in which the file was found, if any.
    pub root: Option<PathBuf>,
}

/// Lists the named files and all files below the named folders. Hidden files, hidden folders and
/// `node_modules` are ignored. Links in a folder are not followed, so nothing outside of it is ever
/// read.
pub fn walk_files(paths: &[PathBuf]) -> FileWalk {
    let mut listing = FileWalk::default();
    for path in paths {
        let found = fs::canonicalize(path).and_then(|path| Ok((fs::metadata(&path)?, path)));
        match found {
            Err(error) => listing.add_skipped(path, &error),
            Ok((about, path)) => {
                if about.is_dir() {
                    listing.add_folder(&path);
                } else {
                    listing.files.push(FileEntry { path: path.clone(), root: None });
                }
                listing.named_paths.push(path);
            }
        }
    }
    let mut seen = HashSet::new();
    listing.files.retain(|file| seen.insert(file.path.clone()));
    listing
}

impl FileWalk {
    fn add_folder(&mut self, folder: &Path) {
        let entries = WalkDir::new(folder)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.depth() == 0 || !is_ignored(entry));
        for entry in entries {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    let root = Some(folder.to_owned());
                    self.files.push(FileEntry { path: entry.into_path(), root });
                }
                Ok(entry) if entry.file_type().is_symlink() => {
                    let reason = "links are not followed; name the target instead";
                    self.add_skipped(entry.path(), &io::Error::other(reason));
                }
                Ok(_) => {}
                Err(error) => {
                    let place = error.path().unwrap_or(folder).to_owned();
                    let reason =
                        error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.add_skipped(&place, &io::Error::other(reason));
                }
            }
        }
    }

    fn add_skipped(&mut self, path: &Path, error: &io::Error) {
        self.skipped.push(Problem { place: path.display().to_string(), reason: error.to_string() });
    }
}

/// Returns `true` for hidden entries and for `node_modules`, which holds downloaded files of
/// others.
fn is_ignored(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    name.to_string_lossy().starts_with('.') || name == "node_modules" && entry.file_type().is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_vault() -> tempfile::TempDir {
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

    fn relative_paths(listing: &FileWalk, vault: &tempfile::TempDir) -> Vec<String> {
        let vault = fs::canonicalize(vault.path()).unwrap();
        let inside =
            |file: &FileEntry| file.path.strip_prefix(&vault).unwrap().display().to_string();
        listing.files.iter().map(inside).collect()
    }

    #[test]
    fn folders_are_walked_in_order_without_hidden_ones() {
        let vault = create_vault();
        let listing = walk_files(&[vault.path().to_owned()]);
        assert_eq!(relative_paths(&listing, &vault), ["a/picture.png", "a/z.md", "b.md"]);
        let root = fs::canonicalize(vault.path()).unwrap();
        assert!(listing.files.iter().all(|file| file.root.as_ref() == Some(&root)));
        assert!(listing.skipped.is_empty() && listing.named_paths == [root]);
    }

    #[test]
    fn file_named_twice_is_listed_once() {
        let vault = create_vault();
        let file = vault.path().join("b.md");
        let listing = walk_files(&[file.clone(), vault.path().to_owned(), file]);
        assert_eq!(relative_paths(&listing, &vault), ["b.md", "a/picture.png", "a/z.md"]);
        assert_eq!(listing.files[0].root, None);
    }

    #[test]
    fn missing_path_is_reported_with_reason() {
        let listing = walk_files(&[create_vault().path().join("none.md")]);
        assert!(listing.files.is_empty() && listing.named_paths.is_empty());
        assert!(listing.skipped[0].place.ends_with("none.md"));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_folders_are_reported_not_followed() {
        let (vault, outside) = (create_vault(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.md"), "text").unwrap();
        std::os::unix::fs::symlink(outside.path(), vault.path().join("linked")).unwrap();
        let file = outside.path().join("secret.md");
        std::os::unix::fs::symlink(file, vault.path().join("linked.md")).unwrap();
        let listing = walk_files(&[vault.path().to_owned()]);
        assert_eq!(listing.files.len(), 3);
        assert_eq!(listing.skipped.len(), 2);
        assert!(listing.skipped[0].reason.contains("link"));
    }
}
