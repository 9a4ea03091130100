//! Many clients for a long time: whether the server holds, and how soon it answers.
//!
//! Half of the clients speak HTTP, each on a connection of its own with a session,
//! half a WebSocket; they belong to a number of users with libraries of their own.
//! Each client goes round: a question, its answer, a pause of random length. Of a
//! hundred questions 45 are searches, 45 read a note, 5 list the tools, 4 are pings,
//! and 1 writes a note. The server is a process of its own, as it is started on the
//! command line, on the same machine as the clients.
//!
//! Prints how long answers took by kind of question, how much memory and how many
//! files the server had after a fifth of the time and at the end, and what it cost
//! on the processor. The target is no error, and at most 1.1 times the memory.
//!
//! `cargo bench -p vademecum-benches --bench load -- --seconds 600 --json load.json`

use std::{
    collections::BTreeMap,
    path::PathBuf,
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
    Die, Http, Line, Process, Program, Sample, Sizes, Socket, Text, bench_or_program, fill, median,
    users,
};

/// Passages in the library of each user.
const PASSAGES: usize = 1_000;
/// Words that questions are made of: few enough that all that is remembered of them
/// is there within a fifth of ten minutes, so that what grows later grows.
const WORDS: usize = 400;
/// How many times the memory of a fifth of the time there may be at the end.
const GROWTH: f64 = 1.1;
/// What a client needs on its stack: next to nothing.
const STACK: usize = 256 << 10;
/// Errors that are shown.
const SHOWN: usize = 5;

#[derive(Clone, Debug, Parser)]
struct Options {
    /// How long the clients ask, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Clients of each kind.
    #[arg(long, default_value_t = 512)]
    clients: usize,
    /// Users whose clients they are.
    #[arg(long, default_value_t = 64)]
    users: usize,
    /// How long a client pauses between an answer and the next question, in the
    /// middle, in milliseconds.
    #[arg(long, default_value_t = 2_000)]
    pause_ms: u64,
    /// Where the figures are written to as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// `cargo bench` says so.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    bench_or_program(|| measure(&Options::parse()))
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Search,
    Get,
    List,
    Ping,
    Write,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Search, Self::Get, Self::List, Self::Ping, Self::Write];

    fn thrown(die: &mut Die) -> Self {
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

/// What all clients share.
struct Ring<'a> {
    options: &'a Options,
    address: &'a str,
    /// Who is connected waits here for the others.
    ready: Barrier,
    over: AtomicBool,
    errors: AtomicUsize,
    words: &'a [String],
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let names: Vec<String> =
        (0..options.users.max(1)).map(|number| format!("user{number}")).collect();
    let headers = users(folder.path(), &names)?;
    let began = Instant::now();
    for name in &names {
        let library = folder.path().join("users").join(name);
        fill(&library, &Text::Invented, Sizes::of(PASSAGES), &mut Sample::of(PASSAGES))?;
    }
    println!(
        "{} users with {PASSAGES} passages each, filled in {:.0} s",
        names.len(),
        began.elapsed().as_secs_f64()
    );
    let words = words()?;
    let program = Program::serve(
        folder.path(),
        "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [sessions]\nmost = 100000\n",
    )?;
    let ring = Ring {
        options,
        address: program.address(),
        ready: Barrier::new(2 * options.clients + 1),
        over: AtomicBool::new(false),
        errors: AtomicUsize::new(0),
        words: &words,
    };
    let (watched, times) = thread::scope(|scope| -> Result<_> {
        let mut clients = Vec::new();
        for number in 0..2 * options.clients {
            let header = headers.get(number % headers.len()).context("a user")?;
            let ring = &ring;
            let client = thread::Builder::new().stack_size(STACK);
            clients.push(client.spawn_scoped(scope, move || ring.client(number, header))?);
        }
        ring.ready.wait();
        let watched = watch(program.process(), options);
        ring.over.store(true, Ordering::Relaxed);
        let mut times: BTreeMap<Kind, Vec<Duration>> = BTreeMap::new();
        for client in clients {
            let asked = client.join().map_err(|_| anyhow::anyhow!("a client broke off"))?;
            for (kind, took) in asked {
                times.entry(kind).or_default().push(took);
            }
        }
        Ok((watched?, times))
    })?;
    let (errors, growth) = (ring.errors.into_inner(), watched.growth());
    tell(options, &watched, &times, errors)?;
    ensure!(errors == 0 && growth <= GROWTH, "{errors} errors, {growth:.2} times the memory");
    Ok(())
}

/// What the server took.
struct Watched {
    early: u64,
    late: u64,
    files: usize,
    cpu: Duration,
    elapsed: Duration,
}

impl Watched {
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn growth(&self) -> f64 {
        self.late as f64 / self.early as f64
    }
}

/// Looks at the server until the time is over.
fn watch(process: Process, options: &Options) -> Result<Watched> {
    let (began, before) = (Instant::now(), process.cpu()?);
    let all = Duration::from_secs(options.seconds);
    thread::sleep(all / 5);
    let early = process.resident()?;
    thread::sleep(all.saturating_sub(began.elapsed()));
    let cpu = process.cpu()?.saturating_sub(before);
    let elapsed = began.elapsed();
    Ok(Watched { early, late: process.resident()?, files: process.open_files()?, cpu, elapsed })
}

impl Ring<'_> {
    /// What a client asked, and how long each answer took.
    fn client(&self, number: usize, header: &str) -> Vec<(Kind, Duration)> {
        let mut client = self.begin(number, header);
        self.ready.wait();
        let mut times = Vec::new();
        let mut die = Die::new(number);
        let (mut seen, mut round) = (None, 0);
        let pause = |die: &mut Die| {
            let middle = Duration::from_millis(self.options.pause_ms).as_secs_f64();
            thread::sleep(Duration::from_secs_f64(2.0 * middle * die.share()));
        };
        pause(&mut die);
        while !self.over.load(Ordering::Relaxed) {
            let Ok(line) = &mut client else { break };
            round += 1;
            let (kind, message) = self.question(&mut die, seen.as_deref(), round);
            let began = Instant::now();
            let answer = line.ask(&message);
            let took = began.elapsed();
            match answer.and_then(|answer| right(kind, &answer)) {
                Ok(found) => {
                    times.push((kind, took));
                    seen = found.or(seen);
                }
                Err(error) => {
                    self.complain(&format!("{}: {error:#}", kind.name()));
                    // After a failure nobody knows what is in the line.
                    client = self.connect(number, header);
                }
            }
            pause(&mut die);
        }
        times
    }

    fn begin(&self, number: usize, header: &str) -> Result<Line> {
        let line = self.connect(number, header);
        if let Err(error) = &line {
            self.complain(&format!("connecting: {error:#}"));
        }
        line
    }

    fn connect(&self, number: usize, header: &str) -> Result<Line> {
        let mut line = if number.is_multiple_of(2) {
            Line::Http(Http::connect(self.address, header)?)
        } else {
            Line::Socket(Socket::connect(self.address, header)?)
        };
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "load", "version": "1" } } });
        let (status, answer) = line.ask(&hello.to_string())?;
        ensure!(matches!(status, 101 | 200) && answer.contains("serverInfo"), "{status} {answer}");
        Ok(line)
    }

    fn question(&self, die: &mut Die, seen: Option<&str>, round: usize) -> (Kind, String) {
        let mut word = || self.words.get(die.below(self.words.len())).cloned().unwrap_or_default();
        let (one, other) = (word(), word());
        let kind = match (Kind::thrown(die), seen) {
            // Nothing has been found that could be read.
            (Kind::Get, None) => Kind::Search,
            (kind, _) => kind,
        };
        let arguments = match kind {
            Kind::Search => {
                json!({ "query": format!("{one} {other}"), "sources": ["notes", "media"] })
            }
            Kind::Get => json!({ "source": "notes", "id": seen }),
            Kind::Write => json!({ "title": format!("{one} {round}"), "content": other }),
            Kind::List | Kind::Ping => Value::Null,
        };
        let message = if arguments.is_null() {
            json!({ "jsonrpc": "2.0", "id": round, "method": kind.name() })
        } else {
            json!({ "jsonrpc": "2.0", "id": round, "method": "tools/call",
                "params": { "name": kind.name(), "arguments": arguments } })
        };
        (kind, message.to_string())
    }

    #[expect(clippy::print_stderr, reason = "errors are told beside the figures")]
    fn complain(&self, text: &str) {
        if self.errors.fetch_add(1, Ordering::Relaxed) < SHOWN {
            eprintln!("{text}");
        }
    }
}

/// Whether an answer is one; tells the id of a note that it names.
fn right(kind: Kind, (status, answer): &(u16, String)) -> Result<Option<String>> {
    ensure!(matches!(status, 101 | 200), "status {status}: {answer}");
    let answer: Value = serde_json::from_str(answer)?;
    ensure!(answer["result"].is_object() && answer["result"]["isError"] != true, "{answer}");
    let hits = answer["result"]["structuredContent"]["results"].as_array();
    let note = hits.into_iter().flatten().find(|hit| hit["source"] == "notes");
    ensure!(kind != Kind::Search || hits.is_some(), "{answer}");
    Ok(note.and_then(|hit| Some(hit["id"].as_str()?.to_owned())))
}

/// Words that occur in what the libraries are filled with.
fn words() -> Result<Vec<String>> {
    let parts = Text::Invented.parts(5)?;
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
    ensure!(words.len() > WORDS, "there are words");
    let every = words.len() / WORDS;
    Ok(words.into_iter().step_by(every).take(WORDS).collect())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn tell(
    options: &Options,
    watched: &Watched,
    times: &BTreeMap<Kind, Vec<Duration>>,
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
    for kind in Kind::ALL {
        let times = times.get(&kind).cloned().unwrap_or_default();
        let count = times.len();
        let (middle, p99) = median(times);
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
        "  memory {:.1} MB after a fifth of the time, {:.1} MB at the end: {:.2} times (at most \
         {GROWTH} wanted); {} open files",
        megabytes(watched.early),
        megabytes(watched.late),
        watched.growth(),
        watched.files,
    );
    println!(
        "  {:.2} of the time on a core; {per_core_second:.0} answers per core second",
        watched.cpu.as_secs_f64() / seconds,
    );
    if let Some(path) = &options.json {
        let all = json!({ "bench": "load", "clients_of_each_kind": options.clients,
            "users": options.users, "seconds": seconds, "answers": answers, "errors": errors,
            "kinds": kinds, "early_bytes": watched.early, "late_bytes": watched.late,
            "growth": watched.growth(), "open_files": watched.files,
            "cpu_s": watched.cpu.as_secs_f64(), "answers_per_core_second": per_core_second });
        std::fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}
