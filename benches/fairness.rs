//! How much one user's expensive queries delay another's cheap ones.
//!
//! One server for both, a process of its own. The cheap user looks for a title among
//! 2,000 notes over one connection, first alone and then beside the expensive one, who
//! asks for as many words as a query may have, over all sources, from several
//! connections at once; again and again. Prints what 50 and 99 of 100 cheap
//! calls do not exceed, and the ratio of the same run.
//!
//! `cargo bench -p vademecum-benches --bench fairness -- --json fairness.json`

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum_benches::{
    Figures, Http, Program, Sample, Sizes, Text, bench_or_program, fill, users,
};

/// Calls of one measurement.
const CALLS: usize = 200;
/// Measurements alone and beside, in turn; all calls of a kind count together. Many short
/// ones: what else the machine does meets both.
const ROUNDS: usize = 15;
/// Words of the expensive query: with more it would be read as a text.
const WORDS: usize = 32;
const CHEAP: Sizes =
    Sizes { notes: 2_000, media: 200, messages: 2_000, characters: 20, prompts: 50 };

#[derive(Debug, Parser)]
struct Options {
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

fn main() -> ExitCode {
    bench_or_program(|| measure(&Options::parse()))
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let notes = options.notes;
    let expensive = Sizes { notes, media: notes, messages: notes, ..CHEAP };
    let names = ["cheap", "expensive"].map(str::to_owned);
    for (name, sizes) in names.iter().zip([CHEAP, expensive]) {
        let library = folder.path().join("users").join(name);
        fill(&library, &Text::Invented, sizes, &mut Sample::of(1))?;
    }
    let headers = users(folder.path(), &names)?;
    let [cheap_user, expensive_user] = headers.as_slice() else { bail!("two users") };
    let program = Program::serve(
        folder.path(),
        "[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n",
    )?;
    let both = Both { address: program.address(), cheap_user, expensive_user };
    let words = words()?;
    let title = words.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
    let cheap = call("notes.search", &json!({ "query": title, "limit": 5 }));
    let costly = call("knowledge.search", &json!({ "query": words.join(" "), "limit": 100 }));
    let (mut alone, mut beside, mut costs) = (Vec::new(), Vec::new(), 0);
    // What is first asked is read from the disk.
    both.times(&cheap)?;
    times(&mut both.expensive()?, &costly, 3)?;
    for _ in 0..ROUNDS {
        alone.extend(both.times(&cheap)?);
        let (times, answered) = both.together(&cheap, &costly, options.connections)?;
        beside.extend(times);
        costs += answered;
    }
    let (alone, beside) = (Figures::of(alone), Figures::of(beside));
    let ratio = beside.p99 / alone.p99;
    println!(
        "a cheap call, µs ({ROUNDS} times {CALLS}; {} expensive connections)",
        options.connections
    );
    println!("  alone   p50 {:>9.1}   p99 {:>9.1}", alone.median, alone.p99);
    println!("  beside  p50 {:>9.1}   p99 {:>9.1}", beside.median, beside.p99);
    println!("  p99 is {ratio:.2} times as much; at most 2 times wanted");
    println!("  expensive calls answered meanwhile: {costs}");
    if let Some(path) = &options.json {
        let all = json!({ "alone_us": alone, "beside_us": beside, "p99_ratio": ratio,
            "connections": options.connections, "notes": notes, "expensive_answers": costs });
        std::fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}

/// The two users, each with the header that lets them in.
struct Both<'a> {
    address: &'a str,
    cheap_user: &'a str,
    expensive_user: &'a str,
}

impl Both<'_> {
    /// The times of cheap calls over one connection that has been used once.
    fn times(&self, cheap: &str) -> Result<Vec<Duration>> {
        let mut line = Http::connect(self.address, self.cheap_user)?;
        times(&mut line, cheap, 1)?;
        times(&mut line, cheap, CALLS)
    }

    fn expensive(&self) -> Result<Http> {
        Http::connect(self.address, self.expensive_user)
    }

    /// The times of cheap calls while expensive ones are made, and how many of those
    /// were answered.
    fn together(
        &self,
        cheap: &str,
        costly: &str,
        connections: usize,
    ) -> Result<(Vec<Duration>, usize)> {
        let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let ask = || -> Result<()> {
                let mut line = self.expensive()?;
                while !is_over.load(Ordering::Relaxed) {
                    times(&mut line, costly, 1)?;
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            };
            let asking: Vec<_> = (0..connections).map(|_| scope.spawn(ask)).collect();
            while answered.load(Ordering::Relaxed) == 0
                && !asking.iter().all(ScopedJoinHandle::is_finished)
            {
                thread::sleep(Duration::from_millis(1));
            }
            answered.store(0, Ordering::Relaxed);
            let taken = self.times(cheap);
            is_over.store(true, Ordering::Relaxed);
            for asked in asking {
                asked.join().map_err(|_| anyhow::anyhow!("a caller broke off"))??;
            }
            Ok((taken?, answered.load(Ordering::Relaxed)))
        })
    }
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

fn call(tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Calls so many times over one connection, and tells how long each took.
fn times(line: &mut Http, call: &str, count: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        let (status, answer) = line.ask(call)?;
        times.push(began.elapsed());
        ensure!(status == 200, "status {status}: {answer}");
        // Reading it would take time from the other callers.
        ensure!(answer.contains(r#""isError":false"#), "{answer}");
    }
    Ok(times)
}
