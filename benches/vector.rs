//! What it costs to find the nearest vectors, and how many of the true ten
//! are found.
//!
//! A SQLite file is filled with vectors and their codes. Each query is asked,
//! in turns and in one thread, of
//!
//! - `ours`: [`Codes::nearest`], and the best of it compared exactly with the
//!   vectors in the file;
//! - `f32`: a plain scan of all vectors in memory, which says what the true
//!   ten are;
//! - `hnsw`: a graph of usearch, vectors in memory as they are;
//! - `bits`: the signs of all numbers, and the best 1,000 compared exactly.
//!
//! Prints what they cost on the processor, how much memory they hold, and how
//! long they take to build and to load.
//!
//! `cargo bench -p vademecum-benches --bench vector -- --rows 10k,100k,1m`

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Parser;
use rusqlite::{Connection, params};
use serde_json::json;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};
use vademecum_benches::{DIMENSIONS, Figures, Options, Report, Vectors, mean, of_this_thread};
use vademecum_kit::retrieve::{
    Code, Codes, rescored,
    vector::{bytes, exact},
};

/// Queries, if nothing else is asked for.
const QUERIES: usize = 200;
/// Rounds, the first of which warms up.
const ROUNDS: usize = 3;
/// How many are wanted.
const TAKE: usize = 10;
/// How many of the best signs are compared exactly.
const SIGNS_COMPARED: usize = 1_000;
/// How many nodes of the graph are looked at.
const EXPANSION: usize = 128;

/// Measures what finding the nearest vectors costs.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,

    /// A file of vectors to read instead of inventing some: 384 numbers each,
    /// of four bytes, little end first.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,

    /// Builds no graph for more vectors than this: it takes minutes.
    #[arg(long, default_value_t = 100_000)]
    most_in_graph: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut report = Report::new("vector");
    for rows in &arguments.options.rows {
        let queries = arguments.options.queries.unwrap_or(QUERIES);
        let vectors = match &arguments.vectors {
            Some(file) => Vectors::read(file, *rows, queries)?,
            None => Vectors::invented(*rows, queries)?,
        };
        let folder = tempfile::tempdir()?;
        let file = fill(folder.path(), &vectors)?;
        let mut everyone = vec![flat(&vectors), ours(&file)?, signs(&file, &vectors)?];
        if *rows <= arguments.most_in_graph {
            everyone.push(graph(folder.path(), &vectors)?);
        }
        measure(&mut everyone, &vectors.queries)?;
        tell(*rows, everyone, &mut report);
    }
    report.write(&arguments.options)
}

/// The nearest of a query, best first.
type Ask<'v> = Box<dyn Fn(&[f32]) -> Result<Vec<i64>> + 'v>;

/// Somebody who is asked, and how it went.
struct Contestant<'v> {
    name: &'static str,
    ask: Ask<'v>,
    memory_bytes: usize,
    /// To make what is stored, and to have it in memory again.
    build: Duration,
    load: Duration,
    times: Vec<Duration>,
    recall: Vec<f64>,
}

impl<'v> Contestant<'v> {
    fn new(name: &'static str, memory_bytes: usize, ask: Ask<'v>) -> Self {
        let (times, recall) = (Vec::new(), Vec::new());
        let (build, load) = (Duration::ZERO, Duration::ZERO);
        Self { name, ask, memory_bytes, build, load, times, recall }
    }
}

/// Asks everyone every query, in turns; the first one knows the true ten.
fn measure(everyone: &mut [Contestant<'_>], queries: &[Vec<f32>]) -> Result<()> {
    for round in 0..ROUNDS {
        for query in queries {
            let mut truth = Vec::new();
            for one in &mut *everyone {
                let (found, time) = of_this_thread(|| (one.ask)(query));
                let found = found?;
                if round > 0 {
                    one.times.push(time);
                    continue;
                }
                if truth.is_empty() {
                    truth.clone_from(&found);
                }
                let found = truth.iter().map(|id| f64::from(u8::from(found.contains(id))));
                one.recall.push(mean(found));
            }
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn tell(rows: usize, everyone: Vec<Contestant<'_>>, report: &mut Report) {
    println!(
        "\n{rows} vectors\n{:6} {:>11} {:>11} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "who", "median µs", "p99 µs", "to f32", "recall@10", "MB", "build s", "load s"
    );
    let mut base = None;
    for one in everyone {
        let figures = Figures::of(one.times);
        let to_f32 = figures.to(*base.get_or_insert(figures));
        let (recall, bytes) = (mean(one.recall), one.memory_bytes);
        let [build, load] = [one.build, one.load].map(|time| time.as_secs_f64());
        let megabytes = u32::try_from(bytes / 100_000).map_or(f64::INFINITY, f64::from) / 10.0;
        println!(
            "{:6} {:>11.1} {:>11.1} {to_f32:>8.3} {recall:>9.4} {megabytes:>9.1} {build:>9.3} {load:>9.3}",
            one.name, figures.median, figures.p99,
        );
        report.add(json!({
            "rows": rows, "who": one.name, "median": figures.median, "p99": figures.p99,
            "to_f32": to_f32, "recall_at_10": recall, "memory_bytes": bytes,
            "build_s": build, "load_s": load,
        }));
    }
}

/// Writes vectors and their codes to a file.
fn fill(folder: &Path, vectors: &Vectors) -> Result<PathBuf> {
    let file = folder.join("vectors.db");
    let mut connection = open(&file)?;
    connection.execute_batch(
        "CREATE TABLE code (chunk INTEGER PRIMARY KEY, code BLOB NOT NULL, scale REAL NOT NULL);
         CREATE TABLE vector (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);",
    )?;
    let transaction = connection.transaction()?;
    for (id, vector) in vectors.iter() {
        let code = Code::of(vector)?;
        transaction.prepare_cached("INSERT INTO code VALUES (?1, ?2, ?3)")?.execute(params![
            id,
            code.bytes(),
            code.scale()
        ])?;
        transaction
            .prepare_cached("INSERT INTO vector VALUES (?1, ?2)")?
            .execute(params![id, bytes(vector)])?;
    }
    transaction.commit()?;
    Ok(file)
}

#[expect(clippy::disallowed_methods, reason = "a plain table is no store")]
fn open(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    Ok(connection)
}

/// The first of `found`, compared with the vectors in the file.
fn compare(file: &Connection, query: &[f32], found: impl Iterator<Item = i64>) -> Result<Vec<i64>> {
    // As a search does: all of it sees one state, and SQLite locks only once.
    let file = file.unchecked_transaction()?;
    let mut vector = file.prepare_cached("SELECT vector FROM vector WHERE chunk = ?1")?;
    let mut compared = Vec::new();
    for id in found {
        let similarity =
            vector.query_row([id], |row| Ok(exact(query, row.get_ref(0)?.as_blob()?)))?;
        compared.push((id, similarity?));
    }
    Ok(best(compared))
}

fn best(mut found: Vec<(i64, f32)>) -> Vec<i64> {
    found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1));
    found.into_iter().take(TAKE).map(|(id, _)| id).collect()
}

/// All vectors as they are.
fn flat(vectors: &Vectors) -> Contestant<'_> {
    let ask = move |query: &[f32]| {
        let mut nearest: Vec<(i64, f32)> = Vec::new();
        let mut least = f32::NEG_INFINITY;
        for (id, vector) in vectors.iter() {
            let similarity = dot(query, vector);
            if similarity > least {
                let at = nearest.partition_point(|(_, other)| *other >= similarity);
                nearest.insert(at, (id, similarity));
                nearest.truncate(TAKE);
                least = nearest.get(TAKE - 1).map_or(least, |(_, similarity)| *similarity);
            }
        }
        Ok(nearest.into_iter().map(|(id, _)| id).collect())
    };
    Contestant::new("f32", vectors.memory_bytes(), Box::new(ask))
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (one, other) in one.chunks_exact(16).zip(other.chunks_exact(16)) {
        for ((sum, one), other) in sums.iter_mut().zip(one).zip(other) {
            *sum += one * other;
        }
    }
    sums.iter().sum()
}

/// Codes in memory, vectors in the file.
fn ours(file: &Path) -> Result<Contestant<'static>> {
    let connection = open(file)?;
    let began = Instant::now();
    let mut codes = Codes::new(DIMENSIONS);
    let mut statement = connection.prepare("SELECT chunk, code, scale FROM code")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let code = Code::from_parts(row.get_ref("code")?.as_blob()?, row.get("scale")?)?;
        codes.insert(row.get("chunk")?, &code)?;
    }
    drop(rows);
    drop(statement);
    let load = began.elapsed();
    let memory = codes.memory_bytes();
    let ask = move |query: &[f32]| {
        let near = codes.nearest(query, rescored(TAKE), |_| true)?;
        compare(&connection, query, near.into_iter().map(|(id, _)| id))
    };
    Ok(Contestant { load, ..Contestant::new("ours", memory, Box::new(ask)) })
}

/// A bit for each number.
type Signs = [u64; DIMENSIONS / 64];

/// Signs in memory, vectors in the file.
fn signs(file: &Path, vectors: &Vectors) -> Result<Contestant<'static>> {
    let connection = open(file)?;
    let began = Instant::now();
    let all: Vec<(i64, Signs)> = vectors.iter().map(|(id, it)| (id, signs_of(it))).collect();
    let build = began.elapsed();
    let memory = size_of_val(all.as_slice());
    let ask = move |query: &[f32]| {
        let query_signs = signs_of(query);
        let mut near: Vec<(u32, i64)> =
            all.iter().map(|(id, it)| (unlike(it, &query_signs), *id)).collect();
        if near.len() > SIGNS_COMPARED {
            near.select_nth_unstable(SIGNS_COMPARED);
            near.truncate(SIGNS_COMPARED);
        }
        compare(&connection, query, near.into_iter().map(|(_, id)| id))
    };
    Ok(Contestant { build, ..Contestant::new("bits", memory, Box::new(ask)) })
}

fn signs_of(vector: &[f32]) -> Signs {
    let mut signs = [0; DIMENSIONS / 64];
    for (sign, numbers) in signs.iter_mut().zip(vector.chunks(64)) {
        let bits = numbers.iter().rev();
        *sign = bits.fold(0, |bits, number| bits << 1 | u64::from(*number > 0.0));
    }
    signs
}

fn unlike(one: &Signs, other: &Signs) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}

/// A graph of usearch.
fn graph(folder: &Path, vectors: &Vectors) -> Result<Contestant<'static>> {
    let options = IndexOptions {
        dimensions: DIMENSIONS,
        metric: MetricKind::IP,
        quantization: ScalarKind::F32,
        ..IndexOptions::default()
    };
    let began = Instant::now();
    let built = Index::new(&options)?;
    built.reserve(vectors.iter().count())?;
    for (id, vector) in vectors.iter() {
        built.add(u64::try_from(id)?, vector)?;
    }
    let build = began.elapsed();
    let file = folder.join("graph");
    let file = file.to_str().context("a path that is text")?;
    built.save(file)?;
    drop(built);
    let began = Instant::now();
    let index = Index::new(&options)?;
    index.load(file)?;
    let load = began.elapsed();
    index.change_expansion_search(EXPANSION);
    let memory = index.memory_usage();
    let ask = move |query: &[f32]| {
        let found = index.search(query, TAKE)?;
        Ok(found.keys.into_iter().map(i64::try_from).collect::<Result<_, _>>()?)
    };
    Ok(Contestant { build, load, ..Contestant::new("hnsw", memory, Box::new(ask)) })
}
