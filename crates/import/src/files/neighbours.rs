//! The files beside a file that its format needs: the only ones that a parser may see.
//!
//! They follow from the path of the file alone, so that they are opened before its contents are
//! parsed. A parser that a crafted file has taken over can ask for no other file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use vademecum_sessions::session_neighbours;

use super::{
    open_file::{OpenFile, has_extension},
    stamp::{FileStamp, database_log},
};

/// File extensions of the picture of an exported character.
pub(crate) const PICTURE_EXTENSIONS: [&str; 5] = ["png", "jpg", "webp", "gif", "bin"];
/// Names of the two files of a pattern of prompts.
pub(crate) const PATTERN_FILES: [&str; 2] = ["system.md", "user.md"];
/// Folder of the settings of an Obsidian vault.
pub(crate) const VAULT_SETTINGS_FOLDER: &str = ".obsidian";
/// Files in that folder which name the template folder.
pub(crate) const TEMPLATE_SETTINGS: [&str; 2] =
    ["templates.json", "plugins/templater-obsidian/data.json"];

/// Maximum number of folders that are searched for another pattern.
const MAX_PATTERN_FOLDERS: usize = 1_000;

/// The files and folders beside a file that its importer may need.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    files: BTreeMap<PathBuf, OpenFile>,
    /// Files and folders that exist. Their contents are not needed.
    present: BTreeSet<PathBuf>,
}

impl Neighbours {
    /// Creates the neighbours that another process has opened.
    #[cfg(unix)]
    pub(crate) fn new(files: Vec<OpenFile>, present: BTreeSet<PathBuf>) -> Self {
        let files = files.into_iter().map(|file| (file.path.clone(), file)).collect();
        Self { files, present }
    }

    /// Opens the neighbours of a file. `root` is the folder named by the user, for a file found in
    /// one. Both paths are absolute, without links.
    pub(crate) fn find(path: &Path, root: Option<&Path>) -> Self {
        let mut found = Self::default();
        found.add_exported(path, root);
        found.add_markers(path);
        found.add_pattern(path, root);
        for neighbour in session_neighbours(path).into_iter().chain(database_log(path)) {
            found.add_file(&neighbour, root);
        }
        if let Some(root) = root {
            found.add_vault_settings(path, root);
        }
        found
    }

    /// Returns `true` if there is a file or folder with this path among the neighbours.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.present.contains(path)
    }

    /// Returns `true` if a file with this name outside of `folder` is among the neighbours.
    pub(crate) fn has_name(&self, name: &str, folder: &Path) -> bool {
        self.present.iter().any(|path| path.ends_with(name) && path.parent() != Some(folder))
    }

    /// Returns the stamp of the write-ahead log of a file, if it is a database that has one.
    pub(crate) fn log_stamp(&self, path: &Path) -> Option<FileStamp> {
        Some(self.files.get(&database_log(path)?)?.stamp)
    }

    /// Opens a neighbour; `None` if there is none with this path, or if it cannot be opened.
    pub(crate) fn open(&self, path: &Path) -> Option<OpenFile> {
        self.files.get(path)?.reopen().ok()
    }

    /// Returns the open files, and the paths of what only exists.
    pub(crate) fn parts(&self) -> (impl Iterator<Item = &OpenFile>, &BTreeSet<PathBuf>) {
        (self.files.values(), &self.present)
    }

    fn add_file(&mut self, path: &Path, root: Option<&Path>) {
        // Without a root, a link as the last part of the path would be followed.
        if let Ok(file) = OpenFile::open(path, root.or(path.parent())) {
            self.files.insert(path.to_owned(), file);
        }
    }

    fn add_present(&mut self, path: PathBuf, fits: impl Fn(&fs::FileType) -> bool) {
        if path.symlink_metadata().is_ok_and(|about| fits(&about.file_type())) {
            self.present.insert(path);
        }
    }

    /// Adds what an export writes beside an item: its earlier versions, the picture of a character;
    /// and the item of a picture. A page of Google Keep has its note as JSON beside it.
    fn add_exported(&mut self, path: &Path, root: Option<&Path>) {
        if has_extension(path, &["json", "md"]) {
            self.add_file(&path.with_extension("versions.json"), root);
        }
        if has_extension(path, &["json"]) {
            for extension in PICTURE_EXTENSIONS {
                self.add_file(&path.with_extension(extension), root);
            }
        }
        if has_extension(path, &PICTURE_EXTENSIONS) {
            self.add_file(&path.with_extension("json"), root);
        }
        if has_extension(path, &["html", "htm"]) {
            self.add_present(path.with_extension("json"), fs::FileType::is_file);
        }
    }

    /// Adds the folders and files by which a graph of Logseq is recognised.
    fn add_markers(&mut self, path: &Path) {
        for folder in path.ancestors().skip(1) {
            if folder.file_name().is_some_and(|name| name == "logseq") {
                self.add_present(folder.join("config.edn"), fs::FileType::is_file);
            }
        }
        let folder = path.parent();
        let is_page_folder = |it: &&Path| it.ends_with("pages") || it.ends_with("journals");
        if let Some(graph) = folder.filter(is_page_folder).and_then(Path::parent) {
            self.add_present(graph.join("logseq"), fs::FileType::is_dir);
        }
    }

    /// Adds the other half of a pattern of prompts, or else one more pattern in a folder beside it.
    fn add_pattern(&mut self, path: &Path, root: Option<&Path>) {
        let [system, user] = PATTERN_FILES;
        let Some(folder) = path.parent().filter(|_| path.ends_with(system) || path.ends_with(user))
        else {
            return;
        };
        let other = folder.join(if path.ends_with(user) { system } else { user });
        self.add_file(&other, root);
        if self.has(&other) || path.ends_with(user) {
            return;
        }
        let around = folder.parent().filter(|it| root.is_some_and(|root| it.starts_with(root)));
        let entries = around.and_then(|around| fs::read_dir(around).ok()).into_iter().flatten();
        for entry in entries.take(MAX_PATTERN_FOLDERS).flatten() {
            let other = entry.path();
            if other != folder {
                self.add_present(other.join(system), fs::FileType::is_file);
            }
            if !self.present.is_empty() {
                return;
            }
        }
    }

    /// Adds the settings of the Obsidian vault that contains the file, within the folder named by
    /// the user.
    fn add_vault_settings(&mut self, path: &Path, root: &Path) {
        let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
        for folder in folders {
            let settings = folder.join(VAULT_SETTINGS_FOLDER);
            self.add_present(settings.clone(), fs::FileType::is_dir);
            if self.has(&settings) {
                for name in TEMPLATE_SETTINGS {
                    self.add_file(&settings.join(name), Some(root));
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates files in a folder and returns the neighbours of the first, relative to the folder.
    fn neighbours(paths: &[&str], with_root: bool) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for path in paths {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let found = Neighbours::find(&root.join(paths[0]), with_root.then_some(root.as_path()));
        let (files, present) = found.parts();
        let paths = files.map(|file| &file.path).chain(present);
        paths.map(|it| it.strip_prefix(&root).unwrap().display().to_string()).collect()
    }

    #[test]
    fn file_has_neighbours_of_its_format_only() {
        let others = [".ssh/id", "key.pem", "b.json", "c.md", "a.txt"];
        let with = |path: &'static str| [&[path][..], &others].concat();
        for with_root in [false, true] {
            for path in ["a.pdf", "a.mbox", "a.md", "a.json", "a.html", "user.md", "system.md"] {
                assert_eq!(neighbours(&with(path), with_root), [""; 0], "{path}");
            }
        }
        for (paths, expected) in [
            (
                &["a.json", "a.gif", "a.versions.json", "b.gif"][..],
                &["a.gif", "a.versions.json"][..],
            ),
            (&["a.gif", "a.json", "a.png"], &["a.json"]),
            (&["a.md", "a.versions.json", "a.gif"], &["a.versions.json"]),
            (&["a.html", "a.json", "a.md"], &["a.json"]),
            (&["p/system.md", "p/user.md", "q/system.md"], &["p/user.md"]),
            (&["g/pages/a.md", "g/logseq/config.edn"], &["g/logseq"]),
            (&["g/logseq/bak/a.md", "g/logseq/config.edn"], &["g/logseq/config.edn"]),
            (&["n/a.md", ".obsidian/templates.json", "n/.obsidian/x"], &[]),
        ] {
            assert_eq!(neighbours(paths, false), expected, "{paths:?}");
        }
    }

    #[test]
    fn file_of_folder_has_neighbours_of_layout() {
        let patterns = ["p/system.md", "q/system.md", "r/system.md"];
        assert_eq!(neighbours(&patterns, true).len(), 1);
        let vault = ["n/a.md", ".obsidian/templates.json", ".obsidian/app.json", "b.md"];
        assert_eq!(neighbours(&vault, true), [".obsidian/templates.json", ".obsidian"]);
    }

    #[cfg(unix)]
    #[test]
    fn neighbour_that_is_link_is_not_opened() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::write(outside.path().join("secret"), "text").unwrap();
        fs::write(root.join("a.json"), "{}").unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), root.join("a.png")).unwrap();
        for root in [None, Some(root.as_path())] {
            let found =
                Neighbours::find(&folder.path().canonicalize().unwrap().join("a.json"), root);
            assert!(found.files.is_empty() && found.present.is_empty());
        }
    }
}
