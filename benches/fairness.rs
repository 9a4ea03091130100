//! The delay of one user's cheap queries by another user's expensive ones.
//!
//! Both users share one server process. The cheap user searches 2,000 notes for a title over one
//! connection, first alone and then while the expensive user searches all sources for the maximum
//! number of words over several connections; repeatedly. Prints the median and 99th percentile of
//! the cheap calls and the ratio within the same run.
//!
//! `cargo bench -p vademecum-benches --bench fairness -- --json fairness.json`

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum_benches::{
    CommonOptions, HttpClient, LibrarySizes, PassageSample, ServerProcess, TextSource,
    TimingSummary, create_users, fill_library, run_bench_or_program,
};

/// Number of calls per measurement.
const CALLS: usize = 200;
/// Number of alternating measurements, alone and under load. Many short ones distribute other load
/// of the machine over both.
const ROUNDS: usize = 15;
/// Number of words in the expensive query. With more words it would be treated as a text.
const QUERY_WORDS: usize = 32;
const CHEAP_SIZES: LibrarySizes =
    LibrarySizes { notes: 2_000, media: 200, messages: 2_000, characters: 20, prompts: 50 };

#[derive(Debug, Parser)]
struct Options {
    /// Number of concurrent connections of the expensive user.
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Notes of the expensive user, and equal numbers of media and messages.
    #[arg(long, default_value_t = 50_000)]
    notes: usize,
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> ExitCode {
    run_bench_or_program(|| measure(&Options::parse()))
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let notes = options.notes;
    let expensive = LibrarySizes { notes, media: notes, messages: notes, ..CHEAP_SIZES };
    let names = ["cheap", "expensive"].map(str::to_owned);
    for (name, sizes) in names.iter().zip([CHEAP_SIZES, expensive]) {
        let library = folder.path().join("users").join(name);
        fill_library(&library, &TextSource::Synthetic, sizes, &mut PassageSample::for_rows(1))?;
    }
    let headers = create_users(folder.path(), &names)?;
    let [cheap_user, expensive_user] = headers.as_slice() else { bail!("two users") };
    let program = ServerProcess::start(
        folder.path(),
        "[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n",
    )?;
    let both = UserPair { address: program.address(), cheap_user, expensive_user };
    let words = shared_words()?;
    let title = words.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
    let cheap = tool_call("notes.search", &json!({ "query": title, "limit": 5 }));
    let costly = tool_call("knowledge.search", &json!({ "query": words.join(" "), "limit": 100 }));
    let (mut alone, mut beside, mut costs) = (Vec::new(), Vec::new(), 0);
    // The first calls load the data from disk.
    both.time_cheap_calls(&cheap)?;
    time_calls(&mut both.connect_expensive()?, &costly, 3)?;
    for _ in 0..ROUNDS {
        alone.extend(both.time_cheap_calls(&cheap)?);
        let (times, answered) =
            both.time_cheap_calls_under_load(&cheap, &costly, options.connections)?;
        beside.extend(times);
        costs += answered;
    }
    let (alone, beside) =
        (TimingSummary::from_durations(alone), TimingSummary::from_durations(beside));
    let ratio = beside.p99 / alone.p99;
    println!(
        "a cheap call, µs ({ROUNDS} times {CALLS}; {} expensive connections)",
        options.connections
    );
    println!("  alone   p50 {:>9.1}   p99 {:>9.1}", alone.median, alone.p99);
    println!("  beside  p50 {:>9.1}   p99 {:>9.1}", beside.median, beside.p99);
    println!("  p99 under load is {ratio:.2} times as much; target: at most 2 times");
    println!("  expensive calls answered meanwhile: {costs}");
    options
        .common
        .write_results(&json!({ "alone_us": alone, "beside_us": beside, "p99_ratio": ratio,
            "connections": options.connections, "notes": notes, "expensive_answers": costs }))
}

/// The authorization headers of the two users.
struct UserPair<'a> {
    address: &'a str,
    cheap_user: &'a str,
    expensive_user: &'a str,
}

impl UserPair<'_> {
    /// Measures cheap calls over one warmed-up connection.
    fn time_cheap_calls(&self, cheap: &str) -> Result<Vec<Duration>> {
        let mut line = HttpClient::connect(self.address, self.cheap_user)?;
        time_calls(&mut line, cheap, 1)?;
        time_calls(&mut line, cheap, CALLS)
    }

    fn connect_expensive(&self) -> Result<HttpClient> {
        HttpClient::connect(self.address, self.expensive_user)
    }

    /// Measures cheap calls while expensive ones run. Also returns the number of expensive calls
    /// completed.
    fn time_cheap_calls_under_load(
        &self,
        cheap: &str,
        costly: &str,
        connections: usize,
    ) -> Result<(Vec<Duration>, usize)> {
        let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let request = || -> Result<()> {
                let mut line = self.connect_expensive()?;
                while !is_over.load(Ordering::Relaxed) {
                    time_calls(&mut line, costly, 1)?;
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            };
            let asking: Vec<_> = (0..connections).map(|_| scope.spawn(request)).collect();
            while answered.load(Ordering::Relaxed) == 0
                && !asking.iter().all(ScopedJoinHandle::is_finished)
            {
                thread::sleep(Duration::from_millis(1));
            }
            answered.store(0, Ordering::Relaxed);
            let taken = self.time_cheap_calls(cheap);
            is_over.store(true, Ordering::Relaxed);
            for caller in asking {
                caller.join().map_err(|_| anyhow::anyhow!("a caller panicked"))??;
            }
            Ok((taken?, answered.load(Ordering::Relaxed)))
        })
    }
}

/// Returns words that occur in both libraries.
fn shared_words() -> Result<Vec<String>> {
    let mut passages = TextSource::Synthetic.split(5)?.remove(0);
    let mut words: Vec<String> = Vec::new();
    while words.len() < QUERY_WORDS {
        let title = passages.next().context("no text")?.title;
        words.extend(title.split_whitespace().map(ToOwned::to_owned));
    }
    words.truncate(QUERY_WORDS);
    Ok(words)
}

fn tool_call(tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Makes `count` calls over one connection and returns the time of each.
fn time_calls(line: &mut HttpClient, call: &str, count: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        let (status, answer) = line.send_request(call)?;
        times.push(began.elapsed());
        ensure!(status == 200, "status {status}: {answer}");
        // Parsing the result would take CPU time from the other callers.
        ensure!(answer.contains(r#""isError":false"#), "{answer}");
    }
    Ok(times)
}
