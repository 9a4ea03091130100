//! Verification of the stored links, names, properties and tasks. They are derived from texts, so that their rows have
//! no digests:
//! one digest of all rows of an item tells that they are damaged, and they are read again then
//! (`docs/adr/0059-keys-of-links.md`).

use std::collections::HashMap;

use rusqlite::{Row, named_params};
use vademecum_model::SourceName;
use vademecum_store::{Reader, StoreError};

use super::{
    LinkPlace,
    item_rows::{
        digest_of_address, digest_of_keys, digest_of_link, digest_of_name, digest_of_place,
        digest_of_property, digest_of_tasks,
    },
    key::source_number,
    link::read_place,
    tasks::TaskCounts,
};

/// The rows of the items of a source.
const ITEMS_SQL: &str = "SELECT number, path, space, keys, digest, open_tasks, done_tasks \
     FROM link_items WHERE source = :source";
/// All links of a source.
const LINKS_SQL: &str =
    "SELECT key, item, kind, target, fragment FROM links WHERE key & 7 = :number";
/// All web addresses of a source.
const ADDRESSES_SQL: &str = "SELECT key, item FROM link_addresses WHERE key & 7 = :number";
/// All names of a source.
const NAMES_SQL: &str = "SELECT key, item, kind, name FROM link_names WHERE key & 7 = :number";
/// All properties of the items of a source, and those that belong to no item.
const PROPERTIES_SQL: &str = "SELECT name, item, value FROM note_properties \
     WHERE item NOT IN (SELECT number FROM link_items WHERE source <> :source)";

/// Returns whether the stored links and names of the items of a source are those that were written.
pub fn are_links_right(source: SourceName, reader: &Reader<'_>) -> Result<bool, StoreError> {
    // The digest of each item, without the rows that were read.
    let mut digests: HashMap<i64, i64> = HashMap::new();
    reader.for_each_row(ITEMS_SQL, named_params! { ":source": source.as_str() }, |row| {
        let (path, space) = read_place(row)?;
        let keys: Vec<u8> = row.get("keys")?;
        let digest: i64 = row.get("digest")?;
        let place = digest_of_place(&LinkPlace { path, space });
        let tasks = TaskCounts { open: row.get("open_tasks")?, done: row.get("done_tasks")? };
        let rest = digest
            .wrapping_sub(place)
            .wrapping_sub(digest_of_keys(&keys))
            .wrapping_sub(digest_of_tasks(tasks));
        digests.insert(row.get("number")?, rest);
        Ok(())
    })?;
    let mut are_known = true;
    let mut subtract = |row: &Row<'_>, digest: i64| -> rusqlite::Result<()> {
        match digests.get_mut(&row.get("item")?) {
            Some(rest) => *rest = rest.wrapping_sub(digest),
            None => are_known = false,
        }
        Ok(())
    };
    let number = source_number(source);
    let of_source = named_params! { ":number": number };
    reader.for_each_row(LINKS_SQL, of_source, |row| {
        let link = (row.get("key")?, row.get("kind")?, row.get("target")?, row.get("fragment")?);
        subtract(row, digest_of_link(&link))
    })?;
    reader.for_each_row(ADDRESSES_SQL, of_source, |row| {
        subtract(row, digest_of_address(row.get("key")?))
    })?;
    reader.for_each_row(NAMES_SQL, of_source, |row| {
        subtract(row, digest_of_name((row.get("key")?, row.get("kind")?, row.get("name")?)))
    })?;
    let of_items = named_params! { ":source": source.as_str() };
    reader.for_each_row(PROPERTIES_SQL, of_items, |row| {
        let (name, value): (String, String) = (row.get("name")?, row.get("value")?);
        subtract(row, digest_of_property(&name, &value))
    })?;
    Ok(are_known && digests.into_values().all(|rest| rest == 0))
}
