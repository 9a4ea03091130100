//! Which address leads where.

use std::net::TcpListener;

use actix_web::{App, HttpResponse, HttpServer, middleware::from_fn, rt, web};

use super::{
    Door, credentials, guard, http, monitoring, request_id, stop::asked_to_stop, well_known, ws,
};

/// Workers: a request is short, and SQLite runs beside them.
const WORKERS: usize = 2;
/// How long running calls may take to finish when the server is stopped, in seconds.
const GRACE: u64 = 5;

/// Serves HTTP and WebSocket until the process is told to stop.
pub async fn serve(door: Door, listener: TcpListener) -> std::io::Result<()> {
    let (service, drain) = (door.service.clone(), door.server.drain());
    let door = web::Data::new(door);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(door.clone())
            .app_data(web::PayloadConfig::new(door.server.max_body_bytes.get()))
            .wrap(guard::cors(&door))
            .wrap(from_fn(guard::check))
            .wrap(from_fn(request_id::name))
            .service(
                web::resource("/mcp")
                    .wrap(from_fn(credentials::check))
                    .route(web::post().to(http::post))
                    .route(web::get().to(http::get))
                    .route(web::delete().to(http::delete))
                    .default_service(web::to(http::other)),
            )
            .service(
                web::resource("/mcp/ws")
                    .wrap(from_fn(credentials::check))
                    .route(web::get().to(ws::open)),
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
            }))
    })
    .workers(WORKERS)
    .shutdown_timeout(GRACE)
    // Who hangs up does not want the answer any more.
    .h1_allow_half_closed(false)
    .disable_signals()
    .listen(listener)?
    .run();
    let handle = server.handle();
    rt::spawn(async move {
        asked_to_stop().await;
        // Streams would go on for as long as somebody listens.
        service.close();
        // Whoever sends requests here learns from /health/ready to send them elsewhere.
        rt::time::sleep(drain).await;
        handle.stop(true).await;
    });
    server.await
}
