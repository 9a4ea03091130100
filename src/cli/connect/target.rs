//! Which entry of which client is meant.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use similar::TextDiff;

use super::{
    client::{Client, ClientName},
    document::Layout,
    entry::{Entry, EntryName},
    file::SettingsFile,
    link::{Start, Url},
};
use crate::cli::{command::Common, output::say};

/// Which entry of which client is meant.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// Which client
    #[arg(value_enum)]
    pub(super) client: ClientName,
    /// Name of the server in the client's settings
    #[arg(long, value_name = "NAME", default_value = EntryName::ORDINARY)]
    pub(super) name: EntryName,
    /// File of settings, such as that of a project [default: the client's own for this user]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show what would change in the file, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// A client's file of settings, and what is in it under a name.
#[derive(Debug)]
pub(super) struct Found {
    /// The file.
    pub(super) file: SettingsFile,
    /// How it is written.
    pub(super) layout: Layout,
    /// The entry of that name.
    pub(super) entry: Option<Entry>,
}

/// This program and its server, as an entry may name them.
#[derive(Debug)]
pub(super) struct Ourselves {
    /// The program and what follows on the command line.
    pub(super) start: Start,
    /// Where its server is reached.
    pub(super) server: Url,
}

impl Target {
    /// What there is to know of the client.
    pub(super) fn known(&self) -> &'static Client {
        self.client.client()
    }

    /// The client's file of settings.
    pub(super) fn path(&self) -> Result<PathBuf> {
        if let Some(file) = &self.file {
            return std::path::absolute(file)
                .with_context(|| format!("cannot tell where {} is", file.display()));
        }
        let place = self.known().place.as_ref();
        let path = place.and_then(|place| (place.file)());
        path.context("this machine has no folder for settings; name the file with --file")
    }

    /// Reads the client's settings.
    pub(super) fn find(&self, layout: Layout) -> Result<Found> {
        let file = SettingsFile::read(&self.path()?)?;
        let entry = layout.find(file.text(), &self.name).with_context(|| refused(&file))?;
        Ok(Found { file, layout, entry })
    }

    /// Prints how the file would change.
    pub(super) fn show_change(found: &Found, new: &str) {
        let path = found.file.path().display().to_string();
        let diff = TextDiff::from_lines(found.file.text(), new);
        say(diff.unified_diff().header(&path, &path).to_string().trim_end());
    }
}

impl Found {
    /// Fails if the entry is neither ours nor `known` to be.
    pub(super) fn check_ours(&self, target: &Target, ourselves: &Ourselves) -> Result<()> {
        match &self.entry {
            Some(entry) if !entry.is_ours(&ourselves.start.command, &ourselves.server) => bail!(
                "`{}` in {} is not this server: it {}; choose another --name, or replace it \
                 with --force",
                target.name.as_str(),
                self.file.path().display(),
                entry.says(),
            ),
            Some(_) | None => Ok(()),
        }
    }
}

impl Ourselves {
    /// This program with these options, and `url` or else the server of the
    /// settings.
    pub(super) fn of(common: &Common, url: Option<&Url>) -> Result<Self> {
        let settings = common.settings()?;
        let server = url.cloned().unwrap_or_else(|| Url::of_server(settings.server.listen));
        Ok(Self { start: Start::of(common)?, server })
    }
}

/// That a file is left as it is.
pub(super) fn refused(file: &SettingsFile) -> String {
    format!("{} is left as it is, because it cannot be read", file.path().display())
}
