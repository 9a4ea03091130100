//! `vademecum import sessions`: the sessions of coding agents in their usual places.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use vademecum_core::config;
use vademecum_services::import::{AgentSessions, ImportOptions, WatchEvent};

use super::{
    common::CommonOptions,
    import::Import,
    interrupt::stop_at_interrupt,
    output::{print_error, print_line},
};

impl Import {
    /// Shows the sessions that were found, asks, and imports them; with `--watch` until Ctrl-C.
    pub(super) async fn import_sessions(self, common: &CommonOptions) -> Result<ExitCode> {
        let folders = config::user_folders().context("cannot find the home folder")?;
        let sessions = AgentSessions::find(folders, config::moved_agent_folders());
        if sessions.is_empty() {
            bail!("no sessions of coding agents in the usual places; name their files or folders");
        }
        let app = common.create_app()?;
        let library = app.library();
        let options = self.options(Vec::new(), app.reader_limits());
        if !self.json {
            sessions.format_counts().iter().for_each(|line| print_line(line));
        }
        if self.dry_run || !self.yes {
            let planned =
                ImportOptions { dry_run: true, ..self.options(Vec::new(), options.limits) };
            let summary = sessions.import(&library, &planned).await?;
            self.print_report(&summary)?;
            if self.dry_run {
                return Ok(ExitCode::SUCCESS);
            }
            if !ask_to_import()? {
                return Ok(ExitCode::SUCCESS);
            }
        }
        stop_at_interrupt(&options.stop);
        if self.watch {
            let stopped = options.stop.stopped();
            let report = |event: WatchEvent<'_>| match event {
                WatchEvent::Imported(summary) => self.print_report(summary),
                WatchEvent::Watching => {
                    print_error("watching for changes; press Ctrl-C to stop");
                    Ok(())
                }
            };
            sessions.watch(&library, &options, stopped, report).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let summary = sessions.import(&library, &options).await?;
        self.finish_import(&library, &summary, &options.stop).await
    }
}

/// Asks whether to import. Without a terminal, nothing is imported.
fn ask_to_import() -> Result<bool> {
    if !io::stdin().is_terminal() {
        print_error("nothing was imported; run again with --yes to import these sessions");
        return Ok(false);
    }
    print_error("Import these sessions? [y/N]");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
