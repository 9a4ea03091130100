//! Copies the databases of a tldw user into a library.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_actors::{Library, error_chain};
use vademecum_model::SourceName;
use vademecum_store::Database;
use vademecum_tldw::{TldwError, TldwUser, find_user};

use super::{error::ImportError, summary::ImportSummary};
use crate::progress::{Progress, ProgressCallback};

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
pub struct TargetUser<'a> {
    /// User that the caller named.
    pub requested_user: Option<&'a str>,
    /// User of the target library, if named: the default if the directory has several users.
    pub library_user: Option<&'a str>,
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

/// Copies the databases of the selected user from each folder. `on_user` receives each user before
/// the copy.
pub async fn copy_folders(
    library: &Library,
    folders: &[PathBuf],
    user: TargetUser<'_>,
    progress: &ProgressCallback,
    on_user: impl Fn(&TldwUser),
) -> Result<ImportSummary, ImportError> {
    let mut summary = ImportSummary::new(false);
    for folder in folders {
        let user = user.find_user(folder)?;
        on_user(&user);
        copy_user(library, &user, &mut summary, progress).await?;
    }
    for store in library.stores().iter().filter(|store| store.path().exists()) {
        store.checkpoint()?;
    }
    Ok(summary.finish())
}

async fn copy_user(
    library: &Library,
    user: &TldwUser,
    summary: &mut ImportSummary,
    progress: &ProgressCallback,
) -> Result<(), ImportError> {
    for file in Database::ALL.into_iter().filter_map(|database| user.database_path(database)) {
        summary.count_database(file.metadata().map_or(0, |about| about.len()));
    }
    let path = user.folder().display();
    for name in COPY_ORDER {
        let source = library.source(name).ok_or(ImportError::MissingSource(name))?;
        source.check_writable()?;
        let report = Arc::clone(progress);
        let copied = source.copy_from_tldw(user.clone(), move |done, total| {
            report(Progress { things: "items", done, total });
        });
        let copied = copied.await;
        progress(Progress { things: "items", done: 0, total: 0 });
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
