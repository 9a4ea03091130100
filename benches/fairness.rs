//! How much one user's expensive queries delay another's cheap ones.
//!
//! One server for both, as it is installed. The cheap user looks for a title among
//! 2,000 notes over one connection, first alone and then beside the expensive one, who
//! asks for as many words as a query may have, over all sources, from several
//! connections at once; and in turn once more. Prints what 50 and 99 of 100 cheap
//! calls do not exceed, and the ratio of the same run.
//!
//! `cargo build --release && cargo bench -p vademecum-benches --bench fairness -- --json fairness.json`

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum_benches::{Figures, Sample, Sizes, Text, fill};

/// Calls of one measurement.
const CALLS: usize = 1_000;
/// Measurements alone and beside, in turn; all calls of a kind count together.
const ROUNDS: usize = 3;
/// Words of the expensive query: with more it would be read as a text.
const WORDS: usize = 32;
const CHEAP: Sizes =
    Sizes { notes: 2_000, media: 200, messages: 2_000, characters: 20, prompts: 50 };

#[derive(Debug, Parser)]
struct Line {
    /// Connections over which the expensive user asks at the same time.
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Notes of the expensive user; of media and messages there are as many.
    #[arg(long, default_value_t = 50_000)]
    notes: usize,
    /// Where the figures are written to as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// `cargo bench` says so.
    #[arg(long, hide = true)]
    bench: bool,
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let line = Line::parse();
    let folder = tempfile::tempdir()?;
    let users = folder.path().join("users");
    let expensive = Sizes { notes: line.notes, media: line.notes, messages: line.notes, ..CHEAP };
    fill(&users.join("cheap"), &Text::Invented, CHEAP, &mut Sample::of(1))?;
    fill(&users.join("expensive"), &Text::Invented, expensive, &mut Sample::of(1))?;
    let keys = [key(folder.path(), "cheap")?, key(folder.path(), "expensive")?];
    let server = Server::start(folder.path())?;
    let words = words()?;
    let title = words.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
    let cheap = call("notes.search", &json!({ "query": title, "limit": 5 }));
    let costly = call("knowledge.search", &json!({ "query": words.join(" "), "limit": 100 }));
    let (mut alone, mut beside, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    // What is first asked is read from the disk.
    Caller::connect(&server, &keys[0])?.times(&cheap, CALLS / 10)?;
    Caller::connect(&server, &keys[1])?.times(&costly, 3)?;
    for _ in 0..ROUNDS {
        alone.extend(Caller::connect(&server, &keys[0])?.times(&cheap, CALLS)?);
        let (times, answered) = together(&server, &keys, &cheap, &costly, line.connections)?;
        beside.extend(times);
        costs.push(answered);
    }
    let (alone, beside) = (Figures::of(alone), Figures::of(beside));
    let ratio = beside.p99 / alone.p99;
    println!(
        "a cheap call, µs ({ROUNDS} times {CALLS}; {} expensive connections)",
        line.connections
    );
    println!("  alone   p50 {:>9.1}   p99 {:>9.1}", alone.median, alone.p99);
    println!("  beside  p50 {:>9.1}   p99 {:>9.1}", beside.median, beside.p99);
    println!("  p99 is {ratio:.2} times as much; at most 2 times wanted");
    println!("  expensive calls answered meanwhile: {costs:?}");
    if let Some(path) = line.json {
        let all = json!({ "alone_us": alone, "beside_us": beside, "p99_ratio": ratio,
            "connections": line.connections, "notes": line.notes, "expensive_answers": costs });
        std::fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}

/// The times of cheap calls while expensive ones are made, and how many of those were
/// answered.
fn together(
    server: &Server,
    keys: &[String; 2],
    cheap: &Value,
    costly: &Value,
    connections: usize,
) -> Result<(Vec<Duration>, usize)> {
    let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let ask = || -> Result<()> {
            let mut caller = Caller::connect(server, &keys[1])?;
            while !is_over.load(Ordering::Relaxed) {
                caller.times(costly, 1)?;
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let asking: Vec<_> = (0..connections).map(|_| scope.spawn(ask)).collect();
        let times = Caller::connect(server, &keys[0]).and_then(|mut it| it.times(cheap, CALLS));
        is_over.store(true, Ordering::Relaxed);
        for asked in asking {
            asked.join().map_err(|_| anyhow::anyhow!("a caller broke off"))??;
        }
        Ok((times?, answered.load(Ordering::Relaxed)))
    })
}

/// Words that are in both libraries.
fn words() -> Result<Vec<String>> {
    let mut passages = Text::Invented.parts(5)?.remove(0);
    let mut words: Vec<String> = Vec::new();
    while words.len() < WORDS {
        let title = passages.next().context("no text")?.title;
        words.extend(title.split_whitespace().map(ToOwned::to_owned));
    }
    words.truncate(WORDS);
    Ok(words)
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments } })
}

/// The release build, which lies beside this bench.
fn program() -> Result<Command> {
    let own = std::env::current_exe()?;
    let release = own.parent().and_then(Path::parent).context("no folder for releases")?;
    let program = release.join("vademecum");
    ensure!(program.exists(), "run `cargo build --release` first");
    Ok(Command::new(program))
}

/// Adds a user and makes a key.
fn key(data: &Path, user: &str) -> Result<String> {
    let run = |arguments: &[&str]| -> Result<String> {
        let done = program()?.args(arguments).arg("--data").arg(data).output()?;
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    };
    run(&["user", "add", user])?;
    run(&["key", "create", "--user", user])
}

/// A server in a process of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(data: &Path) -> Result<Self> {
        let settings = data.join("fairness.toml");
        let unlimited = "[auth]\nmode = \"multi\"\n[limits]\nrequests_per_minute = 0\n\
                         calls_per_tool_per_minute = 0\n";
        std::fs::write(&settings, unlimited)?;
        let mut child = program()?
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .arg("--config")
            .arg(settings)
            .stderr(Stdio::piped())
            .spawn()?;
        let mut log = BufReader::new(child.stderr.take().context("no log")?);
        let mut line = String::new();
        log.read_line(&mut line)?;
        // Whoever logs must find somebody who reads.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let address = line.trim().strip_prefix("listening on http://").context("not listening")?;
        Ok(Self { address: address.trim_end_matches("/mcp").to_owned(), child })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Somebody who calls over one connection.
struct Caller {
    head: String,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Caller {
    fn connect(server: &Server, key: &str) -> Result<Self> {
        let stream = TcpStream::connect(&server.address)?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\n\
             accept: application/json\r\ncontent-length: ",
            server.address
        );
        Ok(Self { head, reader: BufReader::new(stream.try_clone()?), stream })
    }

    /// Calls so many times, and tells how long each took.
    fn times(&mut self, call: &Value, count: usize) -> Result<Vec<Duration>> {
        let body = call.to_string();
        let message = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let began = Instant::now();
            self.stream.write_all(message.as_bytes())?;
            let mut length = 0;
            loop {
                let mut line = String::new();
                ensure!(self.reader.read_line(&mut line)? > 0, "the server hung up");
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse()?;
                }
                if line == "\r\n" {
                    break;
                }
            }
            let mut answer = vec![0; length];
            self.reader.read_exact(&mut answer)?;
            times.push(began.elapsed());
            let answer: Value = serde_json::from_slice(&answer)?;
            ensure!(answer["result"]["isError"] == false, "{answer}");
        }
        Ok(times)
    }
}
