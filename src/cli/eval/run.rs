//! The command itself: read, import, ask, print.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vademecum_kit::model::Uri;

use super::{
    collection::{Collection, Question},
    folder::Folder,
    measures::{DEPTH, Tally},
    plain::Plain,
    report::{Meaning, Report, Several},
    scatter::{Scattered, scatter},
};
use crate::{
    app::App,
    cli::{
        command::Common,
        get::{answer_of, message},
        import::progress,
        output::{complain, say},
    },
    tools::SearchMode,
};

/// Measures search on a judged collection.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum eval collections/scifact
  vademecum eval --json collections/scifact
  vademecum eval --data /tmp/scifact collections/scifact
  vademecum eval collections/*

A judged collection is a folder with corpus.jsonl (_id, title, text), queries.jsonl
(_id, text) and qrels/test.tsv (query, document, grade). Its documents are scattered
over the five sources and asked for through knowledge.search; one plain FTS5 table
over all of them is asked the same. With an embeddings.provider in the settings, it is
asked by meaning and by both as well. Without --data this happens in a temporary folder,
which is removed again; of several collections, each has a folder of its own. After
several, a table compares their nDCG@10.")]
pub(in crate::cli) struct Eval {
    /// The judged collections
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Eval {
    pub(in crate::cli) async fn run(self, common: &Common) -> Result<ExitCode> {
        let mut reports = Vec::with_capacity(self.folders.len());
        for folder in &self.folders {
            let name = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let one = self.one(common, folder, &name).await;
            reports.push((name, one.with_context(|| folder.display().to_string())?));
        }
        match reports.as_slice() {
            [(_, report)] if self.json => say(&serde_json::to_string_pretty(report)?),
            [_] => {}
            _ => {
                let several = Several::of(reports);
                if self.json {
                    say(&serde_json::to_string_pretty(&several)?);
                } else {
                    several.print();
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Measures one collection.
    async fn one(&self, common: &Common, folder: &Path, name: &str) -> Result<Report> {
        let collection = Collection::read(folder)?;
        if collection.missing > 0 {
            complain(&format!(
                "{} relevant documents are not in the corpus; they count as not found",
                collection.missing
            ));
        }
        let data = common.data.as_ref().map(|data| match self.folders.as_slice() {
            [_] => data.clone(),
            _ => data.join(name),
        });
        let folder = Folder::take(data.as_deref(), &collection)?;
        let mut settings = common.settings()?;
        settings.storage.data = Some(folder.path().to_owned());
        let app = App::new(settings)?;
        tokio::select! {
            done = self.measure(&app, &collection, name) => done,
            // The temporary folder is removed on the way out.
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    }

    async fn measure(&self, app: &App, collection: &Collection, name: &str) -> Result<Report> {
        let scattered = scatter(&app.library(), &collection.documents).await?;
        let plain = Plain::fill(&collection.documents)?;
        let report = ask_all(app, collection, &scattered, &plain).await?;
        if self.json {
            return Ok(report);
        }
        if self.folders.len() > 1 {
            say(&format!("== {name}"));
        }
        let (documents, imported) = (collection.documents.len(), scattered.imported);
        say(&format!(
            "{documents} documents, {imported} imported, {} there before; {} questions",
            documents - imported,
            collection.questions.len()
        ));
        report.print();
        Ok(report)
    }
}

/// Asks every question both ways, one after the other, so that whatever else
/// the machine does falls on both.
async fn ask_all(
    app: &App,
    collection: &Collection,
    scattered: &Scattered,
    plain: &Plain,
) -> Result<Report> {
    let name =
        |place: &usize| collection.documents.get(*place).map(|document| document.id.as_str());
    let (mut ours, mut theirs) = (Tally::default(), Tally::default());
    let has_vectors = app.library().make_vectors(|_| ()).await;
    let (mut vector, mut hybrid) = (Tally::default(), Tally::default());
    let mut incomplete = 0_usize;
    if let Some(first) = collection.questions.first() {
        // Opens the files and warms the caches of both before the clock runs.
        ask(app, first, SearchMode::Fts).await?;
        plain.search(&first.text)?;
    }
    let bar = progress(collection.questions.len(), "questions");
    for question in &collection.questions {
        if has_vectors {
            for (mode, tally) in
                [(SearchMode::Vector, &mut vector), (SearchMode::Hybrid, &mut hybrid)]
            {
                let (answer, took) = ask(app, question, mode).await?;
                let places = places(&answer, scattered)?;
                let names: Vec<&str> = places.iter().filter_map(name).collect();
                tally.add(&names, &question.grades, took);
            }
        }
        let (answer, took) = ask(app, question, SearchMode::Fts).await?;
        incomplete += usize::from(!answer["_meta"]["failed_sources"].is_null());
        let places = places(&answer, scattered)?;
        ours.add(&places.iter().filter_map(name).collect::<Vec<_>>(), &question.grades, took);

        let began = Instant::now();
        let places = plain.search(&question.text)?;
        let took = began.elapsed();
        theirs.add(&places.iter().filter_map(name).collect::<Vec<_>>(), &question.grades, took);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if incomplete > 0 {
        complain(&format!("{incomplete} answers are incomplete: a source failed or was late"));
    }
    let meaning =
        has_vectors.then(|| Meaning { vector: vector.figures(), hybrid: hybrid.figures() });
    Ok(Report { ours: ours.figures(), meaning, plain: theirs.figures() })
}

/// Asks a question as a client without a session does; tells how long it took
/// from message to message.
async fn ask(app: &App, question: &Question, mode: SearchMode) -> Result<(Value, Duration)> {
    let mode = match mode {
        SearchMode::Fts => "fts",
        SearchMode::Vector => "vector",
        SearchMode::Hybrid => "hybrid",
    };
    let arguments = json!({ "query": question.text, "limit": DEPTH, "mode": mode });
    let message = message("knowledge.search", &arguments);
    let began = Instant::now();
    let answer = app.ask(&message).await;
    let took = began.elapsed();
    let answer = answer.context("the server gave no answer").and_then(|it| answer_of(&it));
    Ok((answer.with_context(|| format!("question `{}`", question.id))?, took))
}

/// The documents that were found, best first. One that is found twice, as a
/// whole and by a message in it, has the first of its places.
fn places(answer: &Value, scattered: &Scattered) -> Result<Vec<usize>> {
    let mut seen = HashSet::new();
    let mut places = Vec::new();
    for hit in answer["results"].as_array().into_iter().flatten() {
        let uri: Uri = hit["uri"].as_str().unwrap_or_default().parse()?;
        let item = Uri::item(uri.source, uri.id);
        let place = scattered.places.get(&item).with_context(|| {
            format!("{item} is not of this collection; name a new or an empty folder with --data")
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
    fn a_document_counts_once_at_its_first_place() {
        let uris = ["chats://a#1", "notes://b", "chats://a", "media://3"];
        let results: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
        let answer = json!({ "results": results });
        let mut scattered = Scattered::default();
        for (uri, place) in [("chats://a", 7), ("notes://b", 5)] {
            scattered.places.insert(uri.parse().unwrap(), place);
        }
        let error = places(&answer, &scattered).unwrap_err().to_string();
        assert!(error.contains("media://3 is not of this collection"), "{error}");
        scattered.places.insert("media://3".parse().unwrap(), 0);
        assert_eq!(places(&answer, &scattered).unwrap(), [7, 5, 0]);
    }
}
