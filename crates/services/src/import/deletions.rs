//! Items whose files, or parts of files, are gone.

use std::{collections::HashMap, path::PathBuf};

use vademecum_actors::OriginParts;
use vademecum_import as import;
use vademecum_import::{ImportOutcome, LedgerEntry, placeholder_of};

use super::{
    error::ImportError,
    known_files::{file_origin, paths_of, sources_of},
    pipeline::ImportJob,
    selection::{SelectedFile, select_changed},
};

impl ImportJob<'_> {
    /// Lists the folders once more, and returns the files that were missed: a file that is moved while
    /// its folders are listed may be in neither at that moment, and counts as deleted. What exists
    /// does not count as deleted.
    pub(super) fn list_late_files(&mut self) -> Result<Vec<SelectedFile>, ImportError> {
        let mut files = import::walk_files(&self.options.paths).files;
        let present = paths_of(&files);
        let is_there = |path: &PathBuf| present.contains(path) || placeholder_of(path).exists();
        self.deleted.retain(|path, _| !is_there(path));
        files.retain(|file| !self.listed.contains(&file.path));
        let mut known = HashMap::new();
        let selected = select_changed(files, &mut known, self.options, &mut self.summary);
        if !self.options.dry_run {
            self.ledger.record_entries(&selected.confirmed, &[])?;
        }
        Ok(selected.changed)
    }

    /// Handles the items that a file had before and has no longer. A document that was the whole file
    /// is removed if the file is now read as something else. Items of parts are kept, unless
    /// deletions are followed and the whole file could be read.
    pub(super) async fn handle_dropped_items(
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

    /// Reports deleted files. Their items are kept, unless deletions are followed.
    pub(super) async fn handle_deleted(&mut self) -> Result<(), ImportError> {
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
}
