//! The cost of embeddings by a local model: passages of 128 tokens in batches, and single queries.
//!
//! Passages consist of 126 common words that are one token in every English BERT vocabulary, plus
//! the start and end tokens.
//!
//! `cargo bench -p vademecum-benches --bench embed -- FOLDER`

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Parser;
use vademecum_benches::{Timing, median_and_p99};
use vademecum_core::config::Embeddings;
use vademecum_embed::{Embedder, LocalEmbedder, Purpose};

const BATCH: usize = 32;
const BATCHES: usize = 8;
const QUERIES: usize = 300;
const PASSAGE_WORDS: [&str; 21] = [
    "water", "house", "light", "night", "story", "river", "music", "paper", "white", "green",
    "table", "voice", "field", "north", "money", "world", "heart", "stone", "month", "king",
    "road",
];

/// Measures the cost of embeddings by a local model.
#[derive(Debug, Parser)]
struct Options {
    /// The folder of a model.
    folder: PathBuf,

    /// An argument that `cargo bench` adds; ignored.
    #[arg(long, hide = true)]
    bench: bool,
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let folder = Some(Options::parse().folder);
    let local = LocalEmbedder::open(&Embeddings { folder, ..Embeddings::default() })?;
    println!("{:?}", local.model());
    let passages: Vec<String> = (0..BATCH).map(make_passage).collect();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let (costs, _) = measure_calls(&local, &passages, Purpose::Document, BATCHES)?;
    let each = costs / u32::try_from(BATCH)?;
    println!(
        "passages of 128 tokens, {BATCH} at a time: {:.1} per CPU-second",
        1.0 / each.as_secs_f64()
    );
    let question = ["where does the river leave the green field?"];
    let (cpu, (wall, slow)) = measure_calls(&local, &question, Purpose::Query, QUERIES)?;
    println!("one question: {cpu:.1?} CPU, {wall:.1?} on the clock (p50), {slow:.1?} (p99)");
    Ok(())
}

fn make_passage(number: usize) -> String {
    let words = PASSAGE_WORDS.iter().cycle().skip(number).step_by(1 + number % 5);
    words.take(126).copied().collect::<Vec<_>>().join(" ")
}

/// Measures single calls. Returns the median CPU time, and the median and 99th percentile of the
/// wall-clock time.
fn measure_calls(
    local: &LocalEmbedder,
    texts: &[&str],
    purpose: Purpose,
    calls: usize,
) -> Result<(Duration, (Duration, Duration))> {
    // A first call warms the caches.
    local.embed(texts, purpose)?;
    let system = actix::System::new();
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..calls {
        let (made, cost) = system.block_on(Timing::measure(async { local.embed(texts, purpose) }));
        made?;
        cpu.push(cost.cpu);
        wall.push(cost.wall);
    }
    Ok((median_and_p99(cpu).0, median_and_p99(wall)))
}
