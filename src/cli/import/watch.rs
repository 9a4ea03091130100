//! Keeping the library in step with files while they change.

use std::time::Duration;

use anyhow::{Context, Result};
use notify::{RecursiveMode, Watcher};
use tokio::{signal, sync::mpsc, time::sleep};

use super::{
    run::{Wish, bring_in},
    summary::Summary,
};
use crate::{actors::Library, cli::output::complain};

/// How long files must be left alone before they are looked at: programs write
/// in several steps.
const QUIET: Duration = Duration::from_millis(200);

/// Brings in what is there, and then what changes, until Ctrl-C. `tell` is called
/// the first time, and whenever something has changed.
pub(super) async fn watch(
    library: &Library,
    wish: &Wish,
    tell: impl Fn(&Summary) -> Result<()>,
) -> Result<()> {
    let (sender, mut changes) = mpsc::channel(1);
    let notice = move |event: notify::Result<notify::Event>| {
        // Reading is no change; an error may hide one.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // One that waits already stands for all.
            let _waits = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(notice).context("files cannot be watched")?;
    for path in &wish.paths {
        let watched = watcher.watch(path, RecursiveMode::Recursive);
        watched.with_context(|| format!("{} cannot be watched", path.display()))?;
    }
    // What was there before is counted; only what changes from now on is named.
    tell(&bring_in(library, wish).await?.without_names())?;
    library.follow_vectors();
    complain("watching; Ctrl-C ends");
    loop {
        tokio::select! {
            _ = signal::ctrl_c() => return Ok(()),
            change = changes.recv() => if change.is_none() { return Ok(()) },
        }
        sleep(QUIET).await;
        // What came meanwhile is seen as well.
        while changes.try_recv().is_ok() {}
        let summary = bring_in(library, wish).await?;
        if summary.has_changed() {
            library.follow_vectors();
            tell(&summary)?;
        }
    }
}
