//! `vademecum check`, also called `vademecum doctor`.

use std::{error::Error, io, path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use vademecum_core::config::PublicUrl;
use vademecum_services::check::{DamageRepair, ServerCheck};
use vademecum_store::{ArchiveError, StoreError};

use super::{
    common::CommonOptions,
    output::{print_json, print_line},
};
use crate::{app::App, registry};

/// Check settings and databases; rebuild indexes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum check
  vademecum check --user ada --json
  vademecum check --repair
  vademecum check --repair --from-backup ~/backups/2026-01-31

Checks the libraries of all users, or of the one that --user names. It can run
while a server runs. --repair rebuilds derived data: full-text tables,
vectors, cached embeddings; and it removes the remains of interrupted builds.
Every item is compared with the digest that was written with it. A damaged one is
named, and neither shown nor changed. --repair restores it if its digest tells the
damaged byte, or from a backup; no other row is changed.
Full-text tables are rebuilt in one transaction, while writers wait; files
that are replaced as a whole must not be open in another program.
With [archive], it also says whether the archive is reached and has each file,
whether the clocks agree, and which servers have not erased copies of removed users.

Exit codes: 0 without errors, 1 with errors; warnings are not errors.")]
pub(super) struct Check {
    /// Rebuild derived data, remove unused files and make the data folder private
    #[arg(long)]
    repair: bool,
    /// With --repair: restore damaged items from this backup; may be given several times
    #[arg(long, value_name = "FOLDER", requires = "repair")]
    from_backup: Vec<PathBuf>,
    /// With --repair: take damaged items without a right copy as they are, so that they are shown
    #[arg(long, requires = "repair")]
    keep_damaged: bool,
    /// Do not wait for a server to erase copies of removed users, because its data folder does not
    /// exist any more; ID is in the findings
    #[arg(long, value_name = "ID")]
    forget_node: Option<String>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        // A check without --repair leaves the mode of the data folder as it is.
        let files = common.find_settings();
        let app = App::new(common.load_settings()?)?;
        app.settings().listen_address()?;
        match app.server_state(PublicUrl::localhost()) {
            // The check reports the archive, and files that do not follow it.
            Err(error) if is_of_archive(&error) => {}
            state => drop(state?),
        }
        if let Some(node) = &self.forget_node
            && !app.accounts()?.forget_node(node)?
        {
            bail!("no server {node} follows the archive");
        }
        let check = ServerCheck {
            settings: app.settings(),
            ignored_settings: &files.ignored,
            sources: &registry::sources(),
            user_registry: app.user_registry(),
            collections: app.collections(),
            syncs: app.syncs(),
            profiles: app.profiles(),
            program_tools: &app.program_tools(),
            only_user: common.user.as_ref().map(|user| user.parse()).transpose()?,
            repair: self.repair,
            damage: DamageRepair { backups: self.from_backup, keeps_damaged: self.keep_damaged },
        };
        let findings = check.run().await?;
        if self.json {
            print_json(&findings)?;
        } else {
            findings.format_lines().iter().for_each(|line| print_line(line));
        }
        Ok(if findings.has_no_errors() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Returns whether an error is that of the archive, or of a file that does not follow it.
fn is_of_archive(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let inner = inner.and_then(|inner| inner.downcast_ref::<ArchiveError>());
        if inner.is_some()
            || matches!(
                cause.downcast_ref(),
                Some(StoreError::Archive(_) | StoreError::NotArchived { .. })
            )
        {
            return true;
        }
        next = cause.source();
    }
    false
}
