//! `vademecum import tldw`: copies what a user of tldw has.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use vademecum_kit::model::SourceName;
use vademecum_tldw::{Followed, TldwError, User, the_user};

use super::{
    import::progress,
    output::{complain, say},
};
use crate::actors::{Library, chain};

/// The sources, in the order in which they are copied: a conversation is held
/// with a character that is there before.
const ORDER: [SourceName; 5] = [
    SourceName::Characters,
    SourceName::Notes,
    SourceName::Chats,
    SourceName::Media,
    SourceName::Prompts,
];

/// What became of a user's items.
#[derive(Debug, Default, Serialize)]
struct Summary {
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
    place: String,
    reason: String,
}

/// Whose databases are copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose<'a> {
    /// The user that was named.
    pub(super) named: Option<&'a str>,
    /// Whose library they are copied into, if it was named: of several users, the
    /// one of that name is meant.
    pub(super) own: Option<&'a str>,
}

impl Whose<'_> {
    fn find(self, folder: &Path) -> Result<User, TldwError> {
        the_user(folder, self.named).or_else(|error| match (self.named, self.own) {
            (None, Some(own)) => the_user(folder, Some(own)).map_err(|_| error),
            (Some(_), _) | (None, None) => Err(error),
        })
    }
}

/// Copies what a user has in each of the folders.
pub(super) async fn copy(
    library: &Library,
    folders: &[PathBuf],
    user: Whose<'_>,
    json: bool,
) -> Result<ExitCode> {
    let mut summary = Summary::default();
    for folder in folders {
        summary.copy(library, folder, user, json).await?;
    }
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.settle()?;
    }
    if json {
        say(&serde_json::to_string_pretty(&summary)?);
    }
    let items = summary.new + summary.updated + summary.unchanged;
    let failed = items == 0 && !summary.skipped.is_empty();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Summary {
    async fn copy(
        &mut self,
        library: &Library,
        folder: &Path,
        user: Whose<'_>,
        json: bool,
    ) -> Result<()> {
        let user = user.find(folder)?;
        if !json {
            say(&format!("tldw: user {} in {}", user.id(), user.folder().display()));
        }
        for name in ORDER {
            let source = library.source(name).context("this source is not there")?;
            if let Err(refusal) = source.writable() {
                bail!("{refusal}");
            }
            let bar = progress(0, "items");
            let shown = bar.clone();
            let copied = source.copy(user.clone(), move |done, of| {
                shown.set_length(of as u64);
                shown.set_position(done as u64);
            });
            let copied = copied.await;
            bar.finish_and_clear();
            let path = user.folder().display().to_string();
            match copied {
                Ok(copied) => self.count(name, &path, copied, json),
                Err(error) => self.skip(path, name.to_string(), chain(&error)),
            }
        }
        Ok(())
    }

    fn count(&mut self, name: SourceName, path: &str, copied: Followed, json: bool) {
        let Followed { new, updated, unchanged, removed: _, problems } = copied;
        self.files += new + updated + unchanged + problems.len();
        self.new += new;
        self.updated += updated;
        self.unchanged += unchanged;
        if !json {
            let skipped = problems.len();
            say(&format!(
                "{name}: {new} new, {updated} updated, {unchanged} unchanged, {skipped} skipped"
            ));
        }
        for problem in problems {
            self.skip(path.to_owned(), problem.place, problem.reason);
        }
    }

    fn skip(&mut self, path: String, place: String, reason: String) {
        complain(&format!("skipped {path}, {place}: {reason}"));
        self.skipped.push(Skipped { path, place, reason });
    }
}
