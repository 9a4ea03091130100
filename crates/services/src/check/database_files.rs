//! Database checks: the integrity of each file, and the consistency of its full-text tables with
//! its rows.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use vademecum_actors::error_chain;
use vademecum_import::{ImportOutcome, Ledger, LedgerEntry};
use vademecum_model::Deadline;
use vademecum_source::{Source, SourceError, are_rows_earlier, update_all_earlier_rows};
use vademecum_store::{
    DamagedPart, Database, DerivedFtsTable, FtsDifferences, Store, StoreError, StoreHealth,
    StoreProblem, database_files, sidecar_path,
};
use vademecum_vault::links::{are_links_outdated, rebuild_links};

use super::{
    clock, damaged_rows::DamagedRowsCheck, database_condition::DatabaseCondition,
    findings::CheckFindings,
};
use crate::{
    file_error::FileError,
    text::{format_bytes, format_count},
};

/// Remedy for damaged derived data.
const REPAIR_HINT: &str = "`vademecum check --repair` rebuilds it";

/// Remedy for unused pages.
const COMPACT_HINT: &str =
    "`vademecum check --repair` gives the space back; new items use it otherwise";
/// Remedy for rows of an earlier version.
const UPDATE_HINT: &str =
    "the server updates them in the background; `vademecum check --repair` does so at once";

/// Maximum time to read whether links are unread.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// Role of a database. It determines the remedy for damage.
#[derive(Debug)]
pub(super) enum DatabaseRole {
    /// Primary data of a user; there is no other copy.
    Library,
    /// Replica of the data of a tldw user.
    Replica,
    /// Import ledger.
    Ledger,
    /// Vectors of a library.
    Vectors,
    /// Cache of embeddings.
    Embeddings,
    /// Users, keys and the catalogue of collections.
    Server,
    /// Audit log.
    Audit,
    /// The collection of this name. It can be rebuilt from its sources.
    Collection(String),
}

/// A database to check.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    store: Store,
    role: DatabaseRole,
    /// Sources whose items it contains.
    sources: Vec<Arc<dyn Source>>,
    derived: Vec<DerivedFtsTable>,
    place: String,
    /// The same database in backups.
    backups: Vec<PathBuf>,
    keeps_damaged: bool,
}

impl DatabaseFile {
    /// Creates the check of a database in the folder of a user or of the server.
    pub(super) fn for_database(
        database: Database,
        folder: &Path,
        role: DatabaseRole,
        sources: &[Arc<dyn Source>],
    ) -> Self {
        let here = || sources.iter().filter(|source| source.database() == database);
        let derived = here().filter_map(|source| source.derived_fts_table()).collect();
        let sources = here().map(Arc::clone).collect();
        Self::new(Store::new(database, folder), role, sources, derived)
    }

    /// Creates the check of a collection's database.
    pub(super) fn for_collection(name: String, path: PathBuf) -> Self {
        let store = Store::with_path(Database::Collection, path);
        Self::new(
            store,
            DatabaseRole::Collection(name),
            Vec::new(),
            vec![vademecum_collections::FULL_TEXT_REBUILD],
        )
    }

    fn new(
        store: Store,
        role: DatabaseRole,
        sources: Vec<Arc<dyn Source>>,
        derived: Vec<DerivedFtsTable>,
    ) -> Self {
        let place = store.path().display().to_string();
        Self { store, role, sources, derived, place, backups: Vec::new(), keeps_damaged: false }
    }

    /// Sets where a repair finds copies of damaged items, and whether others are taken as they are.
    pub(super) fn with_copies(self, backups: Vec<PathBuf>, keeps_damaged: bool) -> Self {
        Self { backups, keeps_damaged, ..self }
    }

    /// Checks the file. With `repair`, derived data is rebuilt; damaged rows are only reported.
    pub(super) fn check(&self, repair: bool, findings: &mut CheckFindings) {
        match fs::metadata(self.store.path()) {
            Err(_) => self.report_missing(findings),
            Ok(about) if about.len() == 0 && !self.has_write_ahead_log() => {
                let what = "the file is empty; it will be created again on next use";
                findings.add_warning(
                    &self.place,
                    what,
                    &format!("if it contained data: {}", self.remedy()),
                );
            }
            Ok(about) => {
                clock::check_file(&self.place, &about, findings);
                self.check_contents(repair, findings);
                // There may be thousands of users, so each database is closed after its check.
                self.store.close();
            }
        }
    }

    fn has_write_ahead_log(&self) -> bool {
        sidecar_path(self.store.path(), "-wal").exists()
    }

    fn report_missing(&self, findings: &mut CheckFindings) {
        if self.has_write_ahead_log() {
            let what = "the file is missing, but its write-ahead log exists";
            return findings.add_error(&self.place, what, &self.remedy());
        }
        match &self.role {
            DatabaseRole::Library if self.imported_file_count() > 0 => {
                let what = format!(
                    "the file is missing, but {} were imported into it",
                    format_count(self.imported_file_count(), "file")
                );
                let remedy = "restore a backup with `vademecum restore`; or remove \
                              imports.db next to it, and import the files again";
                findings.add_error(&self.place, &what, remedy);
            }
            DatabaseRole::Library => {
                findings.add_ok(&self.place, "does not exist yet; it will be created on first use");
            }
            // The file of a collection that was never built has no path of its own, so its name is
            // reported.
            DatabaseRole::Collection(name) => findings.add_warning(
                &self.place,
                &format!("the collection `{name}` has no file: its build was not completed"),
                &self.remedy(),
            ),
            DatabaseRole::Replica
            | DatabaseRole::Ledger
            | DatabaseRole::Vectors
            | DatabaseRole::Embeddings
            | DatabaseRole::Server
            | DatabaseRole::Audit => {}
        }
    }

    /// Returns the number of files that were imported into it, according to the ledger.
    fn imported_file_count(&self) -> usize {
        let Some(folder) = self.store.path().parent() else { return 0 };
        let ledger = Ledger::new(Arc::new(Store::new(Database::Imports, folder)));
        let here = |entry: &LedgerEntry| {
            entry.outcome == ImportOutcome::Imported
                && entry.source.is_some_and(|name| self.sources.iter().any(|it| it.name() == name))
        };
        ledger.all_entries().unwrap_or_default().iter().filter(|entry| here(entry)).count()
    }

    fn check_contents(&self, repair: bool, findings: &mut CheckFindings) {
        let are_rows_right = self.check_rows(repair, findings);
        let condition = match self.read_condition() {
            Ok(condition) if condition.is_healthy() => {
                if are_rows_right {
                    findings.add_ok(&self.place, &format!("schema {}", condition.schema));
                }
                return;
            }
            Ok(condition) => condition,
            Err(error) if error.is_locked() => {
                let what = "another program has locked it";
                return findings.add_warning(&self.place, what, "check again later");
            }
            Err(error) => DatabaseCondition::closed(&error),
        };
        if !repair {
            return self.report_problems(&condition, findings);
        }
        match self.repair_derived(&condition) {
            Ok(None) => {}
            Ok(Some(done)) => findings.add_repaired(self.store.path(), done),
            Err(error) => {
                let what = format!("repair failed: {}", error_chain(&error));
                findings.add_error(&self.place, &what, "fix the cause, then repair again");
            }
        }
        if self.store.path().exists() {
            self.report_problems(
                &self.read_condition().unwrap_or_else(|error| DatabaseCondition::closed(&error)),
                findings,
            );
        }
    }

    /// Verifies the digests of the rows. Returns whether nothing about them was reported.
    fn check_rows(&self, repair: bool, findings: &mut CheckFindings) -> bool {
        if self.store.database().digested_tables().is_empty() {
            return true;
        }
        // The reason why it cannot be checked is reported below.
        let Ok(StoreHealth { problems, .. }) = self.store.check_integrity() else { return true };
        // A file with damaged pages is not written.
        let has_pages = problems.iter().all(|problem| problem.part != DamagedPart::Rows);
        let check = DamagedRowsCheck {
            store: &self.store,
            sources: &self.sources,
            place: &self.place,
            backups: &self.backups,
            keeps_damaged: self.keeps_damaged,
        };
        let checked = if has_pages { check.run(repair, findings) } else { check.report(findings) };
        match checked {
            Ok(are_right) => are_right,
            Err(_) if !has_pages => true,
            Err(SourceError::Store(error)) if error.is_locked() => true,
            Err(error) => {
                let what = format!("its rows cannot be verified: {}", error_chain(&error));
                findings.add_error(&self.place, &what, &self.remedy());
                false
            }
        }
    }

    fn read_condition(&self) -> Result<DatabaseCondition, StoreError> {
        let StoreHealth { schema, problems } = self.store.check_integrity()?;
        let mut condition = DatabaseCondition { schema, problems, ..DatabaseCondition::default() };
        // Damaged tables cannot be compared.
        let is_readable = |problem: &StoreProblem| problem.part == DamagedPart::FreePages;
        if condition.problems.iter().all(is_readable) {
            for derived in &self.derived {
                let drift = self.store.count_fts_differences(derived)?;
                condition
                    .drifts
                    .extend((drift != FtsDifferences::default()).then_some((*derived, drift)));
                let is_outdated = self.store.is_fts_table_outdated(derived)?;
                condition.outdated.extend(is_outdated.then_some(*derived));
                // A collection is built again from its sources.
                if !is_outdated
                    && drift == FtsDifferences::default()
                    && !self.sources.is_empty()
                    && !self.store.has_words_of_rows(derived)?
                {
                    condition.misspelt.push(*derived);
                }
            }
            for source in &self.sources {
                let name = source.name();
                let is_outdated = self.store.read(Deadline::after(CHECK_TIMEOUT), |reader| {
                    are_links_outdated(reader, name)
                })?;
                condition.unread_links.extend(is_outdated.then_some(name));
                let has_earlier = are_rows_earlier(&**source, &self.store)?;
                condition.earlier_rows.extend(has_earlier.then_some(name));
            }
            condition.unused_bytes = self.store.large_unused_bytes()?;
        }
        Ok(condition)
    }

    /// Reports all problems, each with its remedy.
    fn report_problems(&self, condition: &DatabaseCondition, findings: &mut CheckFindings) {
        if let Some(why) = &condition.closed {
            findings.add_error(&self.place, why, &self.remedy());
        }
        for StoreProblem { part, message: what } in &condition.problems {
            match part {
                DamagedPart::Rows | DamagedPart::RowValues(_) | DamagedPart::References => {
                    findings.add_error(&self.place, what, &self.remedy());
                }
                DamagedPart::FullText(_) | DamagedPart::Index(_) => {
                    findings.add_error(&self.place, what, REPAIR_HINT);
                }
                DamagedPart::FreePages => findings.add_warning(&self.place, what, REPAIR_HINT),
            }
        }
        for (DerivedFtsTable { table, .. }, FtsDifferences { missing, stray }) in &condition.drifts
        {
            let what = format!(
                "full-text table {table}: {missing} rows are not indexed, {stray} \
                 index entries have no row"
            );
            findings.add_error(&self.place, &what, REPAIR_HINT);
        }
        for DerivedFtsTable { table, .. } in &condition.misspelt {
            let what = format!("full-text table {table} has other words than its rows");
            findings.add_error(&self.place, &what, REPAIR_HINT);
        }
        for DerivedFtsTable { table, .. } in &condition.outdated {
            let what = format!(
                "full-text table {table} has the words of an earlier version, which finds less"
            );
            findings.add_warning(&self.place, &what, REPAIR_HINT);
        }
        for name in &condition.unread_links {
            let what = format!("the links of some items in {name} have not been read yet");
            findings.add_warning(&self.place, &what, REPAIR_HINT);
        }
        for name in &condition.earlier_rows {
            let what = format!("some rows of {name} have the larger form of an earlier version");
            findings.add_warning(&self.place, &what, UPDATE_HINT);
        }
        if let Some(bytes) = condition.unused_bytes {
            let what = format!("{} of the file are unused", format_bytes(bytes));
            findings.add_warning(&self.place, &what, COMPACT_HINT);
        }
    }

    /// Rebuilds derived data. Returns a description of the repair, if there was one.
    fn repair_derived(
        &self,
        condition: &DatabaseCondition,
    ) -> Result<Option<&'static str>, RepairError> {
        let has =
            |part: &DamagedPart| condition.problems.iter().any(|problem| problem.part == *part);
        let is_of_rows = |problem: &StoreProblem| {
            matches!(
                problem.part,
                DamagedPart::Rows | DamagedPart::RowValues(_) | DamagedPart::References
            )
        };
        let is_whole = condition.closed.is_none() && !condition.problems.iter().any(is_of_rows);
        if self.is_rebuildable() && !is_whole {
            self.delete_files()?;
            return Ok(Some("it was removed; it will be rebuilt on next use"));
        }
        if condition.closed.is_some() {
            return Ok(None);
        }
        let indexes: BTreeSet<&String> = condition
            .problems
            .iter()
            .filter_map(|problem| match &problem.part {
                DamagedPart::Index(table) => Some(table),
                DamagedPart::Rows
                | DamagedPart::RowValues(_)
                | DamagedPart::References
                | DamagedPart::FullText(_)
                | DamagedPart::FreePages => None,
            })
            .collect();
        for table in &indexes {
            self.store.rebuild_indexes(table)?;
        }
        let drifted = |table| condition.drifts.iter().any(|(derived, _)| derived.table == table);
        let misspelt = |table| condition.misspelt.iter().any(|derived| derived.table == table);
        let mut rebuilt = false;
        for derived in &self.derived {
            let is_outdated = condition.outdated.iter().any(|other| other.table == derived.table);
            if is_outdated
                || drifted(derived.table)
                || misspelt(derived.table)
                || has(&DamagedPart::FullText(derived.table.to_owned()))
            {
                self.store.rebuild_fts_table(derived)?;
                rebuilt = true;
            }
        }
        let has_unread_links = !condition.unread_links.is_empty();
        for source in self.sources.iter().filter(|it| condition.unread_links.contains(&it.name())) {
            rebuild_links(&**source, &self.store)?;
        }
        let has_earlier_rows = !condition.earlier_rows.is_empty();
        for source in self.sources.iter().filter(|it| condition.earlier_rows.contains(&it.name())) {
            update_all_earlier_rows(&**source, &self.store)?;
        }
        // Compacting frees the pages of the previous tables and rows.
        let is_loose = has(&DamagedPart::FreePages) || condition.unused_bytes.is_some();
        let compact = is_whole && (rebuilt || has_earlier_rows || is_loose);
        if compact {
            self.store.compact()?;
        }
        Ok(match (rebuilt, compact) {
            (true, _) if !indexes.is_empty() => {
                Some("its indexes and full-text tables were rebuilt")
            }
            (false, _) if !indexes.is_empty() => Some("its indexes were rebuilt"),
            (true, _) => Some("its full-text tables were rebuilt"),
            (false, _) if has_earlier_rows => Some("its rows were updated"),
            (false, _) if has_unread_links => Some("the links of its items were read"),
            (false, true) => Some("unused pages were freed"),
            (false, false) => None,
        })
    }

    /// Returns `true` if the whole file is derived data.
    fn is_rebuildable(&self) -> bool {
        match self.role {
            DatabaseRole::Replica | DatabaseRole::Vectors | DatabaseRole::Embeddings => true,
            DatabaseRole::Library
            | DatabaseRole::Ledger
            | DatabaseRole::Server
            | DatabaseRole::Audit
            | DatabaseRole::Collection(_) => false,
        }
    }

    /// Deletes the file. Fails if another program has it open.
    fn delete_files(&self) -> Result<(), RepairError> {
        self.store.close();
        // A file that cannot be checked is damaged, and of no use to another program.
        if self.store.is_in_use().unwrap_or(false) {
            return Err(RepairError::InUse);
        }
        for path in database_files(self.store.path()) {
            if path.exists() {
                let message = || format!("cannot remove {}", path.display());
                fs::remove_file(&path).map_err(FileError::with_message(message))?;
            }
        }
        Ok(())
    }

    /// Returns the remedy for damage that cannot be repaired here.
    fn remedy(&self) -> String {
        match &self.role {
            DatabaseRole::Library => "restore a backup with `vademecum restore`; `vademecum \
                              export` writes the items that are still readable"
                .to_owned(),
            DatabaseRole::Replica | DatabaseRole::Vectors | DatabaseRole::Embeddings => {
                REPAIR_HINT.to_owned()
            }
            DatabaseRole::Ledger => {
                "remove it: importing the same files again rebuilds it and creates \
                             no duplicates"
                    .to_owned()
            }
            DatabaseRole::Server => "restore a backup of all users with `vademecum restore`, or \
                             remove it and create users, keys and collections again"
                .to_owned(),
            DatabaseRole::Audit => "move it to another folder while no server runs: a new log is \
                            begun, and the entries in this one may still be readable"
                .to_owned(),
            DatabaseRole::Collection(name) => {
                format!("rebuild it from its sources: `vademecum collection sync {name} --rebuild`")
            }
        }
    }
}

/// Reason why a repair failed or was not attempted.
#[derive(Debug, thiserror::Error)]
enum RepairError {
    /// Another program has the file open.
    #[error("another program has it open; stop the server first")]
    InUse,
    /// A file could not be removed.
    #[error(transparent)]
    Remove(#[from] FileError),
    /// A table could not be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] StoreError),
    /// The links of items could not be read, or their rows not updated.
    #[error(transparent)]
    UpdateItems(#[from] SourceError),
}
