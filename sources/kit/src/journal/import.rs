//! Imports of items that may have been changed in the library: later changes of a file and those in
//! the library are merged.

use super::{
    merge::merge_fields,
    record::{
        Snapshot, body_text, import_base, parse_body, put_import_base, record, replace_fields,
        unreadable,
    },
    versions::entries_of_item,
};
use crate::{
    model::{
        ChangeAction, ChangeAuthor, Draft, DraftBody, SaveOutcome, SourceName, Timestamp, Uri,
    },
    source::{Source, SourceError},
    store::{
        KnownOrigin, Writer, find_origin, forget_local_changes, record_local_change, record_origin,
    },
};

/// Saves a draft like [`Source::save_draft`], and records the change of an item that existed. If the
/// item was changed in the library since its last import, both changes are merged. If they
/// contradict each other, the item becomes what the draft says, and a new item keeps what the
/// library had.
pub fn save_draft(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    author: &ChangeAuthor,
) -> Result<SaveOutcome, SourceError> {
    let known = find_origin(writer, source.name(), &draft.origin)?;
    let Some(known) = known.filter(|known| known.digest != draft.digest) else {
        return source.save_draft(writer, draft);
    };
    let before = writer.with_reader(|reader| Snapshot::read(source, reader, &known.item))?;
    let outcome = match &before {
        Some(before) if known.is_changed && source.name() != SourceName::Chats => {
            merge_draft(source, writer, draft, &known, before)?
        }
        Some(_) | None => source.save_draft(writer, draft)?,
    };
    record(source, writer, (&known.item, before.as_ref()), (ChangeAction::Imported, author))?;
    Ok(outcome)
}

/// Removes the item of an origin like [`Source::remove_origin`], and records it.
pub fn remove_origin(
    source: &dyn Source,
    writer: &Writer<'_>,
    origin: &str,
    author: &ChangeAuthor,
) -> Result<bool, SourceError> {
    let Some(known) = find_origin(writer, source.name(), origin)? else {
        return source.remove_origin(writer, origin);
    };
    let before = writer.with_reader(|reader| Snapshot::read(source, reader, &known.item))?;
    let removed = source.remove_origin(writer, origin)?;
    if removed {
        let change = (ChangeAction::Removed, author);
        record(source, writer, (&known.item, before.as_ref()), change)?;
    }
    Ok(removed)
}

/// Merges a draft into an item that was changed in the library.
fn merge_draft(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    known: &KnownOrigin,
    before: &Snapshot,
) -> Result<SaveOutcome, SourceError> {
    let (name, item) = (source.name(), &known.item);
    let theirs = body_text(draft.body.clone())?;
    let merged = match import_base(writer, name, item)? {
        // Who deleted the item did not know of the change.
        _ if before.is_deleted => Some(theirs.clone()),
        Some(base) => merge_texts(&base, &before.text, &theirs)?,
        None => merge_without_base(&before.text, &theirs)?,
    };
    let copy = match &merged {
        Some(_) => None,
        None => Some(keep_copy(source, writer, known, before)?),
    };
    let merged = parse_body(&merged.unwrap_or_else(|| theirs.clone()))?;
    replace_fields(source, writer, item, merged.clone())?;
    let now = Timestamp::now();
    record_origin(writer, name, &draft.origin, &draft.digest, item, now)?;
    if body_text(merged)? == theirs {
        forget_local_changes(writer, name, item)?;
    } else {
        put_import_base(writer, name, item, &theirs)?;
        record_local_change(writer, name, item, now)?;
    }
    Ok(SaveOutcome::Reconciled { uri: Uri::item(name, item), copy })
}

/// Merges the texts of three versions. `None` if the changes contradict each other.
pub(super) fn merge_texts(
    base: &str,
    ours: &str,
    theirs: &str,
) -> Result<Option<String>, SourceError> {
    let value = |text: &str| serde_json::from_str(text).map_err(|error| unreadable(&error));
    let merged = merge_fields(&value(base)?, &value(ours)?, &value(theirs)?);
    // What the merge makes of odd fields must still be an item.
    Ok(merged.ok().map(|merged| merged.to_string()).filter(|merged| parse_body(merged).is_ok()))
}

/// Merges two versions whose common one is not known: the fields of `theirs` with the tags of both.
/// `None` for notes with different texts.
fn merge_without_base(ours: &str, theirs: &str) -> Result<Option<String>, SourceError> {
    let (mut base, wanted) = (parse_body(ours)?, parse_body(theirs)?);
    if let (DraftBody::Note(ours), DraftBody::Note(theirs)) = (&base, &wanted)
        && ours.content != theirs.content
    {
        return Ok(None);
    }
    base.tags_mut().clear();
    merge_texts(&body_text(base)?, ours, theirs)
}

/// Adds an item with what the library has. Its title says who changed it last.
fn keep_copy(
    source: &dyn Source,
    writer: &Writer<'_>,
    known: &KnownOrigin,
    before: &Snapshot,
) -> Result<Uri, SourceError> {
    let entries =
        writer.with_reader(|reader| entries_of_item(reader, source.name(), &known.item))?;
    let own = entries.iter().find(|entry| entry.action != ChangeAction::Imported);
    let who = own.map(|entry| entry.author.client.as_str()).filter(|client| !client.is_empty());
    let today = Timestamp::now().to_string();
    let day = today.get(..10).unwrap_or(&today);
    let mut body = parse_body(&before.text)?;
    let title = body.title_mut();
    *title = format!("{title} (conflict of {} {day})", who.unwrap_or("the library"));
    let draft = Draft { origin: String::new(), digest: String::new(), id: None, body };
    Ok(source.insert_item(writer, &draft)?.uri)
}
