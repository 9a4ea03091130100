//! `vademecum import tldw`: copies the databases of a tldw user.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vademecum_kit::{model::SourceName, store::Database};
use vademecum_tldw::{TldwError, TldwUser, find_user};

use super::{command::progress_bar, summary::ImportSummary};
use crate::{
    actors::{Library, error_chain},
    cli::output::print_line,
};

/// Sources in copy order: characters come before the conversations that refer to them.
const COPY_ORDER: [SourceName; 5] = [
    SourceName::Characters,
    SourceName::Notes,
    SourceName::Chats,
    SourceName::Media,
    SourceName::Prompts,
];

/// Name of the format in the summary.
const FORMAT_NAME: &str = "tldw databases";

/// Selection of the tldw user whose databases are copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetUser<'a> {
    /// User given on the command line.
    pub(super) requested_user: Option<&'a str>,
    /// User of the target library, if named: the default if the directory has several users.
    pub(super) library_user: Option<&'a str>,
}

impl TargetUser<'_> {
    fn find_user(self, folder: &Path) -> Result<TldwUser, TldwError> {
        find_user(folder, self.requested_user).or_else(|error| {
            match (self.requested_user, self.library_user) {
                (None, Some(own)) => find_user(folder, Some(own)).map_err(|_| error),
                (Some(_), _) | (None, None) => Err(error),
            }
        })
    }
}

/// Copies the databases of the selected user from each folder.
pub(super) async fn copy_folders(
    library: &Library,
    folders: &[PathBuf],
    user: TargetUser<'_>,
    json: bool,
) -> Result<ImportSummary> {
    let mut summary = ImportSummary::new(false);
    for folder in folders {
        let user = user.find_user(folder)?;
        if !json {
            print_line(&format!("tldw: user {} in {}", user.id(), user.folder().display()));
        }
        copy_user(library, &user, &mut summary).await?;
    }
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.checkpoint()?;
    }
    Ok(summary.finish())
}

async fn copy_user(library: &Library, user: &TldwUser, summary: &mut ImportSummary) -> Result<()> {
    for file in Database::ALL.into_iter().filter_map(|database| user.database_path(database)) {
        summary.count_database(file.metadata().map_or(0, |about| about.len()));
    }
    let path = user.folder().display();
    for name in COPY_ORDER {
        let source = library.source(name).context("source is not available")?;
        if let Err(refusal) = source.check_writable() {
            bail!("{refusal}");
        }
        let bar = progress_bar(0, "items");
        let shown = bar.clone();
        let copied = source.copy_from_tldw(user.clone(), move |done, of| {
            shown.set_length(of as u64);
            shown.set_position(done as u64);
        });
        let copied = copied.await;
        bar.finish_and_clear();
        match copied {
            Ok(copied) => {
                summary.count_copied(name, &copied, FORMAT_NAME);
                for problem in copied.problems {
                    summary.add_skipped(&path, problem.item, problem.reason);
                }
            }
            Err(error) => summary.add_skipped(&path, name.to_string(), error_chain(&error)),
        }
    }
    Ok(())
}
