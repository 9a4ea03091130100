//! Imports files: reads ahead in parallel, saves in order, and records each file in the ledger.

use std::{
    collections::{BTreeSet, HashMap},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_actors::{Library, OriginParts, SourceHandle, error_chain};
use vademecum_import as import;
use vademecum_import::{
    FileEntry, ImportAttempt, ImportOutcome, Importer, Ledger, LedgerEntry, Problem, ReaderPool,
};
use vademecum_model::{Draft, SaveOutcome, SourceName, Uri};
use vademecum_source::SourceError;

use super::{
    batch::ImportBatch,
    error::ImportError,
    options::ImportOptions,
    quota::refused_items,
    read_ahead::{ReadAheadFile, read_ahead},
    redaction::{SecretHandling, redact_sessions},
    selection::{SelectedFile, select_changed},
    summary::ImportSummary,
};
use crate::progress::{ProgressCallback, ProgressCounter};

/// Imports files and returns a summary. Files that have not changed since the last import are not
/// read.
pub async fn import_files(
    library: &Library,
    options: &ImportOptions,
    progress: &ProgressCallback,
) -> Result<ImportSummary, ImportError> {
    let listing = import::walk_files(&options.paths);
    let ledger = library.ledger();
    let mut summary = ImportSummary::new(options.dry_run);
    summary.add_named_paths(&listing.named_paths);
    for problem in listing.skipped {
        summary.add_skipped(&problem.place, String::new(), problem.reason);
    }
    let mut known = known_entries(&ledger, &listing.named_paths, options.kind)?;
    // An empty folder is most likely a file system that is not mounted, so nothing is removed.
    let follows = options.follow_deletions && !listing.files.is_empty();
    let selected = select_changed(listing.files, &mut known, options, &mut summary);
    if !options.dry_run {
        ledger.record_entries(&selected.confirmed, &[])?;
    }
    let job = ImportJob {
        library,
        ledger,
        options,
        follows_deletions: follows,
        deleted: known,
        previous: selected.previous,
        summary,
    };
    let summary = job.run(selected.changed, progress).await?;
    for store in library.stores().iter().filter(|store| store.may_have_rows()) {
        store.checkpoint()?;
    }
    Ok(summary)
}

/// Imports single files. Deleted files are not looked for.
pub async fn import_entries(
    library: &Library,
    files: Vec<FileEntry>,
    options: &ImportOptions,
) -> Result<ImportSummary, ImportError> {
    let ledger = library.ledger();
    let mut summary = ImportSummary::new(options.dry_run);
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let mut known = known_entries(&ledger, &paths, options.kind)?;
    let selected = select_changed(files, &mut known, options, &mut summary);
    if !options.dry_run {
        ledger.record_entries(&selected.confirmed, &[])?;
    }
    let job = ImportJob {
        library,
        ledger,
        options,
        follows_deletions: false,
        deleted: HashMap::new(),
        previous: selected.previous,
        summary,
    };
    let progress: ProgressCallback = Arc::new(|_| {});
    job.run(selected.changed, &progress).await
}

/// Returns the ledger entries of the named files and folders, by path.
fn known_entries(
    ledger: &Ledger,
    named: &[PathBuf],
    kind: Option<SourceName>,
) -> Result<HashMap<PathBuf, LedgerEntry>, ImportError> {
    let mut known = HashMap::new();
    for path in named {
        let below = ledger.entries_below(path)?.into_iter().filter(|entry| entry.asked == kind);
        known.extend(below.map(|entry| (entry.path.clone(), entry)));
    }
    Ok(known)
}

/// An import in progress.
struct ImportJob<'l> {
    library: &'l Library,
    ledger: Ledger,
    options: &'l ImportOptions,
    /// If set, the items of deleted files are removed.
    follows_deletions: bool,
    /// Ledger entries whose files do not exist any more.
    deleted: HashMap<PathBuf, LedgerEntry>,
    /// Ledger entries of the files that are read again.
    previous: HashMap<PathBuf, LedgerEntry>,
    summary: ImportSummary,
}

impl ImportJob<'_> {
    async fn run(
        mut self,
        files: Vec<SelectedFile>,
        progress: &ProgressCallback,
    ) -> Result<ImportSummary, ImportError> {
        let mut counter = ProgressCounter::start(progress, "files", files.len());
        // Each user has a folder.
        let owner = self.library.folder().to_string_lossy().into_owned();
        let pool = ReaderPool::new(self.options.limits, &owner);
        let mut readings = read_ahead(pool, self.options.kind, files);
        let mut batch = ImportBatch::default();
        while let Some(ReadAheadFile { attempt, seconds, room }) = readings.recv().await {
            // Releases the read-ahead budget of this file.
            drop(room);
            counter.advance();
            self.add_to_batch(attempt, seconds, &mut batch).await?;
            if batch.is_full() {
                self.save_batch(std::mem::take(&mut batch)).await?;
            }
        }
        self.save_batch(batch).await?;
        drop(counter);
        self.handle_deleted().await?;
        Ok(self.summary.finish())
    }

    /// Adds a file that has been read to the batch.
    async fn add_to_batch(
        &mut self,
        read: ImportAttempt,
        seconds: Option<u32>,
        batch: &mut ImportBatch,
    ) -> Result<(), ImportError> {
        if read.result.is_err() && is_gone(&read.file.path) {
            // It was renamed or deleted after it was listed; the next import finds out which.
            return Ok(());
        }
        self.summary.add_read_bytes(read.stamp.size);
        let source = read.importer.map(Importer::source);
        let mut entry = LedgerEntry::new(read.file.path, self.options.kind, read.file.root);
        entry.source = source;
        let format = read.importer.map(|importer| importer.format_name().to_owned());
        entry.format = format.or(read.unsupported);
        (entry.stamp, entry.digest) = (read.stamp, read.digest);
        let mut drafts = match read.result {
            Ok(reading) => {
                entry.problems = reading.problems;
                if reading.is_cut {
                    entry.mark_cut(seconds.unwrap_or(self.options.limits.seconds.get()));
                }
                if let Some(versions) = reading.versions {
                    batch.versions.push((batch.files.len(), versions));
                }
                let mut drafts = reading.drafts;
                if self.options.secrets == SecretHandling::Redact {
                    self.summary.add_redactions(&redact_sessions(&mut drafts));
                }
                drafts
            }
            Err(error) => {
                if error.needs_time() {
                    entry.mark_cut(seconds.unwrap_or(self.options.limits.seconds.get()));
                }
                entry.outcome = ImportOutcome::Skipped;
                entry.problems = vec![file_problem(&entry.path, &error)];
                Vec::new()
            }
        };
        if source.is_some()
            && let Some(before) = self.find_renamed(&entry)
        {
            let (from, to) = (file_origin(&before.path), file_origin(&entry.path));
            if self.options.dry_run {
                for draft in &mut drafts {
                    draft.origin = draft.origin.replace(&to, &from);
                    draft.digest.clear();
                }
            } else {
                for source in sources_of(&before) {
                    self.source_handle(source)?.rename_origin(from.clone(), to.clone()).await?;
                }
                batch.renamed.push(before);
            }
        }
        batch.add(entry, drafts);
        Ok(())
    }

    /// Returns the ledger entry of a deleted file with the same content and source: this file was
    /// renamed from it.
    fn find_renamed(&mut self, entry: &LedgerEntry) -> Option<LedgerEntry> {
        let same = |gone: &LedgerEntry| {
            gone.digest.is_some() && gone.digest == entry.digest && gone.source == entry.source
        };
        let path = self.deleted.values().find(|gone| same(gone))?.path.clone();
        self.deleted.remove(&path)
    }

    /// Saves a batch and records the outcome of its files in the ledger.
    async fn save_batch(&mut self, mut batch: ImportBatch) -> Result<(), ImportError> {
        let origins = |drafts: &Vec<Draft>| drafts.iter().map(|it| it.origin.clone()).collect();
        let origins: Vec<Vec<String>> =
            batch.files.iter().map(|(_, drafts)| origins(drafts)).collect();
        let mut unfinished = BTreeSet::new();
        for source in SourceName::ALL {
            let (mut owners, mut drafts) = (Vec::new(), Vec::new());
            for (file, (_, read)) in batch.files.iter_mut().enumerate() {
                let of_source = read.extract_if(.., |draft| draft.body.source() == source);
                drafts.extend(of_source);
                owners.resize(drafts.len(), file);
            }
            let SavedDrafts { answers, refusal } = self.save_drafts(source, drafts).await?;
            let mut owners = owners.into_iter();
            // In this order, no owner is taken without an answer.
            for (answer, file) in answers.into_iter().zip(owners.by_ref()) {
                let Some((entry, _)) = batch.files.get_mut(file) else { continue };
                match answer {
                    Ok(saved) => {
                        self.summary.count_item(source, &saved);
                        if self.options.follow_deletions {
                            self.summary.list_changed_file(&entry.path, &saved);
                        }
                        entry.items.push(saved.uri().to_string());
                    }
                    Err(error) => {
                        let problem = file_problem(&entry.path, &error);
                        entry.problems.push(problem);
                    }
                }
            }
            if let Some(refusal) = refusal {
                let left: Vec<usize> = owners.collect();
                for (file, (entry, _)) in batch.files.iter_mut().enumerate() {
                    let count = left.iter().filter(|owner| **owner == file).count();
                    if count > 0 {
                        let all = origins.get(file).map_or(0, Vec::len);
                        entry.problems.push(refused_items(count, all, &refusal));
                        unfinished.insert(file);
                    }
                }
            }
        }
        self.add_versions(&mut batch).await?;
        let mut entries: Vec<LedgerEntry> =
            batch.files.into_iter().map(|(entry, _)| entry).collect();
        for (file, (entry, origins)) in entries.iter_mut().zip(origins).enumerate() {
            entry.outcome = match (entry.source, entry.items.as_slice(), entry.problems.as_slice())
            {
                // No importer: the file could not be read, or its format is not supported.
                (None, ..) => entry.outcome,
                (Some(_), [], [_, ..]) => ImportOutcome::Skipped,
                (Some(_), ..) => ImportOutcome::Imported,
            };
            if !entry.problems.is_empty() {
                entry.depend_on_limits(self.options.limits);
            }
            if unfinished.contains(&file) {
                entry.read_again();
            }
            self.summary.count_file(entry);
            self.handle_dropped_items(entry, origins).await?;
        }
        if !self.options.dry_run {
            self.ledger.record_entries(&entries, &batch.renamed)?;
        }
        Ok(())
    }

    /// Adds the earlier versions of exported items. An interrupted import reads their files again.
    async fn add_versions(&self, batch: &mut ImportBatch) -> Result<(), ImportError> {
        for (file, versions) in std::mem::take(&mut batch.versions) {
            let Some((entry, _)) = batch.files.get_mut(file) else { continue };
            let item = entry.items.first().and_then(|item| item.parse::<Uri>().ok());
            let Some(item) = item.filter(|_| !self.options.dry_run) else { continue };
            let added = self.source_handle(item.source)?.add_versions(item.id, versions).await;
            match added {
                Err(SourceError::Refused(reason)) => {
                    entry.problems.push(Problem { place: "versions".to_owned(), reason });
                }
                other => other.map_err(ImportError::Save)?,
            }
        }
        Ok(())
    }

    /// Handles the items that a file had before and has no longer. A document that was the whole file
    /// is removed if the file is now read as something else. Items of parts are kept, unless
    /// deletions are followed and the whole file could be read.
    async fn handle_dropped_items(
        &mut self,
        entry: &LedgerEntry,
        origins: Vec<String>,
    ) -> Result<(), ImportError> {
        let Some(before) = self.previous.remove(&entry.path) else { return Ok(()) };
        let mut dropped = before.items.iter().filter(|item| !entry.items.contains(item)).count();
        if dropped == 0 || entry.items.is_empty() || self.options.dry_run {
            return Ok(());
        }
        let whole = file_origin(&entry.path);
        let mut removed = 0;
        if !origins.contains(&whole) {
            removed = self.remove_origins(&before, &OriginParts::Whole).await?;
            self.summary.count_replaced(&entry.path, removed);
        }
        dropped = dropped.saturating_sub(removed);
        if self.follows_deletions && entry.problems.is_empty() {
            removed = self.remove_origins(&before, &OriginParts::Except(origins)).await?;
            self.summary.add_dropped(&entry.path, removed, true);
            dropped = dropped.saturating_sub(removed);
        }
        self.summary.add_dropped(&entry.path, dropped, false);
        Ok(())
    }

    /// Saves drafts, until a quota is reached. A dry run only computes the results.
    async fn save_drafts(
        &self,
        source: SourceName,
        drafts: Vec<Draft>,
    ) -> Result<SavedDrafts, ImportError> {
        let count = drafts.len();
        if count == 0 {
            return Ok(SavedDrafts::default());
        }
        let handle = self.source_handle(source)?;
        let (mut answers, mut rest) = (Vec::with_capacity(count), drafts);
        while !rest.is_empty() {
            let turn = match &self.options.quota {
                Some(quota) => quota.begin_drafts(self.library, &rest).await.map(Some),
                None => Ok(None),
            };
            let turn = match turn {
                Ok(turn) => turn,
                Err(error) => {
                    return Ok(SavedDrafts { answers, refusal: Some(error.to_string()) });
                }
            };
            let later = rest.split_off(turn.as_ref().map_or(rest.len(), |(_, fitting)| *fitting));
            let (now, saved) = (
                rest.len(),
                if self.options.dry_run {
                    handle.dry_run(rest).await?
                } else {
                    handle.save_drafts(rest, self.options.conflict_copies).await?
                },
            );
            drop(turn);
            if saved.len() < now {
                // The source failed as a whole, so its error is reported once.
                saved.into_iter().collect::<Result<Vec<_>, _>>().map_err(ImportError::Save)?;
                return Ok(SavedDrafts::default());
            }
            answers.extend(saved);
            rest = later;
        }
        Ok(SavedDrafts { answers, refusal: None })
    }

    /// Reports deleted files. Their items are kept, unless deletions are followed.
    async fn handle_deleted(&mut self) -> Result<(), ImportError> {
        let mut gone: Vec<LedgerEntry> = std::mem::take(&mut self.deleted).into_values().collect();
        gone.sort_by(|one, other| one.path.cmp(&other.path));
        let (mut missing, mut forgotten) = (Vec::new(), Vec::new());
        for mut entry in gone {
            let held = matches!(entry.outcome, ImportOutcome::Imported | ImportOutcome::Missing);
            let removes = held && self.follows_deletions;
            if removes && self.remove_origins(&entry, &OriginParts::All).await? > 0 {
                self.summary.removed(&entry);
                forgotten.push(entry);
            } else if held {
                entry.outcome = ImportOutcome::Missing;
                self.summary.count_file(&entry);
                missing.push(entry);
            } else {
                forgotten.push(entry);
            }
        }
        if !self.options.dry_run {
            self.ledger.record_entries(&missing, &forgotten)?;
        }
        Ok(())
    }

    /// Removes items of a file and returns their number. Items of an export file are kept: they
    /// belong to the exporting service and not to the file.
    async fn remove_origins(
        &self,
        entry: &LedgerEntry,
        parts: &OriginParts,
    ) -> Result<usize, ImportError> {
        let mut removed = 0;
        for source in sources_of(entry) {
            let origin = file_origin(&entry.path);
            removed += self.source_handle(source)?.remove_origin(origin, parts.clone()).await?;
        }
        Ok(removed)
    }

    fn source_handle(&self, source: SourceName) -> Result<&SourceHandle, ImportError> {
        self.library.source(source).ok_or(ImportError::MissingSource(source))
    }
}

/// Results of saving drafts.
#[derive(Default)]
struct SavedDrafts {
    /// A result for each of the first drafts.
    answers: Vec<Result<SaveOutcome, SourceError>>,
    /// Quota that prevented the others.
    refusal: Option<String>,
}

/// Returns `true` if there is no file with this path.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns the sources of the items of a file.
fn sources_of(entry: &LedgerEntry) -> BTreeSet<SourceName> {
    let of_items = entry.items.iter().filter_map(|item| item.parse::<Uri>().ok());
    of_items.map(|uri| uri.source).chain(entry.source).collect()
}

/// Returns the origin of an item that is a whole file.
fn file_origin(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// Returns a problem that concerns a whole file or item. The path is removed from the start of the
/// reason, because callers print it as well.
fn file_problem(path: &Path, error: &dyn std::error::Error) -> Problem {
    let reason = error_chain(error);
    let path = path.display();
    let bare = [format!("{path} "), format!("cannot read {path}: ")]
        .into_iter()
        .find_map(|path| reason.strip_prefix(&path).map(str::to_owned));
    Problem { place: String::new(), reason: bare.unwrap_or(reason) }
}
