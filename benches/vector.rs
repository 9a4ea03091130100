//! The cost and recall of nearest-neighbour search.
//!
//! A SQLite file is filled with vectors and their codes. Each query is run in turn, in one thread,
//! by
//!
//! - `ours`: a scan of the 8-bit codes, with the best rows compared exactly by the vectors in the
//!   file;
//! - `f32`: a scan of all vectors in memory, which determines the true ten;
//! - `hnsw`: a usearch graph with uncompressed vectors in memory;
//! - `bits`: a scan of the signs, with the best 1,000 compared exactly.
//!
//! Prints the CPU times, the memory, and the times to build and to load.
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
use vademecum_benches::{
    BenchVectors, DIMENSIONS, Options, Report, TimingSummary, mean, measure_thread_cpu,
};
use vademecum_search::{
    QuantizedIndex, QuantizedVector, rescore_depth,
    vector::{encode_vector, exact_similarity},
};

/// Default number of queries.
const DEFAULT_QUERIES: usize = 200;
/// Number of rounds. The first one is a warm-up.
const ROUNDS: usize = 3;
/// Number of results requested.
const RESULT_LIMIT: usize = 10;
/// Number of candidates of the sign scan that are compared exactly.
const SIGN_CANDIDATES: usize = 1_000;
/// Number of graph nodes expanded by a search (`ef`).
const GRAPH_EXPANSION: usize = 128;

/// Measures the cost of nearest-neighbour search.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,

    /// A file of vectors to read instead of generating some: 384 little-endian 32-bit floats each.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,

    /// Builds no graph for more vectors than this, since it takes minutes.
    #[arg(long, default_value_t = 100_000)]
    most_in_graph: usize,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut report = Report::new("vector");
    for rows in &arguments.options.rows {
        let queries = arguments.options.queries.unwrap_or(DEFAULT_QUERIES);
        let vectors = match &arguments.vectors {
            Some(file) => BenchVectors::read_file(file, *rows, queries)?,
            None => BenchVectors::synthetic(*rows, queries)?,
        };
        let folder = tempfile::tempdir()?;
        let file = write_vectors(folder.path(), &vectors)?;
        let mut everyone =
            vec![exact_scan(&vectors), code_scan(&file)?, sign_scan(&file, &vectors)?];
        if *rows <= arguments.most_in_graph {
            everyone.push(graph_search(folder.path(), &vectors)?);
        }
        measure(&mut everyone, &vectors.queries)?;
        print_report(*rows, everyone, &mut report);
    }
    report.write(&arguments.options)
}

/// A search that returns the nearest ids, best first.
type SearchFn<'v> = Box<dyn Fn(&[f32]) -> Result<Vec<i64>> + 'v>;

/// A search implementation and its measurements.
struct SearcherResult<'v> {
    name: &'static str,
    search: SearchFn<'v>,
    memory_bytes: usize,
    /// Time to build what is stored, and time to load it again.
    build: Duration,
    load: Duration,
    times: Vec<Duration>,
    recall: Vec<f64>,
}

impl<'v> SearcherResult<'v> {
    fn new(name: &'static str, memory_bytes: usize, request: SearchFn<'v>) -> Self {
        let (times, recall) = (Vec::new(), Vec::new());
        let (build, load) = (Duration::ZERO, Duration::ZERO);
        Self { name, search: request, memory_bytes, build, load, times, recall }
    }
}

/// Runs every query with every implementation in turn. The first one provides the true ten.
fn measure(everyone: &mut [SearcherResult<'_>], queries: &[Vec<f32>]) -> Result<()> {
    for round in 0..ROUNDS {
        for query in queries {
            let mut truth = Vec::new();
            for one in &mut *everyone {
                let (found, time) = measure_thread_cpu(|| (one.search)(query));
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
fn print_report(rows: usize, everyone: Vec<SearcherResult<'_>>, report: &mut Report) {
    println!(
        "\n{rows} vectors\n{:6} {:>11} {:>11} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "who", "median µs", "p99 µs", "to f32", "recall@10", "MB", "build s", "load s"
    );
    let mut base = None;
    for one in everyone {
        let figures = TimingSummary::from_durations(one.times);
        let to_f32 = figures.ratio_to(*base.get_or_insert(figures));
        let (recall, bytes) = (mean(one.recall), one.memory_bytes);
        let [build, load] = [one.build, one.load].map(|time| time.as_secs_f64());
        let megabytes = u32::try_from(bytes / 100_000).map_or(f64::INFINITY, f64::from) / 10.0;
        println!(
            "{:6} {:>11.1} {:>11.1} {to_f32:>8.3} {recall:>9.4} {megabytes:>9.1} {build:>9.3} {load:>9.3}",
            one.name, figures.median, figures.p99,
        );
        report.add_entry(json!({
            "rows": rows, "who": one.name, "median": figures.median, "p99": figures.p99,
            "to_f32": to_f32, "recall_at_10": recall, "memory_bytes": bytes,
            "build_s": build, "load_s": load,
        }));
    }
}

/// Writes vectors and their codes to a file.
fn write_vectors(folder: &Path, vectors: &BenchVectors) -> Result<PathBuf> {
    let file = folder.join("vectors.db");
    let mut connection = open_file(&file)?;
    connection.execute_batch(
        "CREATE TABLE code (chunk INTEGER PRIMARY KEY, code BLOB NOT NULL, scale REAL NOT NULL);
         CREATE TABLE vector (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);",
    )?;
    let transaction = connection.transaction()?;
    for (id, vector) in vectors.iter() {
        let code = QuantizedVector::quantize(vector)?;
        transaction.prepare_cached("INSERT INTO code VALUES (?1, ?2, ?3)")?.execute(params![
            id,
            code.bytes(),
            code.scale()
        ])?;
        transaction
            .prepare_cached("INSERT INTO vector VALUES (?1, ?2)")?
            .execute(params![id, encode_vector(vector)])?;
    }
    transaction.commit()?;
    Ok(file)
}

#[expect(clippy::disallowed_methods, reason = "a plain table is no store")]
fn open_file(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    Ok(connection)
}

/// Returns the best of `found`, compared exactly by the vectors in the file.
fn compare_exactly(
    file: &Connection,
    query: &[f32],
    found: impl Iterator<Item = i64>,
) -> Result<Vec<i64>> {
    // One transaction, as in a search: one snapshot, and SQLite locks only once.
    let file = file.unchecked_transaction()?;
    let mut vector = file.prepare_cached("SELECT vector FROM vector WHERE chunk = ?1")?;
    let mut compared = Vec::new();
    for id in found {
        let similarity = vector
            .query_row([id], |row| Ok(exact_similarity(query, row.get_ref(0)?.as_blob()?)))?;
        compared.push((id, similarity?));
    }
    Ok(best_ids(compared))
}

fn best_ids(mut found: Vec<(i64, f32)>) -> Vec<i64> {
    found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1));
    found.into_iter().take(RESULT_LIMIT).map(|(id, _)| id).collect()
}

/// Scans all vectors in memory.
fn exact_scan(vectors: &BenchVectors) -> SearcherResult<'_> {
    let request = move |query: &[f32]| {
        let mut nearest: Vec<(i64, f32)> = Vec::new();
        let mut least = f32::NEG_INFINITY;
        for (id, vector) in vectors.iter() {
            let similarity = dot(query, vector);
            if similarity > least {
                let at = nearest.partition_point(|(_, other)| *other >= similarity);
                nearest.insert(at, (id, similarity));
                nearest.truncate(RESULT_LIMIT);
                least = nearest.get(RESULT_LIMIT - 1).map_or(least, |(_, similarity)| *similarity);
            }
        }
        Ok(nearest.into_iter().map(|(id, _)| id).collect())
    };
    SearcherResult::new("f32", vectors.memory_bytes(), Box::new(request))
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

/// Scans the codes in memory and compares with the vectors in the file.
fn code_scan(file: &Path) -> Result<SearcherResult<'static>> {
    let connection = open_file(file)?;
    let began = Instant::now();
    let mut codes = QuantizedIndex::new(DIMENSIONS);
    let mut statement = connection.prepare("SELECT chunk, code, scale FROM code")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let code = QuantizedVector::from_parts(row.get_ref("code")?.as_blob()?, row.get("scale")?)?;
        codes.insert(row.get("chunk")?, &code)?;
    }
    drop(rows);
    drop(statement);
    let load = began.elapsed();
    let bytes = codes.memory_bytes();
    let request = move |query: &[f32]| {
        let near = codes.nearest(query, rescore_depth(RESULT_LIMIT), |_| true)?;
        compare_exactly(&connection, query, near.into_iter().map(|(id, _)| id))
    };
    Ok(SearcherResult { load, ..SearcherResult::new("ours", bytes, Box::new(request)) })
}

/// One bit per dimension.
type SignBits = [u64; DIMENSIONS / 64];

/// Scans the signs in memory and compares with the vectors in the file.
fn sign_scan(file: &Path, vectors: &BenchVectors) -> Result<SearcherResult<'static>> {
    let connection = open_file(file)?;
    let began = Instant::now();
    let all: Vec<(i64, SignBits)> = vectors.iter().map(|(id, it)| (id, sign_bits(it))).collect();
    let build = began.elapsed();
    let bytes = size_of_val(all.as_slice());
    let request = move |query: &[f32]| {
        let query_signs = sign_bits(query);
        let mut near: Vec<(u32, i64)> =
            all.iter().map(|(id, it)| (hamming_distance(it, &query_signs), *id)).collect();
        if near.len() > SIGN_CANDIDATES {
            near.select_nth_unstable(SIGN_CANDIDATES);
            near.truncate(SIGN_CANDIDATES);
        }
        compare_exactly(&connection, query, near.into_iter().map(|(_, id)| id))
    };
    Ok(SearcherResult { build, ..SearcherResult::new("bits", bytes, Box::new(request)) })
}

fn sign_bits(vector: &[f32]) -> SignBits {
    let mut signs = [0; DIMENSIONS / 64];
    for (sign, numbers) in signs.iter_mut().zip(vector.chunks(64)) {
        let bits = numbers.iter().rev();
        *sign = bits.fold(0, |bits, number| bits << 1 | u64::from(*number > 0.0));
    }
    signs
}

fn hamming_distance(one: &SignBits, other: &SignBits) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
}

/// Searches a usearch graph.
fn graph_search(folder: &Path, vectors: &BenchVectors) -> Result<SearcherResult<'static>> {
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
    let file = file.to_str().context("the path is not UTF-8")?;
    built.save(file)?;
    drop(built);
    let began = Instant::now();
    let index = Index::new(&options)?;
    index.load(file)?;
    let load = began.elapsed();
    index.change_expansion_search(GRAPH_EXPANSION);
    let bytes = index.memory_usage();
    let request = move |query: &[f32]| {
        let found = index.search(query, RESULT_LIMIT)?;
        Ok(found.keys.into_iter().map(i64::try_from).collect::<Result<_, _>>()?)
    };
    Ok(SearcherResult { build, load, ..SearcherResult::new("hnsw", bytes, Box::new(request)) })
}
