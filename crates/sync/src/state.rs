//! The rows about the items at the last sync, and about the files of a target.

use rusqlite::{Row, named_params};
use vademecum_model::SourceName;
use vademecum_store::{Reader, StoreError, Writer};

use crate::{
    key::NAME_BYTES,
    replica::ReplicaId,
    revision::{History, Revision},
};

/// Stamp of deleted items.
pub(crate) const DELETED: &str = "deleted";

/// Selects an item by its name on all machines.
const BY_KEY_SQL: &str = "SELECT * FROM sync_items WHERE source = :source AND key = :key";
/// Selects an item by its identifier in this library.
const BY_ITEM_SQL: &str = "SELECT * FROM sync_items WHERE source = :source AND item = :item";
/// Selects existing items with a content.
const BY_FINGERPRINT_SQL: &str = "SELECT * FROM sync_items \
     WHERE source = :source AND fingerprint = :fingerprint AND item IS NOT NULL ORDER BY number";
const INSERT_SQL: &str = "INSERT INTO sync_items \
     (source, key, item, stamp, revision, fingerprint, history) \
     VALUES (:source, :key, :item, :stamp, :revision, :fingerprint, :history)";
const UPDATE_SQL: &str = "UPDATE sync_items SET key = :key, item = :item, stamp = :stamp, \
     revision = :revision, fingerprint = :fingerprint, history = :history WHERE number = :number";
/// Deletes the places of an item: its present revision is in no file.
const UNPLACE_SQL: &str = "DELETE FROM sync_places WHERE number = :number";
const PLACE_SQL: &str = "INSERT OR REPLACE INTO sync_places (target, number, replica, file) \
     VALUES (:target, :number, :replica, :file)";
const PLACE_OF_SQL: &str =
    "SELECT replica FROM sync_places WHERE target = :target AND number = :number";
/// Returns a row if an item is at any target.
const IS_PLACED_SQL: &str = "SELECT 1 FROM sync_places WHERE number = :number LIMIT 1";
/// Lists items whose present revision is not at a target.
const UNPLACED_SQL: &str = "SELECT * FROM sync_items \
     WHERE number > :after AND NOT EXISTS ( \
         SELECT 1 FROM sync_places \
         WHERE sync_places.target = :target AND sync_places.number = sync_items.number) \
     ORDER BY number LIMIT :limit";
/// Lists the numbers of all such items.
const UNPLACED_NUMBERS_SQL: &str = "SELECT number FROM sync_items \
     WHERE NOT EXISTS ( \
         SELECT 1 FROM sync_places \
         WHERE sync_places.target = :target AND sync_places.number = sync_items.number)";
/// Counts the items in each file of a target.
const USED_FILES_SQL: &str = "SELECT replica, file, count(*) AS items FROM sync_places \
     WHERE target = :target GROUP BY replica, file";
const LOSE_FILE_SQL: &str = "DELETE FROM sync_places \
     WHERE target = :target AND replica = :replica AND file = :file";
const FILES_SQL: &str = "SELECT replica, file, bytes FROM sync_files WHERE target = :target";
const PUT_FILE_SQL: &str = "INSERT OR REPLACE INTO sync_files (target, replica, file, bytes) \
     VALUES (:target, :replica, :file, :bytes)";
const DROP_FILE_SQL: &str = "DELETE FROM sync_files \
     WHERE target = :target AND replica = :replica AND file = :file";

/// Lists the other targets that have the name `:folder` with a key of another name.
const OTHER_KEYS_SQL: &str = "SELECT DISTINCT target FROM sync_files \
     WHERE substr(target, 1, length(:folder)) = :folder AND target <> :target \
         AND length(target) - length(:folder) IN (0, :name)";
const DROP_PLACES_SQL: &str = "DELETE FROM sync_places WHERE target = :target";
const DROP_FILES_SQL: &str = "DELETE FROM sync_files WHERE target = :target";

/// An item at the last sync.
#[derive(Clone, Debug)]
pub(crate) struct SyncedItem {
    /// Number of the row; 0 if there is none yet.
    pub number: i64,
    /// Source of the item.
    pub source: SourceName,
    /// Name of the item on all machines.
    pub key: String,
    /// Identifier in this library; `None` if the library never had the item.
    pub item: Option<String>,
    /// Text that changes whenever the item changes.
    pub stamp: String,
    /// The changes that are part of the content.
    pub revision: Revision,
    /// Fingerprint of the content; empty for a deleted item.
    pub fingerprint: String,
    /// Earlier revisions.
    pub history: History,
}

/// The file of a target that has an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Name of the target.
    pub target: &'a str,
    /// Machine that wrote the file.
    pub replica: &'a ReplicaId,
    /// Number of the file; 0 if the target is a machine.
    pub file: u64,
}

/// A file of a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileKey {
    /// Machine that wrote the file.
    pub replica: ReplicaId,
    /// Number of the file among those of the machine.
    pub file: u64,
}

impl SyncedItem {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let invalid = |name: &str| rusqlite::Error::InvalidColumnName(name.to_owned());
        let (source, revision, history): (String, String, String) =
            (row.get("source")?, row.get("revision")?, row.get("history")?);
        Ok(Self {
            number: row.get("number")?,
            source: source.parse().map_err(|_| invalid("source"))?,
            key: row.get("key")?,
            item: row.get("item")?,
            stamp: row.get("stamp")?,
            revision: serde_json::from_str(&revision).map_err(|_| invalid("revision"))?,
            fingerprint: row.get("fingerprint")?,
            history: serde_json::from_str(&history).map_err(|_| invalid("history"))?,
        })
    }

    /// Returns `true` if the item is deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        self.fingerprint.is_empty()
    }

    /// Finds an item by its name on all machines.
    pub(crate) fn by_key(
        writer: &Writer<'_>,
        source: SourceName,
        key: &str,
    ) -> Result<Option<Self>, StoreError> {
        let parameters = named_params! { ":source": source.as_str(), ":key": key };
        writer.query_first(BY_KEY_SQL, parameters, Self::from_row)
    }

    /// Finds an item by its identifier in this library.
    pub(crate) fn by_item(
        writer: &Writer<'_>,
        source: SourceName,
        item: &str,
    ) -> Result<Option<Self>, StoreError> {
        let parameters = named_params! { ":source": source.as_str(), ":item": item };
        writer.query_first(BY_ITEM_SQL, parameters, Self::from_row)
    }

    /// Finds existing items with a content.
    pub(crate) fn by_fingerprint(
        writer: &Writer<'_>,
        source: SourceName,
        fingerprint: &str,
    ) -> Result<Vec<Self>, StoreError> {
        let parameters = named_params! { ":source": source.as_str(), ":fingerprint": fingerprint };
        writer.query_all(BY_FINGERPRINT_SQL, parameters, Self::from_row)
    }

    /// Returns `true` if other machines may know the item.
    pub(crate) fn was_exchanged(&self, writer: &Writer<'_>) -> Result<bool, StoreError> {
        let this = named_params! { ":number": self.number };
        let is_placed = writer.query_first(IS_PLACED_SQL, this, |_| Ok(()))?.is_some();
        Ok(is_placed || !self.history.is_empty())
    }

    /// Lists at most `limit` items after a number whose present revision is not at a target.
    pub(crate) fn unplaced(
        reader: &Reader<'_>,
        target: &str,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Self>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = named_params! { ":target": target, ":after": after, ":limit": limit };
        reader.query_all(UNPLACED_SQL, parameters, Self::from_row)
    }

    /// Lists the numbers of all items whose present revision is not at a target.
    pub(crate) fn unplaced_numbers(
        reader: &Reader<'_>,
        target: &str,
    ) -> Result<Vec<i64>, StoreError> {
        let parameters = named_params! { ":target": target };
        reader.query_all(UNPLACED_NUMBERS_SQL, parameters, |row| row.get("number"))
    }

    /// Stores the row, and returns its number.
    pub(crate) fn save(&self, writer: &Writer<'_>) -> Result<i64, StoreError> {
        let to_text = |text: serde_json::Result<String>| text.unwrap_or_default();
        let (source, number) = (self.source.as_str(), self.number);
        let revision = to_text(serde_json::to_string(&self.revision));
        let history = to_text(serde_json::to_string(&self.history));
        let mut fields = named_params! {
            ":key": self.key,
            ":item": self.item,
            ":stamp": self.stamp,
            ":revision": revision,
            ":fingerprint": self.fingerprint,
            ":history": history,
        }
        .to_vec();
        if number == 0 {
            fields.push((":source", &source));
            return writer.insert_row(INSERT_SQL, &fields);
        }
        fields.push((":number", &number));
        writer.execute(UPDATE_SQL, &fields)?;
        Ok(number)
    }

    /// Changes the content: the present revision becomes an earlier one, and is at no target.
    pub(crate) fn advance(
        &mut self,
        writer: &Writer<'_>,
        revision: Revision,
        fingerprint: &str,
    ) -> Result<(), StoreError> {
        if !self.revision.eq(&Revision::default()) {
            self.history.push(self.revision.clone(), &self.fingerprint);
        }
        self.revision = revision;
        fingerprint.clone_into(&mut self.fingerprint);
        self.unplace(writer)
    }

    /// Records that the present revision is in no file.
    pub(crate) fn unplace(&self, writer: &Writer<'_>) -> Result<(), StoreError> {
        writer.execute(UNPLACE_SQL, named_params! { ":number": self.number }).map(drop)
    }
}

impl Place<'_> {
    /// Records that the present revision of an item is in this file.
    pub(crate) fn put(&self, writer: &Writer<'_>, number: i64) -> Result<(), StoreError> {
        let parameters = named_params! {
            ":target": self.target,
            ":number": number,
            ":replica": self.replica.as_str(),
            ":file": to_column(self.file),
        };
        writer.execute(PLACE_SQL, parameters).map(drop)
    }

    /// Records that the present revision of an item is in this file too. A file of this machine, `own`,
    /// stays the place, so that no two machines rely on each other.
    pub(crate) fn add(
        &self,
        writer: &Writer<'_>,
        number: i64,
        own: &ReplicaId,
    ) -> Result<(), StoreError> {
        let parameters = named_params! { ":target": self.target, ":number": number };
        let known: Option<String> =
            writer.query_first(PLACE_OF_SQL, parameters, |row| row.get("replica"))?;
        if known.as_deref() == Some(own.as_str()) {
            return Ok(());
        }
        self.put(writer, number)
    }
}

/// Returns the files of a target that have present revisions, with their number of items.
pub(crate) fn used_files(
    reader: &Reader<'_>,
    target: &str,
) -> Result<Vec<(FileKey, usize)>, StoreError> {
    reader.query_all(USED_FILES_SQL, named_params! { ":target": target }, |row| {
        let items: i64 = row.get("items")?;
        Ok((file_key(row)?, usize::try_from(items).unwrap_or(0)))
    })
}

/// Returns the known files of a target with their sizes: those that were read, and the own ones.
pub(crate) fn known_files(
    reader: &Reader<'_>,
    target: &str,
) -> Result<Vec<(FileKey, u64)>, StoreError> {
    reader.query_all(FILES_SQL, named_params! { ":target": target }, |row| {
        let bytes: i64 = row.get("bytes")?;
        Ok((file_key(row)?, u64::try_from(bytes).unwrap_or(0)))
    })
}

/// Records that a file was read or written.
pub(crate) fn put_file(
    writer: &Writer<'_>,
    target: &str,
    key: &FileKey,
    bytes: u64,
) -> Result<(), StoreError> {
    let parameters = named_params! {
        ":target": target,
        ":replica": key.replica.as_str(),
        ":file": to_column(key.file),
        ":bytes": to_column(bytes),
    };
    writer.execute(PUT_FILE_SQL, parameters).map(drop)
}

/// Forgets a file. Its items are written again, unless another file has them.
pub(crate) fn lose_file(
    writer: &Writer<'_>,
    target: &str,
    key: &FileKey,
) -> Result<(), StoreError> {
    run_for_file(writer, LOSE_FILE_SQL, target, key)
}

/// Forgets the files that were written into the folder `folder` with other keys than that of `target`.
pub(crate) fn drop_other_keys(
    writer: &Writer<'_>,
    folder: &str,
    target: &str,
) -> Result<(), StoreError> {
    let name = i64::try_from(2 * NAME_BYTES).unwrap_or(i64::MAX);
    let parameters = named_params! { ":folder": folder, ":target": target, ":name": name };
    let others: Vec<String> =
        writer.query_all(OTHER_KEYS_SQL, parameters, |row| row.get("target"))?;
    for other in others {
        for sql in [DROP_PLACES_SQL, DROP_FILES_SQL] {
            writer.execute(sql, named_params! { ":target": other })?;
        }
    }
    Ok(())
}

/// Forgets that a file was read.
pub(crate) fn drop_file(
    writer: &Writer<'_>,
    target: &str,
    key: &FileKey,
) -> Result<(), StoreError> {
    run_for_file(writer, DROP_FILE_SQL, target, key)
}

fn run_for_file(
    writer: &Writer<'_>,
    sql: &str,
    target: &str,
    key: &FileKey,
) -> Result<(), StoreError> {
    let parameters = named_params! {
        ":target": target, ":replica": key.replica.as_str(), ":file": to_column(key.file),
    };
    writer.execute(sql, parameters).map(drop)
}

fn file_key(row: &Row<'_>) -> rusqlite::Result<FileKey> {
    let (replica, file): (String, i64) = (row.get("replica")?, row.get("file")?);
    let invalid = |_| rusqlite::Error::InvalidColumnName("replica".to_owned());
    let replica = replica.parse().map_err(invalid)?;
    Ok(FileKey { replica, file: u64::try_from(file).unwrap_or(0) })
}

fn to_column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
