//! What the protocol costs: a `tools/call` that answers from memory, against an
//! actix-web handler that reads the same JSON and writes the same bytes: over HTTP
//! and WebSocket with 1, 32 and 512 connections, and over standard input and output.
//!
//! Each server is a process of its own; the system tells how much CPU it has used.
//! Afterwards the memory of idle sessions, as the handshake leaves them and as
//! a first search does.
//!
//! `cargo bench -p vademecum-benches --bench serve -- --json serve.json`

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context, Result, ensure};
use clap::Parser;
use futures_util::{FutureExt, future::LocalBoxFuture};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;
use vademecum::{
    actors::{Roster, Shelf},
    registry,
    transport::{Connections, Door, serve, serve_stdio},
};
use vademecum_benches::{Http, Line, Process, Socket};
use vademecum_core::{
    auth::{Authenticator, Principal, Right, desktop},
    config,
    telemetry::Monitor,
};
use vademecum_mcp::{
    Answer, Call, Catalog, Completion, Contents, Effect, Entry, Failure, Link, Messages, Offer,
    Options, Peer, Prompt, PromptArguments, Resource, Schemas, Scope, Service, SessionId, Sessions,
    Template, Toolset, Unfinished,
};

/// Requests of one measurement.
const REQUESTS: usize = 20_000;
/// Measurements of each server, one after the other in turn; the median counts.
const ROUNDS: usize = 5;
/// Sessions whose memory is measured.
const SESSIONS: usize = 20_000;

#[derive(Debug, Parser)]
struct Asked {
    /// Where the figures are written to as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Which server this process is; without one, it measures.
    #[arg(long, hide = true)]
    server: Option<String>,
    /// `cargo bench` says so.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let asked = Asked::parse();
    match asked.server.as_deref() {
        None => measure(asked.json),
        Some("sessions") => sessions(),
        Some(which) => run_server(which),
    }
}

/// What is called.
fn request() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "canned", "arguments": { "query": "when does rye bread rise", "limit": 10,
            "sources": ["notes", "media"], "filters": { "media": { "media_types": ["pdf"] } } },
    }})
    .to_string()
}

/// What is answered: ten hits of a search.
fn canned() -> String {
    let hits: Vec<Value> = (0..10)
        .map(|number| {
            json!({
                "id": format!("{number}"), "source": "notes", "title": "Rye bread",
                "snippet": "It rises for as long as it takes; on a cold day that is longer.",
                "uri": format!("notes://{number}"), "score": 0.5, "score_type": "fts",
                "last_modified": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    json!({ "results": hits, "has_more": false, "next_offset": null }).to_string()
}

/// A tool that answers from memory.
struct Canned {
    catalog: Catalog,
    answer: String,
}

impl Canned {
    fn new() -> Self {
        let input = json!({ "type": "object", "properties": {} });
        let entry = Entry {
            name: "canned",
            title: "Canned",
            description: "Answers from memory.",
            toolset: Toolset::Knowledge,
            right: Right::Read,
            effect: Effect::Reads,
            schemas: Schemas { input, output: None },
        };
        Self { catalog: Catalog::new(vec![entry]), answer: canned() }
    }
}

impl Offer for Canned {
    fn tools(&self) -> &Catalog {
        &self.catalog
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        arguments: &'a RawValue,
        _: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Answer, Failure>> {
        async move {
            let _read: Value = serde_json::from_str(arguments.get())
                .map_err(|error| Failure::parameters(error.to_string()))?;
            Ok(Answer::json(self.answer.clone(), None))
        }
        .boxed_local()
    }

    fn resources(&self, _: &Principal) -> Vec<Resource> {
        Vec::new()
    }

    fn templates(&self) -> Vec<Template> {
        Vec::new()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Contents, Failure>> {
        std::future::ready(Err(Failure::resource(uri))).boxed_local()
    }

    fn prompts<'a>(&'a self, _: &'a Call) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        std::future::ready(Ok(Vec::new())).boxed_local()
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        _: &'a PromptArguments,
        _: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Messages, Failure>> {
        std::future::ready(Err(Failure::parameters(name))).boxed_local()
    }

    fn complete<'a>(
        &'a self,
        _: &'a Unfinished,
        _: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        std::future::ready(Ok(Completion::default())).boxed_local()
    }

    fn changes(&self, _: &Principal) -> watch::Receiver<u64> {
        watch::Sender::new(0).subscribe()
    }

    fn forget(&self, _: &Principal, _: &Scope) {}
}

fn many(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}

fn service() -> Service {
    let sessions = Sessions::new(Duration::from_hours(1), many(1_000_000));
    Service::new(Arc::new(Canned::new()), Arc::new(sessions), Options::default())
}

/// Serves until it is killed, and tells where.
#[expect(clippy::print_stdout, reason = "this is how the parent is told")]
fn run_server(which: &str) -> Result<()> {
    actix::System::new().block_on(async {
        let user = desktop("bench".parse()?);
        let door = Door {
            service: service(),
            authenticator: Arc::new(Authenticator::single(user.clone())),
            auth: config::Auth::default(),
            server: config::Server::default(),
            concurrent_calls: NonZeroU32::MIN.saturating_add(15),
            longest_call: Duration::from_mins(2),
            connections: Connections::default(),
            monitor: Monitor::default(),
        };
        if which == "stdio" {
            return Ok(serve_stdio(&door, user).await?);
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        println!("{}", listener.local_addr()?);
        if which == "ours" {
            return Ok(serve(door, listener).await?);
        }
        let text = serde_json::to_string(&canned())?;
        let canned = canned();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{canned},"isError":false}}}}"#
        );
        let body = web::Data::new(body);
        let app = move || App::new().app_data(body.clone()).route("/mcp", web::post().to(plain));
        Ok(HttpServer::new(app).workers(2).listen(listener)?.run().await?)
    })
}

async fn plain(body: web::Bytes, answer: web::Data<String>) -> HttpResponse {
    match serde_json::from_slice::<Value>(&body) {
        Ok(_) => HttpResponse::Ok().content_type("application/json").body(answer.to_string()),
        Err(error) => HttpResponse::BadRequest().body(error.to_string()),
    }
}

/// How a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Http,
    WebSocket,
    Stdio,
}

/// A server in a process of its own.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
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

    /// CPU and time of one request, in microseconds, over so many connections.
    fn cost(&mut self, way: Way, connections: usize) -> Result<(f64, f64)> {
        let each = REQUESTS / connections;
        let process = Process::of(self.child.id());
        let (before, began) = (process.cpu()?, Instant::now());
        if way == Way::Stdio {
            self.talk(each)?;
        } else {
            let address = &self.address;
            std::thread::scope(|scope| -> Result<()> {
                let callers: Vec<_> = (0..connections)
                    .map(|_| scope.spawn(move || call(way, address, each)))
                    .collect();
                for caller in callers {
                    caller.join().map_err(|_| anyhow::anyhow!("a caller broke off"))??;
                }
                Ok(())
            })?;
        }
        let (spent, took) = (process.cpu()?.saturating_sub(before), began.elapsed());
        let count = f64::from(u32::try_from(each * connections)?);
        Ok((spent.as_secs_f64() * 1e6 / count, took.as_secs_f64() * 1e6 / count))
    }

    /// Asks so many times over its standard input.
    fn talk(&mut self, times: usize) -> Result<()> {
        let message = format!("{}\n", request());
        let mut answer = String::new();
        for _ in 0..times {
            self.input.write_all(message.as_bytes())?;
            answer.clear();
            ensure!(self.output.read_line(&mut answer)? > 0, "the server hung up");
        }
        is_right(&answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Calls so many times over one connection.
fn call(way: Way, address: &str, times: usize) -> Result<()> {
    let body = request();
    let mut line = match way {
        Way::WebSocket => Line::Socket(Socket::connect(address, "")?),
        Way::Http | Way::Stdio => Line::Http(Http::connect(address, "")?),
    };
    let mut last = String::new();
    for _ in 0..times {
        (_, last) = line.ask(&body)?;
    }
    is_right(&last)
}

fn is_right(answer: &str) -> Result<()> {
    let answer: Value = serde_json::from_str(answer)?;
    ensure!(answer["result"]["isError"] == false, "{answer}");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(json: Option<PathBuf>) -> Result<()> {
    let mut figures = Vec::new();
    let mut plain = Server::start("plain")?;
    let (mut ours, mut pipe) = (Server::start("ours")?, Server::start("stdio")?);
    let ways =
        [(Way::Http, [1, 32, 512].as_slice()), (Way::WebSocket, &[1, 32, 512]), (Way::Stdio, &[1])];
    for (way, counts) in ways {
        for &connections in counts {
            let mut costs: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                // What anybody would write themselves speaks HTTP.
                costs[0].push(plain.cost(Way::Http, connections)?);
                let server = if way == Way::Stdio { &mut pipe } else { &mut ours };
                costs[1].push(server.cost(way, connections)?);
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
                "  more by       {:>8.1}   ({:.2} times; at most 20.0 wanted); {:.0} requests per \
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
    let told = Command::new(std::env::current_exe()?).args(["--server", "sessions"]).output()?;
    let told: Value = serde_json::from_slice(&told.stdout)?;
    println!("idle sessions ({SESSIONS}), bytes each: {told}");
    if let Some(path) = json {
        let all = json!({ "bench": "serve", "serve": figures, "idle_session_bytes": told });
        std::fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}

/// Opens sessions, first by handshake, then as a search does, and tells what
/// each took.
#[expect(clippy::print_stdout, reason = "this is how the parent is told")]
fn sessions() -> Result<()> {
    let told = actix::System::new().block_on(async {
        let principal = desktop("bench".parse()?);
        let service = service();
        let peer = |session| Peer {
            principal: principal.clone(),
            session,
            defaults: vademecum_mcp::Defaults::default(),
            names: None,
            mirror: None,
            turns: None,
        };
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": { "sampling": {}, "roots": {} },
            "clientInfo": { "name": "claude-desktop", "version": "1.0" } } })
        .to_string();
        service.handle(&peer(None), &hello, &Link::default()).await;
        let before = Process::OWN.resident()?;
        let mut opened: Vec<SessionId> = Vec::with_capacity(SESSIONS);
        for _ in 0..SESSIONS {
            let reply = service.handle(&peer(None), &hello, &Link::default()).await;
            opened.extend(reply.opened);
        }
        let after_handshake = Process::OWN.resident()?;
        let folder = tempfile::tempdir()?;
        let sessions = config::Sessions {
            most: many(1_000_000),
            most_per_user: many(1_000_000),
            ..config::Sessions::default()
        };
        let roster = Roster::new(Shelf {
            tldw: None,
            users: folder.path().to_owned(),
            embeddings: None,
            open_libraries: config::Storage::default().open_libraries,
            sources: registry::sources(),
            limits: config::Limits::default(),
            sessions,
        });
        roster.session(&principal, None)?;
        let before_seats = Process::OWN.resident()?;
        for id in opened {
            roster.session(&principal, Some(&Scope::Session(id)))?;
            tokio::task::yield_now().await;
        }
        let after_seats = Process::OWN.resident()?;
        let each = |from: u64, to: u64| to.saturating_sub(from) / SESSIONS as u64;
        let handshake = each(before, after_handshake);
        let seat = each(before_seats, after_seats);
        anyhow::Ok(json!({ "handshake": handshake, "conversation": seat,
            "together": handshake + seat }))
    })?;
    println!("{told}");
    Ok(())
}
