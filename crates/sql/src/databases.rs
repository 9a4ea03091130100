//! Databases of the profiles, opened on first use and kept open.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use dashmap::DashMap;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::{
    Engine, ErrorCode, Parameter, Profile, Profiles, QueryCaps, Rows, SqlError,
    counted::Counted,
    driver::{self, Database, HypotheticalIndexes, PoolLoad, RowSender, WriteResult},
    guard::{self, ReadOnlyQuery},
    lanes::{Attempt, LanePermit, StatementLanes},
};
use vademecum_core::{
    auth::{Principal, UserId},
    telemetry::Gauge,
};

/// Databases of the profiles, by profile name.
#[derive(Debug)]
pub struct Databases {
    profiles: Arc<Profiles>,
    open: DashMap<String, Arc<OnceCell<OpenDatabase>>>,
    sqlite_lanes: StatementLanes,
}

/// Database with the lanes of its connections.
#[derive(Clone, Debug)]
struct OpenDatabase {
    database: Arc<Database>,
    lanes: StatementLanes,
    /// Number of callers that wait for a lane.
    waiting: Arc<AtomicUsize>,
}

/// Database of a profile that the caller may use. Only [`Databases::connect`] creates it, for a
/// principal that may use the profile.
#[derive(Clone, Debug)]
pub struct ProfileConnection {
    profile: Arc<Profile>,
    open: OpenDatabase,
    /// User whose statements take turns with those of others.
    user: UserId,
}

impl Default for Databases {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl Databases {
    /// Creates the set for these profiles. No database is opened yet.
    pub fn new(profiles: Arc<Profiles>) -> Self {
        Self { profiles, open: DashMap::new(), sqlite_lanes: StatementLanes::for_sqlite() }
    }

    /// Returns all profiles, also those that a given principal may not use.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// Returns the database of the named profile; without a name, that of the
    /// [default](Profiles::default_profile).
    pub async fn connect(
        &self,
        principal: &Principal,
        name: Option<&str>,
    ) -> Result<ProfileConnection, SqlError> {
        let profile = match name {
            Some(name) => self.profiles.find_profile(principal, name)?,
            None => self.profiles.default_profile(principal)?,
        };
        // Clone the cell, so that the map is not locked while a secret is read or a tunnel is
        // opened.
        let cell = Arc::clone(&self.open.entry(profile.name().to_owned()).or_default());
        let opened = cell.get_or_try_init(|| async {
            let target = profile.resolve_target().await?;
            let connections = profile.max_connections();
            let database = Database::open(target, connections, profile.connect_timeout())?;
            let lanes = match database.engine() {
                Engine::Sqlite => self.sqlite_lanes.clone(),
                Engine::MySql | Engine::Postgres => StatementLanes::new(connections),
            };
            Ok(OpenDatabase { database: Arc::new(database), lanes, waiting: Arc::default() })
        });
        let open = log_failure(&profile, opened.await.cloned())?;
        log_failure(&profile, profile.ensure_tunnel().await)?;
        Ok(ProfileConnection { profile, open, user: principal.user().clone() })
    }

    /// Returns gauges of the connections of each open database.
    pub fn gauges(&self) -> Vec<Gauge> {
        let (mut connections, mut waiting) = (Vec::new(), Vec::new());
        for entry in &self.open {
            let Some(open) = entry.value().get() else { continue };
            let PoolLoad { busy, idle, waiting: callers } = open.database.pool_load();
            let callers = callers + open.waiting.load(Ordering::Relaxed);
            let profile = || ("profile", entry.key().clone());
            let state = |state: &str| vec![profile(), ("state", state.to_owned())];
            connections.push((state("busy"), gauge_value(busy)));
            connections.push((state("idle"), gauge_value(idle)));
            waiting.push((vec![profile()], gauge_value(callers)));
        }
        vec![
            Gauge::with_labels(
                "vademecum_database_connections",
                "Connections to databases of profiles.",
                connections,
            ),
            Gauge::with_labels(
                "vademecum_database_waiting",
                "Callers that wait for a connection to a database of a profile.",
                waiting,
            ),
        ]
    }
}

impl ProfileConnection {
    /// Returns the profile with which the connection was opened.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the engine.
    pub fn engine(&self) -> Engine {
        self.open.database.engine()
    }

    /// Checks that a statement only reads, then runs it.
    pub async fn run_query(
        &self,
        text: &str,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        let query = guard::check_query(self.engine(), text)?;
        // Boxed, like the futures below: futures of database drivers are large.
        log_failure(&self.profile, Box::pin(self.run_in_lane(&query, parameters, caps)).await)
    }

    /// Checks that a statement only reads, then runs it, and sends its rows as they arrive; the
    /// last ones are returned. It waits for the main lane, because it must not run twice.
    pub async fn stream_query(
        &self,
        text: &str,
        caps: QueryCaps,
        sender: &RowSender,
    ) -> Result<Rows, SqlError> {
        let query = guard::check_query(self.engine(), text)?;
        let _permit = self.acquire_lane(Attempt::MainOnly, Instant::now(), caps.timeout).await?;
        let rows = self.open.database.run_query(&query, &[], caps, Some(sender));
        log_failure(&self.profile, Box::pin(rows).await)
    }

    /// Runs a statement of this program that reads the catalogs.
    pub async fn run_own_query(
        &self,
        text: &'static str,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        let query = guard::check_own_query(self.engine(), text)?;
        log_failure(&self.profile, Box::pin(self.run_in_lane(&query, parameters, caps)).await)
    }

    /// Runs a query in the lane that is free first, and again if it exceeds a time slice there.
    async fn run_in_lane(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        let database = &self.open.database;
        let (arrival, mut attempt) = (Instant::now(), Attempt::First);
        loop {
            let timeout = caps.timeout.saturating_sub(arrival.elapsed());
            let permit = self.acquire_lane(attempt, arrival, timeout).await?;
            let Some(slice) = permit.time_slice().filter(|slice| *slice < caps.timeout) else {
                return database.run_query(query, parameters, caps, None).await;
            };
            let begun = Instant::now();
            let sliced = QueryCaps { timeout: slice, ..caps };
            let answer = database.run_query(query, parameters, sliced, None).await;
            let is_over = begun.elapsed() >= slice;
            match answer {
                Err(SqlError { code: ErrorCode::XsqlDbExecFailed, .. }) if is_over => {
                    attempt = attempt.next();
                }
                answer => return answer,
            }
        }
    }

    /// Waits until the user may run a statement.
    async fn acquire_lane(
        &self,
        attempt: Attempt,
        arrival: Instant,
        timeout: Duration,
    ) -> Result<LanePermit, SqlError> {
        let _waiting = Counted::new(&self.open.waiting);
        let permit = self.open.lanes.acquire(&self.user, attempt, arrival, timeout).await;
        permit.ok_or_else(|| match self.engine() {
            Engine::Sqlite => driver::sqlite_busy(),
            Engine::MySql | Engine::Postgres => {
                driver::pool_exhausted(self.profile.max_connections())
            }
        })
    }

    /// Checks that the text is one statement, then runs it; it may write. It waits for the main
    /// lane, because it must not run twice.
    pub async fn run_write(
        &self,
        text: &str,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<WriteResult, SqlError> {
        let statement = self.profile.check_write(text)?;
        let _permit = self.acquire_lane(Attempt::MainOnly, Instant::now(), caps.timeout).await?;
        log_failure(
            &self.profile,
            Box::pin(self.open.database.run_write(&statement, parameters, caps)).await,
        )
    }

    /// Returns the plan of a query that is not run, then one with each set of hypothetical indexes.
    /// `PostgreSQL` only.
    pub async fn plan_statement(
        &self,
        query: &ReadOnlyQuery,
        indexes: &HypotheticalIndexes,
    ) -> Result<Vec<Option<Value>>, SqlError> {
        let caps = self.profile.query_caps();
        let _permit = self.acquire_lane(Attempt::First, Instant::now(), caps.timeout).await?;
        log_failure(
            &self.profile,
            Box::pin(self.open.database.plan_statement(query, indexes, caps)).await,
        )
    }

    /// Returns the version reported by the engine.
    pub async fn server_version(&self) -> Result<String, SqlError> {
        let timeout = self.profile.query_caps().timeout;
        let _permit = self.acquire_lane(Attempt::First, Instant::now(), timeout).await?;
        let version = self.open.database.server_version(timeout);
        log_failure(&self.profile, Box::pin(version).await)
    }
}

/// Converts a count to a gauge value.
fn gauge_value(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Passes a result through and logs the details that the caller does not get.
fn log_failure<T>(profile: &Profile, result: Result<T, SqlError>) -> Result<T, SqlError> {
    if let Err(SqlError { code, detail: Some(detail), .. }) = &result {
        let profile = profile.name();
        match code {
            // The caller gets the message. The detail is not logged, because it may quote the
            // statement.
            ErrorCode::XsqlDbExecFailed | ErrorCode::XsqlRoBlocked => {
                tracing::debug!(profile, ?code, "a database refused a statement");
            }
            _ => tracing::warn!(profile, ?code, detail, "database request failed"),
        }
    }
    result
}
