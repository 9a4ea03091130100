//! Assembles the program from its settings: stores, actors, services and transports.

mod archive;
mod archive_watch;
mod custom_tools;
mod ended_users;
mod erasures;
mod idle_sweep;
mod libraries;
mod limits;
mod local_socket;
mod monitoring;
mod row_verification;
mod shared_sessions;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::task::JoinHandle;
use vademecum_store::DataFolder;
use vademecum_tldw::TldwError;

pub use self::archive::open_data_folder;
use vademecum_accounts::{
    Accounts, AuthError, Authenticator, DenyRules, EndedUsers, ErasureWatch, audit::AuditStore,
};
use vademecum_actors::{
    Library, UserRegistry,
    collections::{Catalogue, CollectionError, SyncJobs, TableDatabases},
};
use vademecum_core::{
    audit::AuditLog,
    auth::{Principal, UserIdError, local_principal},
    config::{AuthMode, ConfigError, PublicUrl, Settings},
    telemetry::{ExporterError, Metrics, MetricsError, Monitor},
};
use vademecum_embed::{Embeddings, SetupError};
use vademecum_import::ReaderLimits;
use vademecum_mcp::{DisableToolError, Outbound, Peer, Service, ServiceOptions};
use vademecum_oauth::AuthorizationServer;
use vademecum_services::{
    custom_tools::CustomTool,
    permalink::SiteAddress,
    two_way::{FollowedFolders, follow_folders},
};
use vademecum_sql::{Databases, ProfileError, Profiles};
use vademecum_tools::{SkillCatalog, ToolCaller, ToolRegistry, ToolServices};
use vademecum_web::{ConnectionCount, Listener, PageServices, ServerState};

use self::{
    archive_watch::{bound_copies, watch_archive},
    custom_tools::{CustomTools, FileVersion},
    ended_users::watch_ended_users,
    erasures::erase_copies,
    idle_sweep::sweep_idle,
    libraries::{followed_folders, open_user_registry},
    limits::{protocol_options, reader_limits},
    local_socket::open_local_socket,
    monitoring::MonitoredComponents,
    row_verification::verify_rows_slowly,
    shared_sessions::ArchivedSessions,
};
use crate::registry;

/// Maximum time to close the databases at shutdown.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The assembled program: services, registries and settings.
#[derive(Debug)]
pub struct App {
    settings: Settings,
    data: DataFolder,
    principal: Principal,
    user_registry: Arc<UserRegistry>,
    collections: Arc<Catalogue>,
    syncs: SyncJobs,
    folders: Arc<FollowedFolders>,
    profiles: Arc<Profiles>,
    service: Service,
    custom_tools: CustomTools,
    checked_tools: Vec<CustomTool>,
    connections: ConnectionCount,
    monitor: Monitor,
    site: Arc<SiteAddress>,
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
    /// A tool that is to be disabled does not exist, or is required.
    #[error("invalid `tools.disabled`")]
    Tools(#[from] DisableToolError),
    /// The configured embedding model cannot be set up.
    #[error("invalid `embeddings`")]
    Embeddings(#[from] SetupError),
    /// A configured collection is invalid.
    #[error("invalid `collections`")]
    Collections(#[from] CollectionError),
    /// A configured profile is invalid.
    #[error(transparent)]
    Profiles(#[from] ProfileError),
    /// The archive could not be set up.
    #[cfg(feature = "postgres")]
    #[error("the archive cannot be used")]
    Archive(#[from] vademecum_replication::postgres::SetupError),
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

impl App {
    /// Assembles the program. Databases are opened on first use, so that the handshake of a client
    /// is answered immediately.
    pub fn new(settings: Settings) -> Result<Self, AppError> {
        let settings = settings.with_oauth_resource()?;
        let principal = local_principal(settings.storage.user.parse()?);
        let data = open_data_folder(&settings)?;

        let embeddings = Embeddings::open(&settings.embeddings, &data)?.map(Arc::new);
        let all_tools = registry::tools();
        let metrics = Metrics::new(&monitoring::metric_labels(&all_tools))?;
        let registry = open_user_registry(&settings, &data, embeddings.clone(), &metrics)?;
        let collections = Arc::new(Catalogue::new(&data));
        let profiles =
            Arc::new(Profiles::new(&settings.profiles, &settings.secrets.passphrase_source())?);
        let databases = Arc::new(Databases::new(Arc::clone(&profiles)));
        let syncs = SyncJobs::new(Arc::clone(&collections))
            .with_embeddings(embeddings.clone())
            .with_tables(TableDatabases::new(Arc::clone(&databases)))
            .with_reader_limits(reader_limits(&settings.import));
        syncs.configure(&settings.collections, &principal)?;
        let folders = Arc::new(followed_folders(&settings, &principal)?);
        let site = Arc::new(SiteAddress::of_settings(&settings.server));
        let tool_services = ToolServices {
            caller: ToolCaller::Client,
            registry: Arc::clone(&registry),
            collections: Arc::clone(&collections),
            syncs: syncs.clone(),
            databases: Arc::clone(&databases),
            embeddings,
            repeated_results: settings.sessions.repeat,
            source_timeout: settings.limits.source_timeout(),
            text: settings.tools.text,
            cleans_text: settings.tools.safe_text,
            writes_enabled: settings.tools.write,
            segments: settings.tools.rag_search_segments.get().into(),
            listed_prompts: settings.tools.listed_prompts.into(),
            skills: Arc::new(skill_catalog(&settings)),
            folders: Arc::clone(&folders),
            site: Arc::clone(&site),
            server_key: Arc::new(OnceLock::new()),
        };
        let tool_registry =
            Arc::new(ToolRegistry::new(tool_services, all_tools, settings.file.is_some())?);
        let observer = monitoring::request_observer(&settings, metrics, &data)?;
        let options = ServiceOptions {
            observer: observer.clone(),
            session_records: ArchivedSessions::open(&data),
            ..protocol_options(&settings)
        };
        let service = Service::new(Arc::clone(&tool_registry) as _, options);
        let custom_tools = CustomTools {
            registry: tool_registry,
            profiles: Arc::clone(&profiles),
            databases: Arc::clone(&databases),
            owner: principal.clone(),
            syncs: syncs.clone(),
            service: service.clone(),
            metrics: observer.metrics.clone(),
            file_version: settings.file.as_deref().and_then(FileVersion::read),
        };
        let connections = ConnectionCount::default();
        let components = MonitoredComponents {
            registry: Arc::clone(&registry),
            service: service.clone(),
            connections: connections.clone(),
            databases,
            catalogue: Arc::clone(&collections),
        };
        Ok(Self {
            checked_tools: custom_tools.define(&settings)?,
            settings,
            data,
            principal,
            user_registry: registry,
            collections,
            syncs,
            folders,
            profiles,
            service,
            custom_tools,
            connections,
            monitor: monitoring::build_monitor(&observer, components),
            site,
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
        self.handle_message_of(self.principal.clone(), message).await
    }

    /// Handles a message as [`Self::handle_message`] does, for an agent of the user: it sees nothing
    /// that the settings deny.
    pub async fn handle_client_message(&self, message: &str) -> Option<String> {
        self.handle_message_of(self.agent_principal(), message).await
    }

    /// Returns the user as agents act for it: nothing that the settings deny exists.
    fn agent_principal(&self) -> Principal {
        DenyRules::new(&self.settings.deny).restrict(self.principal.clone(), None)
    }

    async fn handle_message_of(&self, principal: Principal, message: &str) -> Option<String> {
        let peer = Peer {
            principal,
            session: None,
            defaults: vademecum_mcp::RequestDefaults::default(),
            ignored_config: Vec::new(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection: None,
        };
        self.service.handle(&peer, message, &Outbound::default()).await.message
    }

    /// Returns the data folder.
    pub fn data(&self) -> &DataFolder {
        &self.data
    }

    /// Returns the users of this server and their keys.
    pub fn accounts(&self) -> Result<Accounts, AppError> {
        Ok(Accounts::new(&self.data))
    }

    /// Returns the logins of a server that browsers find at `address`, which is also its
    /// authorization server. They are of use while no server runs: commands prepare users with them.
    pub fn logins(&self, address: &PublicUrl) -> Result<AuthorizationServer, AppError> {
        let (auth, user) = (&self.settings.auth, self.principal.user());
        Ok(AuthorizationServer::open(auth, address, &self.data, user)?)
    }

    /// Returns the authorization server; `None` without a public address.
    pub fn authorization_server(&self) -> Result<Option<AuthorizationServer>, AppError> {
        self.settings.server.public_url.as_ref().map(|address| self.logins(address)).transpose()
    }

    /// Returns the state of the HTTP and WebSocket server that browsers on this machine find at
    /// `address`, or an error if authentication cannot be set up.
    pub fn server_state(&self, address: PublicUrl) -> Result<ServerState, AppError> {
        let (auth, server) = (&self.settings.auth, &self.settings.server);
        let authenticator = Authenticator::open(auth, &self.data, self.principal.clone())?;
        let authenticator = authenticator.with_deny_rules(DenyRules::new(&self.settings.deny));
        let address = server.public_url.clone().unwrap_or(address);
        let logins =
            if server.pages || auth.oauth { Some(Arc::new(self.logins(&address)?)) } else { None };
        let pages = server.pages.then(|| self.page_services());
        if server.pages {
            self.site.set(address);
        }
        Ok(ServerState {
            oauth: logins.clone().filter(|_| auth.oauth),
            logins,
            pages,
            ..self.server_state_with(authenticator)
        })
    }

    fn page_services(&self) -> PageServices {
        PageServices {
            tools: Arc::clone(&self.custom_tools.registry),
            registry: Arc::clone(&self.user_registry),
            collections: Arc::clone(&self.collections),
            accounts: Arc::new(Accounts::new(&self.data)),
            audit: self.settings.audit.enabled.then(|| Arc::new(AuditStore::new(&self.data))),
            reader_limits: self.reader_limits(),
        }
    }

    /// Returns the names of the tools of the program.
    pub fn program_tools(&self) -> Vec<&'static str> {
        self.custom_tools.registry.program_tools()
    }

    /// Has the databases check the custom tools. One that is wrong is logged and not offered; one
    /// whose database cannot be reached is checked again later.
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

    /// Checks the archive for changes, bounds the copies of its libraries and erases those of removed
    /// users, until the tasks are aborted.
    fn spawn_archive_watch(&self) -> Vec<JoinHandle<()>> {
        let Some(archive) = self.data.archive() else { return Vec::new() };
        let registry = Arc::clone(&self.user_registry);
        let cache_bytes = self.settings.archive.cache_bytes();
        vec![
            actix::spawn(watch_archive(Arc::clone(archive))),
            actix::spawn(bound_copies(Arc::clone(&registry), cache_bytes)),
            actix::spawn(erase_copies(ErasureWatch::new(Accounts::new(&self.data)), registry)),
        ]
    }

    /// Gives back what is not used until the task is aborted.
    fn spawn_sweeper(&self) -> JoinHandle<()> {
        let (service, registry) = (self.service.clone(), Arc::clone(&self.user_registry));
        actix::spawn(sweep_idle(service, registry, Arc::clone(&self.collections)))
    }

    /// Keeps followed folders in sync until the task is aborted.
    fn spawn_folder_sync(&self) -> JoinHandle<()> {
        let owner = match self.settings.auth.mode {
            AuthMode::Single => Some(self.principal.user().clone()),
            AuthMode::Multi => None,
        };
        let (registry, folders) = (Arc::clone(&self.user_registry), Arc::clone(&self.folders));
        actix::spawn(follow_folders(registry, folders, owner))
    }

    /// Keeps the followed folders in sync until `stop` completes.
    pub(crate) async fn sync_folders_until<T, E: Into<AppError>>(
        &self,
        stop: impl Future<Output = Result<T, E>>,
    ) -> Result<(), AppError> {
        let folder_sync = self.spawn_folder_sync();
        let stopped = stop.await;
        folder_sync.abort();
        self.close_libraries().await;
        stopped.map(|_| ()).map_err(Into::into)
    }

    /// Returns the folders that are kept in sync with libraries.
    pub(crate) fn folders(&self) -> &FollowedFolders {
        &self.folders
    }

    /// Serves HTTP and WebSocket until the process receives a stop signal.
    pub async fn serve(
        &self,
        server_state: ServerState,
        listener: Listener,
    ) -> Result<(), AppError> {
        let sweeper = self.spawn_sweeper();
        let watcher = actix::spawn(watch_ended_users(
            EndedUsers::watch(self.accounts()?),
            self.service.clone(),
            Arc::clone(&self.user_registry),
        ));
        let verifier = actix::spawn(verify_rows_slowly(Arc::clone(&self.user_registry)));
        let archive_watch = self.spawn_archive_watch();
        let tool_watch = self.spawn_tool_watch();
        let folder_sync = self.spawn_folder_sync();
        let socket = open_local_socket(&self.settings, &self.data);
        let syncs = self.syncs.clone();
        drop(actix::spawn(tokio::task::spawn_blocking(move || {
            syncs.record_configured();
            syncs.remove_unused_files();
        })));
        let served = vademecum_web::serve(server_state, listener, socket).await;
        sweeper.abort();
        watcher.abort();
        verifier.abort();
        archive_watch.iter().for_each(JoinHandle::abort);
        tool_watch.abort();
        folder_sync.abort();
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
        let principal = self.agent_principal();
        let server_state = self.server_state_with(Authenticator::single(principal.clone()));
        let sweeper = self.spawn_sweeper();
        let archive_watch = self.spawn_archive_watch();
        let tool_watch = self.spawn_tool_watch();
        let folder_sync = self.spawn_folder_sync();
        let served = vademecum_web::serve_stdio(&server_state, principal).await;
        sweeper.abort();
        archive_watch.iter().for_each(JoinHandle::abort);
        tool_watch.abort();
        folder_sync.abort();
        self.close_libraries().await;
        Ok(served?)
    }

    fn server_state_with(&self, authenticator: Authenticator) -> ServerState {
        let (mut server, auth) = (self.settings.server.clone(), self.settings.auth.clone());
        // The host of the public resource address must be allowed too.
        server.allowed_hosts.extend(auth.resource.as_ref().map(|it| it.host().to_owned()));
        // A proxy may forward the requests of its pages under another name.
        server.allowed_origins.extend(server.public_url.as_ref().map(ToString::to_string));
        ServerState {
            service: self.service.clone(),
            authenticator: Arc::new(authenticator),
            oauth: None,
            logins: None,
            pages: None,
            auth,
            server,
            max_concurrent_calls: self.settings.limits.concurrent_calls,
            call_timeout: self.settings.limits.call_timeout(),
            connection_count: self.connections.clone(),
            monitor: self.monitor.clone(),
        }
    }
}

fn skill_catalog(settings: &Settings) -> SkillCatalog {
    SkillCatalog::new(settings.skills.clone(), settings.auth.mode, settings.tools.safe_text)
}
