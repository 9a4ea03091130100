//! Origins of items, so that a repeated import updates items instead of duplicating them.

use std::{collections::HashMap, time::Duration};

use rusqlite::named_params;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vademecum_model::{Deadline, Draft, SaveOutcome, SourceName, Timestamp, Uri};
use vademecum_store::{Reader, Store, StoreError, Writer};

use crate::SourceError;

/// Gives the item of the origin `:former` the origin `:origin`.
const ADOPT_SQL: &str =
    "UPDATE imported SET origin = :origin WHERE source = :source AND origin = :former";
/// Records that `:item` was changed in the library since its import.
const CHANGED_HERE_SQL: &str =
    "UPDATE imported SET changed_at = :now WHERE source = :source AND item = :item";
/// Deletes the fields of `:item` as they were at its last import.
const DELETE_BASE_SQL: &str = "DELETE FROM import_bases WHERE source = :source AND item = :item";
/// Selects the first origin of each item of `:source`.
const FIRST_ORIGINS_SQL: &str =
    "SELECT item, MIN(origin) AS origin FROM imported WHERE source = :source GROUP BY item";
/// Selects the origins of `:item`.
const ITEM_ORIGINS_SQL: &str =
    "SELECT origin FROM imported WHERE source = :source AND item = :item ORDER BY origin";
/// Selects the item imported from `:origin`, its fingerprint, and the time of its last change in the
/// library.
const KNOWN_SQL: &str =
    "SELECT item, digest, changed_at FROM imported WHERE source = :source AND origin = :origin";
/// Selects the origins that start with `:prefix` and still exist, with their fingerprints.
const ORIGINS_SQL: &str = "SELECT origin, digest \
     FROM imported \
     WHERE source = :source AND substr(origin, 1, length(:prefix)) = :prefix AND digest <> ''";
/// Deletes an origin.
const FORGET_ORIGIN_SQL: &str = "DELETE FROM imported WHERE source = :source AND origin = :origin";
/// Selects the origins of `:item` with fingerprint and change, except that of items written in the
/// library.
const OF_ITEM_SQL: &str = "SELECT origin, digest, changed_at IS NOT NULL AS is_changed \
     FROM imported INDEXED BY imported_by_item \
     WHERE source = :source AND item = :item AND digest <> :own_digest \
     ORDER BY origin";
/// Records that `:item` is as it was imported.
const UNCHANGED_SQL: &str =
    "UPDATE imported SET changed_at = NULL WHERE source = :source AND item = :item";

/// Maximum time to read the list of all origins.
const LIST_TIMEOUT: Duration = Duration::from_mins(10);
/// Fingerprint of items that were written in the library.
pub const OWN_DIGEST: &str = "written here";

/// Saves a draft idempotently: the same origin updates its item, the same fingerprint changes
/// nothing.
///
/// Returns an error if the item was changed in the library since its import.
///
/// `put` receives the identifier of the origin's existing item, if any, and returns the identifier
/// of the item it has written.
pub fn save_imported(
    writer: &Writer<'_>,
    source: SourceName,
    draft: &Draft,
    put: impl FnOnce(Option<&str>, Timestamp) -> Result<String, SourceError>,
) -> Result<SaveOutcome, SourceError> {
    let before = find_draft_origin(writer, source, draft)?;
    if let Some(known) = &before {
        let uri = Uri::item(source, &known.item);
        if known.digest == draft.digest {
            return Ok(SaveOutcome::Unchanged(uri));
        }
        if known.is_changed {
            return Err(SourceError::Refused(format!(
                "`{uri}` was changed in the library since it was imported; it was not overwritten"
            )));
        }
    }
    let now = Timestamp::now();
    let item = put(before.as_ref().map(|known| known.item.as_str()), now)?;
    record_origin(writer, source, &draft.origin, &draft.digest, &item, now)?;
    let uri = Uri::item(source, item);
    Ok(if before.is_some() { SaveOutcome::Updated(uri) } else { SaveOutcome::New(uri) })
}

/// Returns the origins from which an item was imported.
pub fn item_origins(
    reader: &Reader<'_>,
    source: &str,
    item: &str,
) -> Result<Vec<String>, StoreError> {
    let of_item = named_params! { ":source": source, ":item": item };
    reader.query_all(ITEM_ORIGINS_SQL, of_item, |row| row.get("origin"))
}

/// An origin of an item, as other machines learn of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemOrigin {
    /// External identity of the item.
    pub origin: String,
    /// Fingerprint of the input of the last import.
    pub digest: String,
    /// The item was changed in the library since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_changed: bool,
}

/// Returns the origins from which an item was imported, with their fingerprints.
pub fn list_item_origins(
    reader: &Reader<'_>,
    source: SourceName,
    item: &str,
) -> Result<Vec<ItemOrigin>, StoreError> {
    let parameters = named_params! {
        ":source": source.as_str(), ":item": item, ":own_digest": OWN_DIGEST,
    };
    reader.query_all(OF_ITEM_SQL, parameters, |row| {
        Ok(ItemOrigin {
            origin: row.get("origin")?,
            digest: row.get("digest")?,
            is_changed: row.get("is_changed")?,
        })
    })
}

/// Forgets an origin. Its item stays.
pub fn forget_origin(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
) -> Result<(), StoreError> {
    let parameters = named_params! { ":source": source.as_str(), ":origin": origin };
    writer.execute(FORGET_ORIGIN_SQL, parameters).map(drop)
}

/// Changes the origin of items after a file was renamed.
pub fn rename_origin(
    writer: &Writer<'_>,
    source: SourceName,
    from: &str,
    to: &str,
) -> Result<(), StoreError> {
    writer.execute(
        include_str!("sql/rename.sql"),
        named_params! { ":source": source.as_str(), ":from": from, ":to": to },
    )?;
    Ok(())
}

/// Clears the fingerprint of an origin and deletes its item with `take`. The origin stays linked to
/// the item, so a later import restores it. Returns whether there was an item.
pub fn remove_imported(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
    take: impl FnOnce(&str) -> Result<(), StoreError>,
) -> Result<bool, SourceError> {
    let item = writer.query_first(
        include_str!("sql/forget.sql"),
        named_params! { ":source": source.as_str(), ":origin": origin },
        |row| row.get::<_, String>("item"),
    )?;
    let was_there = item.is_some();
    item.as_deref().map(take).transpose()?;
    Ok(was_there)
}

/// Returns those of the items that were imported, with their origins. A file is preferred to others.
pub(crate) fn imported_items(
    reader: &Reader<'_>,
    source: SourceName,
    items: &[&str],
) -> Result<HashMap<String, String>, StoreError> {
    if items.is_empty() {
        return Ok(HashMap::new());
    }
    let found = reader.query_all(
        include_str!("sql/imported_items.sql"),
        named_params! {
            ":items": json!(items).to_string(),
            ":source": source.as_str(),
            ":own_digest": OWN_DIGEST,
        },
        |row| Ok((row.get("item")?, row.get("origin")?)),
    )?;
    // The last one of several origins of an item is kept.
    Ok(found.into_iter().collect())
}

/// Returns the path of the file of an origin below the imported folder; `folder` is the part of it that is known.
pub(crate) fn shown_path(origin: &str, folder: Option<&str>) -> Option<String> {
    let path = origin.strip_prefix("file:")?;
    let name = path.rsplit(['/', '\\']).next()?;
    // An item of an export has a number or an identifier after the name of the file.
    let name = match name.split_once('#') {
        Some((file, part)) if file.contains('.') && !part.contains('.') => file,
        _ => name,
    };
    let folder = folder.map(|folder| format!("{folder}/")).unwrap_or_default();
    (!name.is_empty()).then(|| format!("{folder}{name}"))
}

/// Records that an item was written in the library. Importing an export of it updates the same
/// item.
pub fn record_local_item(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    record_origin(writer, source, &Uri::item(source, item).to_string(), OWN_DIGEST, item, now)
}

/// Records that an item was changed in the library and has yet to be written to the file of this
/// origin.
pub fn record_planned_file(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
    item: &str,
) -> Result<(), StoreError> {
    let now = Timestamp::now();
    record_origin(writer, source, origin, "", item, now)?;
    record_local_change(writer, source, item, now)
}

/// Returns the items that were changed in the library since their import, for the origins that start
/// with `prefix`: origin, item, and fingerprint of the last import.
pub fn list_changed_items(
    reader: &Reader<'_>,
    source: SourceName,
    prefix: &str,
) -> Result<Vec<(String, String, String)>, StoreError> {
    reader.query_all(
        include_str!("sql/changed_items.sql"),
        named_params! {
            ":source": source.as_str(),
            ":first": prefix,
            ":last": format!("{prefix}\u{10ffff}"),
        },
        |row| Ok((row.get("origin")?, row.get("item")?, row.get("digest")?)),
    )
}

/// The item of an origin.
#[derive(Clone, Debug)]
pub struct KnownOrigin {
    /// Identifier of the item.
    pub item: String,
    /// Fingerprint of the input of the last import.
    pub digest: String,
    /// The item was changed in the library since.
    pub is_changed: bool,
}

/// Returns the item of an origin, if there is one.
pub fn find_origin(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
) -> Result<Option<KnownOrigin>, StoreError> {
    writer.query_first(
        KNOWN_SQL,
        named_params! { ":source": source.as_str(), ":origin": origin },
        |row| {
            Ok(KnownOrigin {
                item: row.get("item")?,
                digest: row.get("digest")?,
                is_changed: row.get::<_, Option<String>>("changed_at")?.is_some(),
            })
        },
    )
}

/// Returns the item of the origin of a draft, if there is one. One that an earlier version stored under its
/// former origin has the new origin from then on.
pub fn find_draft_origin(
    writer: &Writer<'_>,
    source: SourceName,
    draft: &Draft,
) -> Result<Option<KnownOrigin>, StoreError> {
    let known = find_origin(writer, source, &draft.origin)?;
    let (None, Some(former)) = (&known, draft.body.former_origin()) else { return Ok(known) };
    writer.execute(
        ADOPT_SQL,
        named_params! {
            ":source": source.as_str(), ":origin": draft.origin, ":former": former,
        },
    )?;
    find_origin(writer, source, &draft.origin)
}

/// Records that an origin was imported as this item.
pub fn record_origin(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
    digest: &str,
    item: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.execute(
        include_str!("sql/remember.sql"),
        named_params! {
            ":source": source.as_str(),
            ":origin": origin,
            ":digest": digest,
            ":item": item,
            ":now": now,
        },
    )?;
    Ok(())
}

/// Records that an imported item was changed in the library, so that a later import does not
/// overwrite it.
pub fn record_local_change(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.execute(
        CHANGED_HERE_SQL,
        named_params! { ":source": source.as_str(), ":item": item, ":now": now },
    )?;
    Ok(())
}

/// Records that an item is again as it was imported.
pub fn forget_local_changes(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
) -> Result<(), StoreError> {
    for sql in [UNCHANGED_SQL, DELETE_BASE_SQL] {
        writer.execute(sql, named_params! { ":source": source.as_str(), ":item": item })?;
    }
    Ok(())
}

/// Returns the origin of each item of a source, by item identifier. Of several origins, the first
/// in text order is returned.
pub fn first_origins(
    reader: &Reader<'_>,
    source: SourceName,
) -> Result<HashMap<String, String>, StoreError> {
    let rows = reader.query_all(
        FIRST_ORIGINS_SQL,
        named_params! { ":source": source.as_str() },
        |row| Ok((row.get("item")?, row.get("origin")?)),
    )?;
    Ok(rows.into_iter().collect())
}

/// Returns the origins of a source that start with `prefix`, with their fingerprints.
pub fn list_origins(
    store: &Store,
    source: SourceName,
    prefix: &str,
) -> Result<HashMap<String, String>, StoreError> {
    let mut origins = HashMap::new();
    store.read(Deadline::after(LIST_TIMEOUT), |reader| {
        reader.for_each_row(
            ORIGINS_SQL,
            named_params! { ":source": source.as_str(), ":prefix": prefix },
            |row| {
                origins.insert(row.get("origin")?, row.get("digest")?);
                Ok(())
            },
        )
    })?;
    Ok(origins)
}
