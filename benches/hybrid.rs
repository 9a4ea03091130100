//! The cost of a hybrid search of a collection compared with full-text and vector search, and the
//! cost of an access check for a chunk.
//!
//! A collection is filled with passages and synthetic vectors; one document in ten has an access
//! tag. Each query, seven words of a passage, is sent as a client sends it, from JSON message to
//! JSON message:
//!
//! - `fts`: `rag.search_fts`;
//! - `vector`: `rag.search_vector`;
//! - `hybrid`: `rag.search_hybrid`, fused from fifty results of each;
//! - `access`: reading the catalogue and looking up the document as a caller with a thousand tags,
//!   as `verify_document_access` does.
//!
//! The target is that `hybrid` costs at most 1.2 times as much as `fts` and `vector` together, and
//! `access` less than 2 ms.
//!
//! `cargo bench -p vademecum-benches --bench hybrid -- --rows 10k,100k`

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use vademecum::app::App;
use vademecum_actors::collections::Catalogue;
use vademecum_benches::{
    BenchVectors, DIMENSIONS, Options, Report, TIMEOUT, Timing, TimingSummary, measure_thread_cpu,
};
use vademecum_collections::{
    Access, ChunkId, Document, DocumentFilter, EmbeddingModel, NewChunk, NewSource,
};
use vademecum_core::{
    auth::{Principal, local_principal},
    config::{EmbeddingProvider, Settings},
};
use vademecum_embed::Embeddings;
use vademecum_model::Deadline;
use vademecum_store::Durability;

/// Default number of queries.
const DEFAULT_QUERIES: usize = 100;
/// Number of rounds. The first one is a warm-up.
const ROUNDS: usize = 3;
/// Name of the collection.
const COLLECTION_NAME: &str = "bench";
/// Documents stored per transaction.
const BATCH_SIZE: usize = 1_000;
/// One document in this many has an access tag.
const DOCUMENTS_PER_RESTRICTED: usize = 10;
/// Number of access tags of the caller.
const CALLER_TAGS: usize = 1_000;
/// Target: maximum ratio of `hybrid` to `fts` and `vector` together.
const TIMES: f64 = 1.2;

/// The tools to compare.
const TOOLS: [&str; 3] = ["rag.search_fts", "rag.search_vector", "rag.search_hybrid"];

fn main() -> Result<()> {
    let options = Options::from_command_line();
    let mut report = Report::new("hybrid");
    actix::System::new().block_on(async {
        for rows in &options.rows {
            let arena = HybridBench::fill(&options, *rows)?;
            arena.measure(*rows, &mut report).await?;
        }
        report.write(&options)
    })
}

/// A filled collection and an application that serves it.
struct HybridBench {
    app: App,
    catalogue: Catalogue,
    owner: Principal,
    queries: Vec<String>,
    chunks: Vec<ChunkId>,
    // The last field, so that the folder is dropped after its readers.
    _folder: TempDir,
}

impl HybridBench {
    fn fill(options: &Options, rows: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut settings = Settings::default();
        settings.storage.data = Some(folder.path().to_owned());
        settings.embeddings.provider = EmbeddingProvider::Stub;
        settings.embeddings.dimensions = DIMENSIONS.try_into().ok();
        let embeddings = Embeddings::open(&settings.embeddings, folder.path())?;
        let embeddings = embeddings.context("no provider")?;
        let model = EmbeddingModel {
            provider: embeddings.model().provider.to_owned(),
            model: embeddings.model().name.clone(),
            dimensions: DIMENSIONS,
        };
        let vectors = BenchVectors::synthetic(rows, 0)?;
        let catalogue = Catalogue::new(folder.path());
        let source_id = catalogue.insert_record(COLLECTION_NAME, None, "bench.1.db", "{}")?;
        let collection = catalogue.open("bench.1.db");
        let mut passages = options.text().all_passages()?.take(rows).zip(vectors.iter());
        let (mut questions, mut chunks) = (Vec::new(), Vec::new());
        let query_count = options.queries.unwrap_or(DEFAULT_QUERIES);
        let every = (rows / query_count).max(1);
        for batch in 0..rows.div_ceil(BATCH_SIZE) {
            collection.write(Durability::Bulk, |writer| {
                let name = COLLECTION_NAME.to_owned();
                collection
                    .put_source(writer, &NewSource { source_id, name, ..NewSource::default() })?;
                collection.put_model(writer, &model)?;
                let here = passages.by_ref().take(BATCH_SIZE);
                for (number, (passage, (_, vector))) in (batch * BATCH_SIZE..).zip(here) {
                    let doc_id = format!("page:{number}");
                    if number.is_multiple_of(every) {
                        let words = passage.body.split_whitespace().skip(3).take(7);
                        questions.push(words.collect::<Vec<_>>().join(" "));
                        chunks.push(ChunkId { doc_id: doc_id.clone(), index: 0 });
                    }
                    let closed = number.is_multiple_of(DOCUMENTS_PER_RESTRICTED);
                    let chunk = NewChunk {
                        end: passage.body.chars().count(),
                        body: passage.body.clone(),
                        ..NewChunk::default()
                    };
                    let document = Document {
                        doc_id,
                        source_id,
                        title: Some(passage.title),
                        content_hash: number.to_string(),
                        chunks: vec![chunk],
                        body: passage.body,
                        access: closed.then(|| "staff".to_owned()).into_iter().collect(),
                        ..Document::default()
                    };
                    if let vademecum_collections::PutOutcome::New(keys) =
                        collection.put_document(writer, &document)?
                    {
                        for key in keys {
                            collection.put_vector(writer, key, &[], vector)?;
                        }
                    }
                }
                Ok(())
            })?;
        }
        let app = App::new(settings)?;
        let owner = local_principal("local".parse()?);
        Ok(Self { app, catalogue, owner, queries: questions, chunks, _folder: folder })
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    async fn measure(&self, rows: usize, report: &mut Report) -> Result<()> {
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut access = Vec::new();
        for round in 0..ROUNDS {
            for (question, chunk) in self.queries.iter().zip(&self.chunks) {
                for (tool, times) in TOOLS.iter().zip(&mut times) {
                    let message = search_message(tool, question);
                    let (answer, cost) = Timing::measure(self.app.handle_message(&message)).await;
                    // The first vector search waits until all codes are in memory, which may exceed
                    // the time limit of a call.
                    if round > 0 {
                        // Synthetic vectors are as unrelated to the question as any others.
                        let answer = answer.context("no answer")?;
                        if *tool != "rag.search_vector" {
                            ensure_results(&answer)?;
                        }
                        times.push(cost.cpu);
                    }
                }
                let (seen, time) = measure_thread_cpu(|| self.can_see(chunk));
                ensure!(
                    seen? != is_restricted(chunk),
                    "wrong access decision for {}",
                    chunk.doc_id
                );
                if round > 0 {
                    access.push(time);
                }
            }
        }
        let [fts, vector, hybrid] = times.map(TimingSummary::from_durations);
        let access = TimingSummary::from_durations(access);
        let ratio = hybrid.median / (fts.median + vector.median);
        println!("\n{rows} chunks, {} questions", self.queries.len());
        let all = [("fts", fts), ("vector", vector), ("hybrid", hybrid), ("access", access)];
        for (who, figures) in all {
            println!("  {who:7} {:>10.1} µs median {:>10.1} µs p99", figures.median, figures.p99);
        }
        println!(
            "  hybrid costs {ratio:.2} times fts and vector together; target {TIMES}: {}",
            if ratio <= TIMES { "kept" } else { "missed" }
        );
        report.add_entry(json!({
            "rows": rows, "fts": fts, "vector": vector, "hybrid": hybrid, "access": access,
            "to_legs": ratio,
        }));
        Ok(())
    }

    /// Returns `true` if a caller with many tags, none of them matching, can see the chunk.
    fn can_see(&self, chunk: &ChunkId) -> Result<bool> {
        let mut opened = self.catalogue.find_visible(&self.owner, COLLECTION_NAME)?;
        opened.access =
            Access::Tags((0..CALLER_TAGS).map(|number| format!("tag {number}")).collect());
        let scope = opened.scope(&DocumentFilter::default());
        let deadline = Deadline::after(TIMEOUT);
        let collection = Arc::new(opened.collection);
        let read =
            collection.read(deadline, |reader| collection.read_passage(reader, chunk, &scope))?;
        Ok(read.is_some())
    }
}

fn is_restricted(chunk: &ChunkId) -> bool {
    let number = chunk.doc_id.rsplit(':').next().and_then(|number| number.parse::<usize>().ok());
    number.is_some_and(|number| number.is_multiple_of(DOCUMENTS_PER_RESTRICTED))
}

fn search_message(tool: &str, question: &str) -> String {
    let key = if tool == "rag.search_vector" { "query_text" } else { "query" };
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": { key: question, "k": 10 } },
    });
    message.to_string()
}

/// Fails unless the response contains results.
fn ensure_results(answer: &str) -> Result<()> {
    let answer: Value = serde_json::from_str(answer)?;
    let results = answer["result"]["structuredContent"]["results"].as_array();
    ensure!(results.is_some_and(|results| !results.is_empty()), "nothing was found: {answer}");
    Ok(())
}
