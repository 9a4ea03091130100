//! `vademecum export`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use vademecum_services::{export::export_library, text::format_item_count};

use super::{
    common::CommonOptions,
    output::{print_error, print_json, print_line},
    progress::progress_callback,
};
use crate::registry;

/// Write the library as Markdown and JSON files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum export ~/library
  vademecum import notes ~/library/notes

The folder gets one subfolder for each source. It must be empty or an export, which
is replaced. Importing it restores the same library. Deleted items
are not exported.")]
pub(super) struct Export {
    /// The folder to write
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

impl Export {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let library = app.library();
        let progress = progress_callback();
        let summary = export_library(&library, &registry::sources(), &self.folder, &progress)?;
        if self.json {
            print_json(&summary)?;
        } else {
            let counts: Vec<_> = summary
                .items
                .iter()
                .map(|(source, count)| format_item_count(*count, *source))
                .collect();
            print_line(&format!("exported to {}: {}", self.folder.display(), counts.join(", ")));
        }
        for uri in &summary.damaged {
            print_error(&format!(
                "`{uri}` is damaged and was left out; `vademecum check` names the remedy"
            ));
        }
        Ok(if summary.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
