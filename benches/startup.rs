//! How soon `vademecum mcp` answers: the handshake, and the first hit after it.
//!
//! Starts the program anew for every run, as a desktop client does, on a warm
//! library of 2,000 notes. Prints the median and the slowest of 30 runs, and
//! beside them how long the machine takes to start a program that does nothing.
//!
//! `cargo build --release && cargo bench -p vademecum-benches --bench startup`

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use vademecum_benches::{Sample, Sizes, Text, fill};

const RUNS: usize = 30;
const SIZES: Sizes =
    Sizes { notes: 2_000, media: 200, messages: 2_000, characters: 20, prompts: 50 };

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let program = program()?;
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("users/local");
    fill(&library, &Text::Invented, SIZES, &mut Sample::of(1))?;
    let query = query()?;
    let (mut nothing, mut handshakes, mut hits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let began = Instant::now();
        Command::new("true").status()?;
        nothing.push(began.elapsed());
        let (handshake, hit) = run(&program, folder.path(), &query)?;
        handshakes.push(handshake);
        hits.push(hit);
    }
    for (what, times) in
        [("start `true`", nothing), ("initialize", handshakes), ("first hits after it", hits)]
    {
        let (median, slowest) = summary(times);
        println!("{what:20} {median:>8.1} ms median {slowest:>8.1} ms slowest of {RUNS}");
    }
    Ok(())
}

/// Words that are in the library: those of a title.
fn query() -> Result<String> {
    Ok(Text::Invented.parts(5)?.remove(0).next().context("no text")?.title)
}

/// The release build, which lies beside this bench.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let release = own.parent().and_then(Path::parent).context("no folder for releases")?;
    let program = release.join("vademecum");
    anyhow::ensure!(program.exists(), "run `cargo build --release` first");
    Ok(program)
}

/// Time until the handshake is answered, and from there until the first hits.
fn run(program: &Path, data: &Path, query: &str) -> Result<(Duration, Duration)> {
    let began = Instant::now();
    let mut child = Command::new(program)
        .arg("mcp")
        .arg("--data")
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    let mut output = BufReader::new(child.stdout.take().context("no output")?);
    let mut line = String::new();
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}}}"#
    )?;
    output.read_line(&mut line)?;
    let handshake = began.elapsed();
    let began = Instant::now();
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"knowledge.search","arguments":{{"query":"{query}"}}}}}}"#
    )?;
    line.clear();
    output.read_line(&mut line)?;
    let hits = began.elapsed();
    anyhow::ensure!(line.contains("score_type"), "there are hits: {line}");
    drop(input);
    child.wait()?;
    Ok((handshake, hits))
}

/// The middle one and the slowest, in milliseconds.
fn summary(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    (at(times.len() / 2), at(times.len() - 1))
}
