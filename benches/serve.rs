//! The cost of the protocol: a `tools/call` answered from memory, compared with an actix-web
//! handler that parses the same JSON and writes the same bytes; over HTTP and WebSocket with 1, 32
//! and 512 connections, and over standard input and output.
//!
//! Each server is a separate process, whose CPU time is read from the system. Afterwards measures
//! the memory of idle sessions, after the handshake and after a first search.
//!
//! `cargo bench -p vademecum-benches --bench serve -- --json serve.json`

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    num::{NonZeroU32, NonZeroUsize},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum::registry;
use vademecum_accounts::Authenticator;
use vademecum_actors::{LibraryConfig, UserRegistry};
use vademecum_benches::{
    CannedTool, ClientConnection, CommonOptions, HttpClient, Process, WebSocketClient,
    call_message, canned_result,
};
use vademecum_core::{auth::local_principal, config, telemetry::Monitor};
use vademecum_mcp::{Outbound, Peer, Scope, Service, ServiceOptions, SessionId, SessionLimits};
use vademecum_web::{ConnectionCount, ServerState, serve, serve_stdio};

/// Number of requests per measurement.
const REQUESTS: usize = 20_000;
/// Number of alternating measurements per server; the median counts.
const ROUNDS: usize = 5;
/// Number of sessions whose memory is measured.
const SESSIONS: usize = 20_000;

#[derive(Debug, Parser)]
struct Arguments {
    /// The server that this process runs; without it, the process measures.
    #[arg(long, hide = true)]
    server: Option<String>,
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.server.as_deref() {
        None => measure(&arguments.common),
        Some("sessions") => measure_sessions(),
        Some(which) => run_server(which),
    }
}

fn non_zero(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}

fn canned_service() -> Service {
    let sessions = SessionLimits {
        idle_timeout: Duration::from_hours(1),
        max_sessions: non_zero(1_000_000),
        max_per_user: non_zero(1_000_000),
    };
    let options = ServiceOptions { sessions, ..ServiceOptions::default() };
    Service::new(Arc::new(CannedTool::default()), options)
}

/// Serves until killed. Prints the address.
#[expect(clippy::print_stdout, reason = "the parent process reads it")]
fn run_server(which: &str) -> Result<()> {
    actix::System::new().block_on(async {
        let user = local_principal("bench".parse()?);
        let server_state = ServerState {
            service: canned_service(),
            authenticator: Arc::new(Authenticator::single(user.clone())),
            oauth: None,
            logins: None,
            pages: None,
            auth: config::Auth::default(),
            server: config::Server::default(),
            max_concurrent_calls: NonZeroU32::MIN.saturating_add(15),
            call_timeout: Duration::from_mins(2),
            connection_count: ConnectionCount::default(),
            monitor: Monitor::default(),
        };
        if which == "stdio" {
            return Ok(serve_stdio(&server_state, user).await?);
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        println!("{}", listener.local_addr()?);
        if which == "ours" {
            return Ok(serve(server_state, listener.into(), None).await?);
        }
        let text = serde_json::to_string(&canned_result())?;
        let canned = canned_result();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{canned},"isError":false}}}}"#
        );
        let body = web::Data::new(body);
        let app = move || App::new().app_data(body.clone()).route("/mcp", web::post().to(plain_handler));
        Ok(HttpServer::new(app).workers(2).listen(listener)?.run().await?)
    })
}

async fn plain_handler(body: web::Bytes, answer: web::Data<String>) -> HttpResponse {
    match serde_json::from_slice::<Value>(&body) {
        Ok(_) => HttpResponse::Ok().content_type("application/json").body(answer.to_string()),
        Err(error) => HttpResponse::BadRequest().body(error.to_string()),
    }
}

/// The transport of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransportKind {
    Http,
    WebSocket,
    Stdio,
}

/// A server in a child process.
struct ChildServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl ChildServer {
    fn start(which: &str) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--server", which])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("no input")?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        let mut address = String::new();
        if which != "stdio" {
            output.read_line(&mut address)?;
        }
        Ok(Self { child, input, output, address: address.trim().to_owned() })
    }

    /// Returns the CPU and wall-clock time of one request, in microseconds.
    fn measure_cost(&mut self, way: TransportKind, connections: usize) -> Result<(f64, f64)> {
        let each = REQUESTS / connections;
        let process = Process::with_id(self.child.id());
        let (before, began) = (process.cpu_time()?, Instant::now());
        if way == TransportKind::Stdio {
            self.send_over_stdio(each)?;
        } else {
            let address = &self.address;
            std::thread::scope(|scope| -> Result<()> {
                let callers: Vec<_> = (0..connections)
                    .map(|_| scope.spawn(move || send_requests(way, address, each)))
                    .collect();
                for caller in callers {
                    caller.join().map_err(|_| anyhow::anyhow!("a caller panicked"))??;
                }
                Ok(())
            })?;
        }
        let (spent, took) = (process.cpu_time()?.saturating_sub(before), began.elapsed());
        let count = f64::from(u32::try_from(each * connections)?);
        Ok((spent.as_secs_f64() * 1e6 / count, took.as_secs_f64() * 1e6 / count))
    }

    /// Sends `times` requests over standard input.
    fn send_over_stdio(&mut self, times: usize) -> Result<()> {
        let message = format!("{}\n", call_message());
        let mut answer = String::new();
        for _ in 0..times {
            self.input.write_all(message.as_bytes())?;
            answer.clear();
            ensure!(self.output.read_line(&mut answer)? > 0, "the server closed the connection");
        }
        ensure_success(&answer)
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends `times` requests over one connection.
fn send_requests(way: TransportKind, address: &str, times: usize) -> Result<()> {
    let body = call_message();
    let mut line = match way {
        TransportKind::WebSocket => {
            ClientConnection::WebSocket(WebSocketClient::connect(address, "")?)
        }
        TransportKind::Http | TransportKind::Stdio => {
            ClientConnection::Http(HttpClient::connect(address, "")?)
        }
    };
    let mut last = String::new();
    for _ in 0..times {
        (_, last) = line.send_request(&body)?;
    }
    ensure_success(&last)
}

fn ensure_success(answer: &str) -> Result<()> {
    let answer: Value = serde_json::from_str(answer)?;
    ensure!(answer["result"]["isError"] == false, "{answer}");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(common: &CommonOptions) -> Result<()> {
    let mut figures = Vec::new();
    let mut plain = ChildServer::start("plain")?;
    let (mut ours, mut pipe) = (ChildServer::start("ours")?, ChildServer::start("stdio")?);
    let ways = [
        (TransportKind::Http, [1, 32, 512].as_slice()),
        (TransportKind::WebSocket, &[1, 32, 512]),
        (TransportKind::Stdio, &[1]),
    ];
    for (way, counts) in ways {
        for &connections in counts {
            let mut costs: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                // The plain handler always uses HTTP, for any transport.
                costs[0].push(plain.measure_cost(TransportKind::Http, connections)?);
                let server = if way == TransportKind::Stdio { &mut pipe } else { &mut ours };
                costs[1].push(server.measure_cost(way, connections)?);
            }
            let median = |mut costs: Vec<(f64, f64)>| {
                costs.sort_by(|one, other| one.0.total_cmp(&other.0));
                costs[ROUNDS / 2]
            };
            let [(plain, plain_took), (ours, ours_took)] = costs.map(median);
            println!(
                "{way:?}, {connections} connections, {REQUESTS} requests, CPU µs a request \
                 (median of {ROUNDS})"
            );
            println!("  plain handler {plain:>8.1}   (elapsed {plain_took:.1})");
            println!("  tools/call    {ours:>8.1}   (elapsed {ours_took:.1})");
            println!(
                "  more by       {:>8.1}   ({:.2} times; target: 20.0); {:.0} requests per \
                 core second",
                ours - plain,
                ours / plain,
                1e6 / ours,
            );
            figures.push(json!({ "way": format!("{way:?}"), "connections": connections,
                "plain_cpu_us": plain, "ours_cpu_us": ours, "more_us": ours - plain,
                "requests_per_core_second": 1e6 / ours }));
        }
    }
    let output = Command::new(std::env::current_exe()?).args(["--server", "sessions"]).output()?;
    let session_bytes: Value = serde_json::from_slice(&output.stdout)?;
    println!("idle sessions ({SESSIONS}), bytes each: {session_bytes}");
    common.write_results(
        &json!({ "bench": "serve", "serve": figures, "idle_session_bytes": session_bytes }),
    )
}

/// Opens sessions, first by handshake and then as a search does, and prints the memory of each step
/// in bytes.
#[expect(clippy::print_stdout, reason = "the parent process reads it")]
fn measure_sessions() -> Result<()> {
    let session_bytes = actix::System::new().block_on(async {
        let principal = local_principal("bench".parse()?);
        let service = canned_service();
        let peer = |session| Peer {
            principal: principal.clone(),
            session,
            defaults: vademecum_mcp::RequestDefaults::default(),
            ignored_config: Vec::new(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection: None,
        };
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": { "sampling": {}, "roots": {} },
            "clientInfo": { "name": "claude-desktop", "version": "1.0" } } })
        .to_string();
        service.handle(&peer(None), &hello, &Outbound::default()).await;
        let before = Process::CURRENT.resident_bytes()?;
        let mut opened: Vec<SessionId> = Vec::with_capacity(SESSIONS);
        for _ in 0..SESSIONS {
            let reply = service.handle(&peer(None), &hello, &Outbound::default()).await;
            opened.extend(reply.opened_session);
        }
        let after_handshake = Process::CURRENT.resident_bytes()?;
        let folder = tempfile::tempdir()?;
        let sessions = config::Sessions {
            most: non_zero(1_000_000),
            most_per_user: non_zero(1_000_000),
            ..config::Sessions::default()
        };
        let registry = UserRegistry::new(LibraryConfig {
            data: folder.path().into(),
            tldw: None,
            embeddings: None,
            max_open_libraries: config::Storage::default().open_libraries,
            sources: registry::sources(),
            limits: config::Limits::default(),
            sessions,
        });
        registry.open_session(&principal, None)?;
        let before_seats = Process::CURRENT.resident_bytes()?;
        for id in opened {
            registry.open_session(&principal, Some(&Scope::Session(id)))?;
            tokio::task::yield_now().await;
        }
        let after_seats = Process::CURRENT.resident_bytes()?;
        let each = |from: u64, to: u64| to.saturating_sub(from) / SESSIONS as u64;
        let handshake = each(before, after_handshake);
        let entry = each(before_seats, after_seats);
        anyhow::Ok(json!({ "handshake": handshake, "conversation": entry,
            "together": handshake + entry }))
    })?;
    println!("{session_bytes}");
    Ok(())
}
