//! Synchronisation of a collection with its folders or its table.
//!
//! Changes are applied in one transaction. If everything changes, because of another chunking or
//! another embedding model, the collection is rebuilt in a new file that then replaces the old one.
//! In both cases readers see either the old or the new collection completely, even after a crash.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use serde_json::Value;
use vademecum_collections::{Collection, Document, NewSource, PutOutcome, SyncState};
use vademecum_core::auth::Principal;
use vademecum_embed::Embeddings;
use vademecum_import::ReaderLimits;
use vademecum_model::{Deadline, Timestamp};
use vademecum_store::Durability;

use super::{
    Catalogue, CollectionError, CollectionPlan, CollectionRecord, CollectionSpec, SyncReport,
    TableDatabases,
    build_claim::BuildClaim,
    bulk_load,
    catalogue::check_name,
    chunk_vectors::{self, ChunkEmbedder},
    chunking::ChunkingMode,
    collection_files::{self, CollectionLock},
    document_source::{Batch, DocumentSource, KnownHashes, SyncPass, sync_state},
    folder_scan::MissingFolder,
    folder_source::FolderSource,
    prepared_batch::PreparedBatch,
    table_source::TableSource,
};

/// Maximum number of chunks that are changed in one transaction. Beyond, a rebuild needs less
/// memory.
const MAX_INCREMENTAL_CHUNKS: usize = 20_000;
/// Number of missing vectors that are added in one transaction.
const MISSING_VECTOR_BATCH: usize = 1_024;
/// Timeout of reading the state of a collection.
const READ_TIMEOUT: Duration = Duration::from_mins(10);

/// Callback that receives the number of files or rows read so far, and their total.
pub type ProgressCallback<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Synchronises collections.
#[derive(Clone, Copy, Debug)]
pub struct Ingest<'a> {
    /// Catalogue of the collections.
    pub catalogue: &'a Catalogue,
    /// Principal with whose rights tables are read.
    pub principal: &'a Principal,
    /// Embedding service; without one, chunks get no vectors.
    pub embeddings: Option<&'a Embeddings>,
    /// Databases for collections of tables.
    pub tables: Option<&'a TableDatabases>,
    /// Limits of parsing a file.
    pub reader_limits: ReaderLimits,
}

/// The synchronisation of one collection.
struct IngestJob<'a> {
    ingest: Ingest<'a>,
    record: CollectionRecord,
    spec: &'a CollectionSpec,
    document_source: Box<dyn DocumentSource + 'a>,
    chunking_mode: ChunkingMode,
    vectors: ChunkEmbedder<'a>,
    known_hashes: KnownHashes,
    /// Position where the previous pass ended, if a pass can continue there.
    cursor: Option<Value>,
    /// Time of the previous successful run.
    last_ok_at: Option<Timestamp>,
    /// Right to build the collection, among servers that follow one archive.
    claim: Option<&'a BuildClaim>,
    report: SyncReport,
    progress: ProgressCallback<'a>,
}

/// A build and the right to it.
struct BuildJob<'a> {
    spec: &'a CollectionSpec,
    /// Row of the catalogue, if the collection exists.
    before: Option<&'a CollectionRecord>,
    claim: Option<&'a BuildClaim>,
    rebuild: bool,
}

/// The difference between a collection and its source.
struct Changes {
    /// Documents that are new, or that differ from the stored ones.
    documents: Vec<Document>,
    /// Identifiers of removed documents.
    removed: Vec<String>,
}

impl Ingest<'_> {
    /// Synchronises a collection as specified by `spec`, and creates it if necessary. With
    /// `rebuild` all of it is built again.
    ///
    /// Blocks, and must not be called on a thread of the async runtime. Fails with
    /// [`CollectionError::Busy`] if another process builds the same collection. Failures are also
    /// recorded in the collection.
    pub fn sync(
        &self,
        spec: &CollectionSpec,
        rebuild: bool,
        progress: ProgressCallback<'_>,
    ) -> Result<SyncReport, CollectionError> {
        let begun = Instant::now();
        check_name(&spec.name)?;
        let folder = self.catalogue.folder();
        let _lock = CollectionLock::acquire(folder, &spec.name)?;
        let claim = self.catalogue.claim_build(&spec.name)?;
        let before = self.catalogue.find_record(&spec.name)?;
        let job = BuildJob { spec, before: before.as_ref(), claim: claim.as_ref(), rebuild };
        let done = self.run_build(&job, progress);
        // Of a build that was taken over, the other server records how it ends.
        if let (Err(error), Some(record)) = (&done, &before)
            && !matches!(error, CollectionError::TakenOver(_))
        {
            self.record_failure(record, error);
        }
        let mut report = done?;
        report.seconds = begun.elapsed().as_secs_f64();
        Ok(report)
    }

    fn run_build(
        &self,
        job: &BuildJob<'_>,
        progress: ProgressCallback<'_>,
    ) -> Result<SyncReport, CollectionError> {
        let BuildJob { spec, before, claim, rebuild } = *job;
        let name = before.map_or(&spec.name, |record| &record.name);
        let (cut, warnings) = ChunkingMode::from_settings(spec.plan.chunking.as_ref());
        let origin = self.open_document_source(name, &spec.plan, cut)?;
        collection_files::remove_unused(self.catalogue.folder(), name, before)?;
        let record = match before {
            Some(record) => record.clone(),
            None => self.insert_collection(spec, &*origin)?,
        };
        let source_id = record.source_id;
        let vectors = ChunkEmbedder::new(self.embeddings.filter(|_| spec.plan.embedding.enabled));
        let report = SyncReport { name: name.clone(), warnings, ..SyncReport::default() };
        let (known, ingest) = (KnownHashes::new(), *self);
        let mut intake = IngestJob {
            ingest,
            record,
            spec,
            document_source: origin,
            chunking_mode: cut,
            vectors,
            known_hashes: known,
            cursor: None,
            last_ok_at: None,
            claim,
            report,
            progress,
        };
        let done = intake.load_or_rebuild(rebuild).and_then(|()| intake.run());
        // The record of a build that was taken over belongs to the other server.
        let is_owned = claim.is_none_or(|claim| claim.confirm().is_ok());
        if done.is_err() && before.is_none() && is_owned {
            self.catalogue.remove_record(source_id)?;
        }
        done
    }

    /// Opens the folders or the table of the plan.
    fn open_document_source<'p>(
        &self,
        name: &'p str,
        plan: &'p CollectionPlan,
        cut: ChunkingMode,
    ) -> Result<Box<dyn DocumentSource + 'p>, CollectionError> {
        let Some(table) = &plan.table else {
            return Ok(Box::new(FolderSource::new(name, plan, cut, self.reader_limits)));
        };
        let tables = self.tables.ok_or_else(|| CollectionError::Rows {
            name: name.to_owned(),
            reason: "no databases are configured".to_owned(),
        })?;
        Ok(Box::new(TableSource::new(name, plan, table, cut, (tables, self.principal))?))
    }

    /// Inserts an empty collection into the catalogue.
    fn insert_collection(
        &self,
        spec: &CollectionSpec,
        origin: &dyn DocumentSource,
    ) -> Result<CollectionRecord, CollectionError> {
        let CollectionSpec { name, owner, plan, .. } = spec;
        if let Some(reason) = origin.unusable_reason() {
            return Err(CollectionError::NoDocuments { name: name.clone(), reason });
        }
        self.catalogue.insert_record(
            name,
            owner.as_ref(),
            &collection_files::initial_file_name(name),
            &plan.to_json(),
        )?;
        self.catalogue.find_record(name)?.ok_or_else(|| CollectionError::Unknown(name.clone()))
    }

    /// Records in the collection why it could not be synchronised.
    fn record_failure(&self, record: &CollectionRecord, error: &CollectionError) {
        if !self.catalogue.folder().join(&record.file).exists() {
            return;
        }
        let collection = self.catalogue.open(&record.file);
        let state = SyncState { last_error: Some(error.public_message()), ..SyncState::default() };
        let written = collection.write(Durability::Bulk, |writer| {
            collection.put_sync_state(writer, record.source_id, &state)
        });
        if let Err(error) = written {
            let name = &record.name;
            tracing::warn!(source = %name, %error, "cannot record the failure in the collection");
        }
    }
}

impl IngestJob<'_> {
    /// Loads the state of the collection and decides whether to rebuild it.
    fn load_or_rebuild(&mut self, rebuild: bool) -> Result<(), CollectionError> {
        self.report.rebuilt = rebuild || !self.database_exists();
        match self.load_state() {
            Ok(rebuilt) => self.report.rebuilt |= rebuilt,
            // A rebuild is the remedy for a collection that cannot be read.
            Err(_) if self.report.rebuilt => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn run(mut self) -> Result<SyncReport, CollectionError> {
        for missing in self.document_source.missing_folders() {
            self.report.add_skipped(String::new(), missing.reason());
        }
        let before = self.report.clone();
        if before.rebuilt || !self.sync_incremental()? {
            self.report = SyncReport { rebuilt: true, ..before };
            self.rebuild()?;
        }
        self.report.embedding_error = self.vectors.problem().map(str::to_owned);
        Ok(self.report)
    }

    fn open_collection(&self) -> Collection {
        self.ingest.catalogue.open(&self.record.file)
    }

    fn database_exists(&self) -> bool {
        !collection_files::is_initial(&self.record.file)
            && self.ingest.catalogue.folder().join(&self.record.file).exists()
    }

    /// Loads the hashes and the cursor of the collection. Returns whether it must be rebuilt.
    fn load_state(&mut self) -> Result<bool, CollectionError> {
        if !self.database_exists() {
            return Ok(true);
        }
        let before = CollectionPlan::parse(&self.record.name, &self.record.plan).ok();
        let same_cut = before.as_ref().is_some_and(|before| {
            ChunkingMode::from_settings(before.chunking.as_ref()).0 == self.chunking_mode
        });
        let collection = self.open_collection();
        let (hashes, model, state) = collection.read(Deadline::after(READ_TIMEOUT), |reader| {
            let source_id = self.record.source_id;
            let hashes = collection.content_hashes(reader, source_id)?;
            Ok((
                hashes,
                collection.embedding_model(reader)?,
                collection.sync_state(reader, source_id)?,
            ))
        })?;
        self.known_hashes = hashes.into_iter().collect();
        self.last_ok_at = state.last_ok_at;
        // The cursor is valid only for the same plan; otherwise all rows are read.
        if before.is_some_and(|before| before == self.spec.plan) {
            let cursor = state.cursor_json.and_then(|it| serde_json::from_str(&it).ok());
            self.cursor = cursor.filter(|it: &Value| it.get("value").is_some());
        }
        let is_enabled = self.spec.plan.embedding.enabled;
        let same_model = model.is_none_or(|model| is_enabled && self.vectors.matches_model(&model));
        Ok(!same_cut || !same_model)
    }

    /// Applies the changes in one transaction. Returns `false` without applying them if there are
    /// too many.
    fn sync_incremental(&mut self) -> Result<bool, CollectionError> {
        let Some(Changes { documents, removed: gone }) = self.find_changes()? else {
            return Ok(false);
        };
        let collection = self.open_collection();
        let dictionary = collection
            .read(Deadline::after(READ_TIMEOUT), |reader| collection.text_dictionary(reader))?;
        let mut compressor = bulk_load::create_compressor(&dictionary)?;
        let batch = PreparedBatch::new(documents, &mut self.vectors);
        self.add_missing_vectors(&collection)?;
        let source = self.source_row();
        self.confirm_claim()?;
        let (report, vectors) = (&mut self.report, &self.vectors);
        let state = sync_state(&*self.document_source, vectors);
        let (before, last_ok_at) = (report.clone(), self.last_ok_at);
        let mut is_taken_over = false;
        collection.write(Durability::Bulk, |writer| {
            // The transaction may be repeated.
            report.clone_from(&before);
            let present =
                writer.with_reader(|reader| collection.sync_state(reader, source.source_id))?;
            is_taken_over = present.last_ok_at != last_ok_at;
            if is_taken_over {
                return Ok(());
            }
            collection.put_source(writer, &source)?;
            for doc_id in &gone {
                report.gone += usize::from(collection.remove_document(writer, doc_id)?);
            }
            for put in batch.put(&collection, writer, &mut compressor)? {
                report.count_document(&put);
            }
            collection.put_sync_state(writer, source.source_id, &state)
        })?;
        if is_taken_over {
            return Err(CollectionError::TakenOver(self.record.name.clone()));
        }
        collection.store().checkpoint()?;
        self.count_contents(&collection)?;
        let (plan, owner) = (self.spec.plan.to_json(), self.owner_name());
        if plan != self.record.plan || owner != self.record.owner {
            let record = CollectionRecord { owner, plan, ..self.record.clone() };
            if !self.ingest.catalogue.update_plan(&record)? {
                return Err(CollectionError::TakenOver(record.name));
            }
        }
        Ok(true)
    }

    /// Returns the changed and the removed documents, or `None` if they are too many for one
    /// transaction.
    fn find_changes(&mut self) -> Result<Option<Changes>, CollectionError> {
        let mut kept = HashSet::new();
        let (mut documents, mut chunks) = (Vec::new(), 0);
        self.document_source
            .begin_pass(self.cursor.take().map_or(SyncPass::Full, SyncPass::Since))?;
        while let Some(portion) = self.document_source.next_batch(Some(&self.known_hashes))? {
            let read = self.collect_batch(portion, &mut kept);
            chunks += read.iter().map(|it| it.chunks.len()).sum::<usize>();
            documents.extend(read);
            // A rebuild is impossible while folders are missing.
            if chunks > MAX_INCREMENTAL_CHUNKS && self.document_source.missing_folders().is_empty()
            {
                return Ok(None);
            }
        }
        let missing = self.document_source.missing_folders();
        let is_missed = |id: &str| missing.iter().any(|missing| missing.owns_document(id));
        let is_gone = |id: &&String| !kept.contains(*id) && !is_missed(id);
        let gone = self.known_hashes.keys().filter(is_gone).cloned().collect();
        Ok(Some(Changes { documents, removed: gone }))
    }

    /// Counts a batch in the report. Returns its new and changed documents.
    fn collect_batch(&mut self, portion: Batch, kept: &mut HashSet<String>) -> Vec<Document> {
        let Batch { mut documents, unchanged, unsupported: passed, skipped, progress: (done, of) } =
            portion;
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

    /// Rebuilds the collection in a new file, which then replaces the old one. Fails if a missing
    /// folder would lose documents.
    fn rebuild(&mut self) -> Result<(), CollectionError> {
        let lost =
            |missing: &&MissingFolder| self.known_hashes.keys().any(|id| missing.owns_document(id));
        if let Some(missing) = self.document_source.missing_folders().iter().find(lost) {
            return Err(CollectionError::MissingFolder {
                name: self.record.name.clone(),
                path: missing.path.clone(),
                problem: missing.problem,
            });
        }
        let catalogue = self.ingest.catalogue;
        self.document_source.begin_pass(SyncPass::Full)?;
        let name = &self.record.name;
        let number = match self.claim {
            Some(claim) => claim.number(),
            None => collection_files::next_number(catalogue.folder(), name, Some(&self.record))?,
        };
        let file = collection_files::file_name(name, number);
        let collection = Collection::at(catalogue.folder().join(&file));
        let source = self.source_row();
        collection.begin_bulk_load()?;
        collection.write(Durability::Deferred, |writer| collection.put_source(writer, &source))?;
        let kept = self.load_documents(&collection)?;
        collection.finish_bulk_load()?;
        self.report.gone = self.known_hashes.keys().filter(|id| !kept.contains(*id)).count();
        let state = sync_state(&*self.document_source, &self.vectors);
        collection.write(Durability::Full, |writer| {
            collection.put_sync_state(writer, source.source_id, &state)
        })?;
        self.count_contents(&collection)?;
        // The write-ahead log is merged into the file before the catalogue refers to it.
        collection.store().checkpoint()?;
        collection.store().close();
        self.confirm_claim()?;
        catalogue.upload(&self.record.name, &file)?;
        let (plan, owner) = (self.spec.plan.to_json(), self.owner_name());
        let record = CollectionRecord { owner, file, plan, ..self.record.clone() };
        match catalogue.publish(&record) {
            Ok(replaced) => catalogue.remove_upload(&replaced),
            Err(error @ CollectionError::TakenOver(_)) => {
                catalogue.remove_upload(&record.file);
                return Err(error);
            }
            // The catalogue may refer to the file.
            Err(error) => return Err(error),
        }
        catalogue.close_replaced();
        collection_files::remove_unused(catalogue.folder(), &record.name, Some(&record))
    }

    /// Fails if another server has taken over the build.
    fn confirm_claim(&self) -> Result<(), CollectionError> {
        self.claim.map_or(Ok(()), BuildClaim::confirm)
    }

    /// Writes all documents of the source to a new file. Returns their identifiers.
    fn load_documents(
        &mut self,
        collection: &Collection,
    ) -> Result<HashSet<String>, CollectionError> {
        let mut kept = HashSet::new();
        let mut vectors = std::mem::take(&mut self.vectors);
        let loaded = bulk_load::load_documents(collection, &mut vectors, &mut || {
            let Some(portion) = self.document_source.next_batch(None)? else { return Ok(None) };
            let documents = self.collect_batch(portion, &mut kept);
            for document in &documents {
                let before = self.known_hashes.get(&document.doc_id);
                self.report.count_document(&match before {
                    None => PutOutcome::New(Vec::new()),
                    Some(hash) if *hash == document.content_hash => PutOutcome::Unchanged,
                    Some(_) => PutOutcome::Updated(Vec::new()),
                });
            }
            Ok(Some(documents))
        });
        self.vectors = vectors;
        loaded.map(|()| kept)
    }

    /// Adds vectors that are missing from previous runs, as far as the provider works.
    fn add_missing_vectors(&mut self, collection: &Collection) -> Result<(), CollectionError> {
        let mut from = 0;
        while self.vectors.is_available() {
            let missing = collection.read(Deadline::after(READ_TIMEOUT), |reader| {
                collection.chunks_without_vector(reader, from, MISSING_VECTOR_BATCH)
            })?;
            let Some((last, _)) = missing.last() else { break };
            from = last + 1;
            let (keys, texts): (Vec<i64>, Vec<String>) = missing.into_iter().unzip();
            let made = self.vectors.embed_texts(&texts);
            collection.write(Durability::Bulk, |writer| {
                if let Some(model) = self.vectors.model_of(&made) {
                    collection.put_model(writer, &model)?;
                }
                chunk_vectors::put_vectors(collection, writer, &keys, &made)
            })?;
        }
        Ok(())
    }

    fn count_contents(&mut self, collection: &Collection) -> Result<(), CollectionError> {
        let counts = collection
            .read(Deadline::after(READ_TIMEOUT), |reader| collection.count_by_source(reader))?;
        self.report.set_totals(&counts);
        Ok(())
    }

    fn owner_name(&self) -> Option<String> {
        self.spec.owner.as_ref().map(ToString::to_string)
    }

    fn source_row(&self) -> NewSource {
        self.spec.plan.source_row(&self.record, self.document_source.backend_type())
    }
}
