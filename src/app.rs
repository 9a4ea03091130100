//! Assembles the program from its settings: stores, actors, services and transports.

mod custom_tools;
mod monitoring;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::task::JoinHandle;
use vademecum_kit::model::JournalLimits;
use vademecum_tldw::TldwError;

use self::{
    custom_tools::{CustomTools, FileVersion},
    monitoring::MonitoredComponents,
};
use crate::{
    actors::{Library, LibraryConfig, TldwDirectory, UserRegistry},
    collections::{Catalogue, CollectionError, SyncJobs, TableDatabases},
    registry,
    services::custom_tools::{CustomTool, CustomToolError},
    tools::{ToolRegistry, ToolSetError},
    transport::{self, ConnectionCount, Listener, ServerState},
};
use vademecum_core::{
    audit::AuditLog,
    auth::{
        Accounts, AuthError, Authenticator, DenyRules, EndedUsers, Principal, UserIdError,
        local_principal,
    },
    config::{AuthMode, ConfigError, Import, Settings, ToolNames, Tools},
    telemetry::{ExporterError, Metrics, MetricsError, Monitor, SpanExporter},
};
use vademecum_embed::{Embeddings, SetupError};
use vademecum_import::ReaderLimits;
use vademecum_mcp::{
    AdmissionLimits, NameStyle, Outbound, Peer, ProtocolSessions, RateLimits, RequestObserver,
    Service, ServiceOptions, Toolset,
};
use vademecum_sql::{Databases, ProfileError, Profiles};

/// Interval between checks for users who were suspended or removed.
const ENDED_USERS_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between searches for idle sessions.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum time to close the databases at shutdown.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The assembled program: services, registries and settings.
#[derive(Debug)]
pub struct App {
    settings: Settings,
    principal: Principal,
    user_registry: Arc<UserRegistry>,
    collections: Arc<Catalogue>,
    syncs: SyncJobs,
    profiles: Arc<Profiles>,
    service: Service,
    custom_tools: CustomTools,
    checked_tools: Vec<CustomTool>,
    connections: ConnectionCount,
    monitor: Monitor,
}

/// Error while assembling or running the program.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user id in the settings is invalid.
    #[error(transparent)]
    User(#[from] UserIdError),
    /// The authentication settings are invalid or the accounts cannot be opened.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The tldw directory cannot be served.
    #[error("`storage.tldw` cannot be served")]
    Tldw(#[from] TldwError),
    /// A tool that is to be disabled does not exist, or the name of a custom tool is taken.
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    /// A custom tool is invalid.
    #[error(transparent)]
    CustomTools(#[from] CustomToolError),
    /// The configured embedding model cannot be set up.
    #[error("invalid `embeddings`")]
    Embeddings(#[from] SetupError),
    /// A configured collection is invalid.
    #[error("invalid `collections`")]
    Collections(#[from] CollectionError),
    /// A configured profile is invalid.
    #[error(transparent)]
    Profiles(#[from] ProfileError),
    /// The metrics could not be registered.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The trace exporter could not be started.
    #[error(transparent)]
    Exporter(#[from] ExporterError),
    /// The server could not run.
    #[error("the server could not run")]
    Run(#[from] std::io::Error),
}

/// Returns the concurrency limits of the settings.
fn call_capacity(settings: &Settings) -> AdmissionLimits {
    let limits = &settings.limits;
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    AdmissionLimits {
        max_running_per_user: count(limits.concurrent_calls_per_user.get()),
        max_waiting_per_user: count(limits.waiting_calls_per_user),
        max_running: count(limits.concurrent_calls_in_all.get()),
        max_waiting: count(limits.waiting_calls_in_all),
        queue_timeout: limits.queue_timeout(),
        call_timeout: limits.call_timeout(),
        max_connections_per_user: count(settings.server.connections_per_user.get()),
        max_subscriptions_per_session: count(limits.subscriptions_per_session.get()),
        max_subscriptions_per_user: count(limits.subscriptions_per_user.get()),
    }
}

/// Returns the rate limits of the settings.
fn rate_limits(settings: &Settings) -> RateLimits {
    let limits = &settings.limits;
    RateLimits::per_minute(limits.requests_per_minute, limits.calls_per_tool_per_minute)
}

/// Opens the tldw directory of the settings, if there is one.
fn open_tldw(settings: &Settings, data: &Path) -> Result<Option<TldwDirectory>, TldwError> {
    let storage = &settings.storage;
    let open = |folder: &PathBuf| match settings.auth.mode {
        AuthMode::Single => TldwDirectory::for_one_user(folder, data, storage.named_user()),
        AuthMode::Multi => TldwDirectory::for_all_users(folder, data),
    };
    storage.tldw.as_ref().map(open).transpose()
}

/// Opens the libraries of the users.
fn open_user_registry(
    settings: &Settings,
    folder: &Path,
    embeddings: Option<Arc<Embeddings>>,
) -> Result<UserRegistry, TldwError> {
    let registry = UserRegistry::new(LibraryConfig {
        users: folder.join("users"),
        tldw: open_tldw(settings, folder)?,
        sources: registry::sources(),
        embeddings,
        max_open_libraries: settings.storage.open_libraries,
        limits: settings.limits.clone(),
        sessions: settings.sessions.clone(),
    });
    let journal = &settings.journal;
    let journal = JournalLimits { age: journal.max_age(), bytes: journal.max_bytes() };
    let quotas = settings.quotas.for_mode(settings.auth.mode);
    Ok(registry.with_quotas(quotas).with_journal_limits(journal))
}

/// Ends the sessions of users who are suspended or removed, and lets open connections check their
/// credentials.
async fn watch_ended_users(
    mut ended_users: EndedUsers,
    service: Service,
    registry: Arc<UserRegistry>,
) {
    let mut rounds = tokio::time::interval(ENDED_USERS_INTERVAL);
    loop {
        rounds.tick().await;
        let looked = tokio::task::spawn_blocking(move || (ended_users.take(), ended_users)).await;
        let Ok((users, watch)) = looked else { return };
        ended_users = watch;
        match users {
            Ok(users) => {
                for user in &users {
                    registry.remove_user(user);
                    service.end_user_sessions(user);
                }
            }
            Err(error) => tracing::warn!(%error, "ended sessions could not be read"),
        }
    }
}

/// Returns the protocol options of the settings: tool naming, toolsets and write access.
fn protocol_options(tools: &Tools) -> ServiceOptions {
    ServiceOptions {
        name_style: match tools.tool_names {
            ToolNames::Auto => None,
            ToolNames::Dotted => Some(NameStyle::Dotted),
            ToolNames::Underscored => Some(NameStyle::Underscored),
        },
        toolsets: [
            (Toolset::Knowledge, tools.knowledge),
            (Toolset::DeepResearch, tools.deep_research),
            (Toolset::Rag, tools.rag),
            (Toolset::RagSearch, tools.rag_search),
            (Toolset::Knowledgebase, tools.knowledgebase),
            (Toolset::Databases, tools.databases),
        ]
        .into_iter()
        .filter_map(|(toolset, shown)| Some((toolset, shown.fixed_visibility()?)))
        .collect(),
        list_write_tools: tools.write,
    }
}

impl App {
    /// Assembles the program. Databases are opened on first use, so that the handshake of a client
    /// is answered immediately.
    pub fn new(settings: Settings) -> Result<Self, AppError> {
        let principal = local_principal(settings.storage.user.parse()?);
        let folder = settings.storage.data_folder()?;
        let embeddings = Embeddings::open(&settings.embeddings, &folder)?.map(Arc::new);
        let all_tools = registry::tools();
        let metrics = Metrics::new(&monitoring::metric_labels(&all_tools))?;
        let registry = open_user_registry(&settings, &folder, embeddings.clone())?;
        let registry = Arc::new(registry.with_metrics(metrics.clone()));
        let (timeout, tools) = (settings.limits.source_timeout(), &settings.tools);
        let collections = Arc::new(Catalogue::new(&folder));
        let profiles =
            Arc::new(Profiles::new(&settings.profiles, &settings.secrets.passphrase_source())?);
        let databases = Arc::new(Databases::new(Arc::clone(&profiles)));
        let syncs = SyncJobs::new(Arc::clone(&collections))
            .with_embeddings(embeddings.clone())
            .with_tables(TableDatabases::new(Arc::clone(&databases)))
            .with_reader_limits(reader_limits(&settings.import))
            .configured(&settings.collections, &principal)?;
        let shared = Arc::clone(&collections);
        let toolbox = ToolRegistry::new(Arc::clone(&registry), shared, all_tools, timeout)?
            .with_embeddings(embeddings)
            .with_syncs(syncs.clone())
            .with_changing_tools(settings.file.is_some())
            .with_text_form(tools.text)
            .with_safe_text(tools.safe_text)
            .with_databases(Arc::clone(&databases))
            .with_writes(tools.write)
            .with_segments(tools.rag_search_segments.get().into());
        let toolbox = Arc::new(toolbox);
        let sessions =
            ProtocolSessions::new(settings.sessions.idle_timeout(), settings.sessions.most)
                .with_max_per_user(settings.sessions.most_per_user);
        let exporter =
            settings.telemetry.otlp_endpoint.as_ref().map(SpanExporter::start).transpose()?;
        let audit = AuditLog::new(&settings.audit, &folder);
        let observer = RequestObserver { metrics, exporter, audit };
        let service = Service::new(
            Arc::clone(&toolbox) as _,
            Arc::new(sessions),
            protocol_options(&settings.tools),
        )
        .with_rates(rate_limits(&settings))
        .with_limits(call_capacity(&settings))
        .with_observer(observer.clone());
        let custom_tools = CustomTools {
            registry: toolbox,
            profiles: Arc::clone(&profiles),
            databases: Arc::clone(&databases),
            owner: principal.clone(),
            service: service.clone(),
            metrics: observer.metrics.clone(),
            file_version: settings.file.as_deref().and_then(FileVersion::read),
        };
        let checked_tools = custom_tools.define(&settings)?;
        let connections = ConnectionCount::default();
        let monitor = monitoring::build_monitor(
            &observer,
            MonitoredComponents {
                registry: Arc::clone(&registry),
                service: service.clone(),
                connections: connections.clone(),
                databases,
                catalogue: Arc::clone(&collections),
            },
        );
        Ok(Self {
            settings,
            principal,
            user_registry: registry,
            collections,
            syncs,
            profiles,
            service,
            custom_tools,
            checked_tools,
            connections,
            monitor,
        })
    }

    /// Returns the library of the user in the settings.
    pub fn library(&self) -> Library {
        self.user_registry.library(&self.principal)
    }

    /// Returns the libraries of the users.
    pub fn user_registry(&self) -> &UserRegistry {
        &self.user_registry
    }

    /// Returns the catalogue of collections.
    pub fn collections(&self) -> &Catalogue {
        &self.collections
    }

    /// Returns the limits of parsing files.
    pub fn reader_limits(&self) -> ReaderLimits {
        reader_limits(&self.settings.import)
    }

    /// Returns the service that syncs collections.
    pub fn syncs(&self) -> &SyncJobs {
        &self.syncs
    }

    /// Returns the owner of the server, whose settings these are.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the database profiles.
    pub fn profiles(&self) -> &Arc<Profiles> {
        &self.profiles
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Handles one JSON-RPC message as if sent by a client without a session, and returns the
    /// reply.
    pub async fn handle_message(&self, message: &str) -> Option<String> {
        let peer = Peer {
            principal: self.principal.clone(),
            session: None,
            defaults: vademecum_mcp::RequestDefaults::default(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection: None,
        };
        self.service.handle(&peer, message, &Outbound::default()).await.message
    }

    /// Returns the users of this server and their keys.
    pub fn accounts(&self) -> Result<Accounts, AppError> {
        Ok(Accounts::new(&self.settings.storage.data_folder()?))
    }

    /// Returns the state of the HTTP and WebSocket server, or an error if authentication cannot be
    /// set up.
    pub fn server_state(&self) -> Result<ServerState, AppError> {
        let folder = self.settings.storage.data_folder()?;
        let authenticator =
            Authenticator::open(&self.settings.auth, &folder, self.principal.clone())?;
        let authenticator = authenticator.with_deny_rules(DenyRules::new(&self.settings.deny));
        Ok(self.server_state_with(authenticator))
    }

    /// Has the databases check the custom tools. Fails if one refuses a statement; a database that
    /// cannot be reached is no error, and is tried again later.
    pub async fn check_custom_tools(&mut self) -> Result<(), AppError> {
        self.custom_tools.expect_hangup();
        self.checked_tools = self.custom_tools.load(&self.settings).await?;
        Ok(())
    }

    /// Watches the settings file for changes of the custom tools, until the task is aborted.
    fn spawn_tool_watch(&self) -> JoinHandle<()> {
        let (custom_tools, tools) = (self.custom_tools.clone(), self.checked_tools.clone());
        actix::spawn(custom_tools.watch(self.settings.clone(), tools))
    }

    /// Serves HTTP and WebSocket until the process receives a stop signal.
    pub async fn serve(
        &self,
        server_state: ServerState,
        listener: Listener,
    ) -> Result<(), AppError> {
        let (service, registry) = (self.service.clone(), Arc::clone(&self.user_registry));
        let collections = Arc::clone(&self.collections);
        let sweeper = actix::spawn(async move {
            let mut rounds = tokio::time::interval(SWEEP_INTERVAL);
            loop {
                rounds.tick().await;
                service.remove_expired();
                registry.remove_idle();
                let collections = Arc::clone(&collections);
                drop(tokio::task::spawn_blocking(move || collections.close_replaced()));
            }
        });
        let watcher = actix::spawn(watch_ended_users(
            EndedUsers::watch(self.accounts()?),
            self.service.clone(),
            Arc::clone(&self.user_registry),
        ));
        let tool_watch = self.spawn_tool_watch();
        let syncs = self.syncs.clone();
        drop(actix::spawn(tokio::task::spawn_blocking(move || syncs.remove_unused_files())));
        let served = transport::serve(server_state, listener).await;
        sweeper.abort();
        watcher.abort();
        tool_watch.abort();
        self.close_libraries().await;
        Ok(served?)
    }

    /// Returns the audit log.
    pub fn audit_log(&self) -> &AuditLog {
        self.service.audit_log()
    }

    /// Closes the databases. After a timeout the rest is left open; interrupted writes are rolled
    /// back on the next start, as after a crash. Writes the queued entries of the audit log.
    async fn close_libraries(&self) {
        self.audit_log().flush();
        let registry = Arc::clone(&self.user_registry);
        let closed = tokio::task::spawn_blocking(move || registry.close_all());
        if !matches!(tokio::time::timeout(CLOSE_TIMEOUT, closed).await, Ok(Ok(()))) {
            tracing::warn!("could not close all databases in time");
        }
    }

    /// Serves one client over standard input and output until it closes the connection.
    pub async fn serve_stdio(&self) -> Result<(), AppError> {
        let principal = DenyRules::new(&self.settings.deny).restrict(self.principal.clone(), None);
        let server_state = self.server_state_with(Authenticator::single(principal.clone()));
        let tool_watch = self.spawn_tool_watch();
        let served = transport::serve_stdio(&server_state, principal).await;
        tool_watch.abort();
        self.close_libraries().await;
        Ok(served?)
    }

    fn server_state_with(&self, authenticator: Authenticator) -> ServerState {
        let (mut server, auth) = (self.settings.server.clone(), self.settings.auth.clone());
        // The host of the public resource address must be allowed too.
        server.allowed_hosts.extend(auth.resource.as_ref().map(|it| it.host().to_owned()));
        ServerState {
            service: self.service.clone(),
            authenticator: Arc::new(authenticator),
            auth,
            server,
            max_concurrent_calls: self.settings.limits.concurrent_calls,
            call_timeout: self.settings.limits.call_timeout(),
            connection_count: self.connections.clone(),
            monitor: self.monitor.clone(),
        }
    }
}

fn reader_limits(settings: &Import) -> ReaderLimits {
    ReaderLimits { memory_mb: settings.file_memory_mb, seconds: settings.file_seconds }
}
