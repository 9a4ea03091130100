//! The folders of a plan, read on all cores.

use std::{num::NonZero, panic::resume_unwind, thread};

use serde_json::Value;

use super::{
    CollectionError, Plan,
    chunking::Cut,
    folder::{Candidate, Missing, Outcome, Reader, Survey, survey},
    origin::{Known, Origin, Pass, Portion},
};
use vademecum_import::Problem;

/// Files that are read at once, and whose documents are embedded together.
const BATCH: usize = 32;

/// The folders of a plan, on the way through their files.
#[derive(Debug)]
pub(super) struct Walk<'p> {
    survey: Survey<'p>,
    reader: Reader<'p>,
    /// Files that were read.
    done: usize,
    /// Whether it was told what was passed over.
    has_told: bool,
}

impl<'p> Walk<'p> {
    /// Lists the files of a plan.
    pub(super) fn new(name: &str, plan: &'p Plan, cut: Cut) -> Self {
        Self { survey: survey(name, plan), reader: Reader { plan, cut }, done: 0, has_told: false }
    }

    /// Reads files on all cores; in the order of the files.
    fn read(&self, files: &[Candidate<'p>], known: Option<&Known>) -> Vec<Outcome> {
        let hands = thread::available_parallelism().map_or(1, NonZero::get);
        let hash = |file: &Candidate<'_>| known?.get(&file.doc_id).map(String::as_str);
        let read = |file| self.reader.read(file, hash(file));
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

impl Origin for Walk<'_> {
    fn backend_type(&self) -> &'static str {
        "folder"
    }

    fn nothing(&self) -> Option<String> {
        let reasons: Vec<&str> = self.missing().iter().map(|it| it.reason.as_str()).collect();
        self.survey.files.is_empty().then(|| reasons.join("; "))
    }

    fn missing(&self) -> &[Missing] {
        &self.survey.missing
    }

    fn begin(&mut self, _: Pass) -> Result<(), CollectionError> {
        (self.done, self.has_told) = (0, false);
        Ok(())
    }

    fn next(&mut self, known: Option<&Known>) -> Result<Option<Portion>, CollectionError> {
        let files = self.survey.files.iter().skip(self.done).take(BATCH);
        let files: Vec<Candidate<'_>> = files.cloned().collect();
        let mut portion = Portion::default();
        if !self.has_told {
            portion.skipped.clone_from(&self.survey.skipped);
            self.has_told = true;
        }
        if files.is_empty() && portion.skipped.is_empty() {
            return Ok(None);
        }
        for (file, outcome) in files.iter().zip(self.read(&files, known)) {
            portion.take(file, outcome, known);
        }
        self.done += files.len();
        portion.progress = (self.done, self.survey.files.len());
        Ok(Some(portion))
    }

    fn cursor(&self) -> Option<Value> {
        None
    }
}

impl Portion {
    /// Takes in what became of a file. One that cannot be read now keeps what was
    /// read of it before.
    fn take(&mut self, file: &Candidate<'_>, outcome: Outcome, known: Option<&Known>) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Unchanged => self.keep(file, known),
            Outcome::Skipped(reason) => {
                let reason = without(&file.place(), reason);
                self.skipped.push(Problem { place: file.place(), reason });
                self.keep(file, known);
            }
            Outcome::Read(documents, problems) => {
                for problem in problems {
                    let comma = if problem.place.is_empty() { "" } else { ", " };
                    let place = format!("{}{comma}{}", file.place(), problem.place);
                    self.skipped.push(Problem { place, reason: problem.reason });
                }
                self.documents.extend(documents);
            }
        }
    }

    /// Keeps the documents that a file has become.
    fn keep(&mut self, file: &Candidate<'_>, known: Option<&Known>) {
        let below = known.map(|known| known.range(file.doc_id.clone()..)).into_iter().flatten();
        let near = below.map(|(id, _)| id).take_while(|id| id.starts_with(&file.doc_id));
        self.unchanged.extend(near.filter(|id| file.holds(id)).cloned());
    }
}

/// A reason without the path that it begins with: who tells it tells that as well.
fn without(place: &str, reason: String) -> String {
    let bare = [format!("{place} "), format!("cannot read {place}: ")];
    let bare = bare.iter().find_map(|path| reason.strip_prefix(path).map(str::to_owned));
    bare.unwrap_or(reason)
}
