//! Documents from the folders of a plan, read on all cores.

use std::{num::NonZero, panic::resume_unwind, thread};

use serde_json::Value;
use vademecum_import::{Problem, ReaderLimits, ReaderPool};

use super::{
    CollectionError, CollectionPlan,
    chunking::ChunkingMode,
    document_source::{Batch, DocumentSource, KnownHashes, SyncPass},
    folder_scan::{
        CandidateFile, FileOutcome, FileReader, FolderScan, MissingFolder, scan_folders,
    },
};

/// Owner of the reader processes of collections, which take turns with those of users.
const COLLECTIONS: &str = "collections";
/// Number of files that are read in parallel and embedded together.
const BATCH_FILES: usize = 32;

/// A pass over the files in the folders of a plan.
#[derive(Debug)]
pub(super) struct FolderSource<'p> {
    scan: FolderScan<'p>,
    reader: FileReader<'p>,
    /// Number of files read so far.
    files_read: usize,
    /// Whether the skipped entries were reported.
    reported_skipped: bool,
}

impl<'p> FolderSource<'p> {
    /// Lists the files of a plan.
    pub(super) fn new(
        name: &str,
        plan: &'p CollectionPlan,
        cut: ChunkingMode,
        limits: ReaderLimits,
    ) -> Self {
        let scan = scan_folders(name, plan);
        let pool = ReaderPool::new(limits, COLLECTIONS);
        Self {
            scan,
            reader: FileReader { plan, cut, pool, limits },
            files_read: 0,
            reported_skipped: false,
        }
    }

    /// Reads files on all cores. The results have the order of the files.
    fn read_files(
        &self,
        files: &[CandidateFile<'p>],
        known: Option<&KnownHashes>,
    ) -> Vec<FileOutcome> {
        let hands = thread::available_parallelism().map_or(1, NonZero::get);
        let hash = |file: &CandidateFile<'_>| known?.get(&file.doc_id).map(String::as_str);
        let read = |file| self.reader.read_file(file, hash(file));
        thread::scope(|scope| {
            let share = files.len().div_ceil(hands).max(1);
            let shares = files.chunks(share);
            let readers: Vec<_> = shares
                .map(|share| scope.spawn(move || share.iter().map(read).collect::<Vec<_>>()))
                .collect();
            let joined = readers
                .into_iter()
                .flat_map(|reader| reader.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.collect()
        })
    }
}

impl DocumentSource for FolderSource<'_> {
    fn backend_type(&self) -> &'static str {
        "folder"
    }

    fn unusable_reason(&self) -> Option<String> {
        let reasons: Vec<String> =
            self.missing_folders().iter().map(MissingFolder::reason).collect();
        self.scan.files.is_empty().then(|| reasons.join("; "))
    }

    fn missing_folders(&self) -> &[MissingFolder] {
        &self.scan.missing
    }

    fn begin_pass(&mut self, _: SyncPass) -> Result<(), CollectionError> {
        (self.files_read, self.reported_skipped) = (0, false);
        Ok(())
    }

    fn next_batch(
        &mut self,
        known: Option<&KnownHashes>,
    ) -> Result<Option<Batch>, CollectionError> {
        let files = self.scan.files.iter().skip(self.files_read).take(BATCH_FILES);
        let files: Vec<CandidateFile<'_>> = files.cloned().collect();
        let mut portion = Batch::default();
        if !self.reported_skipped {
            portion.skipped.clone_from(&self.scan.skipped);
            self.reported_skipped = true;
        }
        if files.is_empty() && portion.skipped.is_empty() {
            return Ok(None);
        }
        for (file, outcome) in files.iter().zip(self.read_files(&files, known)) {
            portion.add_outcome(file, outcome, known);
        }
        self.files_read += files.len();
        portion.progress = (self.files_read, self.scan.files.len());
        Ok(Some(portion))
    }

    fn cursor(&self) -> Option<Value> {
        None
    }
}

impl Batch {
    /// Adds the result of a file. If it cannot be read now, its documents stay unchanged.
    fn add_outcome(
        &mut self,
        file: &CandidateFile<'_>,
        outcome: FileOutcome,
        known: Option<&KnownHashes>,
    ) {
        match outcome {
            FileOutcome::Unsupported => self.unsupported += 1,
            FileOutcome::Unchanged => self.keep_documents(file, known),
            FileOutcome::Skipped(reason) => {
                let reason = strip_path(&file.display_path(), reason);
                self.skipped.push(Problem { place: file.display_path(), reason });
                self.keep_documents(file, known);
            }
            FileOutcome::Read(documents, problems) => {
                for problem in problems {
                    let comma = if problem.place.is_empty() { "" } else { ", " };
                    let place = format!("{}{comma}{}", file.display_path(), problem.place);
                    self.skipped.push(Problem { place, reason: problem.reason });
                }
                self.documents.extend(documents);
            }
        }
    }

    /// Marks all documents of a file as unchanged.
    fn keep_documents(&mut self, file: &CandidateFile<'_>, known: Option<&KnownHashes>) {
        let below = known.map(|known| known.range(file.doc_id.clone()..)).into_iter().flatten();
        let near = below.map(|(id, _)| id).take_while(|id| id.starts_with(&file.doc_id));
        self.unchanged.extend(near.filter(|id| file.owns_document(id)).cloned());
    }
}

/// Removes the path from the beginning of a reason, because the caller shows the path as well.
fn strip_path(place: &str, reason: String) -> String {
    let bare = [format!("{place} "), format!("cannot read {place}: ")];
    let bare = bare.iter().find_map(|path| reason.strip_prefix(path).map(str::to_owned));
    bare.unwrap_or(reason)
}
