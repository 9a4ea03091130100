//! Watches files and keeps the library in sync with them.

use std::{path::PathBuf, time::Duration};

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

/// Imports the files, then imports changes until `stop` completes. An error of `report` ends the
/// watch.
pub async fn watch_files<E: From<ImportError>>(
    library: &Library,
    options: &ImportOptions,
    progress: &ProgressCallback,
    stop: impl Future<Output = ()>,
    report: impl Fn(WatchEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let run = async || import_files(library, options, progress).await;
    watch_paths(library, &options.paths, run, stop, report).await
}

/// Calls `import`, and again after each change below `paths`, until `stop` completes. An error of
/// `report` ends the watch.
pub(super) async fn watch_paths<E: From<ImportError>>(
    library: &Library,
    paths: &[PathBuf],
    import: impl AsyncFn() -> Result<ImportSummary, ImportError>,
    stop: impl Future<Output = ()>,
    report: impl Fn(WatchEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (sender, mut changes) = mpsc::channel(1);
    let on_event = move |event: notify::Result<notify::Event>| {
        // Read access is not a change; an error may hide one.
        if !event.is_ok_and(|event| event.kind.is_access()) {
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
    let first = import().await?.without_changed_files();
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
        let summary = import().await?;
        if summary.has_changed() {
            library.start_indexing();
            report(WatchEvent::Imported(&summary))?;
        }
    }
}
