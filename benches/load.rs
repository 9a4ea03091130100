//! A load test with many clients over a long time: stability and response times of the server.
//!
//! Half of the clients use HTTP, each with its own connection and session, half `WebSockets`; they
//! belong to several users with separate libraries. Each client loops over a request, its response
//! and a random pause. Of a hundred requests 45 are searches, 45 read a note, 5 list the tools, 4
//! are pings and 1 writes a note. The server is a separate process on the same machine as the
//! clients.
//!
//! Prints the response times by kind of request, the memory and open files of the server after a
//! fifth of the time and at the end, and its CPU time. The target is no error, and at most 1.1
//! times the memory.
//!
//! `cargo bench -p vademecum-benches --bench load -- --seconds 600 --json load.json`

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum_benches::{
    ClientConnection, CommonOptions, HttpClient, LibrarySizes, PassageSample, Process, SeededRng,
    ServerProcess, TextSource, WebSocketClient, create_users, fill_library, median_and_p99,
    run_bench_or_program,
};

/// Passages in the library of each user.
const PASSAGES: usize = 1_000;
/// Number of words in requests. They are few enough that caches are full after a fifth of ten
/// minutes, so that later growth is a leak.
const WORD_COUNT: usize = 400;
/// Target: maximum ratio of the memory at the end to that after a fifth of the time.
const GROWTH: f64 = 1.1;
/// Stack size of a client thread, in bytes.
const CLIENT_STACK_BYTES: usize = 256 << 10;
/// Maximum number of errors printed.
const MAX_PRINTED_ERRORS: usize = 5;

#[derive(Clone, Debug, Parser)]
struct Options {
    /// Duration of the test, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Number of clients of each kind.
    #[arg(long, default_value_t = 512)]
    clients: usize,
    /// Number of users that the clients belong to.
    #[arg(long, default_value_t = 64)]
    users: usize,
    /// Average pause of a client between a response and the next request, in milliseconds.
    #[arg(long, default_value_t = 2_000)]
    pause_ms: u64,
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> ExitCode {
    run_bench_or_program(|| measure(&Options::parse()))
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RequestKind {
    Search,
    Get,
    List,
    Ping,
    Write,
}

impl RequestKind {
    const ALL: [Self; 5] = [Self::Search, Self::Get, Self::List, Self::Ping, Self::Write];

    fn random(die: &mut SeededRng) -> Self {
        match die.below(100) {
            0..45 => Self::Search,
            45..90 => Self::Get,
            90..95 => Self::List,
            95..99 => Self::Ping,
            _ => Self::Write,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Search => "knowledge.search",
            Self::Get => "knowledge.get",
            Self::List => "tools/list",
            Self::Ping => "ping",
            Self::Write => "notes.create",
        }
    }
}

/// The state shared by all clients.
struct LoadTest<'a> {
    options: &'a Options,
    address: &'a str,
    /// Synchronises the start after all clients are connected.
    ready: Barrier,
    is_over: AtomicBool,
    errors: AtomicUsize,
    words: &'a [String],
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let names: Vec<String> =
        (0..options.users.max(1)).map(|number| format!("user{number}")).collect();
    let headers = create_users(folder.path(), &names)?;
    let began = Instant::now();
    for name in &names {
        let library = folder.path().join("users").join(name);
        fill_library(
            &library,
            &TextSource::Synthetic,
            LibrarySizes::for_total(PASSAGES),
            &mut PassageSample::for_rows(PASSAGES),
        )?;
    }
    println!(
        "{} users with {PASSAGES} passages each, filled in {:.0} s",
        names.len(),
        began.elapsed().as_secs_f64()
    );
    let words = library_words()?;
    let program = ServerProcess::start(
        folder.path(),
        "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [sessions]\nmost = 100000\n",
    )?;
    let ring = LoadTest {
        options,
        address: program.address(),
        ready: Barrier::new(2 * options.clients + 1),
        is_over: AtomicBool::new(false),
        errors: AtomicUsize::new(0),
        words: &words,
    };
    let (watched, times) = thread::scope(|scope| -> Result<_> {
        let mut clients = Vec::new();
        for number in 0..2 * options.clients {
            let header = headers.get(number % headers.len()).context("a user")?;
            let ring = &ring;
            let client = thread::Builder::new().stack_size(CLIENT_STACK_BYTES);
            clients.push(client.spawn_scoped(scope, move || ring.run_client(number, header))?);
        }
        ring.ready.wait();
        let watched = measure_server(program.process(), options);
        ring.is_over.store(true, Ordering::Relaxed);
        let mut times: BTreeMap<RequestKind, Vec<Duration>> = BTreeMap::new();
        for client in clients {
            let timed_requests = client.join().map_err(|_| anyhow::anyhow!("a client panicked"))?;
            for (kind, took) in timed_requests {
                times.entry(kind).or_default().push(took);
            }
        }
        Ok((watched?, times))
    })?;
    let (errors, growth) = (ring.errors.into_inner(), watched.growth());
    print_report(options, &watched, &times, errors)?;
    ensure!(errors == 0 && growth <= GROWTH, "{errors} errors, {growth:.2} times the memory");
    Ok(())
}

/// The resource usage of the server.
struct ServerUsage {
    early: u64,
    late: u64,
    files: usize,
    cpu: Duration,
    elapsed: Duration,
}

impl ServerUsage {
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn growth(&self) -> f64 {
        self.late as f64 / self.early as f64
    }
}

/// Measures the server until the time is over.
fn measure_server(process: Process, options: &Options) -> Result<ServerUsage> {
    let (began, before) = (Instant::now(), process.cpu_time()?);
    let all = Duration::from_secs(options.seconds);
    thread::sleep(all / 5);
    let early = process.resident_bytes()?;
    thread::sleep(all.saturating_sub(began.elapsed()));
    let cpu = process.cpu_time()?.saturating_sub(before);
    let elapsed = began.elapsed();
    Ok(ServerUsage {
        early,
        late: process.resident_bytes()?,
        files: process.count_open_files()?,
        cpu,
        elapsed,
    })
}

impl LoadTest<'_> {
    /// Runs a client. Returns the kind and response time of each request.
    fn run_client(&self, number: usize, header: &str) -> Vec<(RequestKind, Duration)> {
        let mut client = self.connect_or_report(number, header);
        self.ready.wait();
        let mut times = Vec::new();
        let mut die = SeededRng::new(number);
        let (mut seen, mut round) = (None, 0);
        let pause = |die: &mut SeededRng| {
            let middle = Duration::from_millis(self.options.pause_ms).as_secs_f64();
            thread::sleep(Duration::from_secs_f64(2.0 * middle * die.unit_interval()));
        };
        pause(&mut die);
        while !self.is_over.load(Ordering::Relaxed) {
            let Ok(line) = &mut client else { break };
            round += 1;
            let (kind, message) = self.next_request(&mut die, seen.as_deref(), round);
            let began = Instant::now();
            let answer = line.send_request(&message);
            let took = began.elapsed();
            match answer.and_then(|answer| check_response(kind, &answer)) {
                Ok(found) => {
                    times.push((kind, took));
                    seen = found.or(seen);
                }
                Err(error) => {
                    self.report_error(&format!("{}: {error:#}", kind.name()));
                    // After a failure the state of the connection is unknown.
                    client = self.connect(number, header);
                }
            }
            pause(&mut die);
        }
        times
    }

    fn connect_or_report(&self, number: usize, header: &str) -> Result<ClientConnection> {
        let line = self.connect(number, header);
        if let Err(error) = &line {
            self.report_error(&format!("connecting: {error:#}"));
        }
        line
    }

    fn connect(&self, number: usize, header: &str) -> Result<ClientConnection> {
        let mut line = if number.is_multiple_of(2) {
            ClientConnection::Http(HttpClient::connect(self.address, header)?)
        } else {
            ClientConnection::WebSocket(WebSocketClient::connect(self.address, header)?)
        };
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "load", "version": "1" } } });
        let (status, answer) = line.send_request(&hello.to_string())?;
        ensure!(matches!(status, 101 | 200) && answer.contains("serverInfo"), "{status} {answer}");
        Ok(line)
    }

    fn next_request(
        &self,
        die: &mut SeededRng,
        seen: Option<&str>,
        round: usize,
    ) -> (RequestKind, String) {
        let mut word = || self.words.get(die.below(self.words.len())).cloned().unwrap_or_default();
        let (one, other) = (word(), word());
        let kind = match (RequestKind::random(die), seen) {
            // No note has been found yet that could be read.
            (RequestKind::Get, None) => RequestKind::Search,
            (kind, _) => kind,
        };
        let arguments = match kind {
            RequestKind::Search => {
                json!({ "query": format!("{one} {other}"), "sources": ["notes", "media"] })
            }
            RequestKind::Get => json!({ "source": "notes", "id": seen }),
            RequestKind::Write => json!({ "title": format!("{one} {round}"), "content": other }),
            RequestKind::List | RequestKind::Ping => Value::Null,
        };
        let message = if arguments.is_null() {
            json!({ "jsonrpc": "2.0", "id": round, "method": kind.name() })
        } else {
            json!({ "jsonrpc": "2.0", "id": round, "method": "tools/call",
                "params": { "name": kind.name(), "arguments": arguments } })
        };
        (kind, message.to_string())
    }

    #[expect(clippy::print_stderr, reason = "errors are printed beside the figures")]
    fn report_error(&self, text: &str) {
        if self.errors.fetch_add(1, Ordering::Relaxed) < MAX_PRINTED_ERRORS {
            eprintln!("{text}");
        }
    }
}

/// Checks a response. Returns the id of a note in it, if there is one.
fn check_response(kind: RequestKind, (status, answer): &(u16, String)) -> Result<Option<String>> {
    ensure!(matches!(status, 101 | 200), "status {status}: {answer}");
    let answer: Value = serde_json::from_str(answer)?;
    ensure!(answer["result"].is_object() && answer["result"]["isError"] != true, "{answer}");
    let hits = answer["result"]["structuredContent"]["results"].as_array();
    let note = hits.into_iter().flatten().find(|hit| hit["source"] == "notes");
    ensure!(kind != RequestKind::Search || hits.is_some(), "{answer}");
    Ok(note.and_then(|hit| Some(hit["id"].as_str()?.to_owned())))
}

/// Returns words that occur in the libraries.
fn library_words() -> Result<Vec<String>> {
    let parts = TextSource::Synthetic.split(5)?;
    let bodies = parts.into_iter().flat_map(|part| part.take(20)).map(|passage| passage.body);
    let mut words: Vec<String> = bodies
        .flat_map(|body| {
            body.split(|letter: char| !letter.is_alphabetic())
                .filter(|word| word.len() > 5)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    ensure!(words.len() > WORD_COUNT, "too few words in the text");
    let every = words.len() / WORD_COUNT;
    Ok(words.into_iter().step_by(every).take(WORD_COUNT).collect())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn print_report(
    options: &Options,
    watched: &ServerUsage,
    times: &BTreeMap<RequestKind, Vec<Duration>>,
    errors: usize,
) -> Result<()> {
    let answers: usize = times.values().map(Vec::len).sum();
    let seconds = watched.elapsed.as_secs_f64();
    let per_core_second = answers as f64 / watched.cpu.as_secs_f64();
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "{0} HTTP and {0} WebSocket clients, {seconds:.0} s: {answers} answers ({1:.0} a second), \
         {errors} errors",
        options.clients,
        answers as f64 / seconds,
    );
    let mut kinds = Vec::new();
    for kind in RequestKind::ALL {
        let times = times.get(&kind).cloned().unwrap_or_default();
        let count = times.len();
        let (middle, p99) = median_and_p99(times);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "  {:17} {count:>8}   p50 {:>7.2} ms   p99 {:>7.2} ms",
            kind.name(),
            ms(middle),
            ms(p99)
        );
        kinds.push(json!({ "kind": kind.name(), "answers": count,
            "p50_ms": ms(middle), "p99_ms": ms(p99) }));
    }
    println!(
        "  memory {:.1} MB after a fifth of the time, {:.1} MB at the end: {:.2} times (target: at most \
         {GROWTH}); {} open files",
        megabytes(watched.early),
        megabytes(watched.late),
        watched.growth(),
        watched.files,
    );
    println!(
        "  {:.2} of the time on a core; {per_core_second:.0} answers per core second",
        watched.cpu.as_secs_f64() / seconds,
    );
    options.common.write_results(&json!({ "bench": "load", "clients_of_each_kind": options.clients,
            "users": options.users, "seconds": seconds, "answers": answers, "errors": errors,
            "kinds": kinds, "early_bytes": watched.early, "late_bytes": watched.late,
            "growth": watched.growth(), "open_files": watched.files,
            "cpu_s": watched.cpu.as_secs_f64(), "answers_per_core_second": per_core_second }))
}
