//! Entries as arrays of columns, one element a row.

use std::{borrow::Cow, collections::HashMap, io};

use sha2::{Digest, Sha256};
use tokio_postgres::{Error, Row};
use vademecum_store::Entry;

use super::row_compression::{RowCompressor, RowDecompressor};

/// Maximum size of a primary key that is stored as it is. `PostgreSQL` refuses keys of an index that
/// are longer than 2,704 bytes.
const MAX_KEY_BYTES: usize = 256;
/// First byte of the digest of a key. Encoded values begin with smaller bytes.
const DIGEST_MARK: u8 = 0xFF;

/// The columns of some entries.
#[derive(Debug, Default)]
pub(crate) struct EntryColumns<'a> {
    pub(crate) tables: Vec<&'a str>,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) long_keys: Vec<Option<&'a [u8]>>,
    pub(crate) contents: Vec<Option<Cow<'a, [u8]>>>,
    bytes: usize,
}

impl<'a> EntryColumns<'a> {
    /// Returns the entries in groups of about `max_bytes`. If there are several entries of a row, the
    /// last one counts.
    pub(crate) fn in_groups(entries: &'a [Entry], max_bytes: usize) -> Vec<Self> {
        let mut last = HashMap::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            last.insert((entry.table.as_str(), entry.key.as_slice()), index);
        }
        let mut compressor = RowCompressor::new();
        let mut groups = vec![Self::default()];
        for (index, entry) in entries.iter().enumerate() {
            if last.get(&(entry.table.as_str(), entry.key.as_slice())) != Some(&index) {
                continue;
            }
            if groups.last().is_none_or(|group| group.bytes >= max_bytes) {
                groups.push(Self::default());
            }
            if let Some(group) = groups.last_mut() {
                group.push(entry, &mut compressor);
            }
        }
        groups
    }

    fn push(&mut self, entry: &'a Entry, compressor: &mut RowCompressor) {
        self.bytes += entry.size_bytes();
        self.tables.push(&entry.table);
        let is_long = entry.key.len() > MAX_KEY_BYTES;
        self.keys.push(if is_long {
            let mut digest = vec![DIGEST_MARK];
            digest.extend_from_slice(&Sha256::digest(&entry.key));
            digest
        } else {
            entry.key.clone()
        });
        self.long_keys.push(is_long.then_some(&entry.key));
        self.contents.push(entry.row.as_deref().map(|row| compressor.compress(row)));
    }
}

/// Error of a row that this program did not store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Column(#[from] Error),
    #[error(transparent)]
    Content(#[from] io::Error),
}

/// Returns the entry of a row; `None` if the row has none.
pub(crate) fn read_entry(
    row: &Row,
    decompressor: &mut RowDecompressor,
) -> Result<Option<Entry>, ReadError> {
    let Some(table) = row.try_get("table_name")? else { return Ok(None) };
    let long_key: Option<Vec<u8>> = row.try_get("long_key")?;
    let key = match long_key {
        Some(key) => key,
        None => row.try_get("key")?,
    };
    let content: Option<Vec<u8>> = row.try_get("content")?;
    let row = content.map(|content| decompressor.decompress(content)).transpose()?;
    Ok(Some(Entry { table, key, row }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &[u8], row: Option<&[u8]>) -> Entry {
        Entry { table: "note".to_owned(), key: key.to_vec(), row: row.map(<[u8]>::to_vec) }
    }

    #[test]
    fn last_entry_of_row_counts() {
        let entries = [entry(b"1", Some(b"a")), entry(b"2", None), entry(b"1", Some(b"b"))];
        let groups = EntryColumns::in_groups(&entries, 1_000);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].contents, [None, Some(b"b"[..].into())]);
    }

    #[test]
    fn long_keys_are_stored_by_digest() {
        let long = vec![3; 5_000];
        let entries = [entry(&long, Some(b"a")), entry(&[3; 256], Some(b"b"))];
        let groups = EntryColumns::in_groups(&entries, 10);
        assert_eq!(groups.len(), 2, "an entry above the limit ends its group");
        assert_eq!((groups[0].keys[0].len(), groups[0].long_keys[0]), (33, Some(&long[..])));
        assert_eq!((groups[1].keys[0].len(), groups[1].long_keys[0]), (256, None));
    }
}
