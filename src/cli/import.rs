//! `vademecum import`.

use std::{path::PathBuf, process::ExitCode, str::FromStr};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::sync::mpsc;
use vademecum_kit::model::{Draft, Saved, SourceName, Uri};

use super::{
    command::Common,
    output::{complain, say},
    tldw,
};
use crate::{
    actors::{Library, SourceHandle, chain},
    import::{self, Found, ImportError, Reading},
};

/// Drafts that are saved in one transaction.
const BATCH: usize = 500;
/// Files that are read ahead of the one being saved.
const AHEAD: usize = 64;

/// Brings files in.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum import notes ~/Documents/Vault
  vademecum import media talk.srt article.html
  vademecum import prompts prompts.csv
  vademecum import characters cards/
  vademecum import chats conversations.json
  vademecum import tldw /srv/tldw/Databases/user_databases --tldw-user 1

Importing the same files again updates what they became. A file that cannot be
read is named with the reason; the rest go in. Ends with 0 if anything is in the
library afterwards, with 1 if nothing could be read.")]
pub(super) struct Import {
    /// What the files become: notes, media, prompts, characters or chats; or tldw, for the
    /// databases in the directory of a tldw server or of `tldw_chatbook`
    kind: Kind,
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Whose databases are copied, of several in a tldw directory [default: those of --user]
    #[arg(long, value_name = "ID")]
    tldw_user: Option<String>,
}

/// What is to be brought in.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Files that become items of this source.
    Files(SourceName),
    /// The databases of tldw.
    Tldw,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let files = |error| format!("{error}, or tldw");
        if text == "tldw" { Ok(Self::Tldw) } else { text.parse().map(Self::Files).map_err(files) }
    }
}

/// What became of the files.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    files: usize,
    new: usize,
    updated: usize,
    unchanged: usize,
    skipped: Vec<Skipped>,
}

/// Something that was left out, and why.
#[derive(Debug, Serialize)]
struct Skipped {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    reason: String,
}

impl Import {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.app()?;
        let kind = match self.kind {
            Kind::Files(kind) => kind,
            Kind::Tldw => {
                let own = app.settings().storage.named_user();
                let user = tldw::Whose { named: self.tldw_user.as_deref(), own };
                return tldw::copy(&app.library(), &self.paths, user, self.json).await;
            }
        };
        let summary = bring_in(&app.library(), kind, &self.paths).await?;
        if self.json {
            say(&serde_json::to_string_pretty(&summary)?);
        } else {
            summary.print(kind);
        }
        Ok(if summary.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Reads files and saves what they become.
pub(super) async fn bring_in(
    library: &Library,
    kind: SourceName,
    paths: &[PathBuf],
) -> Result<Summary> {
    let source = library.source(kind).context("this source is not there")?;
    let listing = import::files(kind, paths);
    let mut summary = Summary { files: listing.files.len(), ..Summary::default() };
    for problem in listing.skipped {
        summary.skip(&problem.place, None, problem.reason);
    }
    let bar = progress(listing.files.len(), "files");
    let mut readings = read_ahead(kind, listing.files);
    let mut batch = Vec::new();
    while let Some((path, reading)) = readings.recv().await {
        bar.inc(1);
        match reading {
            Ok(reading) => {
                for problem in reading.problems {
                    summary.skip(&path.display(), Some(problem.place), problem.reason);
                }
                batch.extend(reading.drafts);
            }
            Err(error) => summary.skip(&path.display(), None, chain(&error)),
        }
        if batch.len() >= BATCH {
            summary.save(source, std::mem::take(&mut batch)).await?;
        }
    }
    summary.save(source, batch).await?;
    bar.finish_and_clear();
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.settle()?;
    }
    Ok(summary)
}

/// Reads files on a thread of its own while others are saved.
fn read_ahead(
    kind: SourceName,
    files: Vec<Found>,
) -> mpsc::Receiver<(PathBuf, Result<Reading, ImportError>)> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        for file in files {
            let reading = import::read(kind, &file.path, file.root.as_deref());
            if sender.blocking_send((file.path, reading)).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Shows how far it is, if standard error is a terminal.
pub(super) fn progress(count: usize, things: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(count).unwrap_or(0)).with_message(things);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {per_sec}  {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

impl Summary {
    async fn save(&mut self, source: &SourceHandle, drafts: Vec<Draft>) -> Result<()> {
        if drafts.is_empty() {
            return Ok(());
        }
        let origins: Vec<String> = drafts.iter().map(|draft| draft.origin.clone()).collect();
        let answers = source.save(drafts).await?;
        let said_once = answers.len() < origins.len();
        for (origin, answer) in origins.iter().zip(answers) {
            match answer {
                Err(error) if said_once => return Err(error).context("nothing can be saved"),
                answer => self.count(origin, answer),
            }
        }
        Ok(())
    }

    fn count(&mut self, origin: &str, answer: Result<Saved, vademecum_kit::source::SourceError>) {
        match answer {
            Ok(Saved::New(uri)) => self.note(&uri, |summary| &mut summary.new),
            Ok(Saved::Updated(uri)) => self.note(&uri, |summary| &mut summary.updated),
            Ok(Saved::Unchanged(uri)) => self.note(&uri, |summary| &mut summary.unchanged),
            Err(error) => self.skip(&origin, None, chain(&error)),
        }
    }

    fn note(&mut self, uri: &Uri, counter: impl Fn(&mut Self) -> &mut usize) {
        tracing::debug!(%uri, "saved");
        *counter(self) += 1;
    }

    fn skip(&mut self, path: &impl ToString, place: Option<String>, reason: String) {
        self.skipped.push(Skipped { path: path.to_string(), place, reason });
    }

    /// How many items are in the library that came from these files.
    pub(super) fn items(&self) -> usize {
        self.new + self.updated + self.unchanged
    }

    fn is_failure(&self) -> bool {
        self.items() == 0 && !self.skipped.is_empty()
    }

    fn print(&self, kind: SourceName) {
        for skipped in &self.skipped {
            let place = skipped.place.as_ref().map(|place| format!(", {place}"));
            complain(&format!(
                "skipped {}{}: {}",
                skipped.path,
                place.unwrap_or_default(),
                skipped.reason
            ));
        }
        say(&format!(
            "{kind}: {} new, {} updated, {} unchanged, {} skipped",
            self.new,
            self.updated,
            self.unchanged,
            self.skipped.len()
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_import_that_brought_nothing_and_skipped_something_has_failed() {
        let mut summary = Summary::default();
        assert!(!summary.is_failure());
        summary.skip(&Path::new("x").display(), None, "broken".to_owned());
        assert!(summary.is_failure());
        summary.unchanged = 1;
        assert!(!summary.is_failure());
    }
}
