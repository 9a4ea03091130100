//! Selection of a client and of an entry in its settings.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use diffy::DiffOptions;

use super::{
    client::Client,
    client_name::ClientName,
    endpoint::{LaunchCommand, ServerUrl},
    entry::{EntryName, ServerEntry},
    file::SettingsFile,
    layout::SettingsLayout,
};
use crate::cli::{common::CommonOptions, output::print_line};
use vademecum_core::config::ListenAddress;

/// Options that select a client and an entry in its settings.
#[derive(Debug, clap::Args)]
pub(super) struct ClientTarget {
    /// The client
    #[arg(value_enum)]
    pub(super) client: ClientName,
    /// Name of the server in the client's settings
    #[arg(long, value_name = "NAME", default_value = EntryName::DEFAULT)]
    pub(super) name: EntryName,
    /// Settings file, such as that of a project [default: the client's own for this user]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show the change to the file without making it
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// A client's settings file and its entry of a given name.
#[derive(Debug)]
pub(super) struct CurrentSettings {
    /// The file.
    pub(super) file: SettingsFile,
    /// Layout of the file.
    pub(super) layout: SettingsLayout,
    /// The entry of that name, if there is one.
    pub(super) entry: Option<ServerEntry>,
}

/// This program and its server, to recognise their entries.
#[derive(Debug)]
pub(super) struct OwnIdentity {
    /// Command that starts this program.
    pub(super) launch_command: LaunchCommand,
    /// Address of its server.
    pub(super) server_url: ServerUrl,
}

impl ClientTarget {
    /// Returns the definition of the client.
    pub(super) fn client_definition(&self) -> &'static Client {
        self.client.definition()
    }

    /// Returns true if the entry of the client's own settings with the default name is meant, with
    /// which the recall hook belongs.
    pub(super) fn is_default_entry(&self) -> bool {
        self.file.is_none() && self.name.as_str() == EntryName::DEFAULT
    }

    /// Returns the path of the client's settings file.
    pub(super) fn settings_path(&self) -> Result<PathBuf> {
        if let Some(file) = &self.file {
            return std::path::absolute(file)
                .with_context(|| format!("cannot make {} an absolute path", file.display()));
        }
        let place = self.client_definition().settings.as_ref();
        let path = place.and_then(|place| (place.file)());
        path.context("this machine has no settings folder; name the file with --file")
    }

    /// Reads the client's settings file and the entry of the given name.
    pub(super) fn read_settings(&self, layout: SettingsLayout) -> Result<CurrentSettings> {
        let file = SettingsFile::read(&self.settings_path()?)?;
        let entry = layout
            .find_entry(file.text(), &self.name)
            .with_context(|| not_changed_context(&file))?;
        Ok(CurrentSettings { file, layout, entry })
    }

    /// Prints the change to the file as a unified diff.
    pub(super) fn print_diff(found: &CurrentSettings, new: &str) {
        let path = found.file.path().display().to_string();
        let mut options = DiffOptions::new();
        options.set_original_filename(path.clone()).set_modified_filename(path);
        print_line(options.create_patch(found.file.text(), new).to_string().trim_end());
    }
}

impl CurrentSettings {
    /// Fails if the entry belongs to another server.
    pub(super) fn check_ours(&self, target: &ClientTarget, ourselves: &OwnIdentity) -> Result<()> {
        match &self.entry {
            Some(entry)
                if !entry.is_ours(&ourselves.launch_command.command, &ourselves.server_url) =>
            {
                bail!(
                    "`{}` in {} is not this server: it {}; choose another --name, or replace it \
                 with --force",
                    target.name.as_str(),
                    self.file.path().display(),
                    entry.describe(),
                )
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl OwnIdentity {
    /// Creates the identity of this program with these options, and of the server at `url`, by
    /// default the server of the settings, as its clients reach it.
    pub(super) fn from_options(common: &CommonOptions, url: Option<&ServerUrl>) -> Result<Self> {
        let settings = common.load_settings()?;
        // Clients cannot name a Unix socket, so that their entries never do.
        let listen = settings.server.listen.tcp();
        let listen = listen.or_else(|| ListenAddress::default().tcp());
        let public = settings.server.public_url.as_ref().map(ServerUrl::from_public_url);
        let server = url.cloned().or(public);
        let server = server.or_else(|| listen.map(ServerUrl::from_listen_address));
        let server = server.context("the server has no address")?;
        Ok(Self { launch_command: LaunchCommand::from_options(common)?, server_url: server })
    }
}

/// Formats the error context for a file that was not changed.
pub(super) fn not_changed_context(file: &SettingsFile) -> String {
    format!("{} was not changed, because it cannot be parsed", file.path().display())
}
