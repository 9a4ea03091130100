//! The startup time of `vademecum mcp`: the handshake, and the first hits after it.
//!
//! Starts the program for every run, as a desktop client does, on a library of 2,000 notes in the
//! page cache. Prints the median and the slowest of 30 runs, and for comparison the time to start a
//! program that does nothing.
//!
//! `cargo build --release && cargo bench -p vademecum-benches --bench startup`

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use vademecum_benches::{LibrarySizes, PassageSample, TextSource, fill_library};

const RUNS: usize = 30;
const SIZES: LibrarySizes =
    LibrarySizes { notes: 2_000, media: 200, messages: 2_000, characters: 20, prompts: 50 };

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let program = release_program()?;
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("users/local");
    fill_library(&library, &TextSource::Synthetic, SIZES, &mut PassageSample::for_rows(1))?;
    let query = title_query()?;
    let (mut nothing, mut handshakes, mut hits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let began = Instant::now();
        Command::new("true").status()?;
        nothing.push(began.elapsed());
        let (handshake, hit) = time_startup(&program, folder.path(), &query)?;
        handshakes.push(handshake);
        hits.push(hit);
    }
    for (what, times) in
        [("start `true`", nothing), ("initialize", handshakes), ("first hits after it", hits)]
    {
        let (median, slowest) = median_and_slowest(times);
        println!("{what:20} {median:>8.1} ms median {slowest:>8.1} ms slowest of {RUNS}");
    }
    Ok(())
}

/// Returns words that are in the library: those of a title.
fn title_query() -> Result<String> {
    Ok(TextSource::Synthetic.split(5)?.remove(0).next().context("no text")?.title)
}

/// Returns the release build, which is in the parent folder of this bench.
fn release_program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let release = own.parent().and_then(Path::parent).context("the bench has no release folder")?;
    let program = release.join("vademecum");
    anyhow::ensure!(program.exists(), "run `cargo build --release` first");
    Ok(program)
}

/// Returns the time until the handshake is answered, and from there until the first hits.
fn time_startup(program: &Path, data: &Path, query: &str) -> Result<(Duration, Duration)> {
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
    anyhow::ensure!(line.contains("score_type"), "no hits: {line}");
    drop(input);
    child.wait()?;
    Ok((handshake, hits))
}

/// Returns the median and the slowest time, in milliseconds.
fn median_and_slowest(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    (at(times.len() / 2), at(times.len() - 1))
}
