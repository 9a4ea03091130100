//! `vademecum migrate`.

use std::{num::NonZeroU32, path::Path, process::ExitCode};

use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;
use vademecum_services::{
    migrate::{Amount, Direction, Migration, OwnerReport},
    text::{format_bytes, format_count},
};

use super::{
    common::CommonOptions,
    output::{print_error, print_json, print_line},
};
use crate::app::open_data_folder;

/// Maximum time to store one database, in milliseconds. A server waits less for a write.
const PUT_TIMEOUT_MS: NonZeroU32 = NonZeroU32::MIN.saturating_add(3_599_999);

/// Move libraries into the archive of the settings, or out of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum migrate --to archive --dry-run
  vademecum migrate --to archive
  vademecum migrate --to archive --user ada
  vademecum migrate --from archive --data /srv/vademecum

The archive is the PostgreSQL database of [archive] in the settings, or of the
variable VADEMECUM_ARCHIVE_URL. Moved are the users and their keys, the audit log,
the collections, the server key and all libraries; with --user the library of that
user only. Vectors and cached embeddings are made again.

Stop the server of the data folder first. --to keeps the files: each is compared
with the archive, and follows it from then on. A database of which the archive has
other rows is not moved, the others are. --from makes a folder that needs no archive;
what the archive has stays there. It moves nothing if a file in the folder would lose
rows. Both can be interrupted and repeated. The rows of one database are held in
memory.

Exit codes: 0 if all was moved, 1 if not.")]
pub(super) struct Migrate {
    /// Move the databases of the data folder there
    #[arg(long, value_name = "PLACE", required_unless_present = "from", conflicts_with = "from")]
    to: Option<Place>,
    /// Move the databases from there into the data folder
    #[arg(long, value_name = "PLACE")]
    from: Option<Place>,
    /// Print what would be moved, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Place outside the data folder.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Place {
    /// The archive of the settings.
    Archive,
}

impl Migrate {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut settings = common.load_settings()?;
        settings.archive.put_timeout_ms = settings.archive.put_timeout_ms.max(PUT_TIMEOUT_MS);
        // A copy of which it is not known whether it is current must not be kept.
        settings.archive.stale_reads = false;
        let data = open_data_folder(&settings)?;
        let migration = Migration {
            data: &data,
            direction: if self.to.is_some() {
                Direction::ToArchive
            } else {
                Direction::FromArchive
            },
            only_user: common.user.as_ref().map(|user| user.parse()).transpose()?,
            dry_run: self.dry_run,
        };
        let mut reports = Vec::new();
        let migrated = migration.run(&mut |report| {
            if !self.json {
                self.print_owner(&report);
            }
            reports.push(report);
        });
        migrated?;
        let total = reports.iter().fold(Amount::default(), |sum, it| sum.plus(it.moved));
        if self.json {
            let result = json!({ "dry_run": self.dry_run, "owners": reports, "moved": total });
            print_json(&result)?;
        } else {
            self.print_total(total, data.path());
        }
        let is_complete = reports.iter().all(|report| report.problems.is_empty());
        Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn print_owner(&self, report: &OwnerReport) {
        let (owner, moved) = (report.owner(), report.moved);
        let there = match report.unchanged {
            0 => String::new(),
            1 => "1 database was there already".to_owned(),
            several => format!("{several} databases were there already"),
        };
        let moved = (moved.databases > 0).then(|| self.format_amount(moved));
        let parts: Vec<_> =
            moved.into_iter().chain([there].into_iter().filter(|it| !it.is_empty())).collect();
        if !parts.is_empty() {
            print_line(&format!("{owner}: {}", parts.join("; ")));
        }
        for problem in &report.problems {
            print_error(&format!("error: {owner}: {problem}"));
        }
    }

    fn print_total(&self, total: Amount, data: &Path) {
        let place = match self.to {
            Some(_) => "the archive".to_owned(),
            None => data.display().to_string(),
        };
        let next = match (self.dry_run, self.to) {
            (true, _) => "nothing was changed",
            (false, Some(_)) => "the files follow it from now on",
            (false, None) => "remove [archive] from the settings of this folder",
        };
        match total.databases {
            0 => print_line("nothing was moved"),
            _ => print_line(&format!("{} to {place}; {next}", self.format_amount(total))),
        }
    }

    /// Formats what was moved, or would be.
    fn format_amount(&self, Amount { databases, rows, bytes }: Amount) -> String {
        let verb = if self.dry_run { "would move" } else { "moved" };
        let rows = format_count(usize::try_from(rows).unwrap_or(usize::MAX), "row");
        let databases = format_count(databases, "database");
        format!("{verb} {databases}, {rows}, {}", format_bytes(bytes))
    }
}
