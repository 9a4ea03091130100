//! `vademecum man`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Command;

use super::output::print_line;

/// Write the manual pages: one for the program, and one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum man ~/.local/share/man/man1
  man vademecum-import")]
pub(super) struct Man {
    /// Folder to write to, which is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Writes the pages of `command`, which is the whole command line.
    pub(super) fn run(self, command: Command) -> Result<ExitCode> {
        let folder = self.folder;
        let failed = || format!("cannot write the manual pages to {}", folder.display());
        fs::create_dir_all(&folder).with_context(failed)?;
        clap_mangen::generate_to(command, &folder).with_context(failed)?;
        print_line(&format!("Wrote the manual pages to {}", folder.display()));
        Ok(ExitCode::SUCCESS)
    }
}
