//! `vademecum disconnect`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::{
    endpoint::{LaunchCommand, ServerUrl},
    entry::EntryName,
    hook::RecallHook,
    target::{ClientTarget, CurrentSettings, OwnIdentity, not_changed_context},
};
use crate::cli::{common::CommonOptions, output::print_line};

/// Remove this server from a client's settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If nothing else changed since `vademecum connect`, the file is restored byte for byte.

Examples:
  vademecum disconnect claude-desktop
  vademecum disconnect cursor --name work --http https://knowledge.example/mcp")]
pub(in crate::cli) struct Disconnect {
    #[command(flatten)]
    target: ClientTarget,
    /// Address of the server to disconnect [default: the server of the settings]
    #[arg(long, value_name = "URL")]
    http: Option<ServerUrl>,
    /// Remove the entry of that name even if it belongs to another server
    #[arg(long)]
    force: bool,
}

/// Content of a settings file after the entry is removed.
#[derive(Debug, PartialEq, Eq)]
enum TextWithoutEntry {
    /// The remaining text.
    Text(String),
    /// No file: it was created for the entry.
    NoFile,
}

impl Disconnect {
    pub(in crate::cli) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let client = self.target.client_definition();
        let Some(place) = &client.settings else {
            bail!("{} keeps its servers in your account; remove it there", client.title)
        };
        if client.hooks.is_some() && self.target.is_default_entry() {
            let start = LaunchCommand::from_options(common)?;
            RecallHook::open(client, &start)?.remove(self.target.dry_run)?;
        }
        let found = self.target.read_settings(place.layout)?;
        let (name, path) = (self.target.name.as_str(), found.file.path().display());
        if found.entry.is_none() {
            print_line(&format!("Nothing to change: {path} has no `{name}`"));
            return Ok(ExitCode::SUCCESS);
        }
        if !self.force && !self.is_default_http_entry(&found) {
            found.check_ours(
                &self.target,
                &OwnIdentity::from_options(common, self.http.as_ref())?,
            )?;
        }
        let without =
            self.text_without_entry(&found).with_context(|| not_changed_context(&found.file))?;
        if self.target.dry_run {
            ClientTarget::print_diff(&found, without.text());
            return Ok(ExitCode::SUCCESS);
        }
        match &without {
            TextWithoutEntry::Text(text) => found.file.write(text)?,
            TextWithoutEntry::NoFile => found.file.remove()?,
        }
        print_line(&format!("Removed `{name}` from {path}"));
        Ok(ExitCode::SUCCESS)
    }

    /// Returns `true` if the entry has the default name and an address with the path `/mcp`, as any
    /// server added by `connect --http URL` has.
    fn is_default_http_entry(&self, found: &CurrentSettings) -> bool {
        let address = found.entry.as_ref().and_then(|entry| entry.address());
        self.http.is_none()
            && self.target.name.as_str() == EntryName::DEFAULT
            && address.is_some_and(|url| url.ends_with("/mcp"))
    }

    fn text_without_entry(&self, found: &CurrentSettings) -> Result<TextWithoutEntry> {
        let (layout, name, text) = (found.layout, &self.target.name, found.file.text());
        let Some(entry) = &found.entry else { return Ok(TextWithoutEntry::Text(text.to_owned())) };
        // If the backup plus the entry equals the current text, nothing else has changed, and the
        // backup is the exact earlier state.
        match found.file.read_backup()? {
            Some(before)
                if layout.upsert_entry(&before, name, entry).is_ok_and(|it| it == text) =>
            {
                if layout.find_entry(&before, name)?.is_none() {
                    return Ok(TextWithoutEntry::Text(before));
                }
            }
            None if layout.upsert_entry("", name, entry)? == text => {
                return Ok(TextWithoutEntry::NoFile);
            }
            Some(_) | None => {}
        }
        Ok(TextWithoutEntry::Text(layout.remove_entry(text, name)?))
    }
}

impl TextWithoutEntry {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::NoFile => "",
        }
    }
}
