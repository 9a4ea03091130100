//! Writing of the journal.

use rusqlite::named_params;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use vademecum_model::{
    Change, ChangeAction, ChangeAuthor, ChangedItem, Draft, DraftBody, ItemId, SourceName,
    Timestamp, Uri,
};
use vademecum_source::{
    OWN_DIGEST, Source, SourceError, add_provenance, find_origin, record_local_change,
    record_planned_file,
};
use vademecum_store::{Reader, StoreError, Writer, read_stored_text, to_stored_text};

use super::{delta::Delta, versions::read_version};
use crate::links::update_links;

/// Selects the fields of an item as they were at its last import.
const BASE_SQL: &str = "SELECT body FROM import_bases WHERE source = :source AND item = :item";
/// Deletes the changes before a time.
const EXPIRE_SQL: &str = "DELETE FROM changes WHERE changed_at < :before";
/// Returns a row if the item was imported and not changed in the library since. Without statistics,
/// SQLite would read all items of the source by the primary key.
const IS_DIVERGING_SQL: &str = "SELECT 1 FROM imported INDEXED BY imported_by_item \
     WHERE source = :source AND item = :item AND digest <> :own_digest AND changed_at IS NULL";
/// Stores the fields of an item as they were at its last import.
const PUT_BASE_SQL: &str = "INSERT INTO import_bases (source, item, body) \
     VALUES (:source, :item, :body) ON CONFLICT (source, item) DO UPDATE \
     SET body = excluded.body";
/// Sums the bytes of all deltas.
const TOTAL_SQL: &str = "SELECT coalesce(sum(bytes), 0) AS bytes FROM changes";

/// Number of entries after which the limits are applied again.
const ENTRIES_PER_PRUNING: i64 = 64;

/// The version and the text of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) version: i64,
    /// JSON of the fields; empty for a deleted item and for conversations.
    pub(super) text: String,
    pub(super) is_deleted: bool,
}

impl Snapshot {
    /// Reads the state of an item; `None` if it never existed.
    pub(super) fn read(
        source: &dyn Source,
        reader: &Reader<'_>,
        item: &str,
    ) -> Result<Option<Self>, SourceError> {
        let Some(statements) = source.item_statements() else { return Ok(None) };
        let found =
            reader.query_first(statements.version_sql, named_params! { ":id": item }, |row| {
                Ok((row.get("version")?, row.get("deleted")?))
            })?;
        let Some((version, is_deleted)) = found else { return Ok(None) };
        let text = match source.name() {
            SourceName::Chats | SourceName::Collections => String::new(),
            _ if is_deleted => String::new(),
            _ => body_text(source.load_draft(reader, item)?.body)?,
        };
        Ok(Some(Self { version, text, is_deleted }))
    }
}

/// Applies a change and records it. A change without effect is not recorded.
pub fn apply_change(
    source: &dyn Source,
    writer: &Writer<'_>,
    change: &Change,
    author: &ChangeAuthor,
) -> Result<ChangedItem, SourceError> {
    let before = match change.item_id() {
        Some(id) => writer.with_reader(|reader| Snapshot::read(source, reader, &id.to_string()))?,
        None => None,
    };
    if let (Some(id), Some(before)) = (change.item_id(), &before) {
        keep_import_base(writer, source.name(), &id.to_string(), &before.text)?;
    }
    let changed = match change {
        Change::Restore { id, version, present } => {
            check_present(source, (id, *present), before.as_ref())?;
            restore_version(source, writer, id, *version)?
        }
        Change::Add(_) | Change::Tag { .. } | Change::Edit { .. } => {
            source.apply_change(writer, change)?
        }
    };
    if change.item_id().is_some() || changed.is_new {
        let item = changed.id.to_string();
        if let Change::Add(draft) = change
            && !draft.origin.is_empty()
        {
            plan_file(source, writer, &draft.origin, &item)?;
        }
        update_links(source, writer, &item, None)?;
        record(source, writer, (&item, before.as_ref()), (change.action(), author))?;
        if let Some(provenance) = author.provenance.as_ref().filter(|_| change.adds_text()) {
            add_provenance(writer, source.name(), &item, provenance)?;
        }
    }
    Ok(changed)
}

/// Fails if an item is at another version than the expected one: an edit that its reader did not see would be lost.
fn check_present(
    source: &dyn Source,
    (id, expected): (&ItemId, Option<i64>),
    present: Option<&Snapshot>,
) -> Result<(), SourceError> {
    let stale = |expected, found| {
        Err(SourceError::stale(&Uri::item(source.name(), id.to_string()), expected, found))
    };
    match (expected, present) {
        (Some(expected), Some(found)) if found.version != expected => {
            stale(expected, found.version)
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// Replaces an item by an earlier version.
fn restore_version(
    source: &dyn Source,
    writer: &Writer<'_>,
    id: &ItemId,
    version: i64,
) -> Result<ChangedItem, SourceError> {
    let item = id.to_string();
    let body = writer.with_reader(|reader| read_version(source, reader, &item, version))?;
    replace_fields(source, writer, &item, body)?;
    record_local_change(writer, source.name(), &item, Timestamp::now())?;
    let found = writer.with_reader(|reader| Snapshot::read(source, reader, &item))?;
    let found = found.ok_or_else(|| SourceError::not_found("item", &item))?;
    Ok(ChangedItem {
        id: id.clone(),
        uri: Uri::item(source.name(), item),
        version: found.version,
        tags: parse_body(&found.text)?.tags().to_vec(),
        is_new: false,
    })
}

/// Replaces all fields of an item, which may be deleted.
pub(super) fn replace_fields(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    body: DraftBody,
) -> Result<(), SourceError> {
    // A digest that no other item has.
    let digest = format!("restored {}", Uuid::new_v4());
    replace_fields_as(source, writer, item, body, digest)
}

/// Replaces all fields of an item, which may be deleted, and its fingerprint.
pub(super) fn replace_fields_as(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    body: DraftBody,
    digest: String,
) -> Result<(), SourceError> {
    source.replace_item(writer, item, &Draft { digest, ..Draft::from_stored(item, body) })
}

/// Records the change from `before` to the present state of an item.
pub(super) fn record(
    source: &dyn Source,
    writer: &Writer<'_>,
    (item, before): (&str, Option<&Snapshot>),
    (action, author): (ChangeAction, &ChangeAuthor),
) -> Result<(), SourceError> {
    let Some(after) = writer.with_reader(|reader| Snapshot::read(source, reader, item))? else {
        return Ok(());
    };
    if before == Some(&after) {
        return Ok(());
    }
    let keeps_text = source.name() != SourceName::Chats;
    let delta = before
        .filter(|_| keeps_text)
        .map(|before| to_stored_text(&Delta::between(&after.text, &before.text).to_text()));
    let number = writer.insert_row(
        include_str!("sql/append.sql"),
        named_params! {
            ":source": source.name().as_str(),
            ":item": item,
            ":version": after.version,
            ":changed_at": Timestamp::now(),
            ":action": action.as_str(),
            ":user": author.user,
            ":client": author.client,
            ":key": author.key,
            ":tool": author.tool,
            ":delta": delta,
            ":length": i64::try_from(after.text.len()).unwrap_or(i64::MAX),
            ":fingerprint": fingerprint(&after.text),
        },
    )?;
    if number % ENTRIES_PER_PRUNING == 0 {
        prune(writer)?;
    }
    Ok(())
}

/// Deletes what exceeds the limits, oldest first.
fn prune(writer: &Writer<'_>) -> Result<(), StoreError> {
    let limits = writer.journal_limits();
    let before = Timestamp::before_now(limits.age);
    writer.execute(EXPIRE_SQL, named_params! { ":before": before })?;
    let total = writer.query_first(TOTAL_SQL, &[], |row| row.get("bytes"))?;
    let bytes = i64::try_from(limits.bytes).unwrap_or(i64::MAX);
    if total.is_some_and(|total: i64| total > bytes) {
        writer.execute(include_str!("sql/shrink.sql"), named_params! { ":bytes": bytes })?;
    }
    Ok(())
}

/// Records that an item has yet to be written to the file of an origin, as it is.
pub(super) fn plan_file(
    source: &dyn Source,
    writer: &Writer<'_>,
    origin: &str,
    item: &str,
) -> Result<(), SourceError> {
    let origin = free_origin(writer, source.name(), origin)?;
    record_planned_file(writer, source.name(), &origin, item)?;
    if let Some(planned) = writer.with_reader(|reader| Snapshot::read(source, reader, item))? {
        put_import_base(writer, source.name(), item, &planned.text)?;
    }
    Ok(())
}

/// Returns the origin of a file, with a number in its name if another item has that origin.
fn free_origin(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
) -> Result<String, SourceError> {
    let (stem, extension) = split_extension(origin);
    let mut candidate = origin.to_owned();
    let mut number = 2;
    while find_origin(writer, source, &candidate)?.is_some() {
        candidate = format!("{stem} {number}{extension}");
        number += 1;
    }
    Ok(candidate)
}

/// Splits the origin of a file before the extension of its name.
pub(super) fn split_extension(origin: &str) -> (&str, &str) {
    let name = origin.rfind('/').map_or(0, |slash| slash + 1);
    match origin[name..].rfind('.') {
        Some(dot) if dot > 0 => origin.split_at(name + dot),
        Some(_) | None => (origin, ""),
    }
}

/// Keeps the fields of an imported item that is about to be changed for the first time.
pub(super) fn keep_import_base(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    text: &str,
) -> Result<(), StoreError> {
    let parameters = named_params! {
        ":source": source.as_str(), ":item": item, ":own_digest": OWN_DIGEST,
    };
    let is_imported = writer.query_first(IS_DIVERGING_SQL, parameters, |_| Ok(()))?.is_some();
    if !is_imported || text.is_empty() {
        return Ok(());
    }
    put_import_base(writer, source, item, text)
}

/// Stores the fields of an item as its file has them.
pub(super) fn put_import_base(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    text: &str,
) -> Result<(), StoreError> {
    let body = to_stored_text(text);
    writer.execute(
        PUT_BASE_SQL,
        named_params! { ":source": source.as_str(), ":item": item, ":body": body },
    )?;
    Ok(())
}

/// Returns the fields of an item as its file had them at the last import; `None` if unknown.
pub fn import_base(
    reader: &Reader<'_>,
    source: SourceName,
    item: &str,
) -> Result<Option<String>, StoreError> {
    reader.query_first(
        BASE_SQL,
        named_params! { ":source": source.as_str(), ":item": item },
        |row| read_stored_text(row.get_ref("body")?),
    )
}

/// Returns the texts of an item that its file had at the last import, in no order.
pub fn import_base_texts(
    reader: &Reader<'_>,
    source: SourceName,
    item: &str,
) -> Result<Vec<String>, StoreError> {
    let base = import_base(reader, source, item)?.unwrap_or_default();
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    values.extend(serde_json::from_str::<serde_json::Value>(&base).ok());
    while let Some(value) = values.pop() {
        match value {
            serde_json::Value::String(text) => texts.push(text),
            serde_json::Value::Array(items) => values.extend(items),
            serde_json::Value::Object(fields) => values.extend(fields.into_iter().map(|it| it.1)),
            _ => {}
        }
    }
    Ok(texts)
}

/// Returns the text of these fields.
pub(super) fn body_text(mut body: DraftBody) -> Result<String, SourceError> {
    body.clear_modified_at();
    serde_json::to_string(&body).map_err(|error| unreadable(&error))
}

/// Returns the content of an item in a form that is equal on all machines that have it: without what a
/// library keeps of an item that is replaced, and with tags as they are compared. Tags have one spelling in
/// a library, and their order is not stored.
pub fn canonical_text(body: &DraftBody) -> Result<String, SourceError> {
    let mut body = body.clone();
    match &mut body {
        DraftBody::Note(note) => note.created_at = None,
        DraftBody::Media(media) => media.ingested_at = None,
        DraftBody::Chat(chat) => {
            // The items that these name may have other origins on another machine.
            (chat.created_at, chat.character, chat.fork) = (None, None, None);
        }
        DraftBody::Character(card) => card.created_at = None,
        DraftBody::Prompt(_) => {}
    }
    body.tags_mut().iter_mut().for_each(|tag| tag.make_ascii_lowercase());
    text_with_sorted_tags(body)
}

/// Returns the text of these fields, with tags in order.
pub(super) fn text_with_sorted_tags(mut body: DraftBody) -> Result<String, SourceError> {
    body.tags_mut().sort_unstable();
    body_text(body)
}

/// Reads what [`body_text`] has written.
pub(super) fn parse_body(text: &str) -> Result<DraftBody, SourceError> {
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

/// Returns the error for a version that is not JSON of an item.
pub(super) fn unreadable(error: &serde_json::Error) -> SourceError {
    SourceError::Refused(format!("a version of the item cannot be read: {error}"))
}

/// Returns the first eight bytes of the SHA-256 of a text.
pub(super) fn fingerprint(text: &str) -> i64 {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).fold(0, |number, byte| (number << 8) | i64::from(*byte))
}
