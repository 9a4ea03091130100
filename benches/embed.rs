//! What the vectors of a local model cost: passages of 128 tokens in batches, and
//! one question at a time.
//!
//! The passages are made of common words that every English BERT vocabulary has
//! as one token each: 126 of them, a beginning and an end.
//!
//! `cargo bench -p vademecum-benches --bench embed -- FOLDER`

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Parser;
use vademecum_benches::{Cost, median};
use vademecum_core::config::Embeddings;
use vademecum_embed::{Embedder, Local, Purpose};

const BATCH: usize = 32;
const BATCHES: usize = 8;
const QUERIES: usize = 300;
const WORDS: [&str; 21] = [
    "water", "house", "light", "night", "story", "river", "music", "paper", "white", "green",
    "table", "voice", "field", "north", "money", "world", "heart", "stone", "month", "king",
    "road",
];

/// Measures what the vectors of a local model cost.
#[derive(Debug, Parser)]
struct Options {
    /// The folder of a model.
    folder: PathBuf,

    /// What `cargo bench` says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() -> Result<()> {
    let folder = Some(Options::parse().folder);
    let local = Local::open(&Embeddings { folder, ..Embeddings::default() })?;
    println!("{:?}", local.model());
    let passages: Vec<String> = (0..BATCH).map(passage).collect();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let (costs, _) = measure(&local, &passages, Purpose::Document, BATCHES)?;
    let each = costs / u32::try_from(BATCH)?;
    println!(
        "passages of 128 tokens, {BATCH} at a time: {:.1} per CPU-second",
        1.0 / each.as_secs_f64()
    );
    let question = ["where does the river leave the green field?"];
    let (cpu, (wall, slow)) = measure(&local, &question, Purpose::Query, QUERIES)?;
    println!("one question: {cpu:.1?} CPU, {wall:.1?} on the clock (p50), {slow:.1?} (p99)");
    Ok(())
}

fn passage(number: usize) -> String {
    let words = WORDS.iter().cycle().skip(number).step_by(1 + number % 5);
    words.take(126).copied().collect::<Vec<_>>().join(" ")
}

/// What one call costs: the middle one on the processor, and on the clock the
/// middle one and the one that 99 of 100 do not exceed.
fn measure(
    local: &Local,
    texts: &[&str],
    purpose: Purpose,
    calls: usize,
) -> Result<(Duration, (Duration, Duration))> {
    // The first call finds nothing in the caches.
    local.embed(texts, purpose)?;
    let system = actix::System::new();
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..calls {
        let (made, cost) = system.block_on(Cost::of(async { local.embed(texts, purpose) }));
        made?;
        cpu.push(cost.cpu);
        wall.push(cost.wall);
    }
    Ok((median(cpu).0, median(wall)))
}
