//! `vademecum collection`.

use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use indicatif::ProgressBar;
use serde::Serialize;
use vademecum_actors::collections::{CollectionPlan, CollectionRecord, CollectionSpec, SyncReport};
use vademecum_collections::SourceCounts;
use vademecum_core::{
    auth::{AccessTag, UserId},
    config::{CollectionTable, Folder},
};
use vademecum_model::{Deadline, Timestamp};
use vademecum_services::text::sanitize;

use super::{
    common::CommonOptions,
    output::{print_error, print_json, print_line},
    progress::progress_bar,
};
use crate::app::App;

/// Maximum time to count the contents of a collection.
const COUNT_TIMEOUT: Duration = Duration::from_mins(1);

/// Build, sync, list and remove collections of documents, such as knowledge bases
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum collection build postgres ~/docs/postgres-17 --project PostgreSQL --version 17
  vademecum collection build handbook ~/work/handbook --owner ada --access-tag team:garden
  vademecum collection list
  vademecum collection sync
  vademecum collection remove postgres

Documents are read from Markdown, HTML, reStructuredText, text, PDF, EPUB, office files and
other media formats. Nothing in the folders is changed. A running server sees the previous
state of the collection until the new one is complete. Collections of tables are defined in the
settings ([[collections]] with profile and table) and built by `sync`; databases are only read.")]
pub(super) enum CollectionCommand {
    /// Create or update a collection of folders
    Build(BuildCollection),
    /// Update collections of folders or of tables: the named ones, or all
    Sync(SyncCollections),
    /// List the collections
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the folders or table and the size of a collection
    Show {
        /// Name of the collection
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a collection; its source folders and tables are not changed
    Remove {
        /// Name of the collection
        name: String,
    },
}

/// Create or update a collection of folders
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Omitted options keep their values: a collection that has an owner or access tags keeps them.
Building it again reads only changed files. Documents of deleted files are removed, but
not if their folder is missing or empty. Exit codes: 0 if the collection has any documents
afterwards, 1 if nothing could be read.")]
pub(super) struct BuildCollection {
    /// Name of the collection: letters, digits, `.`, `-` and `_`
    name: String,
    /// Folders of the collection; they replace the previous ones
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The project that the folders document
    #[arg(long)]
    project: Option<String>,
    /// The version of that project
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// User who owns the collection [default: shared by all users]
    #[arg(long, value_name = "USER")]
    owner: Option<UserId>,
    /// Access tag that a user needs to see the documents; can be repeated
    #[arg(long = "access-tag", value_name = "TAG")]
    access_tags: Vec<AccessTag>,
    /// Rebuild the whole collection
    #[arg(long)]
    rebuild: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Update collections
#[derive(Debug, clap::Args)]
pub(super) struct SyncCollections {
    /// Names of the collections [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Rebuild the whole collections
    #[arg(long)]
    rebuild: bool,
    /// Print the reports as JSON
    #[arg(long)]
    json: bool,
}

/// Description of a collection that is closed.
const CLOSED: &str = "closed, its section was removed from the settings";

/// A collection in the output of `list` and `show`.
#[derive(Serialize)]
struct CollectionOutput {
    name: String,
    owner: Option<String>,
    access_tags: Vec<String>,
    /// No user sees the collection, because its section was removed from the settings.
    closed: bool,
    documents: u64,
    chunks: u64,
    vectors: u64,
    last_ok_at: Option<Timestamp>,
    last_error: Option<String>,
    plan: CollectionPlan,
    /// Description of who sees the collection.
    #[serde(skip)]
    rights: String,
}

impl CollectionCommand {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        match self {
            Self::Build(build) => build.run(&app).await,
            Self::Sync(sync) => sync.run(&app).await,
            Self::List { json } => list_collections(&app, json),
            Self::Show { name, json } => show_collection(&app, &name, json),
            Self::Remove { name } => {
                app.syncs().remove_collection(&name)?;
                print_line(&format!("removed {name}; its source folders and tables are unchanged"));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl BuildCollection {
    async fn run(self, app: &App) -> Result<ExitCode> {
        let (rebuild, json) = (self.rebuild, self.json);
        let spec = self.collection_spec(app)?;
        let report = sync_collection(app, spec, rebuild).await?;
        print_report(std::slice::from_ref(&report), json.then_some(&report))?;
        Ok(if report.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Returns the specification of the collection. Omitted options keep their previous values.
    fn collection_spec(self, app: &App) -> Result<CollectionSpec> {
        if app.syncs().is_configured(&self.name) {
            bail!(
                "the settings describe the collection `{}`: change its section, then run \
                 `vademecum collection sync {0}`",
                self.name
            );
        }
        let before = app.collections().find_record(&self.name)?;
        let before = before.as_ref().map(CollectionSpec::from_record).transpose()?;
        let (owner, mut plan) = before.map(|it| (it.owner, it.plan)).unwrap_or_default();
        plan.folders = self
            .folders
            .iter()
            .map(|path| {
                let folder = fs::canonicalize(path).ok().filter(|path| path.is_dir());
                let path = folder
                    .with_context(|| format!("{} is not a readable folder", path.display()))?;
                let known = plan.folders.iter().find(|folder| folder.path == path);
                Ok(Folder {
                    project: self.project.clone().or_else(|| known?.project.clone()),
                    version: self.version.clone().or_else(|| known?.version.clone()),
                    path,
                })
            })
            .collect::<Result<_>>()?;
        plan.table = None;
        plan.configured = false;
        if !self.access_tags.is_empty() {
            plan.access_tags = self.access_tags.iter().map(ToString::to_string).collect();
        }
        Ok(CollectionSpec { name: self.name, owner: self.owner.or(owner), plan, url: None })
    }
}

impl SyncCollections {
    async fn run(self, app: &App) -> Result<ExitCode> {
        let all = app.syncs().list_specs()?;
        let of_name = |name: &String| {
            let found = all.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
            found.with_context(|| match app.collections().find_record(name) {
                Ok(Some(record)) if app.collections().rights(&record).is_none() => format!(
                    "the collection `{name}` is {CLOSED}: add the section again, build it from \
                     folders with `collection build`, or remove it with `collection remove`"
                ),
                Ok(_) | Err(_) => format!("no collection `{name}` to sync"),
            })
        };
        let chosen = match self.names.as_slice() {
            [] => all.iter().collect(),
            names => names.iter().map(of_name).collect::<Result<Vec<_>>>()?,
        };
        let (mut reports, mut failed) = (Vec::new(), chosen.is_empty());
        if failed {
            print_error("no collection to sync");
        }
        for spec in chosen {
            match sync_collection(app, spec.clone(), self.rebuild).await {
                Ok(report) => {
                    failed |= report.is_failure();
                    reports.push(report);
                }
                Err(error) => {
                    failed = true;
                    print_error(&sanitize(&format!("{}: {error:#}", spec.name)));
                }
            }
        }
        print_report(&reports, self.json.then_some(&reports))?;
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Syncs a collection on a blocking thread, where waiting for a database is allowed.
async fn sync_collection(app: &App, spec: CollectionSpec, rebuild: bool) -> Result<SyncReport> {
    let (syncs, principal) = (app.syncs().clone(), app.principal().clone());
    let work = move || {
        let things = if spec.plan.table.is_some() { "rows" } else { "files" };
        let bar: ProgressBar = progress_bar(0, things);
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let report = syncs.ingest(&principal).sync(&spec, rebuild, &|done, of| {
            bar.set_length(count(of));
            bar.set_position(count(done));
        });
        bar.finish_and_clear();
        report
    };
    Ok(tokio::task::spawn_blocking(work).await??)
}

/// Prints sync reports as text, or `json` if given.
fn print_report(reports: &[SyncReport], json: Option<&impl Serialize>) -> Result<()> {
    if let Some(json) = json {
        print_json(json)?;
        return Ok(());
    }
    for report in reports {
        for warning in &report.warnings {
            print_error(&sanitize(&format!("{}: {warning}", report.name)));
        }
        for problem in &report.skipped {
            print_error(&sanitize(&format!("skipped {problem}")));
        }
        if let Some(error) = &report.embedding_error {
            let line = format!(
                "{}: vectors are missing and will be added by the next sync: {error}",
                report.name
            );
            print_error(&sanitize(&line));
        }
        let SyncReport { name, new, updated, unchanged, gone, documents, chunks, vectors, .. } =
            report;
        let made = if report.rebuilt { "rebuilt; " } else { "" };
        print_line(&format!(
            "{name}: {made}{new} new, {updated} updated, {unchanged} unchanged, {gone} removed, \
             {} skipped; {documents} documents in {chunks} chunks, {vectors} with vectors; {:.1} s",
            report.skipped.len(),
            report.seconds
        ));
    }
    Ok(())
}

fn list_collections(app: &App, json: bool) -> Result<ExitCode> {
    let records = app.collections().list_records()?;
    let listed =
        records.iter().map(|record| collection_output(app, record)).collect::<Result<Vec<_>>>()?;
    if json {
        print_json(&listed)?;
        return Ok(ExitCode::SUCCESS);
    }
    for CollectionOutput {
        name, rights, documents, chunks, vectors, last_ok_at, last_error, ..
    } in listed
    {
        let synced = last_ok_at.map_or_else(|| "never".to_owned(), |it| it.to_string());
        print_line(&format!(
            "{name}\t{rights}\t{documents} documents\t{chunks} chunks\t{vectors} vectors\t{synced}"
        ));
        if let Some(error) = last_error {
            print_error(&sanitize(&format!("{name}: {error}")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_collection(app: &App, name: &str, json: bool) -> Result<ExitCode> {
    let Some(record) = app.collections().find_record(name)? else {
        bail!("no collection `{name}`");
    };
    let listed = collection_output(app, &record)?;
    if json {
        print_json(&listed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = |name: &str, value: String| print_line(&sanitize(&format!("{name}: {value}")));
    let or = |value: Option<String>, without: &str| value.unwrap_or_else(|| without.to_owned());
    line("name", listed.name);
    if listed.closed {
        line("rights", listed.rights);
    }
    line("owner", or(listed.owner, "shared"));
    for Folder { path, project, version } in listed.plan.folders {
        let about = [project, version].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let about = if about.is_empty() { about } else { format!(" ({about})") };
        line("folder", format!("{}{about}", path.display()));
    }
    if let Some(CollectionTable { profile, table, .. }) = listed.plan.table {
        line("table", format!("{table} (profile {profile})"));
    }
    line("access tags", listed.access_tags.join(", "));
    line("documents", listed.documents.to_string());
    line("chunks", listed.chunks.to_string());
    line("vectors", listed.vectors.to_string());
    line("last synced", or(listed.last_ok_at.map(|it| it.to_string()), "never"));
    if let Some(error) = listed.last_error {
        line("last error", error);
    }
    Ok(ExitCode::SUCCESS)
}

fn collection_output(app: &App, record: &CollectionRecord) -> Result<CollectionOutput> {
    let collection = app.collections().open(&record.file);
    let counts = collection
        .read(Deadline::after(COUNT_TIMEOUT), |reader| collection.count_by_source(reader))?;
    let sum = |of: fn(&SourceCounts) -> u64| counts.iter().map(of).sum();
    let plan = CollectionPlan::parse(&record.name, &record.plan)?;
    let (closed, rights, owner, access_tags) = match app.collections().rights(record) {
        Some(rights) => {
            let described = rights.describe();
            (false, described, rights.owner, rights.access_tags.into_iter().collect())
        }
        None => (true, CLOSED.to_owned(), record.owner.clone(), plan.access_tags.clone()),
    };
    Ok(CollectionOutput {
        name: record.name.clone(),
        owner,
        access_tags,
        closed,
        rights,
        documents: sum(|it| it.documents),
        chunks: sum(|it| it.chunks),
        vectors: sum(|it| it.vectors),
        last_ok_at: counts.iter().filter_map(|it| it.last_ok_at).max(),
        last_error: counts.iter().find_map(|it| it.last_error.clone()),
        plan,
    })
}
