//! Bringing a collection up to date.
//!
//! What has changed goes into the collection in one transaction. If all of it
//! changes, because it is cut another way or another model makes its vectors,
//! it is made anew in a file of its own, which then takes the place of the old
//! one. Either way whoever searches sees the old collection or the new one,
//! whole, and so does whoever comes after a crash.

use std::{
    collections::{BTreeMap, HashSet},
    num::NonZero,
    panic::resume_unwind,
    thread,
    time::{Duration, Instant},
};

use vademecum_collections::{Collection, Document, NewSource, Put, SyncState};
use vademecum_kit::{
    model::{Deadline, Timestamp},
    source::SourceError,
    store::{Durability, Writer},
};

use super::{
    Catalogue, CollectionError, Plan, Record, Report, Wanted,
    catalogue::check_name,
    chunking::Cut,
    files::{self, Lock},
    folder::{Candidate, Outcome, Reader, Survey, survey},
    vectors::{self, Made, Vectors},
};
use crate::embed::Embeddings;

/// Files that are read at once, and whose documents are embedded together.
const BATCH: usize = 32;
/// Chunks that are changed in one transaction. If there are more, it takes less
/// memory to make the collection anew.
const MOST_IN_PLACE: usize = 20_000;
/// Vectors that are caught up with in one transaction.
const CAUGHT_UP: usize = 1_024;
/// How long a look into a collection may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// Hears how many files were read, of how many.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Brings collections up to date.
#[derive(Clone, Copy, Debug)]
pub struct Ingest<'a> {
    /// Where they are.
    pub catalogue: &'a Catalogue,
    /// Who makes vectors, if anybody does.
    pub embeddings: Option<&'a Embeddings>,
}

/// One that is under way.
struct Intake<'a> {
    ingest: Ingest<'a>,
    record: Record,
    wanted: &'a Wanted,
    survey: Survey<'a>,
    reader: Reader<'a>,
    vectors: Vectors<'a>,
    /// What is there: documents and their content hashes.
    known: BTreeMap<String, String>,
    report: Report,
    progress: Progress<'a>,
}

/// Documents with the vectors of their chunks.
type Embedded = (Vec<Document>, Vec<Vec<Option<Made>>>);

impl Ingest<'_> {
    /// Makes a collection what it is wanted to be. It blocks, for as long as that
    /// takes. Only one process at a time may do so with a collection.
    pub fn bring_up_to_date(
        &self,
        wanted: &Wanted,
        rebuild: bool,
        progress: Progress<'_>,
    ) -> Result<Report, CollectionError> {
        let begun = Instant::now();
        check_name(&wanted.name)?;
        let folder = self.catalogue.folder();
        let _lock = Lock::take(folder, &wanted.name)?;
        let before = self.catalogue.named(&wanted.name)?;
        let name = before.as_ref().map_or(&wanted.name, |record| &record.name).clone();
        let survey = survey(&name, &wanted.plan);
        files::sweep(folder, &name, before.as_ref(), Timestamp::now())?;
        let record = match &before {
            Some(record) => record.clone(),
            None => self.add(wanted, &survey)?,
        };
        let source_id = record.source_id;
        let done = self.intake(record, wanted, survey, rebuild, progress).and_then(Intake::run);
        if done.is_err() && before.is_none() {
            self.catalogue.remove(source_id)?;
        }
        let mut report = done?;
        report.seconds = begun.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Adds a collection that stands for nothing yet.
    fn add(&self, wanted: &Wanted, survey: &Survey<'_>) -> Result<Record, CollectionError> {
        let Wanted { name, owner, plan } = wanted;
        if survey.files.is_empty() {
            let reasons: Vec<&str> =
                survey.missing.iter().map(|missing| missing.reason.as_str()).collect();
            let reason = reasons.join("; ");
            return Err(CollectionError::Nothing { name: name.clone(), reason });
        }
        self.catalogue.add(name, owner.as_ref(), &files::first(name), &plan.to_json())?;
        self.catalogue.named(name)?.ok_or_else(|| CollectionError::Unknown(name.clone()))
    }

    fn intake<'a>(
        &'a self,
        record: Record,
        wanted: &'a Wanted,
        survey: Survey<'a>,
        rebuild: bool,
        progress: Progress<'a>,
    ) -> Result<Intake<'a>, CollectionError> {
        let plan = &wanted.plan;
        let (cut, warnings) = Cut::of(plan.chunking.as_ref());
        let vectors = Vectors::new(self.embeddings.filter(|_| plan.embedding.enabled));
        let mut intake = Intake {
            ingest: *self,
            reader: Reader { plan, source_id: record.source_id, cut },
            vectors,
            known: BTreeMap::new(),
            report: Report { name: record.name.clone(), warnings, ..Report::default() },
            record,
            wanted,
            survey,
            progress,
        };
        intake.report.rebuilt = rebuild || !intake.is_there();
        match intake.look() {
            Ok(anew) => intake.report.rebuilt |= anew,
            // Whoever wants it made anew may want that because it cannot be read.
            Err(_) if intake.report.rebuilt => {}
            Err(error) => return Err(error),
        }
        Ok(intake)
    }
}

impl Intake<'_> {
    fn run(mut self) -> Result<Report, CollectionError> {
        for problem in std::mem::take(&mut self.survey.skipped) {
            self.report.skipped.push(problem);
        }
        for missing in &self.survey.missing {
            self.report.skip(String::new(), missing.reason.clone());
        }
        let before = self.report.clone();
        if before.rebuilt || !self.in_place()? {
            self.report = Report { rebuilt: true, ..before };
            self.anew()?;
        }
        self.report.embedding_error = self.vectors.problem().map(str::to_owned);
        Ok(self.report)
    }

    fn collection(&self) -> Collection {
        self.ingest.catalogue.open(&self.record.file)
    }

    fn is_there(&self) -> bool {
        self.ingest.catalogue.folder().join(&self.record.file).exists()
    }

    /// Learns what is in the collection; tells whether it must be made anew.
    fn look(&mut self) -> Result<bool, CollectionError> {
        if !self.is_there() {
            return Ok(true);
        }
        let before = Plan::parse(&self.record.name, &self.record.plan).ok();
        let same_cut =
            before.is_some_and(|before| Cut::of(before.chunking.as_ref()).0 == self.reader.cut);
        let collection = self.collection();
        let (hashes, model) = collection.read(Deadline::after(PATIENCE), |reader| {
            Ok((collection.hashes(reader, self.record.source_id)?, collection.model(reader)?))
        })?;
        self.known = hashes.into_iter().collect();
        let wanted = self.wanted.plan.embedding.enabled;
        let same_model = model.is_none_or(|model| wanted && self.vectors.are_of(&model));
        Ok(!same_cut || !same_model)
    }

    /// Puts what has changed into the collection, unless it is very much: tells
    /// whether that was done.
    fn in_place(&mut self) -> Result<bool, CollectionError> {
        let Some((documents, gone)) = self.changes() else { return Ok(false) };
        let made = self.vectors.of(&documents);
        let collection = self.collection();
        self.catch_up(&collection)?;
        let source = self.source();
        let (report, vectors) = (&mut self.report, &self.vectors);
        let state = state(&self.survey, vectors);
        collection.write(Durability::Bulk, |writer| {
            collection.put_source(writer, &source)?;
            for doc_id in &gone {
                report.gone += usize::from(collection.remove(writer, doc_id)?);
            }
            let puts = put(&collection, writer, vectors, &(documents, made))?;
            for put in &puts {
                report.put(put);
            }
            collection.put_sync_state(writer, source.source_id, &state)
        })?;
        collection.store().settle()?;
        self.count(&collection)?;
        let (plan, owner) = (self.wanted.plan.to_json(), self.owner());
        if plan != self.record.plan || owner != self.record.owner {
            let record = Record { owner, plan, ..self.record.clone() };
            self.ingest.catalogue.swap(&record)?;
        }
        Ok(true)
    }

    /// The documents that are not what is known of them, and the names of those
    /// that are gone; nothing, if it is too much for one transaction.
    fn changes(&mut self) -> Option<(Vec<Document>, Vec<String>)> {
        let mut kept = HashSet::new();
        let (mut documents, mut chunks) = (Vec::new(), 0);
        let files = std::mem::take(&mut self.survey.files);
        for (number, batch) in files.chunks(BATCH).enumerate() {
            for (file, outcome) in batch.iter().zip(self.read(batch, true)) {
                let read = self.take(file, outcome, &mut kept);
                chunks += read.iter().map(|it| it.chunks.len()).sum::<usize>();
                documents.extend(read);
            }
            (self.progress)((number * BATCH + batch.len()).min(files.len()), files.len());
            // Without its folders a collection cannot be made anew.
            if chunks > MOST_IN_PLACE && self.survey.missing.is_empty() {
                self.survey.files = files;
                return None;
            }
        }
        let is_gone = |id: &&String| !kept.contains(*id) && !self.survey.misses(id);
        let gone = self.known.keys().filter(is_gone).cloned().collect();
        Some((documents, gone))
    }

    /// Takes in what became of a file; gives back what is to be put. A file that
    /// cannot be read now keeps what was read of it before.
    fn take(
        &mut self,
        file: &Candidate<'_>,
        outcome: Outcome,
        kept: &mut HashSet<String>,
    ) -> Vec<Document> {
        match outcome {
            Outcome::Passed => self.report.passed += 1,
            Outcome::Unchanged => self.keep(file, kept),
            Outcome::Skipped(reason) => {
                self.report.skip(file.place(), without(&file.place(), reason));
                self.keep(file, kept);
            }
            Outcome::Read(documents, problems) => {
                for problem in problems {
                    let comma = if problem.place.is_empty() { "" } else { ", " };
                    let place = format!("{}{comma}{}", file.place(), problem.place);
                    self.report.skip(place, problem.reason);
                }
                kept.extend(documents.iter().map(|document| document.doc_id.clone()));
                return documents;
            }
        }
        Vec::new()
    }

    /// Keeps the documents that a file has become.
    fn keep(&mut self, file: &Candidate<'_>, kept: &mut HashSet<String>) {
        let below = self.known.range(file.doc_id.clone()..).map(|(doc_id, _)| doc_id);
        let near = below.take_while(|doc_id| doc_id.starts_with(&file.doc_id));
        let of_file: Vec<String> = near.filter(|doc_id| file.holds(doc_id)).cloned().collect();
        self.report.unchanged += of_file.len();
        kept.extend(of_file);
    }

    /// Makes the collection anew, in a file that takes the place of the old one.
    fn anew(&mut self) -> Result<(), CollectionError> {
        let lost =
            |missing: &&super::folder::Missing| self.known.keys().any(|id| missing.holds(id));
        if let Some(missing) = self.survey.missing.iter().find(lost) {
            let (name, reason) = (self.record.name.clone(), missing.reason.clone());
            return Err(CollectionError::Incomplete { name, reason });
        }
        let catalogue = self.ingest.catalogue;
        let file = files::next(catalogue.folder(), &self.record)?;
        let collection = Collection::at(catalogue.folder().join(&file));
        let source = self.source();
        collection.write(Durability::Bulk, |writer| collection.put_source(writer, &source))?;
        let mut kept = HashSet::new();
        let files = std::mem::take(&mut self.survey.files);
        for (number, batch) in files.chunks(BATCH).enumerate() {
            let mut documents = Vec::new();
            for (file, outcome) in batch.iter().zip(self.read(batch, false)) {
                documents.extend(self.take(file, outcome, &mut kept));
            }
            let made = self.vectors.of(&documents);
            let embedded = (documents, made);
            collection.write(Durability::Bulk, |writer| {
                put(&collection, writer, &self.vectors, &embedded).map(drop)
            })?;
            for document in &embedded.0 {
                let before = self.known.get(&document.doc_id);
                self.report.put(&match before {
                    None => Put::New(Vec::new()),
                    Some(hash) if *hash == document.content_hash => Put::Unchanged,
                    Some(_) => Put::Updated(Vec::new()),
                });
            }
            (self.progress)((number * BATCH + batch.len()).min(files.len()), files.len());
        }
        self.report.gone = self.known.keys().filter(|id| !kept.contains(*id)).count();
        let state = state(&self.survey, &self.vectors);
        collection.write(Durability::Full, |writer| {
            collection.put_sync_state(writer, source.source_id, &state)
        })?;
        self.count(&collection)?;
        // All of it is in the file itself before anybody is sent there.
        collection.store().settle()?;
        collection.store().close();
        let (plan, owner) = (self.wanted.plan.to_json(), self.owner());
        catalogue.swap(&Record { owner, file, plan, ..self.record.clone() })
    }

    /// Reads files on all cores; in the order of the files.
    fn read(&self, files: &[Candidate<'_>], heed_known: bool) -> Vec<Outcome> {
        let hands = thread::available_parallelism().map_or(1, NonZero::get);
        let known = |file: &Candidate<'_>| {
            self.known.get(&file.doc_id).filter(|_| heed_known).map(String::as_str)
        };
        let read = |file| self.reader.read(file, known(file));
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

    /// Makes the vectors that were missing before, as far as that works.
    fn catch_up(&mut self, collection: &Collection) -> Result<(), CollectionError> {
        let mut from = 0;
        while self.vectors.can_be_made() {
            let missing = collection.read(Deadline::after(PATIENCE), |reader| {
                collection.without_vector(reader, from, CAUGHT_UP)
            })?;
            let Some((last, _)) = missing.last() else { break };
            from = last + 1;
            let (keys, texts): (Vec<i64>, Vec<String>) = missing.into_iter().unzip();
            let made = self.vectors.of_texts(&texts);
            collection.write(Durability::Bulk, |writer| {
                self.vectors.announce(collection, writer, &made)?;
                vectors::put(collection, writer, &keys, &made)
            })?;
        }
        Ok(())
    }

    fn count(&mut self, collection: &Collection) -> Result<(), CollectionError> {
        let counts =
            collection.read(Deadline::after(PATIENCE), |reader| collection.counts(reader))?;
        self.report.hold(&counts);
        Ok(())
    }

    fn owner(&self) -> Option<String> {
        self.wanted.owner.as_ref().map(ToString::to_string)
    }

    fn source(&self) -> NewSource {
        let plan = &self.wanted.plan;
        let json = |written: Option<serde_json::Value>| {
            written.map(|it| it.to_string()).unwrap_or_default()
        };
        NewSource {
            source_id: self.record.source_id,
            name: self.record.name.clone(),
            backend_type: "folder".to_owned(),
            doc_map_json: String::new(),
            chunking_json: json(
                plan.chunking.as_ref().and_then(|it| serde_json::to_value(it).ok()),
            ),
            embedding_json: json(serde_json::to_value(plan.embedding).ok()),
        }
    }
}

/// How far the collection follows its folders afterwards.
fn state(survey: &Survey<'_>, vectors: &Vectors<'_>) -> SyncState {
    let missing: Vec<&str> = survey.missing.iter().map(|it| it.reason.as_str()).collect();
    let complete = missing.is_empty();
    let problem =
        if complete { vectors.problem().map(str::to_owned) } else { Some(missing.join("; ")) };
    SyncState { cursor_json: None, last_ok_at: complete.then(Timestamp::now), last_error: problem }
}

/// Puts documents in, with the vectors of their chunks.
fn put(
    collection: &Collection,
    writer: &Writer<'_>,
    vectors: &Vectors<'_>,
    (documents, made): &Embedded,
) -> Result<Vec<Put>, SourceError> {
    vectors.announce(collection, writer, made.iter().flatten())?;
    let mut puts = Vec::with_capacity(documents.len());
    for (document, made) in documents.iter().zip(made) {
        let put = collection.put(writer, document)?;
        if let Put::New(keys) | Put::Updated(keys) = &put {
            vectors::put(collection, writer, keys, made)?;
        }
        puts.push(put);
    }
    Ok(puts)
}

/// A reason without the path that it begins with: who tells it tells that as well.
fn without(place: &str, reason: String) -> String {
    let bare = [format!("{place} "), format!("cannot read {place}: ")];
    let bare = bare.iter().find_map(|path| reason.strip_prefix(path).map(str::to_owned));
    bare.unwrap_or(reason)
}
