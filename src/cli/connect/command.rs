//! `vademecum connect`.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use vademecum_accounts::LocalToken;
use vademecum_core::config::{AuthMode, LocalAccess};

use super::{
    client::{self, Client, Manual, quote_command_line},
    endpoint::{EnvVarName, HttpCredential, ServerEndpoint, ServerUrl},
    entry::ServerEntry,
    every::connect_every,
    hook::RecallHook,
    layout::SettingsLayout,
    target::{ClientTarget, CurrentSettings, OwnIdentity, TargetOptions, not_changed_context},
};
use crate::cli::{common::CommonOptions, output::print_line};

/// Connect a client to this server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --write, it shows the settings to add. With it, the rest of the client's file stays
unchanged, and a backup of the file is kept next to it before the first change. --all shows the
change to each file and asks before it writes them.

Examples:
  vademecum connect --all
  vademecum connect claude-desktop --write
  vademecum connect vscode --dry-run --data ~/knowledge
  vademecum connect cursor --http --write
  vademecum connect codex --http https://knowledge.example/mcp --key-env VADEMECUM_KEY
  vademecum connect claude-code --file .mcp.json --write
  vademecum connect claude-code --recall --write
  vademecum disconnect claude-desktop")]
pub(in crate::cli) struct Connect {
    #[command(flatten)]
    target: TargetOptions,
    /// Write the clients' settings without asking
    #[arg(long, short = 'y', visible_alias = "yes")]
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

/// A connection that a command makes: the server, and the changes of a client's settings.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    ourselves: OwnIdentity,
    link: ServerEndpoint,
    /// Whether the hook of recall is installed too.
    recall: bool,
    /// Whether an entry of another server is replaced.
    force: bool,
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Shows the difference.
    DryRun,
    /// Writes the file.
    Write,
}

impl Connect {
    pub(in crate::cli) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let ourselves =
            OwnIdentity::from_options(common, self.http.as_ref().and_then(Option::as_ref))?;
        let link = self.endpoint(common, &ourselves)?;
        let connection = Connection { ourselves, link, recall: self.recall, force: self.force };
        let Some(target) = self.target.single() else {
            let mode = if self.target.dry_run {
                Some(Mode::DryRun)
            } else {
                self.write.then_some(Mode::Write)
            };
            return connect_every(&connection, self.target.every(), mode);
        };
        let mode = if self.target.dry_run { Mode::DryRun } else { Mode::Write };
        if self.write || self.target.dry_run {
            connection.apply(&target, mode)?;
        } else {
            connection.print_instructions(&target)?;
            if target.client.settings().is_some() {
                self.print_credential_advice(common, &connection.link)?;
                print_line(target.client.next_steps);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn endpoint(&self, common: &CommonOptions, ourselves: &OwnIdentity) -> Result<ServerEndpoint> {
        let Some(url) = &self.http else {
            return Ok(ServerEndpoint::Stdio(ourselves.launch_command.clone()));
        };
        let server = common.load_settings()?.server;
        let has_address = server.public_url.is_some() || server.listen.tcp().is_some();
        if url.is_none() && !has_address {
            bail!(
                "the server of the settings listens on a Unix socket, which clients cannot use; \
                 name a URL after --http, or leave --http out"
            );
        }
        let variable = self.key_env.clone().map(HttpCredential::Variable);
        let credential = match variable {
            None if url.is_none() => local_token(common)?.map(HttpCredential::LocalToken),
            variable => variable,
        };
        Ok(ServerEndpoint::Http { url: ourselves.server_url.clone(), credential })
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
}

impl Connection {
    /// Connects a client, or shows the change to its settings. Returns true if there is a change.
    pub(super) fn apply(&self, target: &ClientTarget, mode: Mode) -> Result<bool> {
        let hook = self.open_hook(target.client)?;
        let entry = match &target.client.connection {
            client::Connection::Account(steps) => Err(steps(&self.link, &target.name)),
            client::Connection::Settings(settings) => {
                settings.entry(&self.link, &target.name).map(|entry| (settings.layout, entry))
            }
        };
        let (layout, entry) = entry.map_err(|manual| {
            anyhow!("{} cannot be connected this way: {}", target.client.title, manual.reason)
        })?;
        let is_changed = self.apply_entry(target, layout, &entry, mode)?;
        let command = RecallHook::command(&self.ourselves.launch_command, &self.link);
        let has_new_hook =
            hook.map(|hook| hook.install(&command, mode == Mode::DryRun)).transpose()?;
        Ok(is_changed || has_new_hook == Some(true))
    }

    /// Returns the hook of recall of a client, if it shall be installed.
    fn open_hook(&self, client: &Client) -> Result<Option<RecallHook>> {
        let hook = self.recall.then(|| RecallHook::open(client, &self.ourselves.launch_command));
        hook.transpose()
    }

    /// Returns the connection of one of many clients, of which only some have hooks.
    pub(super) fn for_client(&self, client: &Client) -> Self {
        Self { recall: self.recall && client.hooks.is_some(), ..self.clone() }
    }

    fn print_instructions(&self, target: &ClientTarget) -> Result<()> {
        let (client, link, name) = (target.client, &self.link, &target.name);
        let hook = self.open_hook(client)?;
        let settings = match &client.connection {
            client::Connection::Settings(settings) => settings,
            client::Connection::Account(steps) => {
                print_manual(client, &steps(link, name));
                return Ok(());
            }
        };
        match settings.entry(link, name) {
            Err(manual) => print_manual(client, &manual),
            Ok(entry) => {
                let snippet = settings.layout.upsert_entry("", name, &entry)?;
                let path = target.settings_path()?;
                let title = client.title;
                print_line(&format!("{title}: add this to {}\n\n{snippet}", path.display()));
                let words = settings.add_command.map(|command| command(link, name));
                if let Some(words) = words.filter(|words| !words.is_empty()) {
                    let command = quote_command_line(words.iter().map(String::as_str));
                    print_line(&format!("or run\n\n{command}\n"));
                }
                print_line("Run again with --write to apply; other settings are kept.");
            }
        }
        if hook.is_some() {
            let command = RecallHook::command(&self.ourselves.launch_command, link);
            print_line(&format!("With --write, prompts also run the hook\n  {command}"));
        }
        Ok(())
    }

    fn apply_entry(
        &self,
        target: &ClientTarget,
        layout: SettingsLayout,
        entry: &ServerEntry,
        mode: Mode,
    ) -> Result<bool> {
        let found = target.read_settings(layout)?;
        if !self.force {
            found.check_ours(&self.ourselves)?;
        }
        let new = self
            .updated_text(target, &found, entry)
            .with_context(|| not_changed_context(&found.file))?;
        let (name, path) = (target.name.as_str(), found.file.path().display());
        if new == found.file.text() {
            print_line(&format!("Nothing to change: {path} already contains `{name}`."));
            return Ok(false);
        }
        if mode == Mode::DryRun {
            ClientTarget::print_diff(&found, &new);
            return Ok(true);
        }
        let is_first = found.is_unconnected(&self.ourselves) && !found.is_created()?;
        found.file.write(&new, is_first)?;
        let done = if found.entry().is_some() { "Changed" } else { "Added" };
        print_line(&format!("{done} `{name}` in {path}"));
        let backup = found.file.backup_path();
        if backup.exists() {
            print_line(&format!("The previous version is kept in {}", backup.display()));
        }
        print_line(target.client.next_steps);
        Ok(true)
    }

    fn updated_text(
        &self,
        target: &ClientTarget,
        found: &CurrentSettings,
        entry: &ServerEntry,
    ) -> Result<String> {
        let (layout, name, text) = (found.layout, &target.name, found.file.text());
        let is_foreign = found.entry().is_some_and(|entry| !self.ourselves.owns(entry));
        // The fields of a foreign entry are removed, because they belong to another server.
        let text = if is_foreign { layout.remove_entry(text, name)? } else { text.to_owned() };
        let new = layout.upsert_entry(&text, name, entry)?;
        if found.is_created()?
            && let Some(entry) = layout.find_entry(&new, name)?
        {
            // As it would be created now, so that `disconnect` knows that nothing else is in it.
            return Ok(layout.upsert_entry("", name, &entry)?);
        }
        Ok(new)
    }
}

fn print_manual(client: &Client, manual: &Manual) {
    print_line(&format!("{}: {}.\n\n{}", client.title, manual.reason, manual.steps));
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
