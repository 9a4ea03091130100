//! `vademecum collection`.

use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use indicatif::ProgressBar;
use serde::Serialize;
use vademecum_collections::Counts;
use vademecum_kit::model::{Deadline, Timestamp};

use super::{
    command::Common,
    import::progress,
    output::{complain, plain, say},
};
use crate::{
    app::App,
    collections::{Plan, Record, Report, Wanted},
};
use vademecum_core::{
    auth::{AccessTag, UserId},
    config::{Folder, Table},
};

/// How long counting what is in a collection may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Collections of documents, such as knowledge bases.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum collection build postgres ~/docs/postgres-17 --project PostgreSQL --version 17
  vademecum collection build handbook ~/work/handbook --owner ada --access-tag team:garden
  vademecum collection list
  vademecum collection sync
  vademecum collection remove postgres

Documents are read from Markdown, HTML, reStructuredText, text, PDF, EPUB, office files and
whatever else becomes media. Nothing in the folders is changed. A server that is running sees
the collection as it was until all of it is there. Collections of tables are described in the
settings ([[collections]] with profile and table) and made by `sync`; databases are only read.")]
pub(super) enum Collection {
    /// Make a collection of folders, or bring it up to date
    Build(Build),
    /// Bring collections of folders or of tables up to date: those named, or all
    Sync(Sync),
    /// List the collections
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a collection is made of, and how much is in it
    Show {
        /// Its name
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a collection; what it was made of stays
    Remove {
        /// Its name
        name: String,
    },
}

/// Makes a collection of folders.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is not said stays as it was: a collection that has an owner or access tags keeps them.
Building it again reads only what has changed; a document whose file is gone goes too, but
not if its folder is missing or empty. Ends with 0 if anything is in the collection
afterwards, with 1 if nothing could be read.")]
pub(super) struct Build {
    /// What it is called: letters, digits, `.`, `-` and `_`
    name: String,
    /// The folders that it is made of, from now on
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The project that the folders document
    #[arg(long)]
    project: Option<String>,
    /// The version of that project
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The user whose it is [default: everybody's]
    #[arg(long, value_name = "USER")]
    owner: Option<UserId>,
    /// An access tag that one must have to see its documents; may be repeated
    #[arg(long = "access-tag", value_name = "TAG")]
    access_tags: Vec<AccessTag>,
    /// Make all of it anew
    #[arg(long)]
    rebuild: bool,
    /// Print what became of it as JSON
    #[arg(long)]
    json: bool,
}

/// Brings collections up to date.
#[derive(Debug, clap::Args)]
pub(super) struct Sync {
    /// Their names; without any, all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Make all of them anew
    #[arg(long)]
    rebuild: bool,
    /// Print what became of each as JSON
    #[arg(long)]
    json: bool,
}

/// A collection as it is listed.
#[derive(Serialize)]
struct Listed {
    name: String,
    owner: Option<String>,
    documents: u64,
    chunks: u64,
    vectors: u64,
    last_ok_at: Option<Timestamp>,
    last_error: Option<String>,
    plan: Plan,
}

impl Collection {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.app()?;
        match self {
            Self::Build(build) => build.run(&app).await,
            Self::Sync(sync) => sync.run(&app).await,
            Self::List { json } => list(&app, json),
            Self::Show { name, json } => show(&app, &name, json),
            Self::Remove { name } => {
                app.syncs().remove(&name)?;
                say(&format!("removed {name}; what it was made of is as it was"));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl Build {
    async fn run(self, app: &App) -> Result<ExitCode> {
        let (rebuild, json) = (self.rebuild, self.json);
        let wanted = self.wanted(app)?;
        let report = bring_up_to_date(app, wanted, rebuild).await?;
        tell(std::slice::from_ref(&report), json.then_some(&report))?;
        Ok(if report.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// What is wanted. What is not said stays as it was.
    fn wanted(self, app: &App) -> Result<Wanted> {
        let before = app.collections().named(&self.name)?;
        let before = before.as_ref().map(Wanted::recorded).transpose()?;
        let (owner, mut plan) = before.map(|it| (it.owner, it.plan)).unwrap_or_default();
        plan.folders = self
            .folders
            .iter()
            .map(|path| {
                let folder = fs::canonicalize(path).ok().filter(|path| path.is_dir());
                let path = folder.with_context(|| {
                    format!("{} is not a folder that can be read", path.display())
                })?;
                let known = plan.folders.iter().find(|folder| folder.path == path);
                Ok(Folder {
                    project: self.project.clone().or_else(|| known?.project.clone()),
                    version: self.version.clone().or_else(|| known?.version.clone()),
                    path,
                })
            })
            .collect::<Result<_>>()?;
        plan.table = None;
        if !self.access_tags.is_empty() {
            plan.access_tags = self.access_tags.iter().map(ToString::to_string).collect();
        }
        Ok(Wanted { name: self.name, owner: self.owner.or(owner), plan })
    }
}

impl Sync {
    async fn run(self, app: &App) -> Result<ExitCode> {
        let all = app.syncs().wanted()?;
        let of_name = |name: &String| {
            let found = all.iter().find(|wanted| wanted.name.eq_ignore_ascii_case(name));
            found.with_context(|| format!("there is no collection `{name}` that could be synced"))
        };
        let chosen = match self.names.as_slice() {
            [] => all.iter().collect(),
            names => names.iter().map(of_name).collect::<Result<Vec<_>>>()?,
        };
        let (mut reports, mut failed) = (Vec::new(), chosen.is_empty());
        if failed {
            complain("there is no collection that could be synced");
        }
        for wanted in chosen {
            match bring_up_to_date(app, wanted.clone(), self.rebuild).await {
                Ok(report) => {
                    failed |= report.is_failure();
                    reports.push(report);
                }
                Err(error) => {
                    failed = true;
                    complain(&plain(&format!("{}: {error:#}", wanted.name)));
                }
            }
        }
        tell(&reports, self.json.then_some(&reports))?;
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Works beside the runtime, where databases are waited for.
async fn bring_up_to_date(app: &App, wanted: Wanted, rebuild: bool) -> Result<Report> {
    let syncs = app.syncs().clone();
    let work = move || {
        let things = if wanted.plan.table.is_some() { "rows" } else { "files" };
        let bar: ProgressBar = progress(0, things);
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let report = syncs.ingest().bring_up_to_date(&wanted, rebuild, &|done, of| {
            bar.set_length(count(of));
            bar.set_position(count(done));
        });
        bar.finish_and_clear();
        report
    };
    Ok(tokio::task::spawn_blocking(work).await??)
}

/// Tells what became of collections: as JSON, if that is wanted.
fn tell(reports: &[Report], json: Option<&impl Serialize>) -> Result<()> {
    if let Some(json) = json {
        say(&serde_json::to_string_pretty(json)?);
        return Ok(());
    }
    for report in reports {
        for warning in &report.warnings {
            complain(&plain(&format!("{}: {warning}", report.name)));
        }
        for problem in &report.skipped {
            complain(&plain(&format!("skipped {problem}")));
        }
        if let Some(error) = &report.embedding_error {
            let line =
                format!("{}: vectors are missing and come the next time: {error}", report.name);
            complain(&plain(&line));
        }
        let Report { name, new, updated, unchanged, gone, documents, chunks, vectors, .. } = report;
        let made = if report.rebuilt { "made anew; " } else { "" };
        say(&format!(
            "{name}: {made}{new} new, {updated} updated, {unchanged} unchanged, {gone} gone, \
             {} skipped; {documents} documents in {chunks} chunks, {vectors} with vectors; {:.1} s",
            report.skipped.len(),
            report.seconds
        ));
    }
    Ok(())
}

fn list(app: &App, json: bool) -> Result<ExitCode> {
    let records = app.collections().list()?;
    let listed = records.iter().map(|record| listed(app, record)).collect::<Result<Vec<_>>>()?;
    if json {
        say(&serde_json::to_string_pretty(&listed)?);
        return Ok(ExitCode::SUCCESS);
    }
    for Listed { name, owner, documents, chunks, vectors, last_ok_at, last_error, .. } in listed {
        let owner = owner.map_or_else(|| "everybody's".to_owned(), |owner| format!("{owner}'s"));
        let synced = last_ok_at.map_or_else(|| "never".to_owned(), |it| it.to_string());
        say(&format!(
            "{name}\t{owner}\t{documents} documents\t{chunks} chunks\t{vectors} vectors\t{synced}"
        ));
        if let Some(error) = last_error {
            complain(&plain(&format!("{name}: {error}")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, name: &str, json: bool) -> Result<ExitCode> {
    let Some(record) = app.collections().named(name)? else {
        bail!("there is no collection `{name}`");
    };
    let listed = listed(app, &record)?;
    if json {
        say(&serde_json::to_string_pretty(&listed)?);
        return Ok(ExitCode::SUCCESS);
    }
    let line = |name: &str, said: String| say(&plain(&format!("{name}: {said}")));
    let or = |said: Option<String>, without: &str| said.unwrap_or_else(|| without.to_owned());
    line("name", listed.name);
    line("owner", or(listed.owner, "everybody's"));
    for Folder { path, project, version } in listed.plan.folders {
        let about = [project, version].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let about = if about.is_empty() { about } else { format!(" ({about})") };
        line("folder", format!("{}{about}", path.display()));
    }
    if let Some(Table { profile, table, .. }) = listed.plan.table {
        line("table", format!("{table} (profile {profile})"));
    }
    line("access tags", listed.plan.access_tags.join(", "));
    line("documents", listed.documents.to_string());
    line("chunks", listed.chunks.to_string());
    line("vectors", listed.vectors.to_string());
    line("last synced", or(listed.last_ok_at.map(|it| it.to_string()), "never"));
    if let Some(error) = listed.last_error {
        line("last error", error);
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(app: &App, record: &Record) -> Result<Listed> {
    let collection = app.collections().open(&record.file);
    let counts = collection.read(Deadline::after(PATIENCE), |reader| collection.counts(reader))?;
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum();
    Ok(Listed {
        name: record.name.clone(),
        owner: record.owner.clone(),
        documents: sum(|it| it.documents),
        chunks: sum(|it| it.chunks),
        vectors: sum(|it| it.vectors),
        last_ok_at: counts.iter().filter_map(|it| it.last_ok_at).max(),
        last_error: counts.iter().find_map(|it| it.last_error.clone()),
        plan: Plan::parse(&record.name, &record.plan)?,
    })
}
