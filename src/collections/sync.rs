//! Bringing collections up to date while the server runs: one job at a time for
//! each collection, beside everything else.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use vademecum_kit::model::Timestamp;

use super::{
    Catalogue, CollectionError, Ingest, Report, Tables, Wanted,
    catalogue::check_name,
    files::{self, Lock},
};
use vademecum_core::{auth::Principal, config};
use vademecum_embed::Embeddings;

/// Brings collections up to date.
#[derive(Clone, Debug)]
pub struct Syncs {
    catalogue: Arc<Catalogue>,
    embeddings: Option<Arc<Embeddings>>,
    tables: Option<Tables>,
    /// What the settings describe.
    configured: Vec<Wanted>,
    running: Arc<Mutex<Vec<Job>>>,
}

/// A job that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Job {
    id: String,
    names: Vec<String>,
}

/// What became of the wish to bring collections up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// A job was begun.
    Accepted {
        /// What it is called.
        job_id: String,
    },
    /// Another job is at one of them still, and nothing was begun.
    Running {
        /// What that job is called.
        job_id: String,
        /// Which collection it is at.
        name: String,
    },
}

/// Why nothing was begun.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// There is no such collection, or none that this principal may see.
    #[error("unknown source `{name}`{}", expected(.known))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is nothing at all.
    #[error("there is no source that could be synced")]
    Nothing,
    /// The catalogue could not be read.
    #[error(transparent)]
    Catalogue(#[from] CollectionError),
    /// There is no thread for it.
    #[error("no job could be begun")]
    Thread(#[from] io::Error),
}

fn expected(names: &[String]) -> String {
    match names {
        [] => "; there is none that could be synced".to_owned(),
        names => format!(", expected one of {}", names.join(", ")),
    }
}

impl Syncs {
    /// Those of this catalogue.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        let (embeddings, tables, configured) = (None, None, Vec::new());
        Self { catalogue, embeddings, tables, configured, running: Arc::default() }
    }

    /// The same, with somebody who makes vectors.
    #[must_use]
    pub fn embedding_with(self, embeddings: Option<Arc<Embeddings>>) -> Self {
        Self { embeddings, ..self }
    }

    /// The same, with databases that collections can be made of.
    #[must_use]
    pub fn reading(self, tables: Tables) -> Self {
        Self { tables: Some(tables), ..self }
    }

    /// The databases that collections can be made of, if there are any.
    pub fn tables(&self) -> Option<&Tables> {
        self.tables.as_ref()
    }

    /// The same, with the collections that the settings describe.
    pub fn configured(self, collections: &[config::Collection]) -> Result<Self, CollectionError> {
        let mut configured: Vec<Wanted> = Vec::new();
        for written in collections {
            check_name(&written.name)?;
            if configured.iter().any(|it| it.name.eq_ignore_ascii_case(&written.name)) {
                let reason = "there are two of that name".to_owned();
                return Err(CollectionError::Settings { name: written.name.clone(), reason });
            }
            let wanted = Wanted::configured(written)?;
            if let (Some(tables), Some(table)) = (&self.tables, &wanted.plan.table) {
                let (name, wrong) = (written.name.clone(), tables.check(table));
                wrong.map_err(|error| CollectionError::Settings { name, reason: error.message })?;
            }
            configured.push(wanted);
        }
        Ok(Self { configured, ..self })
    }

    /// Whether the settings describe a collection.
    pub fn has_some(&self) -> bool {
        !self.configured.is_empty()
    }

    /// What brings a collection up to date at once.
    pub fn ingest(&self) -> Ingest<'_> {
        Ingest {
            catalogue: &self.catalogue,
            embeddings: self.embeddings.as_deref(),
            tables: self.tables.as_ref(),
        }
    }

    /// The collections that can be brought up to date: those of the settings, and
    /// those of the catalogue that are made of something. Looks into a file.
    pub fn wanted(&self) -> Result<Vec<Wanted>, CollectionError> {
        let mut wanted = self.configured.clone();
        for record in self.catalogue.list()? {
            let is_configured = wanted.iter().any(|it| it.name.eq_ignore_ascii_case(&record.name));
            if !is_configured {
                wanted.push(Wanted::recorded(&record)?);
            }
        }
        wanted.retain(|wanted| wanted.plan.has_origin());
        Ok(wanted)
    }

    /// Begins to bring these collections up to date, or all that this principal
    /// may see. Looks into a file.
    pub fn begin(&self, principal: &Principal, names: &[String]) -> Result<Begun, SyncError> {
        let chosen = self.chosen(principal, names)?;
        let mut running = self.lock();
        let is_busy = |name: &str| running.iter().find(|job| job.names.iter().any(|it| it == name));
        for Wanted { name, .. } in &chosen {
            if let Some(job) = is_busy(name) {
                return Ok(Begun::Running { job_id: job.id.clone(), name: name.clone() });
            }
        }
        let job = Job {
            id: format!("sync-{}", Timestamp::now()),
            names: chosen.iter().map(|wanted| wanted.name.clone()).collect(),
        };
        let finish = Finish { running: Arc::clone(&self.running), job: job.clone() };
        let syncs = self.clone();
        thread::Builder::new().name("sync".to_owned()).spawn(move || {
            let _finish = finish;
            for wanted in &chosen {
                syncs.run(wanted);
            }
        })?;
        let job_id = job.id.clone();
        running.push(job);
        Ok(Begun::Accepted { job_id })
    }

    /// Removes a collection and its files, whoever's it is. What it was made of
    /// stays.
    pub fn remove(&self, name: &str) -> Result<(), CollectionError> {
        check_name(name)?;
        let folder = self.catalogue.folder();
        let _lock = Lock::take(folder, name)?;
        let record = self.catalogue.named(name)?;
        let record = record.ok_or_else(|| CollectionError::Unknown(name.to_owned()))?;
        self.catalogue.remove(record.source_id)?;
        files::sweep(folder, name, None, Timestamp::now())
    }

    /// Takes away the files that are left of builds that were broken off.
    pub fn sweep(&self) {
        let swept = self.catalogue.list().and_then(|records| {
            files::sweep_all(self.catalogue.folder(), &records, Timestamp::now())
        });
        if let Err(error) = swept {
            tracing::warn!(%error, "old files of collections stay for now");
        }
    }

    /// Those of these names that a principal may see; without names, all.
    fn chosen(&self, principal: &Principal, names: &[String]) -> Result<Vec<Wanted>, SyncError> {
        let mine = |wanted: &Wanted| wanted.owner.as_ref().is_none_or(|it| it == principal.user());
        let visible: Vec<Wanted> = self.wanted()?.into_iter().filter(mine).collect();
        if names.is_empty() {
            return if visible.is_empty() { Err(SyncError::Nothing) } else { Ok(visible) };
        }
        let mut chosen: Vec<Wanted> = Vec::new();
        for name in names {
            let found = visible.iter().find(|wanted| wanted.name.eq_ignore_ascii_case(name));
            let Some(found) = found else {
                let known = visible.iter().map(|wanted| wanted.name.clone()).collect();
                let name = name.chars().take(100).collect();
                return Err(SyncError::Unknown { name, known });
            };
            if !chosen.contains(found) {
                chosen.push(found.clone());
            }
        }
        Ok(chosen)
    }

    fn run(&self, wanted: &Wanted) {
        let name = &wanted.name;
        match self.ingest().bring_up_to_date(wanted, false, &|_, _| {}) {
            Ok(Report { new, updated, gone, skipped, .. }) => {
                let skipped = skipped.len();
                tracing::info!(source = %name, new, updated, gone, skipped, "`{name}` was synced");
            }
            // Whoever is at it brings it up to date.
            Err(error @ CollectionError::Busy(_)) => {
                tracing::info!(source = %name, %error, "`{name}` was left to somebody else");
            }
            Err(error) => {
                tracing::warn!(source = %name, %error, "`{name}` could not be synced");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Job>> {
        lock(&self.running)
    }
}

/// Strikes a job out when it is over, however it ends.
struct Finish {
    running: Arc<Mutex<Vec<Job>>>,
    job: Job,
}

impl Drop for Finish {
    fn drop(&mut self) {
        lock(&self.running).retain(|job| *job != self.job);
    }
}

/// A list whose user panicked is still a list.
fn lock(running: &Mutex<Vec<Job>>) -> MutexGuard<'_, Vec<Job>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
