//! The databases of the profiles: opened when first asked, and kept.

use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::OnceCell;

use super::{
    Caps, Engine, ErrorCode, Parameter, Profile, Profiles, Rows, SqlError,
    driver::{Database, Load, Written},
    guard,
};
use vademecum_core::{auth::Principal, telemetry::Figure};

/// The databases of the profiles.
#[derive(Debug, Default)]
pub struct Databases {
    profiles: Arc<Profiles>,
    open: DashMap<String, Arc<OnceCell<Arc<Database>>>>,
}

/// A database that somebody may use.
#[derive(Clone, Debug)]
pub struct Connection {
    profile: Arc<Profile>,
    database: Arc<Database>,
}

impl Databases {
    /// Those of these profiles. Nothing is opened yet.
    pub fn new(profiles: Arc<Profiles>) -> Self {
        Self { profiles, open: DashMap::new() }
    }

    /// The profiles.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// The database of a profile; without a name, of the only one that there is for
    /// the caller.
    pub async fn connect(
        &self,
        principal: &Principal,
        name: Option<&str>,
    ) -> Result<Connection, SqlError> {
        let profile = match name {
            Some(name) => self.profiles.get(principal, name)?,
            None => self.only(principal)?,
        };
        // The map is not held while a secret is read or a tunnel is dug.
        let cell = Arc::clone(&self.open.entry(profile.name().to_owned()).or_default());
        let opened = cell.get_or_try_init(|| async {
            let target = profile.target().await?;
            Database::open(target, profile.pool(), profile.connect_timeout()).map(Arc::new)
        });
        let database = logged(&profile, opened.await.cloned())?;
        logged(&profile, profile.open_way().await)?;
        Ok(Connection { profile, database })
    }

    /// How the connections of each database that was opened are used.
    pub fn figures(&self) -> Vec<Figure> {
        let (mut connections, mut waiting) = (Vec::new(), Vec::new());
        for entry in &self.open {
            let Some(database) = entry.value().get() else { continue };
            let Load { busy, idle, waiting: callers } = database.load();
            let profile = || ("profile", entry.key().clone());
            let state = |state: &str| vec![profile(), ("state", state.to_owned())];
            connections.push((state("busy"), count(busy)));
            connections.push((state("idle"), count(idle)));
            waiting.push((vec![profile()], count(callers)));
        }
        vec![
            Figure::labelled(
                "vademecum_database_connections",
                "Connections to databases of profiles.",
                connections,
            ),
            Figure::labelled(
                "vademecum_database_waiting",
                "Callers that wait for a connection to a database of a profile.",
                waiting,
            ),
        ]
    }

    fn only(&self, principal: &Principal) -> Result<Arc<Profile>, SqlError> {
        let mut all = self.profiles.for_principal(principal);
        match (all.next(), all.next()) {
            (Some(only), None) => Ok(Arc::clone(only)),
            (None, _) => {
                let message = "there is no profile for you on this server: [profiles.<name>] in \
                               its settings makes one";
                Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message).because("profile_not_found"))
            }
            (Some(_), Some(_)) => {
                let names = self.profiles.names_for(principal).join(", ");
                let message = format!("profile is required; there are: {names}");
                Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message).because("profile_required"))
            }
        }
    }
}

impl Connection {
    /// Its profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Its engine.
    pub fn engine(&self) -> Engine {
        self.database.engine()
    }

    /// Runs a statement of somebody who may only read.
    pub async fn read(
        &self,
        text: &str,
        parameters: &[Parameter],
        caps: Caps,
    ) -> Result<Rows, SqlError> {
        let query = guard::read(self.engine(), text)?;
        // Boxed, as are the others: what talks to databases is large.
        logged(&self.profile, Box::pin(self.database.read(&query, parameters, caps)).await)
    }

    /// Runs one statement that may write.
    pub async fn write(&self, text: &str, caps: Caps) -> Result<Written, SqlError> {
        let statement = guard::one_statement(self.engine(), text)?;
        logged(&self.profile, Box::pin(self.database.write(&statement, caps)).await)
    }

    /// What the engine calls its version.
    pub async fn version(&self) -> Result<String, SqlError> {
        let version = self.database.version(self.profile.caps().timeout);
        logged(&self.profile, Box::pin(version).await)
    }
}

/// As figures have it.
fn count(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Passes a result on, and tells the log what the caller is not told.
fn logged<T>(profile: &Profile, result: Result<T, SqlError>) -> Result<T, SqlError> {
    if let Err(SqlError { code, detail: Some(detail), .. }) = &result {
        let profile = profile.name();
        match code {
            // Whoever wrote the statement is told what was wrong with it. The detail may
            // quote the statement, which is nobody's business else.
            ErrorCode::XsqlDbExecFailed | ErrorCode::XsqlRoBlocked => {
                tracing::debug!(profile, ?code, "a database refused a statement");
            }
            _ => tracing::warn!(profile, ?code, detail, "a database gave no answer"),
        }
    }
    result
}
