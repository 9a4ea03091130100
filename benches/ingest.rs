//! What it costs to bring in a folder of Markdown, beside putting the same text
//! into a plain FTS5 table.
//!
//! Files are written into a temporary folder. The program itself brings them in
//! as notes, in a process of its own, and then once more unchanged; a second
//! process reads the same files one after the other and inserts each as one row
//! of a plain FTS5 table, 500 to a transaction, with no parsing, no keywords, no
//! ledger and SQLite's own tokenizer. Prints what each cost on the processor, how
//! fast it was, and how much memory it took at most.
//!
//! `cargo bench -p vademecum-benches --bench ingest`

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::json;
use vademecum_benches::{Options, Report, Text};
use walkdir::WalkDir;

/// Files, and bytes of all of them together.
const SIZES: [(usize, usize); 2] = [(2_000, 22_000_000), (5_000, 40_000_000)];
/// Rows of the plain table that are inserted in one transaction.
const BATCH: usize = 500;

fn main() -> ExitCode {
    // The first word says which side a process is; `import` is what the program
    // itself is told.
    let done = match env::args().nth(1).as_deref() {
        Some("import") => ours(),
        Some("plain") => plain(),
        _ => compare().map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        complain(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// What a process cost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Cost {
    /// Seconds on the processor, of all threads.
    cpu_s: f64,
    /// Seconds on the clock.
    elapsed_s: f64,
    /// Most memory at once, in bytes.
    peak_bytes: u64,
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn compare() -> Result<()> {
    let options = Options::read();
    let mut report = Report::new("ingest");
    for (files, bytes) in SIZES {
        let folder = tempfile::tempdir()?;
        let text = folder.path().join("text");
        let written = write(&options.text(), &text, files, bytes)?;
        let (data, table) = (folder.path().join("data"), folder.path().join("plain.db"));
        let import = ["import", "notes", path(&text)?, "--data", path(&data)?];
        let first = run(&import)?;
        let again = run(&import)?;
        let plain = run(&["plain", path(&text)?, path(&table)?])?;
        let megabytes = f64::from(u32::try_from(written)?) / 1e6;
        println!("\n{files} files, {megabytes:.1} MB");
        for (who, cost) in [("ours", first), ("ours again", again), ("plain FTS5", plain)] {
            println!(
                "  {who:12} {:6.2} CPU s  {:6.2} s  {:6.1} MB/s  {:5} MB at most",
                cost.cpu_s,
                cost.elapsed_s,
                megabytes / cost.elapsed_s,
                cost.peak_bytes / 1_000_000,
            );
        }
        println!("  ours to plain: {:.2} times the CPU", first.cpu_s / plain.cpu_s);
        report.add(json!({
            "files": files, "bytes": written, "ours": first, "again": again, "plain": plain,
            "cpu_ratio": first.cpu_s / plain.cpu_s,
        }));
    }
    report.write(&options)
}

/// Writes Markdown files of about the same size.
fn write(text: &Text, folder: &Path, files: usize, bytes: usize) -> Result<usize> {
    let mut passages = text.whole()?;
    let mut written = 0;
    for number in 0..files {
        let mut file = String::new();
        let wanted = bytes / files;
        while file.len() < wanted {
            let passage = passages.next().context("there is not enough text")?;
            let level = if file.is_empty() { "#" } else { "##" };
            write!(file, "{level} {}\n\n{}\n\n", passage.title, passage.body)?;
        }
        let place = folder.join(format!("{}/{number}.md", number % 50));
        fs::create_dir_all(place.parent().context("a folder")?)?;
        fs::write(place, &file)?;
        written += file.len();
    }
    Ok(written)
}

/// Runs one side in a process of its own.
fn run(arguments: &[&str]) -> Result<Cost> {
    let mut command = Command::new(env::current_exe()?);
    let output = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let said = String::from_utf8(output.stderr)?;
    if !output.status.success() {
        bail!("{arguments:?}: {said}");
    }
    Ok(serde_json::from_str(said.lines().last().unwrap_or_default())?)
}

/// The program, as it is started on the command line.
fn ours() -> Result<ExitCode> {
    let begun = Instant::now();
    let code = vademecum::cli::main();
    tell(begun)?;
    Ok(code)
}

/// As little as possible: one table, one row for each file.
#[expect(clippy::disallowed_methods, reason = "a plain table is no store")]
fn plain() -> Result<ExitCode> {
    let begun = Instant::now();
    let paths: Vec<PathBuf> = env::args().skip(2).map(PathBuf::from).collect();
    let [text, table] = paths.as_slice() else { bail!("a folder and a table") };
    let mut connection = Connection::open(table)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.execute_batch("CREATE VIRTUAL TABLE plain USING fts5 (title, content)")?;
    let found = WalkDir::new(text).sort_by_file_name().into_iter();
    let files: Vec<_> =
        found.filter_map(Result::ok).filter(|it| it.file_type().is_file()).collect();
    for batch in files.chunks(BATCH) {
        let transaction = connection.transaction()?;
        for file in batch {
            let content = fs::read_to_string(file.path())?;
            transaction
                .prepare_cached("INSERT INTO plain (title, content) VALUES (?1, ?2)")?
                .execute(params![file.file_name().to_string_lossy(), content])?;
        }
        transaction.commit()?;
    }
    tell(begun)?;
    Ok(ExitCode::SUCCESS)
}

/// Tells the parent what this process cost.
fn tell(begun: Instant) -> Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| -> Result<f64> { Ok(fields.get(place).context("ticks")?.parse()?) };
    // Fields 14 and 15 of the whole line; the name in braces is the second.
    let cpu_s = (ticks(12)? + ticks(13)?)
        / f64::from(u32::try_from(rustix::param::clock_ticks_per_second())?);
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak")?;
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    let cost = Cost { cpu_s, elapsed_s: begun.elapsed().as_secs_f64(), peak_bytes: peak * 1_024 };
    complain(&serde_json::to_string(&cost)?);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "this is how the parent is told")]
fn complain(text: &str) {
    eprintln!("{text}");
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is text")
}
