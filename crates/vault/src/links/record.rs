//! Writing of links, names, properties and tasks, in the transaction that writes their item.

use std::time::Duration;

use rusqlite::named_params;
use vademecum_model::{Deadline, Draft, DraftBody, SaveOutcome, SourceName};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Durability, Reader, Store, StoreError, Writer};

use super::{
    item_rows::{ItemPlace, ItemRows, item_links, remove_rows},
    key::source_number,
};

/// Removes the properties of the items of a source, and those that belong to no item.
const FORGET_PROPERTIES_SQL: &str = "DELETE FROM note_properties WHERE item NOT IN \
     (SELECT number FROM link_items WHERE source <> :source)";
/// Removes the items of a source.
const FORGET_ITEMS_SQL: &str = "DELETE FROM link_items WHERE source = :source";
/// Removes the rows with keys of a source.
const FORGET_KEYS_SQL: [&str; 3] = [
    "DELETE FROM links WHERE key & 7 = :number",
    "DELETE FROM link_addresses WHERE key & 7 = :number",
    "DELETE FROM link_names WHERE key & 7 = :number",
];
/// Records the version of the reader that reads the links of a source, and the row at which it
/// continues.
const SET_VERSION_SQL: &str = "INSERT OR REPLACE INTO link_versions (source, version, next_row) \
     VALUES (:source, :version, :next_row)";
/// Version of the reader that has read the links of a source, and the row at which it continues;
/// NULL if it has read all.
const VERSION_SQL: &str = "SELECT version, next_row FROM link_versions WHERE source = :source";

/// Version of the reader of texts. Increment it when it finds other rows in the same text.
const VERSION: i64 = 3;
/// Number of items that are read again in one transaction.
const ITEMS_PER_TRANSACTION: usize = 100;
/// Maximum time to read the version of the stored links.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// Replaces the stored links and names of an item by those of its present text; an item that does not
/// exist has none. `body` is its content, if the caller knows it.
pub fn update_links(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    body: Option<&DraftBody>,
) -> Result<(), SourceError> {
    remove_rows(writer, source.name(), item)?;
    let stored = match body {
        Some(_) => None,
        None => match writer.with_reader(|reader| source.load_draft(reader, item)) {
            Ok(draft) => Some(draft.body),
            Err(SourceError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        },
    };
    let Some(body) = body.or(stored.as_ref()) else { return Ok(()) };
    let this = named_params! { ":source": source.name().as_str(), ":item": item };
    let origin: Option<String> =
        writer.query_first(include_str!("sql/origins.sql"), this, |row| row.get("origin"))?;
    let rows = ItemRows::new(source.name(), origin.as_deref(), body);
    Ok(rows.insert(writer, source.name(), item)?)
}

/// Stores the links of a saved draft. If the draft has only the messages that follow stored ones, their
/// links are added.
pub fn update_saved_links(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    outcome: &SaveOutcome,
) -> Result<(), SourceError> {
    match (outcome, &draft.body) {
        (SaveOutcome::Unchanged(_) | SaveOutcome::Merged(_), _) => Ok(()),
        (SaveOutcome::Updated(uri), DraftBody::Chat(chat)) if chat.follows > 0 => {
            let extracted = item_links(&draft.body, &ItemPlace::default());
            let rows = ItemRows::of_links(source.name(), &extracted.links);
            Ok(rows.append(writer, source.name(), &uri.id)?)
        }
        (SaveOutcome::New(uri) | SaveOutcome::Updated(uri), body) => {
            update_links(source, writer, &uri.id, Some(body))
        }
        (SaveOutcome::Reconciled { uri, copy }, _) => {
            let items = [Some(uri), copy.as_ref()].into_iter().flatten();
            items.into_iter().try_for_each(|it| update_links(source, writer, &it.id, None))
        }
    }
}

/// Reads the links of the items from a renamed file again: their names have changed. Conversations are
/// not named by files.
pub fn update_renamed(
    source: &dyn Source,
    writer: &Writer<'_>,
    origin: &str,
) -> Result<(), SourceError> {
    if source.name() == SourceName::Chats {
        return Ok(());
    }
    let renamed = named_params! { ":source": source.name().as_str(), ":origin": origin };
    let items: Vec<String> =
        writer
            .query_all(include_str!("sql/items_of_origin.sql"), renamed, |row| row.get("item"))?;
    items.iter().try_for_each(|item| update_links(source, writer, item, None))
}

/// Returns the row from which on the items of a source were stored before their links were read;
/// `None` if the links of all are known.
fn first_outdated(reader: &Reader<'_>, source: SourceName) -> Result<Option<i64>, StoreError> {
    let this = named_params! { ":source": source.as_str() };
    let known = reader.query_first(VERSION_SQL, this, |row| {
        Ok((row.get::<_, i64>("version")?, row.get::<_, Option<i64>>("next_row")?))
    })?;
    Ok(match known {
        Some((version, next_row)) if version >= VERSION => next_row,
        Some(_) | None => Some(i64::MIN),
    })
}

/// Returns whether some items of a source were stored before their links were read.
pub fn are_links_outdated(reader: &Reader<'_>, source: SourceName) -> Result<bool, StoreError> {
    Ok(first_outdated(reader, source)?.is_some())
}

/// Reads the links of the items that were stored before their links were read, in several
/// transactions, so that writers need not wait. Stops when `deadline` has passed; the next call
/// continues. Returns whether all were read.
pub fn read_outdated_links(
    source: &dyn Source,
    store: &Store,
    deadline: Option<&Deadline>,
) -> Result<bool, SourceError> {
    let minute = Deadline::after(CHECK_TIMEOUT);
    if !store.path().exists()
        || !store.read(minute, |reader| are_links_outdated(reader, source.name()))?
    {
        return Ok(true);
    }
    let mut items = store.write(Durability::Bulk, |writer| {
        // A reader of the store may be restricted to some of the items.
        writer.with_reader(|reader| -> Result<_, SourceError> {
            let first = first_outdated(reader, source.name())?;
            let mut items = source.list_item_versions(reader)?;
            items.retain(|item| first.is_some_and(|first| item.key >= first));
            Ok(items)
        })
    })?;
    items.sort_unstable_by_key(|item| item.key);
    let mut rest = items.as_slice();
    loop {
        let (now, later) = rest.split_at(rest.len().min(ITEMS_PER_TRANSACTION));
        store.write(Durability::Bulk, |writer| {
            now.iter().try_for_each(|item| update_links(source, writer, &item.id, None))?;
            set_progress(writer, source.name(), later.first().map(|item| item.key))
        })?;
        rest = later;
        if rest.is_empty() {
            return Ok(true);
        }
        if deadline.is_some_and(Deadline::has_passed) {
            return Ok(false);
        }
    }
}

/// Reads the links of all items of a source again.
pub fn rebuild_links(source: &dyn Source, store: &Store) -> Result<(), SourceError> {
    store.write(Durability::Bulk, |writer| {
        let name = source.name();
        // Damaged rows may belong to no item.
        for sql in FORGET_KEYS_SQL {
            writer.execute(sql, named_params! { ":number": source_number(name) })?;
        }
        for sql in [FORGET_PROPERTIES_SQL, FORGET_ITEMS_SQL] {
            writer.execute(sql, named_params! { ":source": name.as_str() })?;
        }
        set_progress(writer, name, Some(i64::MIN))
    })?;
    read_outdated_links(source, store, None).map(drop)
}

fn set_progress(
    writer: &Writer<'_>,
    source: SourceName,
    next_row: Option<i64>,
) -> Result<(), SourceError> {
    let progress = named_params! {
        ":source": source.as_str(), ":version": VERSION, ":next_row": next_row,
    };
    writer.execute(SET_VERSION_SQL, progress)?;
    Ok(())
}
