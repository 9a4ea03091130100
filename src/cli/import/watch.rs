//! Watches files and keeps the library in sync with them.

use std::time::Duration;

use anyhow::{Context, Result};
use notify::{RecursiveMode, Watcher};
use tokio::{signal, sync::mpsc, time::sleep};

use super::{
    run::{ImportOptions, import_files},
    summary::ImportSummary,
};
use crate::{actors::Library, cli::output::print_error};

/// Delay between a change and the import: programs write files in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(200);

/// Imports the files, then imports changes until Ctrl-C. `tell` is called after the first import,
/// and after each import that changes the library.
pub(super) async fn watch_files(
    library: &Library,
    wish: &ImportOptions,
    tell: impl Fn(&ImportSummary) -> Result<()>,
) -> Result<()> {
    let (sender, mut changes) = mpsc::channel(1);
    let notice = move |event: notify::Result<notify::Event>| {
        // Read access is not a change; an error may hide one.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // A pending notification covers this change too.
            let _waits = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(notice).context("cannot watch files")?;
    for path in &wish.paths {
        let watched = watcher.watch(path, RecursiveMode::Recursive);
        watched.with_context(|| format!("cannot watch {}", path.display()))?;
    }
    // The first import is only counted; later imports list the changed files.
    tell(&import_files(library, wish).await?.without_changed_files())?;
    library.start_indexing();
    print_error("watching for changes; press Ctrl-C to stop");
    loop {
        tokio::select! {
            _ = signal::ctrl_c() => return Ok(()),
            change = changes.recv() => if change.is_none() { return Ok(()) },
        }
        sleep(QUIET_PERIOD).await;
        // The import covers all changes up to now.
        while changes.try_recv().is_ok() {}
        let summary = import_files(library, wish).await?;
        if summary.has_changed() {
            library.start_indexing();
            tell(&summary)?;
        }
    }
}
