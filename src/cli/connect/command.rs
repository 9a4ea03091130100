//! `vademecum connect`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use vademecum_accounts::LocalToken;
use vademecum_core::config::{AuthMode, LocalAccess};

use super::{
    client::{ConnectionMethod, SettingsLocation},
    endpoint::{EnvVarName, HttpCredential, ServerEndpoint, ServerUrl},
    entry::ServerEntry,
    hook::RecallHook,
    target::{ClientTarget, CurrentSettings, OwnIdentity, not_changed_context},
};
use crate::cli::{common::CommonOptions, output::print_line};

/// Connect a client to this server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --write, it shows the settings to add. With it, the rest of the client's file stays
unchanged, and a backup of the file is kept next to it before the first change.

Examples:
  vademecum connect claude-desktop --write
  vademecum connect vscode --dry-run --data ~/knowledge
  vademecum connect cursor --http --write
  vademecum connect codex --http https://knowledge.example/mcp --key-env VADEMECUM_KEY
  vademecum connect claude-code --file .mcp.json --write
  vademecum connect claude-code --recall --write
  vademecum disconnect claude-desktop")]
pub(in crate::cli) struct Connect {
    #[command(flatten)]
    target: ClientTarget,
    /// Write the client's settings
    #[arg(long)]
    write: bool,
    /// Connect to a running server instead of starting one [default: the server of the settings]
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the option may be given without an address")]
    http: Option<Option<ServerUrl>>,
    /// Environment variable of the client that holds the key; the key itself is never written
    #[arg(long, value_name = "NAME", requires = "http")]
    key_env: Option<EnvVarName>,
    /// Also install a hook that gives the model what the library has about each prompt
    #[arg(long)]
    recall: bool,
    /// Replace an entry of that name even if it belongs to another server
    #[arg(long)]
    force: bool,
}

impl Connect {
    pub(in crate::cli) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let ourselves =
            OwnIdentity::from_options(common, self.http.as_ref().and_then(Option::as_ref))?;
        let link = match &self.http {
            None => ServerEndpoint::Stdio(ourselves.launch_command.clone()),
            Some(url) => {
                let server = common.load_settings()?.server;
                let has_address = server.public_url.is_some() || server.listen.tcp().is_some();
                if url.is_none() && !has_address {
                    bail!(
                        "the server of the settings listens on a Unix socket, which clients cannot \
                         use; name a URL after --http, or leave --http out"
                    );
                }
                let variable = self.key_env.clone().map(HttpCredential::Variable);
                let credential = match variable {
                    None if url.is_none() => local_token(common)?.map(HttpCredential::LocalToken),
                    variable => variable,
                };
                ServerEndpoint::Http { url: ourselves.server_url.clone(), credential }
            }
        };
        let client = self.target.client_definition();
        let hook = self.recall.then(|| RecallHook::open(client, &ourselves.launch_command));
        let hook = hook.transpose()?;
        let command = RecallHook::command(&ourselves.launch_command, &link);
        match ((client.connection_method)(&link, &self.target.name), &client.settings) {
            (ConnectionMethod::SettingsEntry { entry, command: steps }, Some(place)) => {
                if self.write || self.target.dry_run {
                    self.apply_change(place, &entry, &ourselves)?;
                } else {
                    self.print_instructions(place, &entry, steps.as_deref())?;
                    self.print_credential_advice(common, &link)?;
                    print_line(client.next_steps);
                }
            }
            (ConnectionMethod::Manual { reason, .. }, _) if self.write || self.target.dry_run => {
                bail!("{} cannot be connected this way: {reason}", client.title)
            }
            (ConnectionMethod::Manual { reason, steps }, _) => {
                print_line(&format!("{}: {reason}.\n\n{steps}", client.title));
            }
            (ConnectionMethod::SettingsEntry { .. }, None) => {
                bail!("{} has no settings file", client.title)
            }
        }
        match hook {
            Some(hook) if self.write || self.target.dry_run => {
                hook.install(&command, self.target.dry_run)?;
            }
            Some(_) => print_line(&format!("With --write, prompts also run the hook\n  {command}")),
            None => {}
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print_instructions(
        &self,
        place: &SettingsLocation,
        entry: &ServerEntry,
        command: Option<&str>,
    ) -> Result<()> {
        let (client, path) = (self.target.client_definition(), self.target.settings_path()?);
        let snippet = place.layout.upsert_entry("", &self.target.name, entry)?;
        print_line(&format!("{}: add this to {}\n\n{snippet}", client.title, path.display()));
        if let Some(command) = command {
            print_line(&format!("or run\n\n{command}\n"));
        }
        print_line("Run again with --write to apply; other settings are kept.");
        Ok(())
    }

    /// Prints the credential that the server expects of the client.
    fn print_credential_advice(&self, common: &CommonOptions, link: &ServerEndpoint) -> Result<()> {
        let ServerEndpoint::Http { credential, .. } = link else { return Ok(()) };
        let is_own_server = matches!(self.http, Some(None));
        let advice = match credential {
            None if is_own_server && common.load_settings()?.auth.oauth => {
                "The client opens this server in a browser, where you log in and allow it. If it \
                 cannot, put a key into an environment variable of the client and pass its name \
                 with --key-env."
                    .to_owned()
            }
            None => "If the server requires a key, put it into an environment variable of the \
                     client and pass its name with --key-env."
                .to_owned(),
            Some(HttpCredential::Variable(key)) => {
                let key = key.as_str();
                format!("The client reads the key from its environment variable {key}.")
            }
            Some(HttpCredential::LocalToken(_)) => {
                "The token is that of the file local.token in the data folder: do not share it."
                    .to_owned()
            }
        };
        print_line(&advice);
        Ok(())
    }

    fn apply_change(
        &self,
        place: &SettingsLocation,
        entry: &ServerEntry,
        ourselves: &OwnIdentity,
    ) -> Result<()> {
        let found = self.target.read_settings(place.layout)?;
        if !self.force {
            found.check_ours(&self.target, ourselves)?;
        }
        let new = self
            .updated_text(&found, entry, ourselves)
            .with_context(|| not_changed_context(&found.file))?;
        let (name, path) = (self.target.name.as_str(), found.file.path().display());
        if new == found.file.text() {
            print_line(&format!("Nothing to change: {path} already contains `{name}`."));
        } else if self.target.dry_run {
            ClientTarget::print_diff(&found, &new);
        } else {
            found.file.write(&new)?;
            let done = if found.entry.is_some() { "Changed" } else { "Added" };
            print_line(&format!("{done} `{name}` in {path}"));
            let backup = found.file.backup_path();
            if backup.exists() {
                print_line(&format!("The previous version is kept in {}", backup.display()));
            }
            print_line(self.target.client_definition().next_steps);
        }
        Ok(())
    }

    fn updated_text(
        &self,
        found: &CurrentSettings,
        entry: &ServerEntry,
        ourselves: &OwnIdentity,
    ) -> Result<String> {
        let (layout, name, text) = (found.layout, &self.target.name, found.file.text());
        let is_foreign = found.entry.as_ref().is_some_and(|entry| {
            !entry.is_ours(&ourselves.launch_command.command, &ourselves.server_url)
        });
        // The fields of a foreign entry are removed, because they belong to another server.
        let text = if is_foreign { layout.remove_entry(text, name)? } else { text.to_owned() };
        Ok(layout.upsert_entry(&text, name, entry)?)
    }
}

/// Returns the token for callers on this machine, if the server of the settings requires it: always
/// or because the system does not tell which account opens a connection.
fn local_token(common: &CommonOptions) -> Result<Option<LocalToken>> {
    let settings = common.load_settings()?;
    let is_needed = settings.auth.mode == AuthMode::Single
        && match settings.auth.local {
            LocalAccess::Account => !cfg!(target_os = "linux"),
            LocalAccess::Token => true,
            LocalAccess::Open => false,
        };
    if !is_needed {
        return Ok(None);
    }
    let token = LocalToken::open(&settings.storage.data_folder()?);
    token.map(Some).context("cannot read the token for callers on this machine")
}
