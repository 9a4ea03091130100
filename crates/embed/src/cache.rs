//! Vectors of documents that are remembered on the disk: indexing the same text
//! again asks nobody.
//!
//! A cache that does not work costs time, never an answer.

use std::{
    path::Path,
    sync::Mutex,
    sync::PoisonError,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::named_params;
use vademecum_kit::{
    model::Deadline,
    store::{Database, Durability, Store, StoreError, Writer},
};

use super::{key::Key, vector};

/// How long looking something up may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Vectors by what they were made of.
#[derive(Debug)]
pub(super) struct Cache {
    store: Store,
    most_bytes: i64,
    /// What went wrong last, so that it is logged once.
    complaint: Mutex<Option<String>>,
}

impl Cache {
    /// The one in this folder, in a file that does not grow larger than that.
    pub(super) fn new(folder: &Path, megabytes: u32) -> Self {
        let store = Store::new(Database::Embeddings, folder);
        Self { store, most_bytes: i64::from(megabytes) << 20, complaint: Mutex::default() }
    }

    /// The vectors of these inputs, as far as they are remembered.
    pub(super) fn find(&self, keys: &[Key]) -> Vec<Option<Vec<f32>>> {
        self.find_at(keys, hours()).unwrap_or_else(|error| {
            self.complain(&error);
            vec![None; keys.len()]
        })
    }

    /// Remembers vectors.
    pub(super) fn keep<'a>(&self, vectors: impl ExactSizeIterator<Item = (&'a Key, &'a [f32])>) {
        if let Err(error) = self.keep_at(vectors, hours()) {
            self.complain(&error);
        }
    }

    fn find_at(&self, keys: &[Key], now: i64) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        if !self.store.path().exists() {
            return Ok(vec![None; keys.len()]);
        }
        let mut used = Vec::new();
        let found = self.store.read(Deadline::after(PATIENCE), |reader| {
            let find = |key: &Key| {
                let parameters = named_params! { ":input": key.as_slice() };
                let row = reader.first(include_str!("sql/find.sql"), parameters, |row| {
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
                    writer.run(include_str!("sql/touch.sql"), parameters).map(drop)
                })
            })?;
        }
        Ok(found)
    }

    fn keep_at<'a>(
        &self,
        vectors: impl ExactSizeIterator<Item = (&'a Key, &'a [f32])>,
        now: i64,
    ) -> Result<(), StoreError> {
        let count = i64::try_from(vectors.len()).unwrap_or(i64::MAX);
        self.store.write(Durability::Bulk, |writer| {
            for (key, vector) in vectors {
                let parameters = named_params! {
                    ":input": key.as_slice(),
                    ":vector": vector::to_bytes(vector),
                    ":now": now,
                };
                writer.run(include_str!("sql/keep.sql"), parameters)?;
            }
            while bytes(writer)? > self.most_bytes {
                let parameters = named_params! { ":count": count.max(1) };
                if writer.run(include_str!("sql/forget.sql"), parameters)? == 0 {
                    break;
                }
            }
            Ok(())
        })
    }

    fn complain(&self, error: &StoreError) {
        let words = error.to_string();
        let mut last = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(&words) {
            tracing::warn!(%error, "vectors are made anew: the cache of embeddings does not work");
            *last = Some(words);
        }
    }
}

/// How much of the file is in use.
fn bytes(writer: &Writer<'_>) -> Result<i64, StoreError> {
    let size = writer.first(include_str!("sql/size.sql"), &[], |row| row.get("bytes"))?;
    Ok(size.unwrap_or(0))
}

/// The time of the clock on the wall, in hours since 1970.
fn hours() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs() / 3_600).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        [number; 32]
    }

    fn keep(cache: &Cache, numbers: impl IntoIterator<Item = u8>, length: usize, now: i64) {
        let vectors: Vec<_> =
            numbers.into_iter().map(|it| (key(it), vec![f32::from(it) + 1.0; length])).collect();
        let vectors = vectors.iter().map(|(key, vector)| (key, &vector[..]));
        cache.keep_at(vectors, now).unwrap();
    }

    #[test]
    fn vectors_are_found_again_by_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1);
        assert_eq!(cache.find(&[key(1)]), [None]);
        assert!(!folder.path().join("embeddings.db").exists(), "nothing to remember yet");
        keep(&cache, [1, 2], 3, 0);
        drop(cache);
        let cache = Cache::new(folder.path(), 1);
        let found = cache.find(&[key(2), key(7), key(1)]);
        assert_eq!(found, [Some(vec![3.0; 3]), None, Some(vec![2.0; 3])]);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1);
        // A hundred of these, with 8 KB each, are most of a megabyte.
        keep(&cache, 0..100, 2_000, 1);
        cache.find_at(&[key(0), key(1)], 2).unwrap();
        keep(&cache, 100..150, 2_000, 3);
        let found = cache.find_at(&(0..150).map(key).collect::<Vec<_>>(), 3).unwrap();
        assert!(found[0].is_some() && found[1].is_some(), "they were used since");
        assert!(found[2].is_none() && found[100..].iter().all(Option::is_some));
        let bytes = cache.store.write(Durability::Bulk, bytes).unwrap();
        assert!(bytes <= 1 << 20, "{bytes}");
    }

    #[test]
    fn a_cache_that_does_not_work_remembers_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("embeddings.db"), "no database at all, but text")
            .unwrap();
        let cache = Cache::new(folder.path(), 1);
        cache.keep([(&key(1), &[1.0][..])].into_iter());
        assert_eq!(cache.find(&[key(1)]), [None]);
    }
}
