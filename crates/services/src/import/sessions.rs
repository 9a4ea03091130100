//! Imports the sessions of coding agents from the places where programs keep them, and follows them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use vademecum_actors::Library;
use vademecum_import::FileEntry;
use vademecum_sessions::{AgentPlace, HomeFolders, find_session_files};

use super::{
    error::ImportError,
    options::ImportOptions,
    pipeline::import_entries,
    summary::ImportSummary,
    watch::{WatchEvent, watch_paths},
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
        let files = self
            .files
            .iter()
            .map(|place| FileEntry { path: place.path.clone(), root: Some(place.root.clone()) });
        import_entries(library, files.collect(), options).await
    }

    /// Imports the sessions, then their changes and new ones until `stop` completes. An error of
    /// `report` ends the watch.
    pub async fn watch<E: From<ImportError>>(
        &self,
        library: &Library,
        options: &ImportOptions,
        stop: impl Future<Output = ()>,
        report: impl Fn(WatchEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let roots: BTreeSet<PathBuf> = self.files.iter().map(|place| place.root.clone()).collect();
        let roots: Vec<PathBuf> = roots.into_iter().collect();
        let run = async || {
            let found =
                Self { folders: self.folders.clone(), files: find_session_files(&self.folders) };
            found.import(library, options).await
        };
        watch_paths(library, &roots, run, stop, report).await
    }
}
