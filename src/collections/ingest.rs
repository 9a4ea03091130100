//! Bringing a collection up to date.
//!
//! What has changed goes into the collection in one transaction. If all of it
//! changes, because it is cut another way or another model makes its vectors,
//! it is made anew in a file of its own, which then takes the place of the old
//! one. Either way whoever searches sees the old collection or the new one,
//! whole, and so does whoever comes after a crash.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use serde_json::Value;
use vademecum_collections::{Collection, Document, NewSource, Put, SyncState};
use vademecum_kit::{
    model::{Deadline, Timestamp},
    source::SourceError,
    store::{Durability, Writer},
};

use super::{
    Catalogue, CollectionError, Plan, Record, Report, Tables, Wanted,
    catalogue::check_name,
    chunking::Cut,
    files::{self, Lock},
    origin::{Known, Origin, Pass, Portion},
    rows::TableRows,
    vectors::{self, Made, Vectors},
    walk::Walk,
};
use vademecum_embed::Embeddings;

/// Chunks that are changed in one transaction. If there are more, it takes less
/// memory to make the collection anew.
const MOST_IN_PLACE: usize = 20_000;
/// Vectors that are caught up with in one transaction.
const CAUGHT_UP: usize = 1_024;
/// How long a look into a collection may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// Hears how many files or rows were read, of how many.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Brings collections up to date.
#[derive(Clone, Copy, Debug)]
pub struct Ingest<'a> {
    /// Where they are.
    pub catalogue: &'a Catalogue,
    /// Who makes vectors, if anybody does.
    pub embeddings: Option<&'a Embeddings>,
    /// The databases, if there are any.
    pub tables: Option<&'a Tables>,
}

/// One that is under way.
struct Intake<'a> {
    ingest: Ingest<'a>,
    record: Record,
    wanted: &'a Wanted,
    origin: Box<dyn Origin + 'a>,
    cut: Cut,
    vectors: Vectors<'a>,
    known: Known,
    /// How far its origin was read the last time, if that can be gone on from.
    cursor: Option<Value>,
    report: Report,
    progress: Progress<'a>,
}

/// Documents with the vectors of their chunks.
type Embedded = (Vec<Document>, Vec<Vec<Option<Made>>>);

/// What makes a collection what its origin is.
struct Changes {
    /// The documents that are not what is known of them.
    documents: Vec<Document>,
    /// The names of those that are gone.
    gone: Vec<String>,
}

impl Ingest<'_> {
    /// Makes a collection what it is wanted to be. It blocks, for as long as that
    /// takes, and must not be called where others wait for a runtime. Only one process
    /// at a time may do so with a collection. Why it could not be done is written into
    /// the collection as well.
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
        let done = self.build(wanted, before.as_ref(), rebuild, progress);
        if let (Err(error), Some(record)) = (&done, &before) {
            self.remember(record, error);
        }
        let mut report = done?;
        report.seconds = begun.elapsed().as_secs_f64();
        Ok(report)
    }

    fn build(
        &self,
        wanted: &Wanted,
        before: Option<&Record>,
        rebuild: bool,
        progress: Progress<'_>,
    ) -> Result<Report, CollectionError> {
        let name = before.map_or(&wanted.name, |record| &record.name);
        let (cut, warnings) = Cut::of(wanted.plan.chunking.as_ref());
        let origin = self.origin(name, &wanted.plan, cut)?;
        files::sweep(self.catalogue.folder(), name, before, Timestamp::now())?;
        let record = match before {
            Some(record) => record.clone(),
            None => self.add(wanted, &*origin)?,
        };
        let source_id = record.source_id;
        let vectors = Vectors::new(self.embeddings.filter(|_| wanted.plan.embedding.enabled));
        let report = Report { name: name.clone(), warnings, ..Report::default() };
        let (known, cursor) = (Known::new(), None);
        let ingest = *self;
        let mut intake = Intake {
            ingest,
            record,
            wanted,
            origin,
            cut,
            vectors,
            known,
            cursor,
            report,
            progress,
        };
        let done = intake.prepare(rebuild).and_then(|()| intake.run());
        if done.is_err() && before.is_none() {
            self.catalogue.remove(source_id)?;
        }
        done
    }

    /// What the documents are read from.
    fn origin<'p>(
        &self,
        name: &'p str,
        plan: &'p Plan,
        cut: Cut,
    ) -> Result<Box<dyn Origin + 'p>, CollectionError> {
        let Some(table) = &plan.table else { return Ok(Box::new(Walk::new(name, plan, cut))) };
        let tables = self.tables.ok_or_else(|| CollectionError::Rows {
            name: name.to_owned(),
            reason: "there are no databases here".to_owned(),
        })?;
        Ok(Box::new(TableRows::new(name, plan, table, cut, tables)?))
    }

    /// Adds a collection that stands for nothing yet.
    fn add(&self, wanted: &Wanted, origin: &dyn Origin) -> Result<Record, CollectionError> {
        let Wanted { name, owner, plan } = wanted;
        if let Some(reason) = origin.nothing() {
            return Err(CollectionError::Nothing { name: name.clone(), reason });
        }
        self.catalogue.add(name, owner.as_ref(), &files::first(name), &plan.to_json())?;
        self.catalogue.named(name)?.ok_or_else(|| CollectionError::Unknown(name.clone()))
    }

    /// Writes down why a collection could not be brought up to date.
    fn remember(&self, record: &Record, error: &CollectionError) {
        if !self.catalogue.folder().join(&record.file).exists() {
            return;
        }
        let collection = self.catalogue.open(&record.file);
        let state = SyncState { last_error: Some(error.to_string()), ..SyncState::default() };
        let written = collection.write(Durability::Bulk, |writer| {
            collection.put_sync_state(writer, record.source_id, &state)
        });
        if let Err(error) = written {
            let name = &record.name;
            tracing::warn!(source = %name, %error, "nor could that be written down");
        }
    }
}

impl Intake<'_> {
    /// Learns what is there.
    fn prepare(&mut self, rebuild: bool) -> Result<(), CollectionError> {
        self.report.rebuilt = rebuild || !self.is_there();
        match self.look() {
            Ok(anew) => self.report.rebuilt |= anew,
            // Whoever wants it made anew may want that because it cannot be read.
            Err(_) if self.report.rebuilt => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn run(mut self) -> Result<Report, CollectionError> {
        for missing in self.origin.missing() {
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
            before.as_ref().is_some_and(|before| Cut::of(before.chunking.as_ref()).0 == self.cut);
        let collection = self.collection();
        let (hashes, model, state) = collection.read(Deadline::after(PATIENCE), |reader| {
            let source_id = self.record.source_id;
            let hashes = collection.hashes(reader, source_id)?;
            Ok((hashes, collection.model(reader)?, collection.sync_state(reader, source_id)?))
        })?;
        self.known = hashes.into_iter().collect();
        // Of another table or by another map, all rows are read.
        if before.is_some_and(|before| before == self.wanted.plan) {
            let cursor = state.cursor_json.and_then(|it| serde_json::from_str(&it).ok());
            self.cursor = cursor.filter(|it: &Value| it.get("value").is_some());
        }
        let wanted = self.wanted.plan.embedding.enabled;
        let same_model = model.is_none_or(|model| wanted && self.vectors.are_of(&model));
        Ok(!same_cut || !same_model)
    }

    /// Puts what has changed into the collection, unless it is very much: tells
    /// whether that was done.
    fn in_place(&mut self) -> Result<bool, CollectionError> {
        let Some(Changes { documents, gone }) = self.changes()? else { return Ok(false) };
        let made = self.vectors.of(&documents);
        let collection = self.collection();
        self.catch_up(&collection)?;
        let source = self.source();
        let (report, vectors) = (&mut self.report, &self.vectors);
        let state = state(&*self.origin, vectors);
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
    fn changes(&mut self) -> Result<Option<Changes>, CollectionError> {
        let mut kept = HashSet::new();
        let (mut documents, mut chunks) = (Vec::new(), 0);
        self.origin.begin(self.cursor.take().map_or(Pass::Everything, Pass::Since))?;
        while let Some(portion) = self.origin.next(Some(&self.known))? {
            let read = self.take(portion, &mut kept);
            chunks += read.iter().map(|it| it.chunks.len()).sum::<usize>();
            documents.extend(read);
            // Without its folders a collection cannot be made anew.
            if chunks > MOST_IN_PLACE && self.origin.missing().is_empty() {
                return Ok(None);
            }
        }
        let missing = self.origin.missing();
        let is_missed = |id: &str| missing.iter().any(|missing| missing.holds(id));
        let is_gone = |id: &&String| !kept.contains(*id) && !is_missed(id);
        let gone = self.known.keys().filter(is_gone).cloned().collect();
        Ok(Some(Changes { documents, gone }))
    }

    /// Takes in what was read; gives back what is to be put.
    fn take(&mut self, portion: Portion, kept: &mut HashSet<String>) -> Vec<Document> {
        let Portion { mut documents, unchanged, passed, skipped, progress: (done, of) } = portion;
        self.report.passed += passed;
        self.report.unchanged += unchanged.len();
        self.report.skipped.extend(skipped);
        for document in &mut documents {
            document.source_id = self.record.source_id;
            kept.insert(document.doc_id.clone());
        }
        kept.extend(unchanged);
        (self.progress)(done, of);
        documents
    }

    /// Makes the collection anew, in a file that takes the place of the old one.
    fn anew(&mut self) -> Result<(), CollectionError> {
        let lost =
            |missing: &&super::folder::Missing| self.known.keys().any(|id| missing.holds(id));
        if let Some(missing) = self.origin.missing().iter().find(lost) {
            let (name, reason) = (self.record.name.clone(), missing.reason.clone());
            return Err(CollectionError::Incomplete { name, reason });
        }
        let catalogue = self.ingest.catalogue;
        self.origin.begin(Pass::Everything)?;
        let file = files::next(catalogue.folder(), &self.record)?;
        let collection = Collection::at(catalogue.folder().join(&file));
        let source = self.source();
        collection.write(Durability::Bulk, |writer| collection.put_source(writer, &source))?;
        let mut kept = HashSet::new();
        while let Some(portion) = self.origin.next(None)? {
            let documents = self.take(portion, &mut kept);
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
        }
        self.report.gone = self.known.keys().filter(|id| !kept.contains(*id)).count();
        let state = state(&*self.origin, &self.vectors);
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
            backend_type: self.origin.backend_type().to_owned(),
            doc_map_json: json(
                plan.table.as_ref().and_then(|it| serde_json::to_value(&it.doc_map).ok()),
            ),
            chunking_json: json(
                plan.chunking.as_ref().and_then(|it| serde_json::to_value(it).ok()),
            ),
            embedding_json: json(serde_json::to_value(plan.embedding).ok()),
        }
    }
}

/// How far the collection follows its origin afterwards.
fn state(origin: &dyn Origin, vectors: &Vectors<'_>) -> SyncState {
    let missing: Vec<&str> = origin.missing().iter().map(|it| it.reason.as_str()).collect();
    let complete = missing.is_empty();
    let problem =
        if complete { vectors.problem().map(str::to_owned) } else { Some(missing.join("; ")) };
    let cursor_json = origin.cursor().map(|cursor| cursor.to_string());
    SyncState { cursor_json, last_ok_at: complete.then(Timestamp::now), last_error: problem }
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
