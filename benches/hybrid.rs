//! What a hybrid search of a collection costs beside its two legs, and what
//! it costs to ask whether somebody may still see a chunk.
//!
//! A collection is filled with passages and invented vectors; one document in
//! ten is closed to those who have no tag. Each question, seven words of a
//! passage, is asked as a client asks it, JSON message in, JSON message out:
//!
//! - `fts`: `rag.search_fts`;
//! - `vector`: `rag.search_vector`;
//! - `hybrid`: `rag.search_hybrid`, fused from fifty of each;
//! - `access`: the catalogue read anew, and the document asked for by somebody
//!   with a thousand tags, as `verify_document_access` does.
//!
//! The target is that `hybrid` costs at most 1.2 times as much as `fts` and
//! `vector` together, and `access` less than 2 ms.
//!
//! `cargo bench -p vademecum-benches --bench hybrid -- --rows 10k,100k`

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use vademecum::{app::App, collections::Catalogue};
use vademecum_benches::{
    Cost, DIMENSIONS, Figures, Options, PATIENCE, Report, Vectors, of_this_thread,
};
use vademecum_collections::{
    Access, ChunkId, Document, EmbeddingModel, Filter, NewChunk, NewSource,
};
use vademecum_core::{
    auth::{Principal, desktop},
    config::{Provider, Settings},
};
use vademecum_embed::Embeddings;
use vademecum_kit::{model::Deadline, store::Durability};

/// Questions, if nothing else is asked for.
const QUERIES: usize = 100;
/// Rounds, the first of which warms up.
const ROUNDS: usize = 3;
/// What the collection is called.
const NAME: &str = "bench";
/// Documents that are put in at once.
const BATCH: usize = 1_000;
/// One document in so many is closed.
const CLOSED: usize = 10;
/// Tags of whoever asks whether they may see something.
const TAGS: usize = 1_000;
/// How many times the legs together a hybrid search may cost.
const TIMES: f64 = 1.2;

/// The tools that are compared.
const TOOLS: [&str; 3] = ["rag.search_fts", "rag.search_vector", "rag.search_hybrid"];

fn main() -> Result<()> {
    let options = Options::read();
    let mut report = Report::new("hybrid");
    actix::System::new().block_on(async {
        for rows in &options.rows {
            let arena = Arena::fill(&options, *rows)?;
            arena.measure(*rows, &mut report).await?;
        }
        report.write(&options)
    })
}

/// A filled collection, and a server that has it.
struct Arena {
    app: App,
    catalogue: Catalogue,
    owner: Principal,
    questions: Vec<String>,
    chunks: Vec<ChunkId>,
    // Last, so that it goes when nobody reads from it any more.
    _folder: TempDir,
}

impl Arena {
    fn fill(options: &Options, rows: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut settings = Settings::default();
        settings.storage.data = Some(folder.path().to_owned());
        settings.embeddings.provider = Provider::Stub;
        settings.embeddings.dimensions = DIMENSIONS.try_into().ok();
        let embeddings = Embeddings::open(&settings.embeddings, folder.path())?;
        let embeddings = embeddings.context("no provider")?;
        let model = EmbeddingModel {
            provider: embeddings.model().provider.to_owned(),
            model: embeddings.model().name.clone(),
            dimensions: DIMENSIONS,
        };
        let vectors = Vectors::invented(rows, 0)?;
        let catalogue = Catalogue::new(folder.path());
        let source_id = catalogue.add(NAME, None, "bench.1.db", "{}")?;
        let collection = catalogue.open("bench.1.db");
        let mut passages = options.text().whole()?.take(rows).zip(vectors.iter());
        let (mut questions, mut chunks) = (Vec::new(), Vec::new());
        let wanted = options.queries.unwrap_or(QUERIES);
        let every = (rows / wanted).max(1);
        for batch in 0..rows.div_ceil(BATCH) {
            collection.write(Durability::Bulk, |writer| {
                let name = NAME.to_owned();
                collection
                    .put_source(writer, &NewSource { source_id, name, ..NewSource::default() })?;
                collection.put_model(writer, &model)?;
                let here = passages.by_ref().take(BATCH);
                for (number, (passage, (_, vector))) in (batch * BATCH..).zip(here) {
                    let doc_id = format!("page:{number}");
                    if number.is_multiple_of(every) {
                        let words = passage.body.split_whitespace().skip(3).take(7);
                        questions.push(words.collect::<Vec<_>>().join(" "));
                        chunks.push(ChunkId { doc_id: doc_id.clone(), index: 0 });
                    }
                    let closed = number.is_multiple_of(CLOSED);
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
                    if let vademecum_collections::Put::New(keys) =
                        collection.put(writer, &document)?
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
        let owner = desktop("local".parse()?);
        Ok(Self { app, catalogue, owner, questions, chunks, _folder: folder })
    }

    #[expect(clippy::print_stdout, reason = "a bench prints its figures")]
    async fn measure(&self, rows: usize, report: &mut Report) -> Result<()> {
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut access = Vec::new();
        for round in 0..ROUNDS {
            for (question, chunk) in self.questions.iter().zip(&self.chunks) {
                for (tool, times) in TOOLS.iter().zip(&mut times) {
                    let asked = message(tool, question);
                    let (answer, cost) = Cost::of(self.app.ask(&asked)).await;
                    // The first vector that is asked for waits until all are in memory,
                    // which may take longer than an answer may.
                    if round > 0 {
                        found(&answer.context("no answer")?)?;
                        times.push(cost.cpu);
                    }
                }
                let (seen, time) = of_this_thread(|| self.sees(chunk));
                ensure!(seen? != is_closed(chunk), "{} is closed or not", chunk.doc_id);
                if round > 0 {
                    access.push(time);
                }
            }
        }
        let [fts, vector, hybrid] = times.map(Figures::of);
        let access = Figures::of(access);
        let ratio = hybrid.median / (fts.median + vector.median);
        println!("\n{rows} chunks, {} questions", self.questions.len());
        let all = [("fts", fts), ("vector", vector), ("hybrid", hybrid), ("access", access)];
        for (who, figures) in all {
            println!("  {who:7} {:>10.1} µs median {:>10.1} µs p99", figures.median, figures.p99);
        }
        println!(
            "  hybrid costs {ratio:.2} times its legs together; target {TIMES}: {}",
            if ratio <= TIMES { "kept" } else { "missed" }
        );
        report.add(json!({
            "rows": rows, "fts": fts, "vector": vector, "hybrid": hybrid, "access": access,
            "to_legs": ratio,
        }));
        Ok(())
    }

    /// Whether somebody with many tags, none of them the right one, sees a chunk.
    fn sees(&self, chunk: &ChunkId) -> Result<bool> {
        let mut opened = self.catalogue.find(&self.owner, NAME)?;
        opened.access = Access::Tags((0..TAGS).map(|number| format!("tag {number}")).collect());
        let scope = opened.scope(&Filter::default());
        let deadline = Deadline::after(PATIENCE);
        let collection = Arc::new(opened.collection);
        let read = collection.read(deadline, |reader| collection.passage(reader, chunk, &scope))?;
        Ok(read.is_some())
    }
}

fn is_closed(chunk: &ChunkId) -> bool {
    let number = chunk.doc_id.rsplit(':').next().and_then(|number| number.parse::<usize>().ok());
    number.is_some_and(|number| number.is_multiple_of(CLOSED))
}

fn message(tool: &str, question: &str) -> String {
    let key = if tool == "rag.search_vector" { "query_text" } else { "query" };
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": { key: question, "k": 10 } },
    });
    message.to_string()
}

/// That something was found.
fn found(answer: &str) -> Result<()> {
    let answer: Value = serde_json::from_str(answer)?;
    let results = answer["result"]["structuredContent"]["results"].as_array();
    ensure!(results.is_some_and(|results| !results.is_empty()), "nothing was found: {answer}");
    Ok(())
}
