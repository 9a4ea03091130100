//! Where everything is put together: settings → stores → actors → transports.

mod monitoring;

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use vademecum_tldw::TldwError;

use self::monitoring::Watched;
use crate::{
    actors::{Library, Roster, Shelf, Tldw},
    collections::{Catalogue, CollectionError, Syncs, Tables},
    registry,
    tools::Toolbox,
    transport::{self, Connections, Door},
};
use vademecum_core::{
    auth::{Accounts, AuthError, Authenticator, Principal, UserId, UserIdError, desktop},
    config::{ConfigError, Mode, Settings, ToolNames, Tools},
    telemetry::{Exporter, ExporterError, Metrics, MetricsError, Monitor},
};
use vademecum_embed::{Embeddings, SetupError};
use vademecum_mcp::{
    Capacity, Link, NameStyle, NotDisabled, Observer, Options, Peer, Rates, Service, Sessions,
    Toolset,
};
use vademecum_sql::{Databases, ProfileError, Profiles};

/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_mins(1);
/// How long closing the files may take at the end.
const CLOSING: Duration = Duration::from_secs(2);

/// The program, put together for one user.
#[derive(Debug)]
pub struct App {
    settings: Settings,
    principal: Principal,
    roster: Arc<Roster>,
    collections: Arc<Catalogue>,
    syncs: Syncs,
    profiles: Arc<Profiles>,
    service: Service,
    connections: Connections,
    monitor: Monitor,
}

/// Why the program could not be put together or run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The settings are not right.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user cannot be called that.
    #[error(transparent)]
    User(#[from] UserIdError),
    /// Nobody can be let in.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The tldw directory cannot be served.
    #[error("`storage.tldw` cannot be served")]
    Tldw(#[from] TldwError),
    /// A tool that is not there cannot be switched off.
    #[error("`tools.disabled` is not right")]
    Tools(#[from] NotDisabled),
    /// Nobody can make vectors as the settings want it.
    #[error("`embeddings` is not right")]
    Embeddings(#[from] SetupError),
    /// A collection cannot be as the settings want it.
    #[error("`collections` is not right")]
    Collections(#[from] CollectionError),
    /// A profile cannot be as the settings want it.
    #[error(transparent)]
    Profiles(#[from] ProfileError),
    /// Nothing can be counted.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// No spans can be sent.
    #[error(transparent)]
    Exporter(#[from] ExporterError),
    /// The server could not run.
    #[error("the server could not run")]
    Run(#[from] std::io::Error),
}

/// How much is worked on at the same time.
fn capacity(settings: &Settings) -> Capacity {
    let limits = &settings.limits;
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Capacity {
        running_per_user: count(limits.concurrent_calls_per_user.get()),
        waiting_per_user: count(limits.waiting_calls_per_user),
        running: count(limits.concurrent_calls_in_all.get()),
        waiting: count(limits.waiting_calls_in_all),
        patience: limits.wait(),
        longest: limits.longest_call(),
        connections_per_user: count(settings.server.connections_per_user.get()),
    }
}

/// The tldw directory that is served, if one is.
fn tldw(settings: &Settings, data: &Path) -> Result<Option<Tldw>, TldwError> {
    let storage = &settings.storage;
    let open = |folder: &PathBuf| match settings.auth.mode {
        Mode::Single => Tldw::of_one(folder, data, storage.named_user()),
        Mode::Multi => Tldw::of_many(folder, data),
    };
    storage.tldw.as_ref().map(open).transpose()
}

/// What the protocol does where it has a choice.
fn options(tools: &Tools) -> Options {
    Options {
        names: match tools.tool_names {
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
        .filter_map(|(toolset, shown)| Some((toolset, shown.decided()?)))
        .collect(),
        write: tools.write,
    }
}

impl App {
    /// Puts the program together. Nothing is opened, nothing is started that
    /// is not needed: a client that asks for a handshake is answered at once.
    pub fn new(settings: Settings) -> Result<Self, AppError> {
        let principal = desktop(settings.storage.user.parse()?);
        let folder = settings.storage.folder()?;
        let embeddings = Embeddings::open(&settings.embeddings, &folder)?.map(Arc::new);
        let all_tools = registry::tools();
        let metrics = Metrics::new(&monitoring::measured(&all_tools))?;
        let roster = Roster::new(Shelf {
            users: folder.join("users"),
            tldw: tldw(&settings, &folder)?,
            sources: registry::sources(),
            embeddings: embeddings.clone(),
            open_libraries: settings.storage.open_libraries,
            limits: settings.limits.clone(),
            sessions: settings.sessions.clone(),
        });
        let roster = Arc::new(roster.counted(metrics.clone()));
        let (patience, tools) = (settings.limits.patience(), &settings.tools);
        let collections = Arc::new(Catalogue::new(&folder));
        let profiles = Arc::new(Profiles::new(&settings.profiles, &settings.secrets.unlock())?);
        let databases = Arc::new(Databases::new(Arc::clone(&profiles)));
        let syncs = Syncs::new(Arc::clone(&collections))
            .embedding_with(embeddings.clone())
            .reading(Tables::new(Arc::clone(&databases), principal.clone()))
            .configured(&settings.collections)?;
        let shared = Arc::clone(&collections);
        let toolbox = Toolbox::new(Arc::clone(&roster), shared, all_tools, patience)
            .embedding_with(embeddings)
            .syncing_with(syncs.clone())
            .without(&tools.disabled)?
            .saying(tools.text)
            .with_databases(Arc::clone(&databases))
            .writing(tools.write)
            .with_segments(tools.rag_search_segments.get().into());
        let sessions = Sessions::new(settings.sessions.idle(), settings.sessions.most)
            .of_each(settings.sessions.most_per_user);
        let limits = &settings.limits;
        let rates = Rates::per_minute(limits.requests_per_minute, limits.calls_per_tool_per_minute);
        let exporter =
            settings.telemetry.otlp_endpoint.as_ref().map(Exporter::start).transpose()?;
        let observer = Observer { metrics, exporter };
        let service = Service::new(Arc::new(toolbox), Arc::new(sessions), options(&settings.tools))
            .limited(rates)
            .with_capacity(capacity(&settings))
            .observed_by(observer.clone());
        let connections = Connections::default();
        let monitor = monitoring::monitor(
            &observer,
            Watched {
                roster: Arc::clone(&roster),
                service: service.clone(),
                connections: connections.clone(),
                databases,
                catalogue: Arc::clone(&collections),
            },
        );
        Ok(Self {
            settings,
            principal,
            roster,
            collections,
            syncs,
            profiles,
            service,
            connections,
            monitor,
        })
    }

    /// The user's library.
    pub fn library(&self) -> Library {
        self.roster.library(&self.principal)
    }

    /// The library of any user of this server, for whoever owns the machine.
    pub fn library_of(&self, user: &UserId) -> Library {
        self.roster.library(&desktop(user.clone()))
    }

    /// The folder of a user's library.
    pub fn library_folder(&self, user: &UserId) -> PathBuf {
        self.roster.folder(user)
    }

    /// The collections of the server.
    pub fn collections(&self) -> &Catalogue {
        &self.collections
    }

    /// What brings collections up to date.
    pub fn syncs(&self) -> &Syncs {
        &self.syncs
    }

    /// The databases that may be asked.
    pub fn profiles(&self) -> &Arc<Profiles> {
        &self.profiles
    }

    /// The settings it was put together with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Answers one message, as a client without a session would send it.
    pub async fn ask(&self, message: &str) -> Option<String> {
        let peer = Peer {
            principal: self.principal.clone(),
            session: None,
            defaults: vademecum_mcp::Defaults::default(),
            names: None,
            mirror: None,
            turns: None,
        };
        self.service.handle(&peer, message, &Link::default()).await.message
    }

    /// The users of this server and their keys.
    pub fn accounts(&self) -> Result<Accounts, AppError> {
        Ok(Accounts::new(&self.settings.storage.folder()?))
    }

    /// The way in for HTTP and WebSocket, if anybody could be let in.
    pub fn door(&self) -> Result<Door, AppError> {
        let folder = self.settings.storage.folder()?;
        let authenticator =
            Authenticator::open(&self.settings.auth, &folder, self.principal.clone())?;
        Ok(self.door_with(authenticator))
    }

    /// Serves HTTP and WebSocket until the process is told to stop.
    pub async fn serve(&self, door: Door, listener: TcpListener) -> Result<(), AppError> {
        let (service, roster) = (self.service.clone(), Arc::clone(&self.roster));
        let sweeper = actix::spawn(async move {
            let mut rounds = tokio::time::interval(SWEEP);
            loop {
                rounds.tick().await;
                service.sweep();
                roster.sweep();
            }
        });
        let syncs = self.syncs.clone();
        drop(actix::spawn(tokio::task::spawn_blocking(move || syncs.sweep())));
        let served = transport::serve(door, listener).await;
        sweeper.abort();
        self.close().await;
        Ok(served?)
    }

    /// Closes all files, if that does not take long: what is written when it is cut
    /// short is whole or not there, as after a crash.
    async fn close(&self) {
        let roster = Arc::clone(&self.roster);
        let closed = tokio::task::spawn_blocking(move || roster.close());
        if !matches!(tokio::time::timeout(CLOSING, closed).await, Ok(Ok(()))) {
            tracing::warn!("not all files could be closed in time");
        }
    }

    /// Serves one client over standard input and output until it hangs up.
    pub async fn serve_stdio(&self) -> Result<(), AppError> {
        let door = self.door_with(Authenticator::single(self.principal.clone()));
        let served = transport::serve_stdio(&door, self.principal.clone()).await;
        self.close().await;
        Ok(served?)
    }

    fn door_with(&self, authenticator: Authenticator) -> Door {
        let (mut server, auth) = (self.settings.server.clone(), self.settings.auth.clone());
        // Whoever is told to come to an address is served there.
        server.allowed_hosts.extend(auth.resource.as_ref().map(|it| it.host().to_owned()));
        Door {
            service: self.service.clone(),
            authenticator: Arc::new(authenticator),
            auth,
            server,
            concurrent_calls: self.settings.limits.concurrent_calls,
            longest_call: self.settings.limits.longest_call(),
            connections: self.connections.clone(),
            monitor: self.monitor.clone(),
        }
    }
}
