//! Imports files: reads ahead in parallel, saves in order, and records each file in the ledger.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use tokio::time::sleep;
use vademecum_actors::{Library, SourceHandle};
use vademecum_import as import;
use vademecum_import::{
    Continuation, FileEntry, ImportAttempt, ImportOutcome, Importer, Ledger, LedgerEntry,
    PartialDocument, Problem, ReaderPool,
};
use vademecum_model::{Draft, DraftBody, SourceName};

use super::{
    batch::{ImportBatch, SavedDrafts},
    error::ImportError,
    known_files::{
        check_folders, file_origin, file_problem, is_gone, is_single_note, known_entries, paths_of,
        renames_of, same_files, sources_of, text_of,
    },
    options::ImportOptions,
    quota::refused_items,
    read_ahead::{ReadAheadFile, read_ahead},
    reading_on::Reading,
    renames::{MAX_COMPARED, MAX_COMPARED_BYTES, closeness},
    selection::{SelectedFile, select_changed},
    session_tails::SessionTails,
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
    for problem in &listing.skipped {
        summary.add_skipped(&problem.place, String::new(), problem.reason.clone());
    }
    let mut known = known_entries(&ledger, &listing.named_paths, options.kind)?;
    // An empty folder is most likely a file system that is not mounted, so nothing is removed.
    let follows = options.follow_deletions && !listing.files.is_empty();
    if follows {
        check_folders(library, &listing, &known).await?;
    }
    let has_known = follows && !known.is_empty();
    let listed = if follows { paths_of(&listing.files) } else { HashSet::new() };
    let selected = select_changed(listing.files, &mut known, options, &mut summary);
    if !options.dry_run {
        ledger.record_entries(&selected.confirmed, &[])?;
    }
    let mut tails = SessionTails::default();
    let job = ImportJob {
        follows_deletions: follows,
        deleted: known,
        listed,
        has_known,
        previous: selected.previous,
        ..ImportJob::new(library, options, &mut tails, summary)
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
    import_sessions(library, files, options, None).await
}

/// Imports single files, and follows the sessions among them with `tails`.
pub(super) async fn import_sessions(
    library: &Library,
    files: Vec<FileEntry>,
    options: &ImportOptions,
    tails: Option<&mut SessionTails>,
) -> Result<ImportSummary, ImportError> {
    let ledger = library.ledger();
    let mut summary = ImportSummary::new(options.dry_run);
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let mut known = known_entries(&ledger, &paths, options.kind)?;
    let mut selected = select_changed(files, &mut known, options, &mut summary);
    if !options.dry_run {
        ledger.record_entries(&selected.confirmed, &[])?;
    }
    let mut unused = SessionTails::default();
    let tails = match tails {
        Some(tails) => {
            tails.prepare(&mut selected.changed);
            tails
        }
        None => &mut unused,
    };
    let previous = selected.previous;
    let job = ImportJob { previous, ..ImportJob::new(library, options, tails, summary) };
    let progress: ProgressCallback = Arc::new(|_| {});
    job.run(selected.changed, &progress).await
}

/// An import in progress.
pub(super) struct ImportJob<'l> {
    pub(super) library: &'l Library,
    pub(super) ledger: Ledger,
    pub(super) options: &'l ImportOptions,
    /// If set, the items of deleted files are removed.
    pub(super) follows_deletions: bool,
    /// Ledger entries whose files do not exist any more.
    pub(super) deleted: HashMap<PathBuf, LedgerEntry>,
    /// All files that were listed, if deletions are followed.
    pub(super) listed: HashSet<PathBuf>,
    /// Files were imported before, and deletions are followed.
    pub(super) has_known: bool,
    /// New files that may be known ones with another name and text.
    pub(super) unplaced: Vec<(LedgerEntry, Vec<Draft>)>,
    /// Ledger entries of the files that are read again.
    pub(super) previous: HashMap<PathBuf, LedgerEntry>,
    /// Sessions that are followed.
    pub(super) tails: &'l mut SessionTails,
    /// Followed files that have to be read as a whole.
    pub(super) again: Vec<SelectedFile>,
    pub(super) summary: ImportSummary,
}

impl<'l> ImportJob<'l> {
    /// Creates an import without earlier entries that does not follow deletions.
    fn new(
        library: &'l Library,
        options: &'l ImportOptions,
        tails: &'l mut SessionTails,
        summary: ImportSummary,
    ) -> Self {
        Self {
            library,
            ledger: library.ledger(),
            options,
            follows_deletions: false,
            deleted: HashMap::new(),
            listed: HashSet::new(),
            has_known: false,
            unplaced: Vec::new(),
            previous: HashMap::new(),
            tails,
            again: Vec::new(),
            summary,
        }
    }

    async fn run(
        mut self,
        files: Vec<SelectedFile>,
        progress: &ProgressCallback,
    ) -> Result<ImportSummary, ImportError> {
        let mut counter = ProgressCounter::start(progress, "files", files.len());
        self.read_files(files, &mut counter).await?;
        let again = std::mem::take(&mut self.again);
        self.read_files(again, &mut counter).await?;
        if self.follows_deletions && !self.deleted.is_empty() && self.summary.left() == 0 {
            let late = self.list_late_files()?;
            self.read_files(late, &mut counter).await?;
        }
        drop(counter);
        if self.summary.left() > 0 {
            // A file that was not read may be one that is missing elsewhere.
            return Ok(self.summary.finish());
        }
        self.place_renamed().await?;
        self.handle_deleted().await?;
        Ok(self.summary.finish())
    }

    /// Reads files and saves what they hold.
    async fn read_files(
        &mut self,
        files: Vec<SelectedFile>,
        counter: &mut ProgressCounter<'_>,
    ) -> Result<(), ImportError> {
        // Each user has a folder.
        let owner = self.library.folder().to_string_lossy().into_owned();
        let mut left = files.len();
        let pool = ReaderPool::new(self.options.limits, &owner);
        let mut readings = read_ahead(pool, self.options.kind, files);
        let mut batch = ImportBatch::default();
        loop {
            let read = tokio::select! {
                biased;
                () = self.options.stop.stopped() => None,
                read = readings.recv() => read,
                () = sleep(batch.time_left()), if !batch.files.is_empty() => {
                    self.save_batch(std::mem::take(&mut batch)).await?;
                    continue;
                }
            };
            let Some(ReadAheadFile { attempt, continuation, room }) = read else { break };
            // Releases the read-ahead budget of this file.
            drop(room);
            if matches!(attempt.result, Err(import::ImportError::ReaderInterrupted { .. })) {
                break;
            }
            counter.advance();
            left = left.saturating_sub(1);
            self.add_to_batch(attempt, continuation, &mut batch).await?;
            if batch.is_full() {
                self.save_batch(std::mem::take(&mut batch)).await?;
            }
        }
        self.summary.add_left(left);
        self.save_batch(batch).await
    }

    /// Adds a file that has been read to the batch.
    async fn add_to_batch(
        &mut self,
        read: ImportAttempt,
        continuation: Option<Continuation>,
        batch: &mut ImportBatch,
    ) -> Result<(), ImportError> {
        if read.result.is_err() && is_gone(&read.file.path) {
            // It was renamed or deleted after it was listed; the next import finds out which.
            return Ok(());
        }
        self.summary.add_read_bytes(read.read_bytes);
        let source = read.importer.map(Importer::source);
        let mut entry = LedgerEntry::new(read.file.path, self.options.kind, read.file.root);
        entry.source = source;
        let format = read.importer.map(|importer| importer.format_name().to_owned());
        entry.format = format.or(read.unsupported);
        (entry.stamp, entry.digest) = (read.stamp, read.digest);
        let mut has_versions = false;
        let Reading { result, seconds, passing } =
            self.read_on(&mut entry, continuation, read.result)?;
        let mut drafts = match result {
            Ok(mut reading) => {
                entry.partial = PartialDocument::of(&reading, entry.digest.as_deref());
                let unread = reading.unread_pages().map(|problem| Problem {
                    reason: format!("{}; import it again to read on", problem.reason),
                    ..problem
                });
                let problems = std::mem::take(&mut reading.problems);
                entry.problems = unread.into_iter().chain(problems).chain(passing).collect();
                if reading.is_cut {
                    entry.mark_cut(seconds, reading.read_pages);
                }
                has_versions = reading.versions.is_some();
                let Some(drafts) = self.receive_drafts(&mut entry, &mut reading) else {
                    return Ok(());
                };
                if let Some(versions) = reading.versions {
                    batch.versions.push((batch.files.len(), versions));
                }
                drafts
            }
            Err(error) => {
                if error.needs_time() {
                    entry.mark_cut(seconds, 0);
                }
                entry.outcome = ImportOutcome::Skipped;
                entry.problems = vec![file_problem(&entry.path, &error)];
                if continuation.is_some() || self.tails.is_known(&entry.path) {
                    self.keep_items(&mut entry);
                }
                Vec::new()
            }
        };
        if source.is_some()
            && let Some(before) = self.find_renamed(&entry)
        {
            self.rename(before, (&entry, &mut drafts), batch).await?;
        } else if !has_versions && self.may_be_renamed(&entry, &drafts) {
            self.unplaced.push((entry, drafts));
            return Ok(());
        }
        batch.add(entry, drafts);
        Ok(())
    }

    /// Moves the items of a file to its new name.
    async fn rename(
        &self,
        before: LedgerEntry,
        (entry, drafts): (&LedgerEntry, &mut [Draft]),
        batch: &mut ImportBatch,
    ) -> Result<(), ImportError> {
        let (from, to) = (file_origin(&before.path), file_origin(&entry.path));
        if self.options.dry_run {
            for draft in drafts {
                draft.origin = draft.origin.replace(&to, &from);
                draft.digest.clear();
            }
            return Ok(());
        }
        for source in sources_of(&before) {
            self.source_handle(source)?.rename_origin(from.clone(), to.clone()).await?;
        }
        batch.renamed.push(before);
        Ok(())
    }

    /// Returns the ledger entry of a deleted file with the same content and source: this file was
    /// renamed from it.
    fn find_renamed(&mut self, entry: &LedgerEntry) -> Option<LedgerEntry> {
        let same = |gone: &&LedgerEntry| {
            gone.digest.is_some() && gone.digest == entry.digest && gone.source == entry.source
        };
        let of_deleted = self.deleted.values().filter(same);
        let best = of_deleted.max_by_key(|gone| closeness(&gone.path, &entry.path));
        let path = best?.path.clone();
        self.deleted.remove(&path)
    }

    /// Returns `true` for a new file with one note, which may be a known one with another name and text.
    fn may_be_renamed(&self, entry: &LedgerEntry, drafts: &[Draft]) -> bool {
        let [Draft { body: DraftBody::Note(note), .. }] = drafts else { return false };
        let waiting = self.unplaced.iter().map(|(entry, _)| entry.stamp.size).sum::<u64>();
        let has_room = usize::try_from(waiting).is_ok_and(|bytes| bytes < MAX_COMPARED_BYTES);
        self.has_known
            && has_room
            && self.unplaced.len() < MAX_COMPARED
            && !note.content.is_empty()
            && !self.previous.contains_key(&entry.path)
    }

    /// Saves the new files that were not known by their content, with the items of missing files from
    /// which they were renamed.
    async fn place_renamed(&mut self) -> Result<(), ImportError> {
        let unplaced = std::mem::take(&mut self.unplaced);
        if unplaced.is_empty() {
            return Ok(());
        }
        // A file may be listed at its old place, moved, and listed at its new one. What is gone by now is
        // compared, but counts as deleted at the next import only.
        let paths = self.options.paths.iter();
        let paths: Vec<PathBuf> = paths.filter_map(|path| path.canonicalize().ok()).collect();
        let mut missing = known_entries(&self.ledger, &paths, self.options.kind)?;
        missing.retain(|path, entry| is_single_note(entry) && is_gone(path));
        let renames = renames_of(self.library, missing.values()).await?;
        let mut renamed = same_files(&missing, &unplaced);
        let used: HashSet<&PathBuf> = renamed.values().collect();
        let rest = unplaced.iter().filter(|(entry, _)| !renamed.contains_key(&entry.path));
        let texts: Vec<(PathBuf, &str)> = rest.filter_map(text_of).collect();
        let similar = renames.find(&texts, |path| !used.contains(path));
        renamed.extend(similar);
        let mut batch = ImportBatch::default();
        for (entry, mut drafts) in unplaced {
            let before = renamed.remove(&entry.path).and_then(|path| missing.remove(&path));
            if let Some(before) = before {
                self.deleted.remove(&before.path);
                self.rename(before, (&entry, &mut drafts), &mut batch).await?;
            }
            batch.add(entry, drafts);
            if batch.is_full() {
                self.save_batch(std::mem::take(&mut batch)).await?;
            }
        }
        self.save_batch(batch).await
    }

    /// Saves a batch and records the outcome of its files in the ledger.
    async fn save_batch(&mut self, mut batch: ImportBatch) -> Result<(), ImportError> {
        let origins = |drafts: &Vec<Draft>| drafts.iter().map(|it| it.origin.clone()).collect();
        let origins: Vec<Vec<String>> =
            batch.files.iter().map(|(_, drafts)| origins(drafts)).collect();
        let (mut unfinished, mut again) = (BTreeSet::new(), Vec::new());
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
                        let item = saved.uri().to_string();
                        let is_new = !self.tails.is_continued(&entry.path);
                        if is_new || !entry.items.contains(&item) {
                            entry.items.push(item);
                        }
                    }
                    Err(_) if self.tails.is_continued(&entry.path) => again.push(file),
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
            if again.contains(&file) {
                self.read_whole(entry);
                entry.read_again();
                continue;
            }
            self.summary.count_file(entry);
            self.handle_dropped_items(entry, origins).await?;
        }
        if !self.options.dry_run {
            self.ledger.record_entries(&entries, &batch.renamed)?;
        }
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

    pub(super) fn source_handle(&self, source: SourceName) -> Result<&SourceHandle, ImportError> {
        self.library.source(source).ok_or(ImportError::MissingSource(source))
    }
}
