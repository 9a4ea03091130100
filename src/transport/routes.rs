//! Which address leads where.

use std::{net::TcpListener, time::Duration};

use actix_http::{HttpService, Protocol, error::DispatchError};
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, map_config};
use actix_web::{
    App, HttpResponse,
    dev::{AppConfig, Extensions, Server, fn_service},
    middleware::from_fn,
    rt::{self, net::TcpStream},
    web,
};

use super::{
    Door,
    connection::{Connection, Patience},
    credentials, guard, http, monitoring, request_id,
    stop::Stop,
    well_known, ws,
};

/// Workers: a request is short, and SQLite runs beside them.
const WORKERS: usize = 2;
/// Connections that the system holds until a worker takes them.
const BACKLOG: u32 = 1_024;
/// How long a connection is kept for the next request: longer than clients and proxies
/// keep theirs (5 to 60 seconds), so that none sends one into a connection that is being closed.
const KEPT: Duration = Duration::from_secs(75);
/// How long a client may take to hang up after the last answer.
const HANGING_UP: Duration = Duration::from_secs(1);

/// Serves HTTP and WebSocket until the process is told to stop.
pub async fn serve(door: Door, listener: TcpListener) -> std::io::Result<()> {
    let service = door.service.clone();
    let settings = door.server.clone();
    let drain = settings.drain();
    let stop = Stop::listen(drain + settings.grace())?;
    let patience = Patience {
        blocked: settings.write_time(),
        // A call that takes long says nothing until it is done.
        idle: door.longest_call + settings.write_time(),
    };
    let door = web::Data::new(door);
    let builder = Server::build()
        .workers(WORKERS)
        .max_concurrent_connections(settings.max_connections.get().div_ceil(WORKERS))
        .backlog(BACKLOG)
        .shutdown_timeout(settings.grace_seconds.into())
        .disable_signals();
    let stopping = builder.graceful_shutdown_signal();
    let server = builder
        .listen("http", listener, move || {
            let (door, stopping) = (door.clone(), stopping.clone());
            let connections = door.connections.clone();
            let http = HttpService::build()
                .graceful_shutdown_signal(move || {
                    let stopping = stopping.clone();
                    async move { stopping.notified().await }
                })
                .client_request_timeout(settings.head_time())
                .keep_alive(KEPT)
                .client_disconnect_timeout(HANGING_UP)
                // Who hangs up does not want the answer any more.
                .h1_allow_half_closed(false)
                .on_connect_ext(|connection: &Connection<TcpStream>, about: &mut Extensions| {
                    about.insert(connection.outflow());
                })
                .finish(map_config(
                    App::new()
                        .app_data(door.clone())
                        .app_data(web::PayloadConfig::new(settings.max_body_bytes.get()))
                        .wrap(guard::cors(&door))
                        .wrap(from_fn(guard::check))
                        .wrap(from_fn(request_id::name))
                        .configure(routes)
                        .into_factory(),
                    |()| AppConfig::default(),
                ));
            let open = move |stream: TcpStream| {
                let connections = connections.clone();
                async move {
                    let address = stream.peer_addr().ok();
                    let connection = Connection::new(stream, patience, connections);
                    Ok::<_, DispatchError>((connection, Protocol::Http1, address))
                }
            };
            fn_service(open).and_then(http)
        })?
        .run();
    let handle = server.handle();
    rt::spawn(async move {
        stop.asked().await;
        // Streams would go on for as long as somebody listens.
        service.close();
        // Whoever sends requests here learns from /health/ready to send them elsewhere.
        rt::time::sleep(drain).await;
        handle.stop(true).await;
    });
    server.await
}

fn routes(app: &mut web::ServiceConfig) {
    app.service(
        web::resource("/mcp")
            .wrap(from_fn(credentials::check))
            .route(web::post().to(http::post))
            .route(web::get().to(http::get))
            .route(web::delete().to(http::delete))
            .default_service(web::to(http::other)),
    )
    .service(
        web::resource("/mcp/ws").wrap(from_fn(credentials::check)).route(web::get().to(ws::open)),
    )
    .service(
        web::resource([well_known::PATH, well_known::PATH_AND_REST])
            .route(web::get().to(well_known::metadata)),
    )
    .service(
        web::resource("/metrics")
            .wrap(from_fn(credentials::check))
            .route(web::get().to(monitoring::metrics)),
    )
    .service(web::resource("/health/live").route(web::get().to(monitoring::live)))
    .service(web::resource("/health/ready").route(web::get().to(monitoring::ready)))
    .default_service(web::to(|| async {
        HttpResponse::NotFound().json(serde_json::json!({
            "error": "nothing is here: MCP is at /mcp (HTTP) and /mcp/ws (WebSocket)"
        }))
    }));
}
