//! The command `vademecum eval`: reads a collection, imports it, runs the queries and prints the
//! report.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vademecum_eval::{
    EvalReport, Fts5Baseline, JudgedCollection, JudgedQuery, MetricsAccumulator, MultiEvalReport,
    RECALL_DEPTH, VectorMetrics,
};
use vademecum_kit::model::Uri;

use super::{
    corpus_import::{ImportedCorpus, import_corpus},
    folder::EvalFolder,
};
use crate::{
    app::App,
    cli::{
        common::CommonOptions,
        get::{parse_tool_reply, tool_call_message},
        output::{print_error, print_json, print_line},
        progress::progress_bar,
    },
    tools::SearchModeInput,
};

/// Measure search quality on a judged collection
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum eval collections/scifact
  vademecum eval --json collections/scifact
  vademecum eval --data /tmp/scifact collections/scifact
  vademecum eval collections/*

A judged collection is a folder with corpus.jsonl (_id, title, text), queries.jsonl
(_id, text) and qrels/test.tsv (query, document, grade). Its documents are distributed
over the five sources and searched with knowledge.search; one plain FTS5 table
with all of them gets the same queries. With an embeddings.provider in the settings,
vector and hybrid search are measured as well. Without --data a temporary folder is used,
which is removed on exit; each of several collections gets its own folder. After
several, a table compares their nDCG@10.")]
pub(in crate::cli) struct Eval {
    /// Folders of the judged collections
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Print the metrics as JSON
    #[arg(long)]
    json: bool,
}

impl Eval {
    pub(in crate::cli) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut reports = Vec::with_capacity(self.folders.len());
        for folder in &self.folders {
            let name = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let one = self.evaluate_collection(common, folder, &name).await;
            reports.push((name, one.with_context(|| folder.display().to_string())?));
        }
        match reports.as_slice() {
            [(_, report)] if self.json => print_json(report)?,
            [_] => {}
            _ => {
                let several = MultiEvalReport::from_reports(reports);
                if self.json {
                    print_json(&several)?;
                } else {
                    several.format_lines().iter().for_each(|line| print_line(line));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Evaluates one collection.
    async fn evaluate_collection(
        &self,
        common: &CommonOptions,
        folder: &Path,
        name: &str,
    ) -> Result<EvalReport> {
        let collection = JudgedCollection::read(folder)?;
        if collection.missing > 0 {
            print_error(&format!(
                "{} relevant documents are not in the corpus; they count as not found",
                collection.missing
            ));
        }
        let data = common.data.as_ref().map(|data| match self.folders.as_slice() {
            [_] => data.clone(),
            _ => data.join(name),
        });
        let folder = EvalFolder::open(data.as_deref(), &collection)?;
        let mut settings = common.load_settings()?;
        settings.storage.data = Some(folder.path().to_owned());
        let app = App::new(settings)?;
        tokio::select! {
            done = self.measure(&app, &collection, name) => done,
            // Returning removes the temporary folder.
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    }

    async fn measure(
        &self,
        app: &App,
        collection: &JudgedCollection,
        name: &str,
    ) -> Result<EvalReport> {
        let scattered = import_corpus(&app.library(), &collection.documents).await?;
        let plain = Fts5Baseline::build(&collection.documents)?;
        let report = run_queries(app, collection, &scattered, &plain).await?;
        if self.json {
            return Ok(report);
        }
        if self.folders.len() > 1 {
            print_line(&format!("== {name}"));
        }
        let (documents, imported) = (collection.documents.len(), scattered.imported);
        print_line(&format!(
            "{documents} documents, {imported} imported, {} already present; {} queries",
            documents - imported,
            collection.queries.len()
        ));
        report.format_lines().iter().for_each(|line| print_line(line));
        Ok(report)
    }
}

/// Runs every query on the library and the baseline in turn, so that other load on the machine
/// affects both.
async fn run_queries(
    app: &App,
    collection: &JudgedCollection,
    scattered: &ImportedCorpus,
    plain: &Fts5Baseline,
) -> Result<EvalReport> {
    let name =
        |place: &usize| collection.documents.get(*place).map(|document| document.id.as_str());
    let (mut ours, mut theirs) = (MetricsAccumulator::default(), MetricsAccumulator::default());
    let has_vectors = app.library().index_all(|_| ()).await;
    let (mut vector, mut hybrid) = (MetricsAccumulator::default(), MetricsAccumulator::default());
    let mut incomplete = 0_usize;
    if let Some(first) = collection.queries.first() {
        // Opens the files and warms the caches of both before the measurement.
        run_query(app, first, SearchModeInput::Fts).await?;
        plain.search(&first.text)?;
    }
    let bar = progress_bar(collection.queries.len(), "queries");
    for query in &collection.queries {
        if has_vectors {
            for (mode, tally) in
                [(SearchModeInput::Vector, &mut vector), (SearchModeInput::Hybrid, &mut hybrid)]
            {
                let (answer, took) = run_query(app, query, mode).await?;
                let places = ranked_positions(&answer, scattered)?;
                let names: Vec<&str> = places.iter().filter_map(name).collect();
                tally.add_ranking(&names, &query.grades, took);
            }
        }
        let (answer, took) = run_query(app, query, SearchModeInput::Fts).await?;
        incomplete += usize::from(!answer["_meta"]["failed_sources"].is_null());
        let places = ranked_positions(&answer, scattered)?;
        ours.add_ranking(&places.iter().filter_map(name).collect::<Vec<_>>(), &query.grades, took);

        let began = Instant::now();
        let places = plain.search(&query.text)?;
        let took = began.elapsed();
        theirs.add_ranking(
            &places.iter().filter_map(name).collect::<Vec<_>>(),
            &query.grades,
            took,
        );
        bar.inc(1);
    }
    bar.finish_and_clear();
    if incomplete > 0 {
        print_error(&format!("{incomplete} results are incomplete: a source failed or timed out"));
    }
    let vectors = has_vectors
        .then(|| VectorMetrics { vector: vector.into_metrics(), hybrid: hybrid.into_metrics() });
    Ok(EvalReport { ours: ours.into_metrics(), vectors, plain: theirs.into_metrics() })
}

/// Runs a query as a client without a session does. Returns the reply and the time from request to
/// reply.
async fn run_query(
    app: &App,
    query: &JudgedQuery,
    mode: SearchModeInput,
) -> Result<(Value, Duration)> {
    let mode = match mode {
        SearchModeInput::Fts => "fts",
        SearchModeInput::Vector => "vector",
        SearchModeInput::Hybrid => "hybrid",
    };
    let arguments = json!({ "query": query.text, "limit": RECALL_DEPTH, "mode": mode });
    let message = tool_call_message("knowledge.search", &arguments);
    let began = Instant::now();
    let answer = app.handle_message(&message).await;
    let took = began.elapsed();
    let answer = answer.context("the server sent no reply").and_then(|it| parse_tool_reply(&it));
    Ok((answer.with_context(|| format!("query `{}`", query.id))?, took))
}

/// Returns the corpus positions of the found documents, best first. A document that was found
/// twice, as a whole and by one of its messages, keeps its first rank.
fn ranked_positions(answer: &Value, scattered: &ImportedCorpus) -> Result<Vec<usize>> {
    let mut seen = HashSet::new();
    let mut places = Vec::new();
    for hit in answer["results"].as_array().into_iter().flatten() {
        let uri: Uri = hit["uri"].as_str().unwrap_or_default().parse()?;
        let item = Uri::item(uri.source, uri.id);
        let place = scattered.positions.get(&item).with_context(|| {
            format!(
                "{item} is not part of this collection; use a new or an empty folder with --data"
            )
        })?;
        if seen.insert(*place) {
            places.push(*place);
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_counts_once_at_first_rank() {
        let uris = ["chats://a#1", "notes://b", "chats://a", "media://3"];
        let results: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
        let answer = json!({ "results": results });
        let mut scattered = ImportedCorpus::default();
        for (uri, place) in [("chats://a", 7), ("notes://b", 5)] {
            scattered.positions.insert(uri.parse().unwrap(), place);
        }
        let error = ranked_positions(&answer, &scattered).unwrap_err().to_string();
        assert!(error.contains("media://3 is not part of this collection"), "{error}");
        scattered.positions.insert("media://3".parse().unwrap(), 0);
        assert_eq!(ranked_positions(&answer, &scattered).unwrap(), [7, 5, 0]);
    }
}
