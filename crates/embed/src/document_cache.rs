//! On-disk cache of document vectors, so that indexing an unchanged text sends no request.
//!
//! Failures of the cache are logged and otherwise ignored: the vectors are requested again.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::named_params;
use vademecum_model::Deadline;
use vademecum_store::{
    DataFolder, Database, Durability, Replication, SharedValue, Store, StoreError, Writer,
};

use super::{cache_key::VectorKey, vector};

/// Reads the vector of an input and the time of its last use.
const FIND_SQL: &str = "SELECT vector, used_at FROM vectors WHERE input = :input";
/// Inserts or replaces the vector of an input.
const KEEP_SQL: &str = "INSERT INTO vectors (input, vector, used_at) \
     VALUES (:input, :vector, :now) \
     ON CONFLICT (input) DO UPDATE SET vector = excluded.vector, used_at = excluded.used_at";
/// Computes the used size of the file, in bytes.
const SIZE_SQL: &str = "SELECT (pages.page_count - free.freelist_count) * size.page_size AS bytes \
     FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_page_size AS size";
/// Updates the time of the last use of a vector.
const TOUCH_SQL: &str = "UPDATE vectors SET used_at = :now WHERE input = :input";

/// Timeout of a lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Kind of the values in an archive.
const SHARED_KIND: &str = "embedding";
/// Time for which other servers can use a vector.
const SHARED_TTL: Duration = Duration::from_hours(24 * 90);

/// Document vectors by key, in a database of bounded size.
#[derive(Debug)]
pub(super) struct DocumentCache {
    store: Store,
    /// Cache of all servers that follow one archive.
    shared: Option<Arc<dyn Replication>>,
    max_bytes: i64,
    /// Last error that was logged. Repetitions are not logged.
    last_error: Mutex<Option<String>>,
}

impl DocumentCache {
    /// Creates the cache in a data folder. The space in use is limited to `megabytes`.
    pub(super) fn new(data: &DataFolder, megabytes: u32) -> Self {
        let store = Store::new(Database::Embeddings, data.path());
        let (shared, last_error) = (data.archive().cloned(), Mutex::default());
        Self { store, shared, max_bytes: i64::from(megabytes) << 20, last_error }
    }

    /// Returns the cached vectors, in the order of `keys`; `None` for those that are missing.
    pub(super) fn find_vectors(&self, keys: &[VectorKey]) -> Vec<Option<Vec<f32>>> {
        let mut found = self.find_vectors_at(keys, unix_hours()).unwrap_or_else(|error| {
            self.log_once(&error);
            vec![None; keys.len()]
        });
        if let Err(error) = self.fetch_shared(keys, &mut found) {
            self.log_once(&error);
        }
        found
    }

    /// Adds vectors that other servers have stored, and stores them here.
    fn fetch_shared(
        &self,
        keys: &[VectorKey],
        found: &mut [Option<Vec<f32>>],
    ) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let missing: Vec<usize> = (0..keys.len()).filter(|index| found[*index].is_none()).collect();
        let inputs: Vec<&[u8]> = missing.iter().map(|index| keys[*index].as_slice()).collect();
        let values = shared.archive().values("", SHARED_KIND, &inputs)?;
        for (index, value) in missing.iter().zip(values) {
            found[*index] = value.and_then(|value| vector::from_bytes(&value.bytes));
        }
        let fetched: Vec<_> = missing
            .iter()
            .filter_map(|index| Some((&keys[*index], found[*index].as_deref()?)))
            .collect();
        if fetched.is_empty() {
            return Ok(());
        }
        self.store_vectors_at(&fetched.into_iter(), unix_hours())
    }

    /// Stores vectors for all servers.
    fn share<'a>(
        &self,
        vectors: impl Iterator<Item = (&'a VectorKey, &'a [f32])>,
    ) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let values: Vec<(&[u8], SharedValue)> = vectors
            .map(|(key, vector)| {
                (
                    key.as_slice(),
                    SharedValue { bytes: vector::to_bytes(vector), ttl: Some(SHARED_TTL) },
                )
            })
            .collect();
        Ok(shared.archive().set_values("", SHARED_KIND, &values)?)
    }

    /// Stores vectors here and, with an archive, for other servers. Errors are only logged.
    pub(super) fn store_vectors<'a>(
        &self,
        vectors: impl ExactSizeIterator<Item = (&'a VectorKey, &'a [f32])> + Clone,
    ) {
        let stored = self.store_vectors_at(&vectors, unix_hours());
        if let Err(error) = stored.and(self.share(vectors)) {
            self.log_once(&error);
        }
    }

    fn find_vectors_at(
        &self,
        keys: &[VectorKey],
        now: i64,
    ) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        if !self.store.path().exists() {
            return Ok(vec![None; keys.len()]);
        }
        let mut used = Vec::new();
        let found = self.store.read(Deadline::after(LOOKUP_TIMEOUT), |reader| {
            let find = |key: &VectorKey| {
                let parameters = named_params! { ":input": key.as_slice() };
                let row = reader.query_first(FIND_SQL, parameters, |row| {
                    Ok((row.get::<_, Vec<u8>>("vector")?, row.get::<_, i64>("used_at")?))
                })?;
                let Some((bytes, used_at)) = row else { return Ok(None) };
                if used_at < now {
                    used.push(*key);
                }
                Ok::<_, StoreError>(vector::from_bytes(&bytes))
            };
            keys.iter().map(find).collect::<Result<Vec<_>, _>>()
        })?;
        if !used.is_empty() {
            self.store.write(Durability::Bulk, |writer| {
                used.iter().try_for_each(|key| {
                    let parameters = named_params! { ":input": key.as_slice(), ":now": now };
                    writer.execute(TOUCH_SQL, parameters).map(drop)
                })
            })?;
        }
        Ok(found)
    }

    fn store_vectors_at<'a>(
        &self,
        vectors: &(impl ExactSizeIterator<Item = (&'a VectorKey, &'a [f32])> + Clone),
        now: i64,
    ) -> Result<(), StoreError> {
        let count = i64::try_from(vectors.len()).unwrap_or(i64::MAX);
        self.store.write(Durability::Bulk, |writer| {
            for (key, vector) in vectors.clone() {
                let parameters = named_params! {
                    ":input": key.as_slice(),
                    ":vector": vector::to_bytes(vector),
                    ":now": now,
                };
                writer.execute(KEEP_SQL, parameters)?;
            }
            while used_bytes(writer)? > self.max_bytes {
                let parameters = named_params! { ":count": count.max(1) };
                if writer.execute(include_str!("sql/forget.sql"), parameters)? == 0 {
                    break;
                }
            }
            Ok(())
        })
    }

    fn log_once(&self, error: &StoreError) {
        let words = error.to_string();
        let mut last = self.last_error.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(&words) {
            tracing::warn!(%error, "the embedding cache failed; vectors are requested again");
            *last = Some(words);
        }
    }
}

/// Returns the size of the used pages of the database, in bytes.
fn used_bytes(writer: &Writer<'_>) -> Result<i64, StoreError> {
    let size = writer.query_first(SIZE_SQL, &[], |row| row.get("bytes"))?;
    Ok(size.unwrap_or(0))
}

/// Returns the current time in hours since 1970.
fn unix_hours() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs() / 3_600).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered_key(number: u8) -> VectorKey {
        [number; 32]
    }

    fn store_numbered(
        cache: &DocumentCache,
        numbers: impl IntoIterator<Item = u8>,
        length: usize,
        now: i64,
    ) {
        let vectors: Vec<_> = numbers
            .into_iter()
            .map(|it| (numbered_key(it), vec![f32::from(it) + 1.0; length]))
            .collect();
        let vectors = vectors.iter().map(|(key, vector)| (key, &vector[..]));
        cache.store_vectors_at(&vectors, now).unwrap();
    }

    #[test]
    fn cache_keeps_vectors_across_processes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DocumentCache::new(&folder.path().into(), 1);
        assert_eq!(cache.find_vectors(&[numbered_key(1)]), [None]);
        assert!(!folder.path().join("embeddings.db").exists(), "nothing to remember yet");
        store_numbered(&cache, [1, 2], 3, 0);
        drop(cache);
        let cache = DocumentCache::new(&folder.path().into(), 1);
        let found = cache.find_vectors(&[numbered_key(2), numbered_key(7), numbered_key(1)]);
        assert_eq!(found, [Some(vec![3.0; 3]), None, Some(vec![2.0; 3])]);
    }

    #[test]
    fn cache_evicts_least_recently_used_vectors() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DocumentCache::new(&folder.path().into(), 1);
        // A hundred vectors of 8 KB each take most of a megabyte.
        store_numbered(&cache, 0..100, 2_000, 1);
        cache.find_vectors_at(&[numbered_key(0), numbered_key(1)], 2).unwrap();
        store_numbered(&cache, 100..150, 2_000, 3);
        let found =
            cache.find_vectors_at(&(0..150).map(numbered_key).collect::<Vec<_>>(), 3).unwrap();
        assert!(found[0].is_some() && found[1].is_some(), "they were used since");
        assert!(found[2].is_none() && found[100..].iter().all(Option::is_some));
        let bytes = cache.store.write(Durability::Bulk, used_bytes).unwrap();
        assert!(bytes <= 1 << 20, "{bytes}");
    }

    #[test]
    fn broken_cache_returns_no_vectors() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("embeddings.db"), "no database at all, but text")
            .unwrap();
        let cache = DocumentCache::new(&folder.path().into(), 1);
        cache.store_vectors([(&numbered_key(1), &[1.0][..])].into_iter());
        assert_eq!(cache.find_vectors(&[numbered_key(1)]), [None]);
    }
}
