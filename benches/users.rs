//! Memory, open files and first response time of a server with many users, few of them active.
//!
//! One library is filled and copied for every user. One user in a hundred runs a search over a new
//! connection, and then the same again. For comparison, on the files of other users: opening the
//! three files and running the five `bm25()` statements one after the other, which is the minimum
//! for a first response.
//!
//! `cargo bench -p vademecum-benches --bench users -- --users 10000`

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::json;
use vademecum_benches::{
    CommonOptions, Fts5Baseline, HttpClient, LibrarySizes, PassageSample, RANK_DEPTH,
    SOURCE_STATEMENTS, ServerProcess, TextSource, TimingSummary, create_users, fill_library,
    run_bench_or_program,
};
use vademecum_fts5::exact_token;
use vademecum_store::Database;

/// Passages per library.
const PASSAGES: usize = 100;
/// One user in this many is active.
const USERS_PER_ACTIVE: usize = 100;
/// The query.
const QUERY: &str = "first things that anybody may have written";

#[derive(Clone, Debug, Parser)]
struct Options {
    /// Number of users; a library takes about 2 MB on disk.
    #[arg(long, default_value_t = 1_000)]
    users: usize,
    #[command(flatten)]
    common: CommonOptions,
}

fn main() -> ExitCode {
    run_bench_or_program(|| measure(&Options::parse()))
}

/// Returns the folder of a user's library.
fn library_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("users/user{number}"))
}

/// Fills the library of the first user and copies it for the others.
fn create_libraries(folder: &Path, users: usize) -> Result<()> {
    let library = |number| library_folder(folder, number);
    fill_library(
        &library(0),
        &TextSource::Synthetic,
        LibrarySizes::for_total(PASSAGES),
        &mut PassageSample::for_rows(PASSAGES),
    )?;
    for number in 1..users {
        fs::create_dir_all(library(number))?;
        for database in [Database::Chacha, Database::Media, Database::Prompts] {
            let name = database.file_name();
            fs::copy(library(0).join(name), library(number).join(name))?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let began = Instant::now();
    create_libraries(folder.path(), options.users)?;
    let active = (options.users / USERS_PER_ACTIVE).max(1);
    let spread = |number: usize| number * options.users / active;
    let names: Vec<String> = (0..active).map(|it| format!("user{}", spread(it))).collect();
    let headers = create_users(folder.path(), &names)?;
    println!(
        "{} users on disk, in {:.0} s; {active} of them active",
        options.users,
        began.elapsed().as_secs_f64()
    );

    let program = ServerProcess::start(folder.path(), "")?;
    let process = program.process();
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": QUERY } } })
    .to_string();
    // Excludes the cost of the first request, which is not specific to a user.
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let first = headers.first().context("a user")?;
    ensure!(
        HttpClient::connect(program.address(), first)?.send_request(&ping)?.0 == 200,
        "the server does not respond"
    );
    let (memory_before, files) = (process.resident_bytes()?, process.count_open_files()?);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for (number, header) in headers.iter().enumerate() {
        let mut line = HttpClient::connect(program.address(), header)?;
        for times in times.iter_mut().take(2) {
            let began = Instant::now();
            let (status, answer) = line.send_request(&question)?;
            times.push(began.elapsed());
            ensure!(status == 200 && answer.contains("\"isError\":false"), "{status} {answer}");
        }
        // A neighbouring user, whose files have not been opened.
        let neighbour = library_folder(folder.path(), (spread(number) + 1).min(options.users - 1));
        let began = Instant::now();
        let words = QUERY.split_whitespace().map(|word| format!("\"{}\"", exact_token(word)));
        let expression = words.collect::<Vec<_>>().join(" OR ");
        for database in [Database::Chacha, Database::Media, Database::Prompts] {
            let plain = Fts5Baseline::open(&neighbour.join(database.file_name()))?;
            for statements in SOURCE_STATEMENTS.iter().filter(|it| it.database == database) {
                plain.best_rows(statements.best_sql, &expression, RANK_DEPTH)?;
            }
        }
        times[2].push(began.elapsed());
    }
    let (memory_after, files_after) = (process.resident_bytes()?, process.count_open_files()?);
    let each = |before: u64, after: u64| after.saturating_sub(before) / active as u64;
    let [cold, warm, plain] = times.map(TimingSummary::from_durations);
    let memory_each = each(memory_before, memory_after);
    let files_each = each(files as u64, files_after as u64);
    println!("  first search of a user  {:>9.0} µs median {:>9.0} µs p99", cold.median, cold.p99);
    println!("  the same once more      {:>9.0} µs median {:>9.0} µs p99", warm.median, warm.p99);
    println!("  plain, files and all    {:>9.0} µs median {:>9.0} µs p99", plain.median, plain.p99);
    println!("  the first costs {:.2} times the plain one", cold.ratio_to(plain));
    println!(
        "  memory {} kB, then {} kB: {} kB for each active user; open files {files}, then \
         {files_after}: {files_each} each",
        memory_before / 1_000,
        memory_after / 1_000,
        memory_each / 1_000,
    );
    options.common.write_results(
        &json!({ "bench": "users", "users": options.users, "active": active,
            "unit": "microseconds on the clock", "cold": cold, "warm": warm, "plain": plain,
            "cold_to_plain": cold.ratio_to(plain),
            "bytes_before": memory_before, "bytes_after": memory_after, "bytes_each": memory_each,
            "files_before": files, "files_after": files_after }),
    )
}
