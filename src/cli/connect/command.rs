//! `vademecum connect`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::{
    client::{Place, Way},
    entry::Entry,
    link::{Link, Url, Variable},
    target::{Found, Ourselves, Target, refused},
};
use crate::cli::{command::Common, output::say};

/// Connects a client to this server.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --write, it shows what to put where. With it, everything else in the client's file stays
as it is, and a copy of the file is kept beside it before the first change.

Examples:
  vademecum connect claude-desktop --write
  vademecum connect vscode --dry-run --data ~/knowledge
  vademecum connect cursor --http --write
  vademecum connect codex --http https://knowledge.example/mcp --key-env VADEMECUM_KEY
  vademecum connect claude-code --file .mcp.json --write
  vademecum disconnect claude-desktop")]
pub(in crate::cli) struct Connect {
    #[command(flatten)]
    target: Target,
    /// Change the client's settings
    #[arg(long)]
    write: bool,
    /// Connect to a server that runs, instead of starting one [default: that of the settings]
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the option may be given without an address")]
    http: Option<Option<Url>>,
    /// Environment variable of the client that holds the key; the key itself is never written
    #[arg(long, value_name = "NAME", requires = "http")]
    key_env: Option<Variable>,
    /// Replace an entry of that name even if it is another server
    #[arg(long)]
    force: bool,
}

impl Connect {
    pub(in crate::cli) fn run(self, common: &Common) -> Result<ExitCode> {
        let ourselves = Ourselves::of(common, self.http.as_ref().and_then(Option::as_ref))?;
        let link = match self.http {
            None => Link::Stdio(ourselves.start.clone()),
            Some(_) => Link::Http { url: ourselves.server.clone(), key: self.key_env.clone() },
        };
        let client = self.target.known();
        match ((client.way)(&link, &self.target.name), &client.place) {
            (Way::Entry { entry, command }, Some(place)) => {
                if self.write || self.target.dry_run {
                    self.change(place, &entry, &ourselves)?;
                } else {
                    self.explain(place, &entry, command.as_deref(), &link)?;
                }
            }
            (Way::ByHand { reason, .. }, _) if self.write || self.target.dry_run => {
                bail!("{} cannot be connected so: {reason}", client.title)
            }
            (Way::ByHand { reason, steps }, _) => {
                say(&format!("{}: {reason}.\n\n{steps}", client.title));
            }
            (Way::Entry { .. }, None) => bail!("{} has no file of settings", client.title),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn explain(
        &self,
        place: &Place,
        entry: &Entry,
        command: Option<&str>,
        link: &Link,
    ) -> Result<()> {
        let (client, path) = (self.target.known(), self.target.path()?);
        let snippet = place.layout.put("", &self.target.name, entry)?;
        say(&format!("{}: put this into {}\n\n{snippet}", client.title, path.display()));
        if let Some(command) = command {
            say(&format!("or run\n\n{command}\n"));
        }
        say("or say the same again with --write, which keeps what else is in that file.");
        match link {
            Link::Http { key: None, .. } => say(
                "If the server asks for a key, put it into an environment variable of the client \
                 and name that with --key-env.",
            ),
            Link::Http { key: Some(key), .. } => say(&format!(
                "The client reads the key from its environment variable {}.",
                key.as_str()
            )),
            Link::Stdio(_) => {}
        }
        say(client.afterwards);
        Ok(())
    }

    fn change(&self, place: &Place, entry: &Entry, ourselves: &Ourselves) -> Result<()> {
        let found = self.target.find(place.layout)?;
        if !self.force {
            found.check_ours(&self.target, ourselves)?;
        }
        let new = self.changed(&found, entry, ourselves).with_context(|| refused(&found.file))?;
        let (name, path) = (self.target.name.as_str(), found.file.path().display());
        if new == found.file.text() {
            say(&format!("Nothing to change: `{name}` is in {path} already."));
        } else if self.target.dry_run {
            Target::show_change(&found, &new);
        } else {
            found.file.write(&new)?;
            let done = if found.entry.is_some() { "Changed" } else { "Added" };
            say(&format!("{done} `{name}` in {path}"));
            let backup = found.file.backup();
            if backup.exists() {
                say(&format!("What was there before is kept in {}", backup.display()));
            }
            say(self.target.known().afterwards);
        }
        Ok(())
    }

    fn changed(&self, found: &Found, entry: &Entry, ourselves: &Ourselves) -> Result<String> {
        let (layout, name, text) = (found.layout, &self.target.name, found.file.text());
        let is_foreign = found
            .entry
            .as_ref()
            .is_some_and(|entry| !entry.is_ours(&ourselves.start.command, &ourselves.server));
        // Nothing of somebody else's entry is kept: its fields meant something else.
        let text = if is_foreign { layout.take(text, name)? } else { text.to_owned() };
        Ok(layout.put(&text, name, entry)?)
    }
}
