//! The libraries of the users, and the folders that are kept in sync with them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_actors::{LibraryConfig, TldwDirectory, UserRegistry};
use vademecum_core::{
    auth::{Principal, UserIdError},
    config::{AuthMode, Settings},
    telemetry::Metrics,
};
use vademecum_embed::Embeddings;
use vademecum_model::JournalLimits;
use vademecum_services::two_way::FollowedFolders;
use vademecum_store::DataFolder;
use vademecum_tldw::TldwError;

use super::limits::reader_limits;
use crate::registry;

/// Opens the tldw directory of the settings, if there is one.
fn open_tldw(settings: &Settings, data: &Path) -> Result<Option<TldwDirectory>, TldwError> {
    let storage = &settings.storage;
    let open = |folder: &PathBuf| match settings.auth.mode {
        AuthMode::Single => TldwDirectory::for_one_user(folder, data, storage.named_user()),
        AuthMode::Multi => TldwDirectory::for_all_users(folder, data),
    };
    storage.tldw.as_ref().map(open).transpose()
}

/// Returns the folders of the settings that are kept in sync.
pub(super) fn followed_folders(
    settings: &Settings,
    principal: &Principal,
) -> Result<FollowedFolders, UserIdError> {
    let limits = reader_limits(&settings.import);
    FollowedFolders::new(&settings.folders, principal.user(), limits)
}

/// Opens the libraries of the users.
pub(super) fn open_user_registry(
    settings: &Settings,
    data: &DataFolder,
    embeddings: Option<Arc<Embeddings>>,
    metrics: &Metrics,
) -> Result<Arc<UserRegistry>, TldwError> {
    let registry = UserRegistry::new(LibraryConfig {
        data: data.clone(),
        tldw: open_tldw(settings, data.path())?,
        sources: registry::sources(),
        embeddings,
        max_open_libraries: settings.storage.open_libraries,
        limits: settings.limits.clone(),
        sessions: settings.sessions.clone(),
    });
    let journal = &settings.journal;
    let journal = JournalLimits { age: journal.max_age(), bytes: journal.max_bytes() };
    let quotas = settings.quotas.for_mode(settings.auth.mode);
    let registry = registry.with_quotas(quotas).with_journal_limits(journal);
    Ok(Arc::new(registry.with_metrics(metrics.clone())))
}
