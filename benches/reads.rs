//! The cost of reading one note of a library with many links, and whether it grows with the library.
//!
//! Libraries of notes with web addresses and links to other notes are filled. Each call is made
//! once for each of a number of notes that were not read before, as whole JSON messages:
//! `knowledge.get`, `fetch`, `knowledge.links`, `knowledge.list`, `knowledge.search` and recall; first for a
//! caller who sees all items, then for one with a rule that hides items by a tag.
//!
//! The targets: `get` costs at most twice as much as `fetch`, and at most 1.2 times as much in the
//! larger of two libraries whose notes are alike; 95 % of the `links` take at most 20 ms of CPU time.
//!
//! `cargo bench -p vademecum-benches --bench reads`

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use vademecum::app::App;
use vademecum_benches::{CommonOptions, Timing, find_source};
use vademecum_core::config::{Deny, Settings};
use vademecum_model::{ChangeAuthor, Draft, DraftBody, NoteDraft, SourceName};
use vademecum_source::SourceError;
use vademecum_store::{Durability, Store};
use vademecum_vault::journal::{ConflictCopies, save_draft};

/// Number of notes saved in one transaction.
const BATCH_SIZE: usize = 1_000;
/// Words of the notes. Each note has some of its own by its number.
const WORDS: [&str; 16] = [
    "harbour", "lantern", "granite", "orchard", "meadow", "copper", "thistle", "quarry", "willow",
    "beacon", "saddle", "mortar", "kettle", "bramble", "anchor", "cobble",
];
/// Words in a note, beside its links.
const NOTE_WORDS: usize = 200;
/// Limits of the ratios.
const MAX_GET_TO_FETCH: f64 = 2.0;
const MAX_GROWTH: f64 = 1.2;

/// Measures reads of notes with many links.
#[derive(Debug, Parser)]
struct Arguments {
    /// Libraries to measure: number of notes, of addresses and of links in each note.
    #[arg(long, value_delimiter = ',', default_value = "3000:50:20,30000:50:20,300000:5:5",
          value_parser = library_shape)]
    libraries: Vec<LibraryShape>,
    /// Number of notes that are read by each call.
    #[arg(long, default_value_t = 100)]
    reads: usize,
    /// Keeps the filled libraries in this folder and reuses them in the next run.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    common: CommonOptions,
}

/// The size of a library and of its notes.
#[derive(Clone, Copy, Debug)]
struct LibraryShape {
    notes: usize,
    addresses: usize,
    links: usize,
}

fn library_shape(text: &str) -> Result<LibraryShape, String> {
    let numbers: Result<Vec<usize>, _> = text.split(':').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([notes, addresses, links]) if *notes > 0 => {
            Ok(LibraryShape { notes: *notes, addresses: *addresses, links: *links })
        }
        _ => Err(format!("`{text}` is not NOTES:ADDRESSES:LINKS")),
    }
}

/// The calls, in the order in which they are made.
const CALLS: [&str; 6] = ["get", "fetch", "links", "list", "search", "recall"];

/// Whether the caller sees all items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Unrestricted,
    Restricted,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let temporary = tempfile::tempdir()?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let mut results = Vec::new();
    let measured: Result<Vec<_>> = actix::System::new().block_on(async {
        let mut measured = Vec::new();
        for caller in [Caller::Unrestricted, Caller::Restricted] {
            for shape in &arguments.libraries {
                let medians = measure(*shape, caller, (&arguments, folder), &mut results).await?;
                measured.push((*shape, caller, medians));
            }
        }
        Ok(measured)
    });
    print_ratios(&measured?);
    arguments.common.write_results(&json!({ "bench": "reads", "results": results }))
}

/// Fills a library and measures each call. Returns the median CPU time of each, in milliseconds.
async fn measure(
    shape: LibraryShape,
    caller: Caller,
    (arguments, folder): (&Arguments, &Path),
    results: &mut Vec<Value>,
) -> Result<[f64; CALLS.len()]> {
    let LibraryShape { notes, addresses, links } = shape;
    let reads = arguments.reads;
    let data = folder.join(format!("reads-{notes}-{addresses}-{links}"));
    let uris = open_or_fill(&data, shape)?;
    let mut settings = Settings::default();
    settings.storage.data = Some(data);
    if caller == Caller::Restricted {
        settings.deny.push(Deny { tags: vec!["hidden".to_owned()], ..Deny::default() });
    }
    let app = App::new(settings)?;
    // The first calls of a process open the library, and judge its items.
    call(&app, "knowledge.list", &json!({ "limit": 1 })).await?;
    call(&app, "knowledge.search", &json!({ "query": "number0" })).await?;
    print_library(shape, caller);
    let mut medians = [0.0; CALLS.len()];
    for (place, name) in CALLS.into_iter().enumerate() {
        let mut times = Vec::with_capacity(reads);
        for number in 0..reads {
            // Each call reads other notes.
            let note = (number * CALLS.len() + place) * shape.notes / (reads * CALLS.len());
            let uri = uris.get(note).context("no note has this number")?;
            if name == "recall" {
                let prompt = format!("what do I know of {}", own_words(note));
                times.push(send(&app, "vademecum/recall", &json!({ "prompt": prompt })).await?.1);
                continue;
            }
            let (tool, arguments) = match name {
                "get" => ("knowledge.get", json!({ "uri": uri })),
                "fetch" => ("fetch", json!({ "id": uri })),
                "links" => ("knowledge.links", json!({ "uri": uri })),
                "list" => ("knowledge.list", json!({ "offset": number })),
                _ => ("knowledge.search", json!({ "query": own_words(note) })),
            };
            times.push(call(&app, tool, &arguments).await?);
        }
        let figures = Figures::new(times);
        figures.print(name);
        results.push(json!({
            "notes": shape.notes, "addresses": shape.addresses, "links": shape.links,
            "restricted": caller == Caller::Restricted, "call": name,
            "median_ms": figures.median, "p95_ms": figures.p95, "max_ms": figures.max,
        }));
        if let Some(median) = medians.get_mut(place) {
            *median = figures.median;
        }
    }
    Ok(medians)
}

/// Returns the URIs of the notes of a kept library, or fills one. The list of URIs is written last.
fn open_or_fill(data: &Path, shape: LibraryShape) -> Result<Vec<String>> {
    let list = data.join("uris.json");
    if list.exists() {
        return Ok(serde_json::from_slice(&fs::read(list)?)?);
    }
    if data.exists() {
        fs::remove_dir_all(data)?;
    }
    let uris = fill(&data.join("users/local"), shape)?;
    fs::write(list, serde_json::to_vec(&uris)?)?;
    Ok(uris)
}

/// Calls a tool and returns its CPU time.
async fn call(app: &App, tool: &str, arguments: &Value) -> Result<Duration> {
    let params = json!({ "name": tool, "arguments": arguments });
    let (answer, time) = send(app, "tools/call", &params).await?;
    ensure!(answer["result"]["isError"] == false, "{tool} {arguments}: {answer}");
    Ok(time)
}

/// Sends one message and returns the answer and the CPU time.
async fn send(app: &App, method: &str, params: &Value) -> Result<(Value, Duration)> {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let (answer, time) = Timing::measure(app.handle_message(&message.to_string())).await;
    let answer: Value = serde_json::from_str(&answer.context("no answer")?)?;
    ensure!(answer["error"].is_null(), "{method}: {answer}");
    Ok((answer, time.cpu))
}

/// Saves the notes as an import does, with their links. Returns their URIs.
fn fill(library: &Path, shape: LibraryShape) -> Result<Vec<String>> {
    let notes = find_source(SourceName::Notes)?;
    let store = Store::new(notes.database(), library);
    let author = ChangeAuthor::default();
    let mut uris = Vec::with_capacity(shape.notes);
    for first in (0..shape.notes).step_by(BATCH_SIZE) {
        store.write(Durability::Bulk, |writer| {
            for number in first..(first + BATCH_SIZE).min(shape.notes) {
                let draft = note(number, shape);
                let copies = ConflictCopies::InLibrary;
                let saved = save_draft(&*notes, writer, &draft, &author, copies)?;
                uris.push(saved.uri().to_string());
            }
            Ok::<_, SourceError>(())
        })?;
    }
    store.checkpoint()?;
    Ok(uris)
}

fn note(number: usize, shape: LibraryShape) -> Draft {
    let mut content = own_words(number);
    for place in 0..NOTE_WORDS {
        content.push(if place % 12 == 11 { '\n' } else { ' ' });
        content.push_str(word(number * 7 + place * place));
    }
    let address =
        |place: usize| format!("\n- <https://example.org/{}/{number}>", word(place + number));
    content.extend((0..shape.addresses).map(address));
    // Near notes and far ones.
    let link =
        |place: usize| format!("\n- [[Note {}]]", (number + place * place * 37) % shape.notes);
    content.extend((1..=shape.links).map(link));
    let body = NoteDraft { title: format!("Note {number}"), content, ..NoteDraft::default() };
    let origin = format!("file:/bench/Note {number}.md");
    Draft { digest: origin.clone(), origin, id: None, body: DraftBody::Note(body) }
}

/// Words that few notes have, and one that many have.
fn own_words(note: usize) -> String {
    format!("number{} code{} {}", note, note / 3, word(note))
}

fn word(number: usize) -> &'static str {
    WORDS[number % WORDS.len()]
}

/// CPU times of one call, in milliseconds.
struct Figures {
    median: f64,
    p95: f64,
    max: f64,
}

impl Figures {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: usize| {
            let index = (times.len() * share / 100).min(times.len().saturating_sub(1));
            times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        Self { median: at(50), p95: at(95), max: at(100) }
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    fn print(&self, name: &str) {
        let Self { median, p95, max } = self;
        println!("  {name:7} {median:>8.2} ms CPU median {p95:>8.2} p95 {max:>8.2} max");
    }
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn print_library(shape: LibraryShape, caller: Caller) {
    let LibraryShape { notes, addresses, links } = shape;
    println!("\n{notes} notes of {addresses} addresses and {links} links, {caller:?}");
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn print_ratios(measured: &[(LibraryShape, Caller, [f64; CALLS.len()])]) {
    println!();
    for (shape, caller, [get, fetch, ..]) in measured {
        let ratio = get / fetch;
        let verdict = if ratio <= MAX_GET_TO_FETCH { "kept" } else { "missed" };
        println!(
            "{} notes, {caller:?}: get {ratio:.2} × fetch, target {MAX_GET_TO_FETCH}: {verdict}",
            shape.notes
        );
    }
    for pair in measured.windows(2) {
        let [(small, caller, before), (large, other_caller, after)] = pair else { continue };
        if (small.addresses, small.links, caller) != (large.addresses, large.links, other_caller) {
            continue;
        }
        for (name, (before, after)) in CALLS.iter().zip(before.iter().zip(after)) {
            let ratio = after / before;
            println!("{name}: {} notes {ratio:.2} × {} notes", large.notes, small.notes);
            if *name == "get" {
                let verdict = if ratio <= MAX_GROWTH { "kept" } else { "missed" };
                println!("  target {MAX_GROWTH}: {verdict}");
            }
        }
    }
}
