//! Items that another machine of the user has changed, and their changes.
//!
//! An item is written as it is there, and the changes that led to it are added to the journal with their
//! authors, so that history and undo work on every machine. If the changes cannot be followed to the
//! present item, because both machines changed it, one entry stands for all of them.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_model::{ChangeAction, ChangeAuthor, Draft, DraftBody, SourceName, Timestamp, Uri};
use vademecum_source::{
    ItemOrigin, Source, SourceError, add_provenance, find_origin, forget_local_changes,
    forget_origin, item_origins, record_local_change, record_local_item, record_origin,
};
use vademecum_store::{Writer, to_stored_text};

use super::{
    delta::Delta,
    exported::{ExportedChange, ExportedVersions, import_versions},
    received_versions::text_before,
    record::{
        Snapshot, body_text, canonical_text, fingerprint, keep_import_base, parse_body,
        put_import_base, replace_fields_as,
    },
    undo::delete_item,
    versions::entries_of_item,
};
use crate::links::update_links;

/// Author of a change of which the journal of the other machine has no entry.
const UNKNOWN_TOOL: &str = "sync";

/// An item as another machine has it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedItem<'a> {
    /// Content; `None` if it is deleted.
    pub body: Option<&'a DraftBody>,
    /// Preferred identifier of a new item.
    pub id: Option<&'a str>,
    /// Name of the item on all machines.
    pub key: &'a str,
    /// Its changes there, newest first.
    pub versions: &'a ExportedVersions,
    /// Its origins.
    pub origins: &'a [ItemOrigin],
    /// The content is that of the last import there.
    pub is_imported: bool,
    /// What its file said at the last import, if it was changed since.
    pub import_base: Option<&'a str>,
}

/// Writes an item as another machine has it, with its changes, and returns its identifier. `item` is the
/// item here, which may be deleted; a new one is inserted without it.
pub fn write_received(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: Option<&str>,
    received: &ReceivedItem<'_>,
) -> Result<String, SourceError> {
    let name = source.name();
    let before = match item {
        Some(item) => writer.with_reader(|reader| Snapshot::read(source, reader, item))?,
        None => None,
    };
    let (Some(item), Some(before)) = (item, before) else {
        return insert_received(source, writer, received);
    };
    keep_import_base(writer, name, item, &before.text)?;
    match received.body {
        Some(body) => replace_item(source, writer, item, body, received)?,
        None => remove_item(source, writer, item)?,
    }
    update_links(source, writer, item, None)?;
    record_origins(writer, name, item, received)?;
    append_changes(source, writer, (item, &before), received.versions)?;
    add_provenance(writer, name, item, &received.versions.provenance)?;
    Ok(item.to_owned())
}

/// Returns `true` for an origin that is a path, which may name another file on each machine.
fn is_file(origin: &ItemOrigin) -> bool {
    origin.origin.starts_with("file:")
}

/// Records the origins of an item that was replaced. A later import merges its file with the item, unless
/// the item is what the other machine has imported from there. Notes and items of files are merged in any
/// case, because the files of machines may differ.
fn record_origins(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    received: &ReceivedItem<'_>,
) -> Result<(), SourceError> {
    let now = Timestamp::now();
    let has_file = received.origins.iter().any(is_file);
    let is_imported = received.is_imported && !received.origins.is_empty();
    match source {
        SourceName::Chats if !has_file => {}
        SourceName::Media | SourceName::Characters | SourceName::Prompts
            if is_imported && !has_file =>
        {
            for origin in received.origins {
                let known = find_origin(writer, source, &origin.origin)?;
                if known.is_some_and(|known| known.item == item) {
                    record_origin(writer, source, &origin.origin, &origin.digest, item, now)?;
                }
            }
            forget_local_changes(writer, source, item)?;
        }
        _ => record_local_change(writer, source, item, now)?,
    }
    add_received_origins(writer, source, item, received.origins)
}

/// Inserts an item that is not known here, with its version and its changes.
fn insert_received(
    source: &dyn Source,
    writer: &Writer<'_>,
    received: &ReceivedItem<'_>,
) -> Result<String, SourceError> {
    let name = source.name();
    let Some(body) = received.body else {
        return Err(SourceError::Refused("a deleted item has no content to insert".to_owned()));
    };
    let known = |origin: &&ItemOrigin| match find_origin(writer, name, &origin.origin) {
        Ok(known) => known.is_none(),
        Err(_) => false,
    };
    // A conversation stores its origin. Other items get theirs below.
    let own = format!("sync:{}", received.key);
    let first = received.origins.iter().find(known).map_or(own.as_str(), |it| it.origin.as_str());
    let draft = Draft {
        origin: first.to_owned(),
        digest: unique_digest(),
        id: received.id.map(str::to_owned),
        body: as_received(body),
    };
    let item = source.save_draft(writer, &draft)?.uri().id.clone();
    forget_origin(writer, name, first)?;
    add_received_origins(writer, name, &item, received.origins)?;
    if item_origins_are_empty(writer, name, &item)? {
        record_local_item(writer, name, &item, Timestamp::now())?;
    }
    let has_file = received.origins.iter().any(is_file);
    let is_changed = received.origins.iter().any(|origin| origin.is_changed);
    if name == SourceName::Notes || has_file || is_changed {
        record_local_change(writer, name, &item, Timestamp::now())?;
    }
    // What a file of the other machine said is no base for a file of this one at the same path.
    if let Some(base) = received.import_base.filter(|_| is_changed && !has_file) {
        put_import_base(writer, name, &item, &body_text(parse_body(base)?)?)?;
    }
    update_links(source, writer, &item, None)?;
    set_version(source, writer, &item, received.versions.version.max(1))?;
    if import_versions(source, writer, &item, received.versions).is_err() {
        add_provenance(writer, name, &item, &received.versions.provenance)?;
    }
    Ok(item)
}

/// Replaces all fields of an item, which may be deleted.
fn replace_item(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    body: &DraftBody,
    received: &ReceivedItem<'_>,
) -> Result<(), SourceError> {
    if source.name() != SourceName::Chats {
        let digest = received.origins.first().map(|origin| origin.digest.clone());
        let digest = digest.filter(|digest| !digest.is_empty()).unwrap_or_else(unique_digest);
        return replace_fields_as(source, writer, item, body.clone(), digest);
    }
    // A conversation is written message by message, under its origin.
    with_origin(source.name(), writer, item, |origin| {
        let known = find_origin(writer, source.name(), origin)?;
        let is_changed = known.as_ref().is_some_and(|known| known.is_changed);
        forget_local_changes(writer, source.name(), item)?;
        let draft = Draft {
            origin: origin.to_owned(),
            digest: unique_digest(),
            id: None,
            body: as_received(body),
        };
        source.save_draft(writer, &draft)?;
        let sent = received.origins.iter().find(|it| it.origin == origin);
        let digest = sent.map(|it| it.digest.clone()).or(known.map(|known| known.digest));
        let digest = digest.unwrap_or_else(unique_digest);
        let now = Timestamp::now();
        record_origin(writer, source.name(), origin, &digest, item, now)?;
        if is_changed {
            record_local_change(writer, source.name(), item, now)?;
        }
        Ok(())
    })
}

/// Writes a conversation again whose character or parent has arrived after it.
pub fn link_received(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    received: &ReceivedItem<'_>,
) -> Result<(), SourceError> {
    received.body.map_or(Ok(()), |body| replace_item(source, writer, item, body, received))
}

/// Returns a content that is stored as another machine has it.
fn as_received(body: &DraftBody) -> DraftBody {
    let mut body = body.clone();
    if let DraftBody::Chat(chat) = &mut body {
        chat.is_received = true;
    }
    body
}

/// Marks an item as deleted.
fn remove_item(source: &dyn Source, writer: &Writer<'_>, item: &str) -> Result<(), SourceError> {
    if source.name() != SourceName::Chats {
        return delete_item(source, writer, item);
    }
    with_origin(source.name(), writer, item, |origin| {
        forget_local_changes(writer, source.name(), item)?;
        // An origin without a fingerprint has no item that could be removed.
        record_origin(writer, source.name(), origin, &unique_digest(), item, Timestamp::now())?;
        source.remove_origin(writer, origin).map(drop)
    })
}

/// Runs `work` with an origin of an item, which exists only meanwhile if the item has none.
fn with_origin(
    source: SourceName,
    writer: &Writer<'_>,
    item: &str,
    work: impl FnOnce(&str) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    let origins = writer.with_reader(|reader| item_origins(reader, source.as_str(), item))?;
    if let Some(origin) = origins.first() {
        return work(origin);
    }
    let origin = Uri::item(source, item).to_string();
    record_origin(writer, source, &origin, &unique_digest(), item, Timestamp::now())?;
    work(&origin)?;
    Ok(forget_origin(writer, source, &origin)?)
}

/// Returns a digest that no other item has.
fn unique_digest() -> String {
    format!("synced {}", Uuid::new_v4())
}

fn item_origins_are_empty(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
) -> Result<bool, SourceError> {
    Ok(writer.with_reader(|reader| item_origins(reader, source.as_str(), item))?.is_empty())
}

/// Adds those origins of an item on another machine that no item has here.
pub fn add_received_origins(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    origins: &[ItemOrigin],
) -> Result<(), SourceError> {
    for origin in origins {
        if find_origin(writer, source, &origin.origin)?.is_none() {
            let now = Timestamp::now();
            record_origin(writer, source, &origin.origin, &origin.digest, item, now)?;
        }
    }
    Ok(())
}

fn set_version(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    version: i64,
) -> Result<(), SourceError> {
    if let Some(statements) = source.item_statements() {
        let parameters = named_params! { ":id": item, ":version": version };
        writer.execute(statements.set_version_sql, parameters)?;
    }
    Ok(())
}

/// A new entry of the journal: its change, the text after it, and the text before it.
struct NewEntry<'a> {
    change: &'a ExportedChange,
    after: String,
    before: String,
}

/// Adds the changes between `before` and the present state of an item to its journal, and sets its version.
fn append_changes(
    source: &dyn Source,
    writer: &Writer<'_>,
    (item, before): (&str, &Snapshot),
    versions: &ExportedVersions,
) -> Result<(), SourceError> {
    let after = writer.with_reader(|reader| Snapshot::read(source, reader, item))?;
    let Some(after) = after else { return Ok(()) };
    let unknown = ExportedChange {
        version: 0,
        changed_at: Timestamp::now(),
        action: if after.is_deleted { ChangeAction::Deleted } else { ChangeAction::Changed },
        author: ChangeAuthor { tool: UNKNOWN_TOOL.to_owned(), ..ChangeAuthor::default() },
        before: None,
        deleted_before: false,
    };
    let entries = new_entries(source, writer, (item, before, &after), (versions, &unknown))?;
    let Some(oldest) = entries.last() else { return Ok(()) };
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    // The versions of the other machine, if they follow those of this one.
    let keeps_versions =
        entries[0].change.version == versions.version && oldest.change.version > before.version;
    let version =
        if keeps_versions { versions.version } else { before.version.saturating_add(count) };
    set_version(source, writer, item, version)?;
    for (index, entry) in entries.iter().enumerate().rev() {
        let author = &entry.change.author;
        let age = i64::try_from(index).unwrap_or(i64::MAX);
        let number = if keeps_versions { entry.change.version } else { version - age };
        let keeps_text = source.name() != SourceName::Chats;
        let delta = Delta::between(&entry.after, &entry.before).to_text();
        writer.execute(
            include_str!("sql/append.sql"),
            named_params! {
                ":source": source.name().as_str(),
                ":item": item,
                ":version": number,
                ":changed_at": entry.change.changed_at,
                ":action": entry.change.action.as_str(),
                ":user": author.user,
                ":client": author.client,
                ":key": author.key,
                ":tool": author.tool,
                ":delta": keeps_text.then(|| to_stored_text(&delta)),
                ":length": i64::try_from(entry.after.len()).unwrap_or(i64::MAX),
                ":fingerprint": fingerprint(&entry.after),
            },
        )?;
    }
    Ok(())
}

/// Returns the entries that lead from `before` to `after`, newest first: those of the other machine if they
/// can be followed, else one with the author of its newest change that is not known here.
fn new_entries<'a>(
    source: &dyn Source,
    writer: &Writer<'_>,
    (item, before, after): (&str, &Snapshot, &Snapshot),
    (versions, unknown): (&'a ExportedVersions, &'a ExportedChange),
) -> Result<Vec<NewEntry<'a>>, SourceError> {
    let name = source.name();
    if name != SourceName::Chats
        && let Some(entries) = followed_entries(name, (before, after), versions)?
    {
        return Ok(entries);
    }
    let known = writer.with_reader(|reader| entries_of_item(reader, name, item))?;
    let is_new = |change: &&ExportedChange| {
        !known.iter().any(|entry| {
            let (one, other) = (&entry.author, &change.author);
            entry.changed_at == change.changed_at
                && entry.action == change.action
                && (&one.user, &one.client, &one.key, &one.tool)
                    == (&other.user, &other.client, &other.key, &other.tool)
        })
    };
    let change = versions.changes.iter().find(is_new).unwrap_or(unknown);
    let texts = (after.text.clone(), before.text.clone());
    Ok(vec![NewEntry { change, after: texts.0, before: texts.1 }])
}

/// Follows the changes of the other machine back to the present item. `None` if they do not lead there.
fn followed_entries<'a>(
    source: SourceName,
    (before, after): (&Snapshot, &Snapshot),
    versions: &'a ExportedVersions,
) -> Result<Option<Vec<NewEntry<'a>>>, SourceError> {
    let canonical = |text: &str| match text {
        "" => Ok(String::new()),
        text => canonical_text(&parse_body(text)?),
    };
    let target = canonical(&before.text)?;
    let (mut text, mut entries) = (after.text.clone(), Vec::new());
    for change in &versions.changes {
        let Some(older) = text_before(source, &text, change)? else { return Ok(None) };
        let is_last = canonical(&older)? == target;
        let older = if is_last { before.text.clone() } else { older };
        entries.push(NewEntry { change, after: text, before: older.clone() });
        if is_last {
            return Ok(Some(entries));
        }
        text = older;
    }
    Ok(None)
}
