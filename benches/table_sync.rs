//! The cost of synchronising a collection with a table: time, memory and disk.
//!
//! A SQLite table of passages of about a thousand characters, with a title, tags, a score and a
//! date, becomes a collection with vectors of the `stub` provider, in a separate process. Then one
//! row in a hundred changes, and the collection is synchronised again. The size on disk is that of
//! the collection without its vectors, compared with the titles and texts of the table.
//!
//! `cargo bench -p vademecum-benches --bench table_sync -- --rows 100k`

use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use vademecum_benches::{Options, Report, TextSource};

fn main() -> ExitCode {
    // The first argument of a child process is a command of the program itself.
    if matches!(env::args().nth(1).as_deref(), Some("collection" | "sqlite-reader")) {
        return vademecum::cli::main();
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_to_stderr(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("table_sync");
    for rows in &options.rows {
        let folder = tempfile::tempdir()?;
        let table = folder.path().join("table.db");
        let text_bytes = fill_table(&options.text(), &table, *rows)?;
        let settings = folder.path().join("settings.toml");
        fs::write(&settings, settings_for(&table))?;
        let data = folder.path().join("data");
        let first_s = sync(&settings, &data)?;
        let disk = disk_usage(&data.join("collections"))?;
        change_rows(&table)?;
        let again_s = sync(&settings, &data)?;
        let (text, other) = (megabytes(text_bytes)?, megabytes(disk.other)?);
        println!("\n{rows} rows, {text:.1} MB of text");
        println!("  first sync    {first_s:6.2} s  {:6.0} rows/s", count(*rows)? / first_s);
        println!("  1 % changed   {again_s:6.2} s");
        println!("  on disk       {other:6.1} MB, {:.2} times the text", other / text);
        println!("  vectors       {:6.1} MB", megabytes(disk.vectors)?);
        report.add_entry(json!({
            "rows": rows, "text_bytes": text_bytes, "first_s": first_s, "again_s": again_s,
            "disk_bytes": disk.other, "vector_bytes": disk.vectors, "ratio": other / text,
        }));
    }
    report.write(&options)
}

/// Creates the table. Returns the size of its titles and texts, in bytes.
#[expect(clippy::disallowed_methods, reason = "a table of a user is no store")]
fn fill_table(text: &TextSource, path: &Path, rows: usize) -> Result<u64> {
    let mut connection = Connection::open(path)?;
    connection.execute_batch(
        "CREATE TABLE posts (
             id INTEGER PRIMARY KEY, title TEXT, body TEXT, tags TEXT, score INTEGER, created TEXT
         )",
    )?;
    let transaction = connection.transaction()?;
    let mut bytes = 0;
    for (number, passage) in (1..=rows).zip(text.all_passages()?) {
        bytes += u64::try_from(passage.title.len() + passage.body.len())?;
        transaction
            .prepare_cached("INSERT INTO posts VALUES (?1, ?2, ?3, '<rye><bread>', ?4, ?5)")?
            .execute(params![
                i64::try_from(number)?,
                passage.title,
                passage.body,
                i64::try_from(number % 50)?,
                format!("2026-01-{:02} 10:00:00", number % 28 + 1),
            ])?;
    }
    transaction.commit()?;
    Ok(bytes)
}

#[expect(clippy::disallowed_methods, reason = "a table of a user is no store")]
fn change_rows(path: &Path) -> Result<()> {
    let connection = Connection::open(path)?;
    connection.execute("UPDATE posts SET body = body || ' Changed.' WHERE id % 100 = 0", [])?;
    Ok(())
}

fn settings_for(table: &Path) -> String {
    let path = json!(table);
    format!(
        "[embeddings]\nprovider = \"stub\"\nallow_stub = true\n\
         [profiles.bench]\nengine = \"sqlite\"\npath = {path}\n\
         [[collections]]\nname = \"posts\"\nprofile = \"bench\"\ntable = \"posts\"\n\
         pk_column = \"id\"\n\
         [collections.doc_map]\n\
         title = {{ concat = [{{ col = \"title\" }}] }}\n\
         body = {{ concat = [{{ col = \"body\" }}] }}\n\
         [collections.doc_map.metadata]\npick = [\"tags\", \"score\", \"created\"]\n\
         rename = {{ tags = \"Tags\", score = \"Score\", created = \"CreationDate\" }}\n"
    )
}

/// Synchronises in a child process. Returns its duration in seconds.
fn sync(settings: &Path, data: &Path) -> Result<f64> {
    let begun = Instant::now();
    let output = Command::new(env::current_exe()?)
        .args(["collection", "sync", "--json", "--config"])
        .arg(settings)
        .arg("--data")
        .arg(data)
        .stderr(Stdio::inherit())
        .output()?;
    let seconds = begun.elapsed().as_secs_f64();
    let reports: Value = serde_json::from_slice(&output.stdout)?;
    if !output.status.success() || reports[0]["vectors"] != reports[0]["chunks"] {
        bail!("the sync failed: {reports}");
    }
    Ok(seconds)
}

/// The size of a collection on disk, in bytes.
struct DiskUsage {
    /// The values of the vectors and their codes, without the overhead of their pages.
    vectors: u64,
    /// Everything else.
    other: u64,
}

#[expect(clippy::disallowed_methods, reason = "a plain reader measures the values")]
fn disk_usage(folder: &Path) -> Result<DiskUsage> {
    let files = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut databases = files.filter(|path| path.extension().is_some_and(|it| it == "db"));
    let database = databases.next().context("no collection")?;
    let connection = Connection::open(&database)?;
    let sql = "SELECT
        (SELECT sum(length(vector) + length(input_hash) + length(updated_at)) FROM rag_vectors)
        + (SELECT sum(length(code) + 16) FROM rag_codes)";
    let vectors: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    let vectors = u64::try_from(vectors)?;
    Ok(DiskUsage { vectors, other: fs::metadata(&database)?.len() - vectors })
}

fn megabytes(bytes: u64) -> Result<f64> {
    Ok(f64::from(u32::try_from(bytes / 1_000)?) / 1_000.0)
}

fn count(rows: usize) -> Result<f64> {
    Ok(f64::from(u32::try_from(rows)?))
}

#[expect(clippy::print_stderr, reason = "errors of a bench go to standard error")]
fn print_to_stderr(text: &str) {
    eprintln!("{text}");
}
