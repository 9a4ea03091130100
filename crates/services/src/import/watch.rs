//! Watches files and keeps the library in sync with them.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use notify::{RecursiveMode, Watcher};
use tokio::{sync::mpsc, time::sleep};
use vademecum_actors::Library;

use super::{
    error::ImportError, options::ImportOptions, pipeline::import_files, summary::ImportSummary,
};
use crate::progress::ProgressCallback;

/// Delay between a change and the import: programs write files in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(200);

/// Progress of [`watch_files`], passed to its parameter `report`.
#[derive(Debug)]
pub enum WatchEvent<'a> {
    /// The first import is done, or an import has changed the library.
    Imported(&'a ImportSummary),
    /// The first import is reported, and changes are imported from now on.
    Watching,
}

/// Maximum number of changed paths that are remembered. If more have changed, all are looked at.
const MAX_CHANGED_PATHS: usize = 10_000;

/// The paths that have changed since the last import.
#[derive(Debug)]
pub(super) enum ChangedPaths {
    /// Anything: it is the first import, or changes were missed.
    All,
    /// These files and folders.
    Some(BTreeSet<PathBuf>),
}

impl ChangedPaths {
    fn none() -> Self {
        Self::Some(BTreeSet::new())
    }

    fn add(&mut self, event: notify::Result<notify::Event>) {
        let Self::Some(paths) = self else { return };
        match event {
            Ok(event) if !event.need_rescan() => paths.extend(event.paths),
            Ok(_) | Err(_) => *self = Self::All,
        }
        if matches!(self, Self::Some(paths) if paths.len() > MAX_CHANGED_PATHS) {
            *self = Self::All;
        }
    }
}

/// Imports the files, then imports changes until `stop` completes. An error of `report` ends the
/// watch.
pub async fn watch_files<E: From<ImportError>>(
    library: &Library,
    options: &ImportOptions,
    progress: &ProgressCallback,
    stop: impl Future<Output = ()>,
    report: impl Fn(WatchEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let run = async |_| import_files(library, options, progress).await;
    watch_paths(library, &options.paths, run, stop, report).await
}

/// Calls `import`, and again with what changed after each change below `paths`, until `stop` completes. An error of
/// `report` ends the watch.
pub(super) async fn watch_paths<E: From<ImportError>>(
    library: &Library,
    paths: &[PathBuf],
    mut import: impl AsyncFnMut(ChangedPaths) -> Result<ImportSummary, ImportError>,
    stop: impl Future<Output = ()>,
    report: impl Fn(WatchEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (sender, mut changes) = mpsc::channel(1);
    let changed = Arc::new(Mutex::new(ChangedPaths::none()));
    let collected = Arc::clone(&changed);
    let on_event = move |event: notify::Result<notify::Event>| {
        // Read access is not a change; an error may hide one.
        if !event.as_ref().is_ok_and(|event| event.kind.is_access()) {
            collected.lock().unwrap_or_else(PoisonError::into_inner).add(event);
            // A pending notification covers this change too.
            let _waits = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).map_err(ImportError::Watch)?;
    for path in paths {
        watcher
            .watch(path, RecursiveMode::Recursive)
            .map_err(|source| ImportError::WatchPath { path: path.clone(), source })?;
    }
    // The first import is only counted; later imports list the changed files.
    let first = import(ChangedPaths::All).await?.without_changed_files();
    report(WatchEvent::Imported(&first))?;
    library.start_indexing();
    report(WatchEvent::Watching)?;
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            change = changes.recv() => if change.is_none() { return Ok(()) },
        }
        sleep(QUIET_PERIOD).await;
        // The import covers all changes up to now.
        while changes.try_recv().is_ok() {}
        let changed = std::mem::replace(
            &mut *changed.lock().unwrap_or_else(PoisonError::into_inner),
            ChangedPaths::none(),
        );
        let summary = import(changed).await?;
        if summary.has_changed() {
            library.start_indexing();
            report(WatchEvent::Imported(&summary))?;
        }
    }
}
