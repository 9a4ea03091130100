//! HTTP server and its routes.

use std::{io, net::SocketAddr, time::Duration};

use actix_http::{HttpService, Protocol, error::DispatchError};
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, map_config};
use actix_web::{
    App, HttpResponse,
    dev::{AppConfig, Extensions, Server, ServerHandle, fn_service},
    middleware::from_fn,
    rt::{
        self,
        net::{TcpStream, UnixStream},
    },
    web,
};
use tokio::io::AsyncWriteExt as _;
use vademecum_accounts::CallerAccount;
use vademecum_mcp::Service;

#[cfg(unix)]
use super::local_socket::LocalService;
use super::{
    ServerState,
    client_stream::{ClientStream, Peer},
    connection::{Connection, ConnectionCount, ConnectionTimeouts},
    connection_limits::{self, ConnectionLimiter},
    counted_reply, credentials, http,
    listener::Listener,
    local_socket::LocalSocket,
    monitoring,
    oauth::configure_oauth_routes,
    origin_check,
    pages::configure_page_routes,
    request_id,
    shutdown::ShutdownSignal,
    websocket, well_known,
};

/// Worker threads. Requests are short, and SQLite runs on its own threads.
const HTTP_WORKERS: usize = 2;
/// Maximum number of connections that the operating system queues until a worker accepts them.
const BACKLOG: u32 = 1_024;
/// Number of accepted connections beyond the limit: those that wait for room, and those that are
/// being closed to make room.
const EXTRA_CONNECTIONS: usize = 256;
/// Response to a connection beyond the limits.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 0\r\n\r\n";
/// Keep-alive time of idle connections. It is longer than that of common clients and proxies (5 to
/// 60 seconds), so that none sends a request on a connection that is being closed.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Time for a client to close the connection after the last response.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves HTTP and WebSocket, and the programs of this account at the local socket, until the process
/// is asked to stop.
pub async fn serve(
    server_state: ServerState,
    listener: Listener,
    local_socket: Option<LocalSocket>,
) -> io::Result<()> {
    #[cfg(unix)]
    let local_service =
        local_socket.map(|socket| rt::spawn(LocalService::serve(socket, server_state.clone())));
    #[cfg(not(unix))]
    drop(local_socket);
    Box::pin(serve_http(server_state, listener)).await?;
    #[cfg(unix)]
    if let Some(local_service) = local_service {
        local_service.await.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Serves HTTP and WebSocket until the process is asked to stop.
async fn serve_http(server_state: ServerState, listener: Listener) -> io::Result<()> {
    let service = server_state.service.clone();
    let settings = server_state.server.clone();
    let drain = settings.drain_period();
    let stop = ShutdownSignal::install(drain + settings.grace_period())?;
    let timeouts = ConnectionTimeouts {
        write: settings.write_timeout(),
        // A long call sends nothing until it is done.
        idle: server_state.call_timeout + settings.write_timeout(),
    };
    let limiter = ConnectionLimiter::new(&settings, &server_state.auth.trusted_proxies);
    let max_accepted = settings.max_connections.get().saturating_add(EXTRA_CONNECTIONS);
    let server_state = web::Data::new(server_state);
    let builder = Server::build()
        .workers(HTTP_WORKERS)
        .max_concurrent_connections(max_accepted.div_ceil(HTTP_WORKERS))
        .backlog(BACKLOG)
        .shutdown_timeout(settings.grace_seconds.into())
        .disable_signals();
    let stopping = builder.graceful_shutdown_signal();
    let http = move || {
        let (server_state, stopping) = (server_state.clone(), stopping.clone());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(settings.head_timeout())
            .keep_alive(KEEP_ALIVE)
            .client_disconnect_timeout(DISCONNECT_TIMEOUT)
            // A client that closes its side no longer wants the response.
            .h1_allow_half_closed(false)
            .on_connect_ext(|connection: &Connection<ClientStream>, about: &mut Extensions| {
                about.insert(connection.outflow());
                about.insert(connection.account());
                about.insert(connection.activity());
            })
            .finish(map_config(
                App::new()
                    .app_data(server_state.clone())
                    .wrap(origin_check::cors_policy(&server_state))
                    .wrap(from_fn(origin_check::check_request))
                    .wrap(from_fn(request_id::assign_request_id))
                    .wrap(from_fn(counted_reply::count_reply))
                    .wrap(from_fn(connection_limits::track_request))
                    .configure(configure_routes)
                    .into_factory(),
                |()| AppConfig::default(),
            ));
        let gate = ConnectionGate {
            limiter: limiter.clone(),
            connections: server_state.connection_count.clone(),
            timeouts,
            finds_account: server_state.authenticator.recognises_accounts(),
        };
        let open = move |(stream, peer)| gate.clone().open(stream, peer);
        fn_service(open).and_then(http)
    };
    #[cfg(unix)]
    let mut socket_file = None;
    let server = match listener {
        Listener::Tcp(listener) => builder.listen("http", listener, move || {
            fn_service(|stream: TcpStream| async { Ok(Peer::of_tcp(stream)) }).and_then(http())
        })?,
        #[cfg(unix)]
        Listener::Unix(listener, file) => {
            socket_file = Some(file);
            builder.listen_uds("http", listener, move || {
                fn_service(|stream: UnixStream| async { Ok(Peer::of_unix(stream)) })
                    .and_then(http())
            })?
        }
    };
    let server = server.run();
    rt::spawn(stop_on_signal(stop, service, drain, server.handle()));
    let served = server.await;
    #[cfg(unix)]
    drop(socket_file);
    served
}

/// Stops the server when the process is asked to stop.
async fn stop_on_signal(
    stop: ShutdownSignal,
    service: Service,
    drain: Duration,
    server: ServerHandle,
) {
    stop.wait_for_signal().await;
    // Otherwise streams would keep the server alive.
    service.begin_shutdown();
    // Load balancers see `/health/ready` fail and route requests elsewhere.
    rt::time::sleep(drain).await;
    server.stop(true).await;
}

/// Accepts connections within the limits.
#[derive(Clone, Debug)]
struct ConnectionGate {
    limiter: ConnectionLimiter,
    connections: ConnectionCount,
    timeouts: ConnectionTimeouts,
    /// Whether callers are recognised by the account that opened their connection.
    finds_account: bool,
}

impl ConnectionGate {
    async fn open(
        self,
        mut stream: ClientStream,
        peer: Peer,
    ) -> Result<(Connection<ClientStream>, Protocol, Option<SocketAddr>), DispatchError> {
        let address = peer.address;
        let Some(slot) = self.limiter.open(address.map(|address| address.ip())).await else {
            tracing::debug!("refused a connection beyond the limits");
            drop(stream.write_all(TOO_MANY_CONNECTIONS).await);
            return Err(DispatchError::Io(io::ErrorKind::ConnectionRefused.into()));
        };
        let account = if self.finds_account {
            web::block(move || peer.account()).await.unwrap_or_default()
        } else {
            CallerAccount::Unknown
        };
        let connection = Connection::new(stream, self.timeouts, self.connections, slot);
        Ok((connection.with_account(account), Protocol::Http1, address))
    }
}

fn configure_routes(app: &mut web::ServiceConfig) {
    app.service(
        web::resource(crate::wire_names::MCP_PATH)
            .wrap(from_fn(credentials::authenticate_request))
            .route(web::post().to(http::post_message))
            .route(web::get().to(http::open_stream))
            .route(web::delete().to(http::delete_session))
            .default_service(web::to(http::unsupported_method)),
    )
    .service(
        web::resource(crate::wire_names::WEBSOCKET_PATH)
            .wrap(from_fn(credentials::authenticate_request))
            .route(web::get().to(websocket::open_websocket)),
    )
    .service(
        web::resource([well_known::METADATA_PATH, well_known::METADATA_PATH_WITH_REST])
            .route(web::get().to(well_known::resource_metadata)),
    )
    .service(
        web::resource("/metrics")
            .wrap(from_fn(credentials::authenticate_request))
            .route(web::get().to(monitoring::metrics)),
    )
    .configure(configure_oauth_routes)
    .configure(configure_page_routes)
    .service(web::resource("/health/live").route(web::get().to(monitoring::live)))
    .service(web::resource("/health/ready").route(web::get().to(monitoring::ready)))
    .default_service(web::to(|| async {
        HttpResponse::NotFound().json(serde_json::json!({
            "error": "not found: MCP is served at /mcp (HTTP) and /mcp/ws (WebSocket)"
        }))
    }));
}
