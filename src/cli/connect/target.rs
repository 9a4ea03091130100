//! Selection of clients and of an entry in their settings.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use diffy::DiffOptions;

use super::{
    client::Client,
    clients::CLIENTS,
    endpoint::{LaunchCommand, ServerUrl},
    entry::{EntryName, ServerEntry},
    file::SettingsFile,
    layout::SettingsLayout,
};
use crate::cli::{common::CommonOptions, output::print_line};
use vademecum_core::config::ListenAddress;

/// Options that select clients and an entry in their settings.
#[derive(Debug, clap::Args)]
pub(super) struct TargetOptions {
    /// The client
    #[arg(value_enum, required_unless_present = "all")]
    client: Option<&'static Client>,
    /// All clients that are installed
    #[arg(long, conflicts_with_all = ["client", "file"])]
    all: bool,
    /// Name of the server in the client's settings
    #[arg(long, value_name = "NAME", default_value = EntryName::DEFAULT)]
    name: EntryName,
    /// Settings file, such as that of a project [default: the client's own for this user]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show the change to the file without making it
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// A client and an entry in its settings.
#[derive(Debug)]
pub(super) struct ClientTarget {
    /// The client.
    pub(super) client: &'static Client,
    /// Name of the entry.
    pub(super) name: EntryName,
    /// Settings file, if it is not that of the user.
    file: Option<PathBuf>,
}

/// A client's settings file and its entry of a given name.
#[derive(Debug)]
pub(super) struct CurrentSettings {
    /// The file.
    pub(super) file: SettingsFile,
    /// Layout of the file.
    pub(super) layout: SettingsLayout,
    /// Name of each entry, and the entry.
    entries: Vec<(String, ServerEntry)>,
    /// The given name.
    name: EntryName,
}

/// This program and its server, to recognise their entries.
#[derive(Clone, Debug)]
pub(super) struct OwnIdentity {
    /// Command that starts this program.
    pub(super) launch_command: LaunchCommand,
    /// Address of its server.
    pub(super) server_url: ServerUrl,
}

impl TargetOptions {
    /// Returns the selected client; `None` if all are.
    pub(super) fn single(&self) -> Option<ClientTarget> {
        self.client.map(|client| self.target(client))
    }

    /// Returns all clients with a settings file.
    pub(super) fn every(&self) -> impl Iterator<Item = ClientTarget> {
        let clients = CLIENTS.iter().filter(|client| client.settings().is_some());
        clients.map(|client| self.target(client))
    }

    fn target(&self, client: &'static Client) -> ClientTarget {
        ClientTarget { client, name: self.name.clone(), file: self.file.clone() }
    }
}

impl ClientTarget {
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
        let path = self.client.settings().and_then(|settings| (settings.file)());
        path.context("this machine has no settings folder; name the file with --file")
    }

    /// Reads the client's settings file and the entry of the given name.
    pub(super) fn read_settings(&self, layout: SettingsLayout) -> Result<CurrentSettings> {
        let file = SettingsFile::read(&self.settings_path()?)?;
        let entries = layout.entries(file.text()).with_context(|| not_changed_context(&file))?;
        Ok(CurrentSettings { file, layout, entries, name: self.name.clone() })
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
    /// Returns the entry of the given name, if there is one.
    pub(super) fn entry(&self) -> Option<&ServerEntry> {
        let mut entries = self.entries.iter();
        entries.find(|(name, _)| name == self.name.as_str()).map(|(_, entry)| entry)
    }

    /// Returns true if the file has nothing but the entry, as it is when it was created for it.
    pub(super) fn is_created(&self) -> Result<bool> {
        let Some(entry) = self.entry() else { return Ok(false) };
        let created = self.layout.upsert_entry("", &self.name, entry)?;
        Ok(created == self.file.text() && !self.file.backup_path().exists())
    }

    /// Returns true if no entry belongs to this server, so that the file is as it was before its
    /// first connection.
    pub(super) fn is_unconnected(&self, ourselves: &OwnIdentity) -> bool {
        !self.entries.iter().any(|(_, entry)| ourselves.owns(entry))
    }

    /// Fails if the entry belongs to another server.
    pub(super) fn check_ours(&self, ourselves: &OwnIdentity) -> Result<()> {
        match self.entry() {
            Some(entry) if !ourselves.owns(entry) => bail!(
                "`{}` in {} is not this server: it {}; choose another --name, or replace it with \
                 --force",
                self.name.as_str(),
                self.file.path().display(),
                entry.describe(),
            ),
            Some(_) | None => Ok(()),
        }
    }
}

impl OwnIdentity {
    /// Returns true if an entry belongs to this server.
    pub(super) fn owns(&self, entry: &ServerEntry) -> bool {
        entry.is_ours(&self.launch_command.command, &self.server_url)
    }

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
