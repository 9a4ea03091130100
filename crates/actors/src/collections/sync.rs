//! Background synchronisation of collections: at most one job at a time for each collection, on a
//! thread of its own.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use vademecum_core::{auth::Principal, config};
use vademecum_embed::Embeddings;
use vademecum_import::ReaderLimits;
use vademecum_model::Timestamp;

use super::{
    Catalogue, CollectionError, CollectionPlan, CollectionRecord, CollectionSpec, Ingest,
    SyncReport, TableDatabases,
    catalogue::check_name,
    collection_files::{self, CollectionLock},
    rights::find_spec,
};

/// Starts and tracks synchronisation jobs.
#[derive(Clone, Debug)]
pub struct SyncJobs {
    catalogue: Arc<Catalogue>,
    embeddings: Option<Arc<Embeddings>>,
    tables: Option<TableDatabases>,
    reader_limits: ReaderLimits,
    running: Arc<Mutex<Vec<SyncJob>>>,
}

/// A running job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SyncJob {
    id: String,
    names: Vec<String>,
}

/// The result of a request to synchronise collections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncStart {
    /// A job was started.
    Accepted {
        /// Identifier of the job.
        job_id: String,
    },
    /// One of the collections belongs to a running job, so no job was started.
    Running {
        /// Identifier of the running job.
        job_id: String,
        /// Name of the collection.
        name: String,
    },
}

/// The reason why no job was started.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The collection does not exist, or this principal may not see it.
    #[error("unknown source `{name}`{}", expected(.known))]
    Unknown {
        /// Requested name.
        name: String,
        /// Names of the collections that this principal can synchronise.
        known: Vec<String>,
    },
    /// The collection reads a database that this principal may not use.
    #[error(
        "the source `{name}` reads a database that you may not use; have the owner of the server \
         add you to `users` of its profile"
    )]
    Forbidden {
        /// Name of the collection.
        name: String,
    },
    /// This principal can synchronise no collection.
    #[error("there is no source that can be synced")]
    Nothing,
    /// The catalogue could not be read.
    #[error(transparent)]
    Catalogue(#[from] CollectionError),
    /// The thread could not be started.
    #[error("cannot start the sync job")]
    Thread(#[from] io::Error),
}

fn expected(names: &[String]) -> String {
    match names {
        [] => "; there is none that can be synced".to_owned(),
        names => format!(", expected one of {}", names.join(", ")),
    }
}

impl SyncJobs {
    /// Creates the jobs for a catalogue, without embeddings, databases and configured collections.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        let (embeddings, tables) = (None, None);
        let reader_limits = ReaderLimits::default();
        Self { catalogue, embeddings, tables, reader_limits, running: Arc::default() }
    }

    /// Sets the embedding service.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Option<Arc<Embeddings>>) -> Self {
        Self { embeddings, ..self }
    }

    /// Sets the databases for collections of tables.
    #[must_use]
    pub fn with_tables(self, tables: TableDatabases) -> Self {
        Self { tables: Some(tables), ..self }
    }

    /// Sets the limits of parsing a file.
    #[must_use]
    pub fn with_reader_limits(self, reader_limits: ReaderLimits) -> Self {
        Self { reader_limits, ..self }
    }

    /// Returns the databases for collections of tables, if they are set.
    pub fn tables(&self) -> Option<&TableDatabases> {
        self.tables.as_ref()
    }

    /// Sets the collections of the settings, which `owner` has written: their rights hold from now on.
    /// Fails, and changes nothing, if one is invalid or two have the same name.
    pub fn configure(
        &self,
        collections: &[config::Collection],
        owner: &Principal,
    ) -> Result<(), CollectionError> {
        let mut configured: Vec<CollectionSpec> = Vec::new();
        for written in collections {
            check_name(&written.name)?;
            if find_spec(&configured, &written.name).is_some() {
                let reason = "two collections have this name".to_owned();
                return Err(CollectionError::InvalidSettings {
                    name: written.name.clone(),
                    reason,
                });
            }
            let spec = CollectionSpec::from_settings(written)?;
            if let (Some(tables), Some(table)) = (&self.tables, &spec.plan.table) {
                let (name, wrong) = (written.name.clone(), tables.check_table(owner, table));
                wrong.map_err(|error| CollectionError::InvalidSettings {
                    name,
                    reason: error.message,
                })?;
            }
            configured.push(spec);
        }
        self.catalogue.set_configured(configured);
        Ok(())
    }

    /// Records which collections of the catalogue the settings describe, so that each is closed when
    /// its section is removed, also before its next sync. Failures are logged.
    pub fn record_configured(&self) {
        if let Err(error) = self.mark_configured() {
            tracing::warn!(%error, "the collections of the settings could not be recorded");
        }
    }

    fn mark_configured(&self) -> Result<(), CollectionError> {
        let specs = self.catalogue.configured_specs();
        if specs.is_empty() {
            return Ok(());
        }
        for record in self.catalogue.list_records()? {
            let Ok(plan) = CollectionPlan::parse(&record.name, &record.plan) else { continue };
            if find_spec(&specs, &record.name).is_some() && !plan.configured {
                let plan = CollectionPlan { configured: true, ..plan }.to_json();
                self.catalogue.update_plan(&CollectionRecord { plan, ..record })?;
            }
        }
        Ok(())
    }

    /// Returns whether the settings describe any collection.
    pub fn has_configured(&self) -> bool {
        !self.catalogue.configured_specs().is_empty()
    }

    /// Returns whether the settings describe the collection of this name.
    pub fn is_configured(&self, name: &str) -> bool {
        find_spec(&self.catalogue.configured_specs(), name).is_some()
    }

    /// Returns an ingest that runs on the calling thread, with the rights of `principal`.
    pub fn ingest<'a>(&'a self, principal: &'a Principal) -> Ingest<'a> {
        Ingest {
            principal,
            catalogue: &self.catalogue,
            embeddings: self.embeddings.as_deref(),
            tables: self.tables.as_ref(),
            reader_limits: self.reader_limits,
        }
    }

    /// Returns the collections that can be synchronised: those of the settings, and those of the
    /// catalogue that have folders and are not closed. Reads a database.
    pub fn list_specs(&self) -> Result<Vec<CollectionSpec>, CollectionError> {
        let mut specs = self.catalogue.configured_specs().to_vec();
        for record in self.catalogue.list_records()? {
            let is_configured = find_spec(&specs, &record.name).is_some();
            if !is_configured && self.catalogue.rights(&record).is_some() {
                specs.push(CollectionSpec::from_record(&record)?);
            }
        }
        specs.retain(|spec| spec.plan.has_source());
        Ok(specs)
    }

    /// Starts a job for these collections, or for all that this principal may see if `names` is
    /// empty. Reads a database.
    pub fn start_sync(
        &self,
        principal: &Principal,
        names: &[String],
    ) -> Result<SyncStart, SyncError> {
        let chosen = self.select_specs(principal, names)?;
        let mut running = self.lock_running();
        let is_busy = |name: &str| running.iter().find(|job| job.names.iter().any(|it| it == name));
        for CollectionSpec { name, .. } in &chosen {
            if let Some(job) = is_busy(name) {
                return Ok(SyncStart::Running { job_id: job.id.clone(), name: name.clone() });
            }
        }
        let job = SyncJob {
            id: format!("sync-{}", Timestamp::now()),
            names: chosen.iter().map(|spec| spec.name.clone()).collect(),
        };
        let finish = FinishGuard { running: Arc::clone(&self.running), job: job.clone() };
        let (syncs, principal) = (self.clone(), principal.clone());
        thread::Builder::new().name("sync".to_owned()).spawn(move || {
            let _finish = finish;
            for spec in &chosen {
                syncs.sync_collection(&principal, spec);
            }
        })?;
        let job_id = job.id.clone();
        running.push(job);
        Ok(SyncStart::Accepted { job_id })
    }

    /// Removes a collection and its database, regardless of its owner. The folders or the table it
    /// came from are not touched.
    pub fn remove_collection(&self, name: &str) -> Result<(), CollectionError> {
        check_name(name)?;
        let folder = self.catalogue.folder();
        let _lock = CollectionLock::acquire(folder, name)?;
        let _claim = self.catalogue.claim_build(name)?;
        let record = self.catalogue.find_record(name)?;
        let record = record.ok_or_else(|| CollectionError::Unknown(name.to_owned()))?;
        self.catalogue.remove_record(record.source_id)?;
        self.catalogue.remove_upload(&record.file);
        self.catalogue.close_replaced();
        collection_files::remove_unused(folder, name, None)
    }

    /// Removes database files that aborted builds have left. Failures are logged.
    pub fn remove_unused_files(&self) {
        let catalogue = &self.catalogue;
        let swept = collection_files::remove_all_unused(catalogue.folder(), |name| {
            catalogue.find_record(name)
        });
        if let Err(error) = swept {
            tracing::warn!(%error, "cannot remove old files of collections");
        }
    }

    /// Returns the named collections that a principal may see, or all of them if `names` is empty.
    /// Those that read a database which the principal may not use are left out of all, and fail if
    /// they are named.
    fn select_specs(
        &self,
        principal: &Principal,
        names: &[String],
    ) -> Result<Vec<CollectionSpec>, SyncError> {
        let mine = |spec: &CollectionSpec| {
            spec.owner.as_ref().is_none_or(|it| it == principal.user())
                && principal.access().permits_collection(&spec.name)
        };
        let visible: Vec<CollectionSpec> = self.list_specs()?.into_iter().filter(mine).collect();
        let is_permitted = |spec: &CollectionSpec| {
            let table = self.tables.as_ref().zip(spec.plan.table.as_ref());
            table.is_none_or(|(tables, table)| tables.is_permitted(principal, table))
        };
        if names.is_empty() {
            let first = visible.first().map(|spec| spec.name.clone());
            let permitted: Vec<CollectionSpec> = visible.into_iter().filter(is_permitted).collect();
            return match (first, permitted.is_empty()) {
                (None, _) => Err(SyncError::Nothing),
                (Some(name), true) => Err(SyncError::Forbidden { name }),
                (Some(_), false) => Ok(permitted),
            };
        }
        let mut chosen: Vec<CollectionSpec> = Vec::new();
        for name in names {
            let found = visible.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
            let Some(found) = found else {
                let known = visible.iter().map(|spec| spec.name.clone()).collect();
                let name = name.chars().take(100).collect();
                return Err(SyncError::Unknown { name, known });
            };
            if !is_permitted(found) {
                return Err(SyncError::Forbidden { name: found.name.clone() });
            }
            if !chosen.contains(found) {
                chosen.push(found.clone());
            }
        }
        Ok(chosen)
    }

    fn sync_collection(&self, principal: &Principal, spec: &CollectionSpec) {
        let name = &spec.name;
        match self.ingest(principal).sync(spec, false, &|_, _| {}) {
            Ok(SyncReport { new, updated, gone, skipped, .. }) => {
                let skipped = skipped.len();
                tracing::info!(source = %name, new, updated, gone, skipped, "`{name}` was synced");
            }
            // Another process is synchronising the collection.
            Err(error @ CollectionError::Busy(_)) => {
                tracing::info!(source = %name, %error, "`{name}` is being synced by another process");
            }
            Err(error) => {
                tracing::warn!(source = %name, %error, "`{name}` could not be synced");
            }
        }
    }

    fn lock_running(&self) -> MutexGuard<'_, Vec<SyncJob>> {
        lock_jobs(&self.running)
    }
}

/// Removes the job from the list when dropped, even after a panic.
struct FinishGuard {
    running: Arc<Mutex<Vec<SyncJob>>>,
    job: SyncJob,
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        lock_jobs(&self.running).retain(|job| *job != self.job);
    }
}

/// Locks the list, ignoring poisoning: no code path leaves it half-changed.
fn lock_jobs(running: &Mutex<Vec<SyncJob>>) -> MutexGuard<'_, Vec<SyncJob>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
