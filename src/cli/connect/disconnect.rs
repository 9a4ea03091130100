//! `vademecum disconnect`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::{
    endpoint::ServerUrl,
    entry::EntryName,
    every::disconnect_every,
    hook::RecallHook,
    target::{ClientTarget, CurrentSettings, OwnIdentity, TargetOptions, not_changed_context},
};
use crate::cli::{common::CommonOptions, output::print_line};

/// Remove this server from a client's settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If nothing else changed since `vademecum connect`, the file is restored byte for byte.

Examples:
  vademecum disconnect --all
  vademecum disconnect claude-desktop
  vademecum disconnect cursor --name work --http https://knowledge.example/mcp")]
pub(in crate::cli) struct Disconnect {
    #[command(flatten)]
    target: TargetOptions,
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
    /// The text before the entry was added.
    Original(String),
    /// The remaining text.
    Text(String),
    /// No file: it was created for the entry.
    NoFile,
}

impl Disconnect {
    pub(in crate::cli) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let ourselves = OwnIdentity::from_options(common, self.http.as_ref())?;
        match self.target.single() {
            Some(target) => {
                if !self.disconnect(&target, &ourselves)? {
                    let path = target.settings_path()?;
                    let name = target.name.as_str();
                    print_line(&format!("Nothing to change: {} has no `{name}`", path.display()));
                }
                Ok(ExitCode::SUCCESS)
            }
            None => Ok(disconnect_every(self.target.every(), |target| {
                self.disconnect(target, &ourselves)
            })),
        }
    }

    /// Removes the entry and the hook of a client. Returns false if it has no such entry.
    fn disconnect(&self, target: &ClientTarget, ourselves: &OwnIdentity) -> Result<bool> {
        let client = target.client;
        let Some(settings) = client.settings() else {
            bail!("{} keeps its servers in your account; remove it there", client.title)
        };
        if client.hooks.is_some() && target.is_default_entry() {
            RecallHook::open(client, &ourselves.launch_command)?.remove(self.target.dry_run)?;
        }
        let found = target.read_settings(settings.layout)?;
        if found.entry().is_none() {
            return Ok(false);
        }
        if !self.force && !self.is_default_http_entry(target, &found) {
            found.check_ours(ourselves)?;
        }
        let without =
            text_without_entry(target, &found).with_context(|| not_changed_context(&found.file))?;
        if self.target.dry_run {
            ClientTarget::print_diff(&found, without.text());
            return Ok(true);
        }
        match &without {
            TextWithoutEntry::Original(text) => found.file.restore(text)?,
            TextWithoutEntry::Text(text) => found.file.write(text, false)?,
            TextWithoutEntry::NoFile => found.file.remove()?,
        }
        let (name, path) = (target.name.as_str(), found.file.path().display());
        print_line(&format!("Removed `{name}` from {path}"));
        Ok(true)
    }

    /// Returns `true` if the entry has the default name and an address with the path `/mcp`, as any
    /// server added by `connect --http URL` has.
    fn is_default_http_entry(&self, target: &ClientTarget, found: &CurrentSettings) -> bool {
        let address = found.entry().and_then(|entry| entry.address());
        self.http.is_none()
            && target.name.as_str() == EntryName::DEFAULT
            && address.is_some_and(|url| url.ends_with("/mcp"))
    }
}

fn text_without_entry(target: &ClientTarget, found: &CurrentSettings) -> Result<TextWithoutEntry> {
    let (layout, name, text) = (found.layout, &target.name, found.file.text());
    let Some(entry) = found.entry() else { return Ok(TextWithoutEntry::Text(text.to_owned())) };
    // If the backup plus the entry equals the current text, nothing else has changed, and the
    // backup is the exact earlier state.
    match found.file.read_backup()? {
        Some(before) if layout.upsert_entry(&before, name, entry).is_ok_and(|it| it == text) => {
            if layout.find_entry(&before, name)?.is_none() {
                return Ok(TextWithoutEntry::Original(before));
            }
        }
        None if found.is_created()? => return Ok(TextWithoutEntry::NoFile),
        Some(_) | None => {}
    }
    Ok(TextWithoutEntry::Text(layout.remove_entry(text, name)?))
}

impl TextWithoutEntry {
    fn text(&self) -> &str {
        match self {
            Self::Original(text) | Self::Text(text) => text,
            Self::NoFile => "",
        }
    }
}
