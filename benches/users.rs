//! Many users on disk, few of them active: what the server has in memory and open,
//! and how soon a user is answered whom it has not seen since it started.
//!
//! One library is filled and copied for every user. One in a hundred asks a search,
//! each on a connection of their own, and then the same once more. Beside it, on
//! other users' files: opening the three files plainly and asking the five `bm25()`
//! statements one after the other, which is the least that a first answer takes.
//!
//! `cargo bench -p vademecum-benches --bench users -- --users 10000`

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::json;
use vademecum_benches::{
    DEPTH, Figures, Http, Plain, Program, STATEMENTS, Sample, Sizes, Text, bench_or_program, fill,
    users,
};
use vademecum_kit::{retrieve::FtsQuery, store::Database};

/// Passages in the library of each user.
const PASSAGES: usize = 100;
/// One user in so many is active.
const ACTIVE: usize = 100;
/// What is asked.
const QUESTION: &str = "first things that anybody may have written";

#[derive(Clone, Debug, Parser)]
struct Options {
    /// Users on disk; a library takes about 2 MB.
    #[arg(long, default_value_t = 1_000)]
    users: usize,
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
    let library = |number: usize| folder.path().join(format!("users/user{number}"));
    let began = Instant::now();
    fill(&library(0), &Text::Invented, Sizes::of(PASSAGES), &mut Sample::of(PASSAGES))?;
    for number in 1..options.users {
        fs::create_dir_all(library(number))?;
        for database in [Database::Chacha, Database::Media, Database::Prompts] {
            let name = database.file_name();
            fs::copy(library(0).join(name), library(number).join(name))?;
        }
    }
    let active = (options.users / ACTIVE).max(1);
    let spread = |number: usize| number * options.users / active;
    let names: Vec<String> = (0..active).map(|it| format!("user{}", spread(it))).collect();
    let headers = users(folder.path(), &names)?;
    println!(
        "{} users on disk, in {:.0} s; {active} of them active",
        options.users,
        began.elapsed().as_secs_f64()
    );

    let program = Program::serve(folder.path(), "")?;
    let process = program.process();
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": QUESTION } } })
    .to_string();
    // What everybody needs once is no user's.
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let first = headers.first().context("a user")?;
    ensure!(Http::connect(program.address(), first)?.ask(&ping)?.0 == 200, "it answers");
    let (memory, files) = (process.resident()?, process.open_files()?);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for (number, header) in headers.iter().enumerate() {
        let mut line = Http::connect(program.address(), header)?;
        for times in times.iter_mut().take(2) {
            let began = Instant::now();
            let (status, answer) = line.ask(&question)?;
            times.push(began.elapsed());
            ensure!(status == 200 && answer.contains("\"isError\":false"), "{status} {answer}");
        }
        // A neighbour, whose files nobody has opened.
        let neighbour = library((spread(number) + 1).min(options.users - 1));
        let began = Instant::now();
        let query = FtsQuery::parse(QUESTION);
        for database in [Database::Chacha, Database::Media, Database::Prompts] {
            let plain = Plain::open(&neighbour.join(database.file_name()))?;
            for statements in STATEMENTS.iter().filter(|it| it.database == database) {
                plain.best(statements.best, &query.expression(), DEPTH)?;
            }
        }
        times[2].push(began.elapsed());
    }
    let (memory_after, files_after) = (process.resident()?, process.open_files()?);
    let each = |before: u64, after: u64| after.saturating_sub(before) / active as u64;
    let [cold, warm, plain] = times.map(Figures::of);
    let memory_each = each(memory, memory_after);
    let files_each = each(files as u64, files_after as u64);
    println!("  first search of a user  {:>9.0} µs median {:>9.0} µs p99", cold.median, cold.p99);
    println!("  the same once more      {:>9.0} µs median {:>9.0} µs p99", warm.median, warm.p99);
    println!("  plain, files and all    {:>9.0} µs median {:>9.0} µs p99", plain.median, plain.p99);
    println!("  the first costs {:.2} times the plain one", cold.to(plain));
    println!(
        "  memory {} kB, then {} kB: {} kB for each active user; open files {files}, then \
         {files_after}: {files_each} each",
        memory / 1_000,
        memory_after / 1_000,
        memory_each / 1_000,
    );
    if let Some(path) = &options.json {
        let all = json!({ "bench": "users", "users": options.users, "active": active,
            "unit": "microseconds on the clock", "cold": cold, "warm": warm, "plain": plain,
            "cold_to_plain": cold.to(plain), "bytes_before": memory, "bytes_after": memory_after,
            "bytes_each": memory_each, "files_before": files, "files_after": files_after });
        fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}
