//! The cost of importing a folder of Markdown, compared with inserting the same text into a plain
//! FTS5 table.
//!
//! Files are written to a temporary folder. The program imports them as notes in a separate
//! process, and then again unchanged. Another process reads the same files sequentially and inserts
//! each as one row of a plain FTS5 table, 500 per transaction, without parsing, keywords and import
//! records, with SQLite's own tokenizer. Prints the CPU time, the throughput and the peak memory of
//! each, and the size of the data folder.
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
use vademecum_benches::{Options, Report, TextSource};
use walkdir::WalkDir;

/// Numbers of files and their total sizes in bytes.
const SIZES: [(usize, usize); 2] = [(2_000, 22_000_000), (5_000, 40_000_000)];
/// Rows per transaction in the plain table.
const ROWS_PER_TRANSACTION: usize = 500;

fn main() -> ExitCode {
    // The first argument selects the side of a child process; `import` and `reader`, a child of it,
    // are commands of the program itself.
    let done = match env::args().nth(1).as_deref() {
        Some("import") => run_import(),
        Some("reader") => Ok(vademecum::cli::main()),
        Some("plain") => run_plain(),
        _ => compare().map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        print_to_stderr(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// The cost of a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ProcessCost {
    /// CPU time of all threads and of child processes, in seconds.
    cpu_s: f64,
    /// Wall-clock time, in seconds.
    elapsed_s: f64,
    /// Peak resident memory, in bytes.
    peak_bytes: u64,
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn compare() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("ingest");
    for (files, bytes) in SIZES {
        let folder = tempfile::tempdir()?;
        let text = folder.path().join("text");
        let written = write_files(&options.text(), &text, files, bytes)?;
        let (data, table) = (folder.path().join("data"), folder.path().join("plain.db"));
        let import = ["import", "notes", path_str(&text)?, "--data", path_str(&data)?];
        let first = run_child(&import)?;
        let again = run_child(&import)?;
        let plain = run_child(&["plain", path_str(&text)?, path_str(&table)?])?;
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
        let stored = f64::from(u32::try_from(folder_bytes(&data)?)?) / 1e6;
        println!("  ours to plain: {:.2} times the CPU", first.cpu_s / plain.cpu_s);
        println!("  library: {stored:.1} MB, {:.2} times the text", stored / megabytes);
        report.add_entry(json!({
            "files": files, "bytes": written, "ours": first, "again": again, "plain": plain,
            "cpu_ratio": first.cpu_s / plain.cpu_s, "size_ratio": stored / megabytes,
        }));
    }
    report.write(&options)
}

/// Writes Markdown files of about equal size. Returns their total size in bytes.
fn write_files(text: &TextSource, folder: &Path, files: usize, bytes: usize) -> Result<usize> {
    let mut passages = text.all_passages()?;
    let mut written = 0;
    for number in 0..files {
        let mut file = String::new();
        let file_bytes = bytes / files;
        while file.len() < file_bytes {
            let passage = passages.next().context("not enough text for the files")?;
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

/// Returns the total size of the files of a folder, in bytes.
fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in WalkDir::new(folder) {
        let about = entry?.metadata()?;
        bytes += if about.is_file() { about.len() } else { 0 };
    }
    Ok(bytes)
}

/// Runs one side in a child process.
fn run_child(arguments: &[&str]) -> Result<ProcessCost> {
    let mut command = Command::new(env::current_exe()?);
    let output = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let output_text = String::from_utf8(output.stderr)?;
    if !output.status.success() {
        bail!("{arguments:?}: {output_text}");
    }
    Ok(serde_json::from_str(output_text.lines().last().unwrap_or_default())?)
}

/// Runs the program as from the command line.
fn run_import() -> Result<ExitCode> {
    let begun = Instant::now();
    let code = vademecum::cli::main();
    report_cost(begun)?;
    Ok(code)
}

/// Inserts one row per file into one table, the minimum work.
#[expect(clippy::disallowed_methods, reason = "a plain table is no store")]
fn run_plain() -> Result<ExitCode> {
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
    for batch in files.chunks(ROWS_PER_TRANSACTION) {
        let transaction = connection.transaction()?;
        for file in batch {
            let content = fs::read_to_string(file.path())?;
            transaction
                .prepare_cached("INSERT INTO plain (title, content) VALUES (?1, ?2)")?
                .execute(params![file.file_name().to_string_lossy(), content])?;
        }
        transaction.commit()?;
    }
    report_cost(begun)?;
    Ok(ExitCode::SUCCESS)
}

/// Reports the cost of this process to the parent, as the last line on standard error.
fn report_cost(begun: Instant) -> Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| -> Result<f64> { Ok(fields.get(place).context("ticks")?.parse()?) };
    // Fields 14 to 17 of the line: utime and stime of the process and of its ended children.
    // Splitting starts after field 2, the name in parentheses.
    let total = (12..=15).map(ticks).sum::<Result<f64>>()?;
    let cpu_s = total / f64::from(u32::try_from(rustix::param::clock_ticks_per_second())?);
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak")?;
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    let cost =
        ProcessCost { cpu_s, elapsed_s: begun.elapsed().as_secs_f64(), peak_bytes: peak * 1_024 };
    print_to_stderr(&serde_json::to_string(&cost)?);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the parent process reads it")]
fn print_to_stderr(text: &str) {
    eprintln!("{text}");
}

fn path_str(path: &Path) -> Result<&str> {
    path.to_str().context("the path is not UTF-8")
}
