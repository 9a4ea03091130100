//! `vademecum disconnect`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::{
    entry::EntryName,
    link::Url,
    target::{Found, Ourselves, Target, refused},
};
use crate::cli::{command::Common, output::say};

/// Takes this server out of a client's settings again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If nothing else changed since `vademecum connect`, the file is what it was before, byte for byte.

Examples:
  vademecum disconnect claude-desktop
  vademecum disconnect cursor --name work --http https://knowledge.example/mcp")]
pub(in crate::cli) struct Disconnect {
    #[command(flatten)]
    target: Target,
    /// Address of the server that is meant [default: that of the settings]
    #[arg(long, value_name = "URL")]
    http: Option<Url>,
    /// Remove the entry of that name even if it is another server
    #[arg(long)]
    force: bool,
}

/// What the file is without the entry.
#[derive(Debug, PartialEq, Eq)]
enum Without {
    /// This text.
    Text(String),
    /// Nothing: the file was made for the entry.
    NoFile,
}

impl Disconnect {
    pub(in crate::cli) fn run(self, common: &Common) -> Result<ExitCode> {
        let client = self.target.known();
        let Some(place) = &client.place else {
            bail!("{} keeps its servers in your account; remove it there", client.title)
        };
        let found = self.target.find(place.layout)?;
        let (name, path) = (self.target.name.as_str(), found.file.path().display());
        if found.entry.is_none() {
            say(&format!("Nothing to change: there is no `{name}` in {path}"));
            return Ok(ExitCode::SUCCESS);
        }
        if !self.force && !self.is_meant(&found) {
            found.check_ours(&self.target, &Ourselves::of(common, self.http.as_ref())?)?;
        }
        let without = self.without(&found).with_context(|| refused(&found.file))?;
        if self.target.dry_run {
            Target::show_change(&found, without.text());
            return Ok(ExitCode::SUCCESS);
        }
        match &without {
            Without::Text(text) => found.file.write(text)?,
            Without::NoFile => found.file.remove()?,
        }
        say(&format!("Removed `{name}` from {path}"));
        Ok(ExitCode::SUCCESS)
    }

    /// Whether it goes by our name and connects to where such a server
    /// answers: any server that `connect --http URL` may have been told of.
    fn is_meant(&self, found: &Found) -> bool {
        let address = found.entry.as_ref().and_then(|entry| entry.address());
        self.http.is_none()
            && self.target.name.as_str() == EntryName::ORDINARY
            && address.is_some_and(|url| url.ends_with("/mcp"))
    }

    fn without(&self, found: &Found) -> Result<Without> {
        let (layout, name, text) = (found.layout, &self.target.name, found.file.text());
        let Some(entry) = &found.entry else { return Ok(Without::Text(text.to_owned())) };
        // If adding the entry to what was there before gives what is there
        // now, then nothing else has changed.
        match found.file.text_of_backup()? {
            Some(before) if layout.put(&before, name, entry).is_ok_and(|it| it == text) => {
                if layout.find(&before, name)?.is_none() {
                    return Ok(Without::Text(before));
                }
            }
            None if layout.put("", name, entry)? == text => return Ok(Without::NoFile),
            Some(_) | None => {}
        }
        Ok(Without::Text(layout.take(text, name)?))
    }
}

impl Without {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::NoFile => "",
        }
    }
}
