//! The command `vademecum eval`: reads a collection, imports it, runs the queries and prints the
//! report.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vademecum_eval::{
    ByMethod, CollectionSummary, EarlierReports, EvalReport, Fts5Baseline, JudgedCollection,
    JudgedQuery, MultiEvalReport, QueryResult, RECALL_DEPTH, ScoredRanking,
};
use vademecum_model::Uri;
use vademecum_search::Fusion;
use vademecum_tools::SearchModeInput;

use super::{
    corpus_import::{ImportedCorpus, import_corpus},
    folder::{EvalFolder, judgement_fingerprint},
    memory::evaluate_memory,
};
use crate::{
    app::App,
    cli::{
        common::CommonOptions,
        get::{parse_tool_reply, tool_call_message},
        output::{print_error, print_json, print_line},
        progress::progress_bar,
    },
};

/// Measure search quality on a judged collection
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum eval collections/scifact
  vademecum eval --json collections/scifact > before.json
  vademecum eval --compare before.json collections/scifact
  vademecum eval --data /tmp/scifact collections/scifact
  vademecum eval collections/*
  vademecum eval locomo10.json longmemeval_s.json

A judged collection is a folder in the format of BEIR: corpus.jsonl (_id, title, text),
queries.jsonl (_id, text) and qrels/test.tsv (query, document, grade), or dev.tsv or
train.tsv. Its documents are distributed over the five sources and searched with
knowledge.search; one plain FTS5 table with all of them gets the same queries. With an
embeddings.provider in the settings, vector and hybrid search are measured as well, and
an oracle that takes the better of full text and vectors for each query, and reciprocal rank
fusion (RRF) of both. Rate limits of the settings do not apply. Without --data a temporary
folder is used, which is removed on exit; each of several collections gets its own folder.
After several, a table compares their nDCG@10.

A query may have a language (`lang` or `language`); otherwise a folder name that ends in
a language, such as xquad-de, tells it. A document whose metadata has a `conversation`
and a `sender` is a message of that conversation, ordered by `turn`.

A file is one of LoCoMo or LongMemEval as delivered: questions about long conversations. Each
history is a temporary library, each session a conversation, and a hit is a session; one FTS5
row a session gets the same questions.

Intervals are 95 % confidence intervals by bootstrap over the queries.")]
pub(in crate::cli) struct Eval {
    /// Folders of the judged collections, or files of questions about conversations
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Print the metrics and the scores of each query as JSON
    #[arg(long)]
    json: bool,
    /// Show the differences to an earlier run, of which FILE has the JSON
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

impl Eval {
    pub(in crate::cli) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let files = self.folders.iter().filter(|path| path.is_file()).count();
        if files > 0 {
            if files < self.folders.len() || self.compare.is_some() {
                bail!("files of questions cannot be measured with folders or --compare");
            }
            return self.run_memory(common).await;
        }
        let names: Vec<String> = self.folders.iter().map(|it| collection_name(it)).collect();
        if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
            bail!("several folders have the same name");
        }
        let earlier = self.read_earlier(&names)?;
        let mut reports = Vec::with_capacity(self.folders.len());
        for (folder, name) in self.folders.iter().zip(&names) {
            let report = self.evaluate_collection(common, folder, name, earlier.as_ref()).await;
            reports.push(report.with_context(|| folder.display().to_string())?);
        }
        match reports.as_slice() {
            [report] if self.json => print_json(report)?,
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

    /// Evaluates files of questions about conversations.
    async fn run_memory(&self, common: &CommonOptions) -> Result<ExitCode> {
        for file in &self.folders {
            let report = tokio::select! {
                done = evaluate_memory(common, file) => done?,
                _ = tokio::signal::ctrl_c() => bail!("interrupted"),
            };
            if self.json {
                print_json(&report)?;
            } else {
                report.format_lines().iter().for_each(|line| print_line(line));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Reads the report to compare with. Fails if it has other collections.
    fn read_earlier(&self, names: &[String]) -> Result<Option<EarlierReports>> {
        let Some(path) = &self.compare else { return Ok(None) };
        let read = || -> Result<EarlierReports> {
            let earlier = EarlierReports::parse(&fs::read_to_string(path)?)?;
            earlier.check_names(names.iter().map(String::as_str))?;
            Ok(earlier)
        };
        read().with_context(|| path.display().to_string()).map(Some)
    }

    /// Evaluates one collection.
    async fn evaluate_collection(
        &self,
        common: &CommonOptions,
        folder: &Path,
        name: &str,
        earlier: Option<&EarlierReports>,
    ) -> Result<EvalReport> {
        let collection = JudgedCollection::read(folder)?;
        let summary = summarize(&collection, name);
        if let Some(earlier) = earlier {
            earlier.check_collection(&summary)?;
        }
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
        settings.archive = vademecum_core::config::Archive::default();
        // Limits protect a server from its clients; these queries are the owner's own.
        settings.limits.requests_per_minute = 0;
        settings.limits.calls_per_tool_per_minute = 0;
        let app = App::new(settings)?;
        let report = tokio::select! {
            done = self.measure(&app, &collection, summary) => done?,
            // Returning removes the temporary folder.
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        };
        let report = match earlier {
            Some(earlier) => report.compare(earlier)?,
            None => report,
        };
        if !self.json {
            report.format_lines().iter().for_each(|line| print_line(line));
        }
        Ok(report)
    }

    async fn measure(
        &self,
        app: &App,
        collection: &JudgedCollection,
        summary: CollectionSummary,
    ) -> Result<EvalReport> {
        let scattered = import_corpus(&app.library(), &collection.documents).await?;
        let plain = Fts5Baseline::build(&collection.documents)?;
        let language = name_language(&summary.name);
        let results = run_queries(app, collection, &scattered, &plain, language).await?;
        if !self.json {
            self.print_head(collection, &summary, scattered.imported);
        }
        Ok(EvalReport::from_results(summary, results))
    }

    fn print_head(&self, collection: &JudgedCollection, summary: &CollectionSummary, new: usize) {
        if self.folders.len() > 1 {
            print_line(&format!("== {}", summary.name));
        }
        let (documents, queries) = (summary.documents, collection.queries.len());
        let split = match collection.split {
            "test" => String::new(),
            other => format!(" of {other}.tsv"),
        };
        print_line(&format!(
            "{documents} documents, {new} imported, {} already present; {queries} queries{split}",
            documents - new,
        ));
        if summary.unknown_queries > 0 {
            print_line(&format!(
                "skipped {} judgements of {} queries that are not in queries.jsonl",
                summary.skipped_judgements, summary.unknown_queries
            ));
        }
    }
}

/// Returns the name of a folder.
fn collection_name(folder: &Path) -> String {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the language that ends the name of a collection, such as `de` in `xquad-de`.
fn name_language(name: &str) -> Option<&str> {
    let (_, language) = name.rsplit_once('-')?;
    let is_code = language.len() == 2 && language.bytes().all(|byte| byte.is_ascii_lowercase());
    is_code.then_some(language)
}

fn summarize(collection: &JudgedCollection, name: &str) -> CollectionSummary {
    CollectionSummary {
        name: name.to_owned(),
        fingerprint: judgement_fingerprint(collection),
        documents: collection.documents.len(),
        split: collection.split.to_owned(),
        missing_documents: collection.missing,
        unknown_queries: collection.unknown_queries,
        skipped_judgements: collection.skipped_judgements,
    }
}

/// Runs every query on the library and the baseline in turn, so that other load on the machine
/// affects both. Queries without a language have that of the collection.
async fn run_queries(
    app: &App,
    collection: &JudgedCollection,
    scattered: &ImportedCorpus,
    plain: &Fts5Baseline,
    language: Option<&str>,
) -> Result<Vec<QueryResult>> {
    let score = |positions: &[usize], query: &JudgedQuery, took| {
        let documents = positions.iter().filter_map(|place| collection.documents.get(*place));
        let found: Vec<&str> = documents.map(|document| document.id.as_str()).collect();
        ScoredRanking::score(&found, &query.grades, took)
    };
    let has_vectors = app.library().index_all(|_| ()).await;
    if let Some(first) = collection.queries.first() {
        // Opens the files and warms the caches of both before the measurement.
        run_query(app, first, SearchModeInput::Fts).await?;
        plain.search(&first.text)?;
    }
    let mut incomplete = 0_usize;
    let mut results = Vec::with_capacity(collection.queries.len());
    let bar = progress_bar(collection.queries.len(), "queries");
    for query in &collection.queries {
        let mut rankings = ByMethod::default();
        let (answer, took) = run_query(app, query, SearchModeInput::Fts).await?;
        incomplete += usize::from(!answer["_meta"]["failed_sources"].is_null());
        let by_words = ranked_positions(&answer, scattered)?;
        rankings.ours = score(&by_words, query, took);
        if has_vectors {
            let (answer, vectors_took) = run_query(app, query, SearchModeInput::Vector).await?;
            let by_vectors = ranked_positions(&answer, scattered)?;
            rankings.vector = Some(score(&by_vectors, query, vectors_took));
            let fused = fuse_by_ranks(&by_words, &by_vectors);
            rankings.rank_fusion = Some(score(&fused, query, took + vectors_took));
            let (answer, took) = run_query(app, query, SearchModeInput::Hybrid).await?;
            rankings.hybrid = Some(score(&ranked_positions(&answer, scattered)?, query, took));
        }

        let began = Instant::now();
        let positions = plain.search(&query.text)?;
        rankings.plain = score(&positions, query, began.elapsed());
        let language = query.language().or(language).map(str::to_owned);
        results.push(QueryResult { id: query.id.clone(), language, rankings });
        bar.inc(1);
    }
    bar.finish_and_clear();
    if incomplete > 0 {
        print_error(&format!("{incomplete} results are incomplete: a source failed or timed out"));
    }
    Ok(results)
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

/// Fuses two rankings of corpus positions by reciprocal ranks.
fn fuse_by_ranks(by_words: &[usize], by_vectors: &[usize]) -> Vec<usize> {
    let list = |ranking: &[usize]| ranking.iter().map(|place| (*place, 0.0)).collect::<Vec<_>>();
    let fused = Fusion::default().fuse(&list(by_words), &list(by_vectors));
    fused.into_iter().map(|result| result.key).collect()
}

/// Returns the corpus positions of the found documents, best first. A document that was found
/// twice, as a whole and by one of its messages, keeps its first rank.
pub(super) fn ranked_positions(answer: &Value, scattered: &ImportedCorpus) -> Result<Vec<usize>> {
    let mut seen = HashSet::new();
    let mut positions = Vec::new();
    for hit in answer["results"].as_array().into_iter().flatten() {
        let uri: Uri = hit["uri"].as_str().unwrap_or_default().parse()?;
        let index = hit["loc"]["message_index"].as_u64().and_then(|it| usize::try_from(it).ok());
        let place = scattered.position(&uri, index).with_context(|| {
            format!(
                "{uri} is not part of this collection; use a new or an empty folder with --data"
            )
        })?;
        if seen.insert(place) {
            positions.push(place);
        }
    }
    Ok(positions)
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

    #[test]
    fn folder_name_may_end_in_language() {
        assert_eq!(name_language("xquad-de"), Some("de"));
        for other in ["de", "msmarco-v2", "trec-covid", "xquad-DE"] {
            assert_eq!(name_language(other), None, "{other}");
        }
    }
}
