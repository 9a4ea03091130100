//! Opens the data folder and the archive of the settings.

use vademecum_core::config::{ConfigError, Settings};
use vademecum_replication::{FollowOptions, FollowedData};
use vademecum_store::DataFolder;

use super::AppError;

/// Opens the data folder of the settings. Its databases follow the archive, if there is one.
pub fn open_data_folder(settings: &Settings) -> Result<DataFolder, AppError> {
    let archive = open_archive(settings)?;
    Ok(DataFolder::new(settings.storage.data_folder()?, archive))
}

#[cfg(feature = "postgres")]
fn open_archive(
    settings: &Settings,
) -> Result<Option<std::sync::Arc<dyn vademecum_store::Replication>>, AppError> {
    use std::{sync::Arc, time::Duration};

    use vademecum_collections::FULL_TEXT_REBUILD;
    use vademecum_replication::postgres::{ArchiveOptions, PostgresArchive};
    use vademecum_sql::ServerTarget;
    use vademecum_store::Database;

    use crate::registry;

    /// Maximum time to connect to the archive.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

    let (archive, unlock) = (&settings.archive, settings.secrets.passphrase_source());
    let Some(server) = archive.resolve_server(&unlock).map_err(ConfigError::from)? else {
        return Ok(None);
    };
    let target = ServerTarget::resolve(server, "archive.password", &unlock);
    let target = target.map_err(ConfigError::from)?;
    let options = ArchiveOptions {
        folder: settings.storage.data_folder()?,
        schema: archive.schema.clone(),
        connections: archive.pool.get(),
        put_timeout: archive.put_timeout(),
        connect_timeout: CONNECT_TIMEOUT,
    };
    let opened = Arc::new(PostgresArchive::new(&target, options)?);
    let sources = registry::sources();
    let of_sources =
        sources.iter().filter_map(|source| Some((source.database(), source.derived_fts_table()?)));
    let derived = of_sources.chain([(Database::Collection, FULL_TEXT_REBUILD)]).collect();
    let options =
        FollowOptions { stale_reads: archive.stale_reads, conflict_timeout: archive.put_timeout() };
    Ok(Some(Arc::new(FollowedData::new(opened, derived, options))))
}

#[cfg(not(feature = "postgres"))]
fn open_archive(
    settings: &Settings,
) -> Result<Option<std::sync::Arc<dyn vademecum_store::Replication>>, AppError> {
    match settings.archive.location {
        None => Ok(None),
        Some(_) => Err(ConfigError::NoPostgres.into()),
    }
}
