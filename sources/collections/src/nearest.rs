//! Nearest-neighbour search over the vectors of a collection.
//!
//! A scan over the 8-bit codes of all vectors, which are cached in memory, selects candidates; the
//! full vectors of the candidates are then compared exactly.

use std::cell::{Cell, RefCell};

use rusqlite::named_params;
use vademecum_model::Timestamp;
use vademecum_search::{
    QuantizedIndex, QuantizedVector, rescore_depth,
    vector::{VectorError, decode_vector, encode_vector, exact_similarity, normalize},
};
use vademecum_source::SourceError;
use vademecum_store::{Reader, RowFilter, StoreError, Writer};

use crate::{
    Collection, EmbeddingModel, Scope,
    code_cache::CachedCodes,
    document::join_embedding_input,
    full_text::{has_hidden_documents, scope_filter},
};

/// Vector codes that changed after `:changed`, in order of change.
const CODES_SQL: &str =
    "SELECT chunk, changed, scale, code FROM rag_codes WHERE changed > :changed ORDER BY changed";
/// Deletes the vector of a chunk.
const DELETE_VECTOR_SQL: &str = "DELETE FROM rag_vectors WHERE chunk = :chunk";
/// Replaces the code of a chunk by an empty one, as the latest change.
const FORGET_CODE_SQL: &str = "UPDATE rag_codes \
     SET changed = (SELECT max(changed) + 1 FROM rag_codes), scale = 0, code = x'' \
     WHERE chunk = :chunk";
/// The number of the latest change of a vector code.
const NEWEST_CODE_SQL: &str = "SELECT max(changed) AS changed FROM rag_codes";
/// Stores the vector code of a chunk, as the latest change.
const PUT_CODE_SQL: &str = "INSERT OR REPLACE INTO rag_codes (chunk, changed, scale, code) \
     VALUES (:chunk, (SELECT coalesce(max(changed), 0) + 1 FROM rag_codes), :scale, :code)";
/// Sets the embedding model of the collection.
const PUT_MODEL_SQL: &str = "INSERT OR REPLACE INTO rag_embedding_model (id, provider, model, dimensions) \
     VALUES (1, :provider, :model, :dimensions)";
/// Stores the vector of a chunk.
const PUT_VECTOR_SQL: &str = "INSERT OR REPLACE INTO rag_vectors (chunk, input_hash, updated_at, vector) \
     VALUES (:chunk, :input_hash, :updated_at, :vector)";
/// Returns a row if this is the embedding model of the collection.
const SAME_MODEL_SQL: &str = "SELECT 1 \
     FROM rag_embedding_model \
     WHERE provider = :provider AND model = :model AND dimensions = :dimensions";
/// The vector of the chunk `:key`.
const VECTOR_SQL: &str = "SELECT vector FROM rag_vectors WHERE chunk = :key";
/// The chunks that have a vector.
const WITH_VECTOR_SQL: &str = "SELECT chunk FROM rag_vectors";

/// A chunk and its similarity to a query vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarChunk {
    /// Row of the chunk.
    pub key: i64,
    /// Cosine similarity to the query, from -1 to 1.
    pub similarity: f32,
}

/// The result of a nearest-neighbour search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NearestChunks {
    /// Chunks by descending similarity, then by row.
    pub chunks: Vec<SimilarChunk>,
    /// There are more chunks in scope.
    pub has_more: bool,
    /// Number of vectors in the collection.
    pub compared: usize,
}

impl Collection {
    /// Finds the chunks nearest to a query vector. Fails if its length differs from that of the
    /// stored vectors. Chunks out of scope are skipped during the scan, so they take no place in
    /// the result.
    pub fn nearest(
        &self,
        reader: &Reader<'_>,
        query: &[f32],
        take: usize,
        scope: &Scope,
    ) -> Result<NearestChunks, SourceError> {
        let Some(model) = self.embedding_model(reader)? else {
            return Ok(NearestChunks::default());
        };
        if model.dimensions != query.len() {
            return Err(SourceError::Refused(format!(
                "the query has {} dimensions, the vectors of this collection have {} ({} `{}`)",
                query.len(),
                model.dimensions,
                model.provider,
                model.model
            )));
        }
        self.refresh_codes(reader, model.dimensions)?;
        let bound = scope.to_parameters();
        let parameters = bound.parameters();
        let filtered = bound.is_filtered || has_hidden_documents(reader, &parameters)?;
        let filter = filtered.then(|| RowFilter::new(reader, scope_filter(&bound, &parameters)));
        let filter = filter.transpose()?.map(RefCell::new);
        let failure: Cell<Option<StoreError>> = Cell::new(None);
        let is_in_scope = |key| {
            let accepts = |filter: &RefCell<RowFilter<'_>>| filter.borrow_mut().accepts(key);
            filter.as_ref().map_or(Ok(true), accepts).unwrap_or_else(|error| {
                failure.set(Some(error));
                false
            })
        };
        let (candidates, compared) = {
            let loaded = self.code_cache.read();
            let Some(codes) = &loaded.codes else { return Ok(NearestChunks::default()) };
            // One more than requested tells if there are more.
            let looked_at = rescore_depth(take.saturating_add(1));
            let nearest = codes.nearest(query, looked_at, is_in_scope).map_err(vector_error)?;
            (nearest, codes.len())
        };
        if let Some(error) = failure.take() {
            return Err(error.into());
        }
        let keys: Vec<i64> = candidates.into_iter().map(|(key, _)| key).collect();
        let mut found = self.similarities(reader, query, &keys)?;
        let more = found.len() > take;
        found.truncate(take);
        Ok(NearestChunks { chunks: found, has_more: more, compared })
    }

    /// Computes the exact similarities of these chunks, nearest first. Chunks without a vector are
    /// left out.
    pub fn similarities(
        &self,
        reader: &Reader<'_>,
        query: &[f32],
        keys: &[i64],
    ) -> Result<Vec<SimilarChunk>, SourceError> {
        let keys = keys.iter().map(|key| (*key, ()));
        let found = reader.query_each_key(VECTOR_SQL, keys, |key, (), row| {
            // A vector of another length belongs to a former embedding model.
            let similarity = exact_similarity(query, row.get_ref("vector")?.as_blob()?).ok();
            Ok(similarity.map(|similarity| SimilarChunk { key, similarity }))
        })?;
        let mut found: Vec<SimilarChunk> = found.into_iter().flatten().collect();
        found.sort_by(|one, other| {
            other.similarity.total_cmp(&one.similarity).then_with(|| one.key.cmp(&other.key))
        });
        Ok(found)
    }

    /// Returns the vector of a chunk, or `None` if it has none.
    pub fn chunk_vector(
        &self,
        reader: &Reader<'_>,
        key: i64,
    ) -> Result<Option<Vec<f32>>, SourceError> {
        let found = reader.query_each_key(VECTOR_SQL, [(key, ())], |_, (), row| {
            let stored = row.get_ref("vector")?.as_blob()?;
            Ok(decode_vector(stored, stored.len() / 4).ok())
        })?;
        Ok(found.into_iter().flatten().next())
    }

    /// Returns the normalised sum of the vectors of a document's chunks, or the vector of one chunk
    /// with an `index`. `None` if there are no vectors.
    pub fn mean_vector(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
        index: Option<u32>,
    ) -> Result<Option<Vec<f32>>, SourceError> {
        let mut sum: Vec<f32> = Vec::new();
        for (key, place, _) in self.chunk_headings(reader, doc_id)? {
            if index.is_some_and(|index| index != place) {
                continue;
            }
            let Some(vector) = self.chunk_vector(reader, key)? else { continue };
            sum.resize(vector.len(), 0.0);
            sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        }
        // Opposite vectors add up to zero, which has no direction.
        Ok(normalize(&sum).ok())
    }

    /// Returns up to `most` chunks without a vector, from row `from` on: each row with its text to
    /// embed.
    pub fn chunks_without_vector(
        &self,
        reader: &Reader<'_>,
        from: i64,
        most: usize,
    ) -> Result<Vec<(i64, String)>, SourceError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let parameters = named_params! { ":from": from, ":most": most };
        let texts = self.text_reader(reader)?;
        Ok(reader.query_all(sql!("without_vector"), parameters, |row| {
            let lines: [Option<String>; 3] =
                [row.get("title")?, row.get("section")?, Some(texts.chunk(row)?)];
            Ok((row.get("id")?, join_embedding_input(lines.each_ref().map(Option::as_deref))))
        })?)
    }

    /// Sets the embedding model of the collection. If it differs from the stored one, all vectors
    /// are deleted.
    pub fn put_model(
        &self,
        writer: &Writer<'_>,
        model: &EmbeddingModel,
    ) -> Result<(), SourceError> {
        let dimensions = i64::try_from(model.dimensions).unwrap_or(i64::MAX);
        let parameters = named_params! {
            ":provider": model.provider, ":model": model.model, ":dimensions": dimensions,
        };
        let same = SAME_MODEL_SQL;
        if writer.query_first(same, parameters, |_| Ok(()))?.is_none() {
            let gone: Vec<i64> = writer.query_all(WITH_VECTOR_SQL, &[], |row| row.get("chunk"))?;
            for key in gone {
                delete_vector(writer, key)?;
            }
            writer.execute(PUT_MODEL_SQL, parameters)?;
        }
        Ok(())
    }

    /// Stores the vector of a chunk. It must have length 1 and come from the model set with
    /// `put_model`. `input_hash` identifies the embedded text and the model.
    pub fn put_vector(
        &self,
        writer: &Writer<'_>,
        key: i64,
        input_hash: &[u8],
        vector: &[f32],
    ) -> Result<(), SourceError> {
        let code = QuantizedVector::quantize(vector).map_err(vector_error)?;
        writer.execute(
            PUT_VECTOR_SQL,
            named_params! {
                ":chunk": key, ":input_hash": input_hash, ":updated_at": Timestamp::now(),
                ":vector": encode_vector(vector),
            },
        )?;
        writer.execute(
            PUT_CODE_SQL,
            named_params! { ":chunk": key, ":scale": code.scale(), ":code": code.bytes() },
        )?;
        Ok(())
    }

    /// Loads the codes that changed since the last refresh into the cache.
    fn refresh_codes(&self, reader: &Reader<'_>, dimensions: usize) -> Result<(), SourceError> {
        let newest: Option<i64> =
            reader.query_one(NEWEST_CODE_SQL, &[], |row| row.get("changed"))?;
        let newest = newest.unwrap_or(0);
        {
            let loaded = self.code_cache.read();
            // A reader on an older snapshot skips candidates that it cannot read.
            if loaded.codes.as_ref().is_some_and(|codes| codes.dimensions() == dimensions)
                && loaded.changed >= newest
            {
                return Ok(());
            }
        }
        let mut loaded = self.code_cache.write();
        if loaded.codes.as_ref().is_none_or(|codes| codes.dimensions() != dimensions) {
            *loaded = CachedCodes { changed: 0, codes: Some(QuantizedIndex::new(dimensions)) };
        }
        let since = loaded.changed;
        let known = named_params! { ":changed": since };
        let CachedCodes { changed, codes: Some(codes) } = &mut *loaded else { return Ok(()) };
        reader.for_each_row(CODES_SQL, known, |row| {
            let key: i64 = row.get("chunk")?;
            let code =
                QuantizedVector::from_parts(row.get_ref("code")?.as_blob()?, row.get("scale")?);
            // A deleted chunk has an empty code, which does not match the number of dimensions.
            if code.and_then(|code| codes.insert(key, &code)).is_err() {
                codes.remove(key);
            }
            *changed = row.get("changed")?;
            Ok(())
        })?;
        Ok(())
    }
}

/// Deletes the vector of a chunk and empties its code.
pub(crate) fn delete_vector(writer: &Writer<'_>, key: i64) -> Result<(), StoreError> {
    let chunk = named_params! { ":chunk": key };
    if writer.execute(DELETE_VECTOR_SQL, chunk)? > 0 {
        writer.execute(FORGET_CODE_SQL, chunk)?;
    }
    Ok(())
}

fn vector_error(error: VectorError) -> SourceError {
    SourceError::Refused(error.to_string())
}
