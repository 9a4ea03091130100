//! Imports of items that may have been changed in the library: later changes of a file and those in
//! the library are merged.

use uuid::Uuid;
use vademecum_model::{
    ChangeAction, ChangeAuthor, Draft, DraftBody, SaveOutcome, SourceName, Timestamp, Uri,
    safe_file_name,
};
use vademecum_source::{
    KnownOrigin, Source, SourceError, copy_provenance, find_origin, forget_local_changes,
    forget_origin, list_changed_items, record_local_change, record_local_item, record_origin,
};
use vademecum_store::{Reader, Writer};

use super::{
    merge::{LineMerge, merge_fields},
    record::{
        Snapshot, body_text, canonical_text, import_base, parse_body, plan_file, put_import_base,
        record, replace_fields, split_extension, unreadable,
    },
    versions::entries_of_item,
};
use crate::links::{update_links, update_saved_links};

/// Where the library's version of an item goes if it contradicts the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictCopies {
    /// A new item of the library.
    #[default]
    InLibrary,
    /// A new item that is to be written to a file beside the other.
    BesideFile,
}

/// Saves a draft like [`Source::save_draft`], and records the change of an item that existed. If the
/// item was changed in the library since its last import, both changes are merged. If they
/// contradict each other, the item becomes what the draft says, and a new item keeps what the
/// library had.
pub fn save_draft(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    author: &ChangeAuthor,
    copies: ConflictCopies,
) -> Result<SaveOutcome, SourceError> {
    let known = find_origin(writer, source.name(), &draft.origin)?;
    if let Some(known) = known.as_ref().filter(|known| known.digest == draft.digest) {
        keep_known_base(source, writer, known, &draft.body)?;
    }
    let Some(known) = known.filter(|known| known.digest != draft.digest) else {
        let outcome = source.save_draft(writer, draft)?;
        update_saved_links(source, writer, draft, &outcome)?;
        return Ok(outcome);
    };
    let before = writer.with_reader(|reader| Snapshot::read(source, reader, &known.item))?;
    let outcome = match &before {
        Some(before) if known.is_changed && source.name() != SourceName::Chats => {
            merge_draft(source, writer, draft, (&known, before), copies)?
        }
        Some(_) | None => source.save_draft(writer, draft)?,
    };
    update_saved_links(source, writer, draft, &outcome)?;
    record(source, writer, (&known.item, before.as_ref()), (ChangeAction::Imported, author))?;
    Ok(outcome)
}

/// Keeps what the file of a changed note says, if that is not known: the note came from another machine.
fn keep_known_base(
    source: &dyn Source,
    writer: &Writer<'_>,
    known: &KnownOrigin,
    body: &DraftBody,
) -> Result<(), SourceError> {
    let (name, item) = (source.name(), &known.item);
    if !known.is_changed
        || name != SourceName::Notes
        || writer.with_reader(|reader| import_base(reader, name, item))?.is_some()
    {
        return Ok(());
    }
    let before = writer.with_reader(|reader| Snapshot::read(source, reader, item))?;
    let Some(before) = before.filter(|before| !before.is_deleted) else { return Ok(()) };
    let mut theirs = body.clone();
    theirs.fill_created_at(&parse_body(&before.text)?);
    Ok(put_import_base(writer, name, item, &body_text(theirs)?)?)
}

/// Item that was changed in the library since its import, or that has yet to be written to a file.
#[derive(Clone, Debug)]
pub struct LocalChange {
    /// Origin of the item, such as `file:/vault/a.md`.
    pub origin: String,
    /// Identifier of the item.
    pub item: String,
    /// The item as it is; `None` if it was deleted.
    pub present: Option<DraftBody>,
    /// The item as its file had it at the last import, if that is known.
    pub base: Option<DraftBody>,
    /// The item was never imported from this origin: its file has yet to be created.
    pub is_planned: bool,
}

/// Returns the changed items of the origins that start with `prefix`, in their order.
pub fn list_local_changes(
    source: &dyn Source,
    reader: &Reader<'_>,
    prefix: &str,
) -> Result<Vec<LocalChange>, SourceError> {
    let mut changes = Vec::new();
    for (origin, item, digest) in list_changed_items(reader, source.name(), prefix)? {
        let Some(found) = Snapshot::read(source, reader, &item)? else { continue };
        let present = (!found.is_deleted).then(|| parse_body(&found.text)).transpose()?;
        let base = import_base(reader, source.name(), &item)?;
        let base = base.as_deref().map(parse_body).transpose()?;
        let is_planned = digest.is_empty();
        changes.push(LocalChange { origin, item, present, base, is_planned });
    }
    Ok(changes)
}

/// Removes the item of an origin like [`remove_origin`], also if it was changed in the library.
pub fn remove_changed_origin(
    source: &dyn Source,
    writer: &Writer<'_>,
    origin: &str,
    author: &ChangeAuthor,
) -> Result<bool, SourceError> {
    let Some(known) = find_origin(writer, source.name(), origin)? else { return Ok(false) };
    let base = writer.with_reader(|reader| import_base(reader, source.name(), &known.item))?;
    forget_local_changes(writer, source.name(), &known.item)?;
    let removed = remove_origin(source, writer, origin, author)?;
    // If the item is restored, its file is written as it was.
    if let Some(base) = base {
        put_import_base(writer, source.name(), &known.item, &base)?;
    }
    Ok(removed)
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
        if let Some(before) = before.as_ref().filter(|before| !before.text.is_empty()) {
            put_import_base(writer, source.name(), &known.item, &before.text)?;
        }
        update_links(source, writer, &known.item, None)?;
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
    (known, before): (&KnownOrigin, &Snapshot),
    copies: ConflictCopies,
) -> Result<SaveOutcome, SourceError> {
    let (name, item) = (source.name(), &known.item);
    let mut theirs = draft.body.clone();
    if !before.is_deleted {
        // A file that does not say when its item was created says nothing new.
        theirs.fill_created_at(&parse_body(&before.text)?);
    }
    let theirs = body_text(theirs)?;
    let base = writer.with_reader(|reader| import_base(reader, name, item))?;
    let merged = match base {
        // Who deleted the item did not know of the change.
        _ if before.is_deleted => Some(theirs.clone()),
        Some(base) => merge_texts(&base, &before.text, &theirs, LineMerge::Apart)?,
        None => merge_without_base(&before.text, &theirs)?,
    };
    let copy = match &merged {
        Some(_) => None,
        None => Some(keep_copy(source, writer, draft, (known, before), copies)?),
    };
    let merged = parse_body(&merged.unwrap_or_else(|| theirs.clone()))?;
    // A file that has been written from the item brings nothing new.
    let before_body = (!before.is_deleted).then(|| parse_body(&before.text)).transpose()?;
    if before_body.is_none_or(|before| !is_same_item(&before, &merged)) {
        replace_fields(source, writer, item, merged.clone())?;
    }
    let now = Timestamp::now();
    record_origin(writer, name, &draft.origin, &draft.digest, item, now)?;
    if is_same_item(&merged, &parse_body(&theirs)?) {
        forget_local_changes(writer, name, item)?;
    } else {
        put_import_base(writer, name, item, &theirs)?;
        record_local_change(writer, name, item, now)?;
    }
    Ok(SaveOutcome::Reconciled { uri: Uri::item(name, item), copy })
}

/// Returns `true` if two drafts differ at most in the order of their tags, which is not stored.
fn is_same_item(one: &DraftBody, other: &DraftBody) -> bool {
    let [one, other] = [one, other].map(|body| {
        let mut body = body.clone();
        body.tags_mut().sort_unstable();
        body_text(body).ok()
    });
    one.is_some() && one == other
}

/// Merges the texts of three versions. `None` if the changes contradict each other.
pub(super) fn merge_texts(
    base: &str,
    ours: &str,
    theirs: &str,
    lines: LineMerge,
) -> Result<Option<String>, SourceError> {
    let value = |text: &str| serde_json::from_str(text).map_err(|error| unreadable(&error));
    let merged = merge_fields(&value(base)?, &value(ours)?, &value(theirs)?, lines);
    // What the merge makes of odd fields must still be an item.
    Ok(merged.ok().map(|merged| merged.to_string()).filter(|merged| parse_body(merged).is_ok()))
}

/// Merges two versions whose common one is not known: the fields of `theirs` with the tags of both.
/// `None` for notes with different texts, and for other items that differ in more than their tags.
pub(super) fn merge_without_base(ours: &str, theirs: &str) -> Result<Option<String>, SourceError> {
    let (mut base, other) = (parse_body(ours)?, parse_body(theirs)?);
    let is_same = match (&base, &other) {
        (DraftBody::Note(ours), DraftBody::Note(theirs)) => ours.content == theirs.content,
        _ => text_without_tags(&base)? == text_without_tags(&other)?,
    };
    if !is_same {
        return Ok(None);
    }
    base.tags_mut().clear();
    merge_texts(&body_text(base)?, ours, theirs, LineMerge::Apart)
}

fn text_without_tags(body: &DraftBody) -> Result<String, SourceError> {
    let mut body = body.clone();
    body.tags_mut().clear();
    canonical_text(&body)
}

/// Adds an item with what the library has. Its title says who changed it last.
fn keep_copy(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    (known, before): (&KnownOrigin, &Snapshot),
    copies: ConflictCopies,
) -> Result<Uri, SourceError> {
    let entries =
        writer.with_reader(|reader| entries_of_item(reader, source.name(), &known.item))?;
    let own = entries.iter().find(|entry| entry.action != ChangeAction::Imported);
    let who = own.map(|entry| entry.author.client.as_str()).filter(|client| !client.is_empty());
    let today = Timestamp::now().to_string();
    let day = today.get(..10).unwrap_or(&today);
    let mut body = parse_body(&before.text)?;
    if let DraftBody::Character(card) = &mut body
        && let DraftBody::Character(stored) =
            writer.with_reader(|reader| source.load_draft(reader, &known.item))?.body
    {
        // The text of a version does not have it.
        card.image = stored.image;
    }
    let label = format!("(conflict of {} {day})", who.unwrap_or("the library"));
    let beside = match copies {
        ConflictCopies::InLibrary => None,
        ConflictCopies::BesideFile => {
            let (stem, extension) = split_extension(&draft.origin);
            Some(format!("{stem} {}{extension}", safe_file_name(&label)))
        }
    };
    let title = body.title_mut();
    // The title of a file with a heading is the heading, in the copy too.
    if beside.is_none() || draft.origin.contains(&format!("/{title}.")) {
        *title = format!("{title} {label}");
    }
    let copy = Draft { origin: String::new(), digest: String::new(), id: None, body };
    let copied = match source.name() {
        SourceName::Notes => source.insert_item(writer, &copy)?.uri,
        _ => save_own_item(source, writer, copy)?,
    };
    copy_provenance(writer, source.name(), &known.item, &copied.id)?;
    if let Some(origin) = beside {
        plan_file(source, writer, &origin, &copied.id)?;
    }
    Ok(copied)
}

/// Saves an item that has no origin of its own, and is not taken for another one with the same title.
fn save_own_item(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: Draft,
) -> Result<Uri, SourceError> {
    let unique = format!("copy:{}", Uuid::new_v4());
    let draft = Draft { origin: unique.clone(), digest: unique.clone(), ..draft };
    let saved = source.save_draft(writer, &draft)?.uri().clone();
    forget_origin(writer, source.name(), &unique)?;
    record_local_item(writer, source.name(), &saved.id, Timestamp::now())?;
    Ok(saved)
}
