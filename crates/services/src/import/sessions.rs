//! Imports the sessions of coding agents from the places where programs keep them, and follows them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use vademecum_actors::Library;
use vademecum_import::{FileEntry, database_of};
use vademecum_sessions::{AgentPlace, HomeFolders, find_session_file, find_session_files};

use super::{
    error::ImportError,
    options::ImportOptions,
    pipeline::{import_entries, import_sessions},
    session_tails::SessionTails,
    summary::ImportSummary,
    watch::{ChangedPaths, WatchEvent, watch_paths},
};

/// The sessions of coding agents in the usual places of a person.
#[derive(Clone, Debug)]
pub struct AgentSessions {
    folders: HomeFolders,
    files: Vec<AgentPlace>,
}

impl AgentSessions {
    /// Finds the files of sessions below the folders of a person: home, settings, and data. `moved` are
    /// the folders that a program has instead, by its name.
    pub fn find([home, settings, data]: [PathBuf; 3], moved: Vec<(&'static str, PathBuf)>) -> Self {
        let folders = HomeFolders { home, settings, data, moved };
        let files = find_session_files(&folders);
        Self { folders, files }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns a line for each program: the number of its files, and their folders.
    pub fn format_counts(&self) -> Vec<String> {
        let mut programs: BTreeMap<&str, (usize, BTreeSet<String>)> = BTreeMap::new();
        for place in &self.files {
            let (files, roots) = programs.entry(place.label).or_default();
            *files += 1;
            roots.insert(place.root.display().to_string());
        }
        let lines = programs.into_iter().map(|(label, (files, roots))| {
            let roots: Vec<String> = roots.into_iter().collect();
            let ending = if files == 1 { "" } else { "s" };
            format!("{label}: {files} file{ending} in {}", roots.join(", "))
        });
        lines.collect()
    }

    /// Imports the sessions. What was imported before stays, also if its file is gone.
    pub async fn import(
        &self,
        library: &Library,
        options: &ImportOptions,
    ) -> Result<ImportSummary, ImportError> {
        import_entries(library, entries(&self.files), options).await
    }

    /// Imports the sessions, then their changes and new ones until `stop` completes. Of a file that
    /// grows, only what was added is read. An error of `report` ends the watch.
    pub async fn watch<E: From<ImportError>>(
        &self,
        library: &Library,
        options: &ImportOptions,
        stop: impl Future<Output = ()>,
        report: impl Fn(WatchEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let roots: BTreeSet<PathBuf> = self.files.iter().map(|place| place.root.clone()).collect();
        let roots: Vec<PathBuf> = roots.into_iter().collect();
        let mut tails = SessionTails::default();
        let run = async |changed: ChangedPaths| {
            let found = self.changed_files(&roots, changed);
            import_sessions(library, entries(&found), options, Some(&mut tails)).await
        };
        watch_paths(library, &roots, run, stop, report).await
    }

    /// Returns the files of sessions that have changed: all if that is not known.
    fn changed_files(&self, roots: &[PathBuf], changed: ChangedPaths) -> Vec<AgentPlace> {
        let ChangedPaths::Some(paths) = changed else { return find_session_files(&self.folders) };
        let mut found = BTreeSet::new();
        for path in paths {
            // Files may be in a new folder before it is watched.
            if path.is_dir() {
                return find_session_files(&self.folders);
            }
            let path = database_of(&path).unwrap_or(path);
            let above = roots.iter().filter(|root| path.starts_with(root));
            let root = above.max_by_key(|root| root.components().count());
            found.extend(root.and_then(|root| find_session_file(root, &path)));
        }
        found.into_iter().collect()
    }
}

fn entries(places: &[AgentPlace]) -> Vec<FileEntry> {
    let entry =
        |place: &AgentPlace| FileEntry { path: place.path.clone(), root: Some(place.root.clone()) };
    places.iter().map(entry).collect()
}
