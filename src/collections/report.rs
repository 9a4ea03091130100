//! What became of a collection that was brought up to date.

use serde::Serialize;
use vademecum_collections::{Counts, Put};

use vademecum_import::Problem;

/// What became of a collection.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What it is called.
    pub name: String,
    /// Whether it was made anew, and has taken the place of what was there.
    pub rebuilt: bool,
    /// Documents that were not there.
    pub new: usize,
    /// Documents that were others.
    pub updated: usize,
    /// Documents that are as they were.
    pub unchanged: usize,
    /// Documents whose files or rows are gone, and which are gone with them.
    pub gone: usize,
    /// Files of kinds that are not read.
    pub passed: usize,
    /// What was left out, and why.
    pub skipped: Vec<Problem>,
    /// What had to be mended in the plan.
    pub warnings: Vec<String>,
    /// Why vectors are missing, if they are. They come the next time.
    pub embedding_error: Option<String>,
    /// Documents that are in it now.
    pub documents: u64,
    /// Chunks that are in it now.
    pub chunks: u64,
    /// Chunks that have a vector.
    pub vectors: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Report {
    /// Whether nothing came of it.
    pub fn is_failure(&self) -> bool {
        self.documents == 0
    }

    pub(super) fn skip(&mut self, place: String, reason: String) {
        self.skipped.push(Problem { place, reason });
    }

    /// Counts a document.
    pub(super) fn put(&mut self, put: &Put) {
        match put {
            Put::New(_) => self.new += 1,
            Put::Updated(_) => self.updated += 1,
            Put::Unchanged => self.unchanged += 1,
        }
    }

    /// Takes over how much there is now.
    pub(super) fn hold(&mut self, counts: &[Counts]) {
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum();
        self.documents = sum(|it| it.documents);
        self.chunks = sum(|it| it.chunks);
        self.vectors = sum(|it| it.vectors);
    }
}
