//! `vademecum import tldw`: copies what a user of tldw has.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vademecum_kit::{model::SourceName, store::Database};
use vademecum_tldw::{TldwError, User, the_user};

use super::{command::progress, summary::Summary};
use crate::{
    actors::{Library, chain},
    cli::output::say,
};

/// The sources, in the order in which they are copied: a conversation is held
/// with a character that is there before.
const ORDER: [SourceName; 5] = [
    SourceName::Characters,
    SourceName::Notes,
    SourceName::Chats,
    SourceName::Media,
    SourceName::Prompts,
];

/// What the databases are, as a user would say it.
const FORMAT: &str = "databases of tldw";

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
) -> Result<Summary> {
    let mut summary = Summary::new(false);
    for folder in folders {
        let user = user.find(folder)?;
        if !json {
            say(&format!("tldw: user {} in {}", user.id(), user.folder().display()));
        }
        copy_user(library, &user, &mut summary).await?;
    }
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.settle()?;
    }
    Ok(summary.finish())
}

async fn copy_user(library: &Library, user: &User, summary: &mut Summary) -> Result<()> {
    for file in Database::ALL.into_iter().filter_map(|database| user.file(database)) {
        summary.database(file.metadata().map_or(0, |about| about.len()));
    }
    let path = user.folder().display();
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
        match copied {
            Ok(copied) => {
                summary.copied(name, &copied, FORMAT);
                for problem in copied.problems {
                    summary.skip(&path, problem.place, problem.reason);
                }
            }
            Err(error) => summary.skip(&path, name.to_string(), chain(&error)),
        }
    }
    Ok(())
}
