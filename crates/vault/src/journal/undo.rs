//! Undoing changes that others may have followed.

use std::collections::{HashMap, HashSet};

use rusqlite::named_params;
use serde::Serialize;
use vademecum_model::{ChangeAction, ChangeAuthor, Filters, SourceName, Timestamp, Uri};
use vademecum_source::{Source, SourceError, record_local_change};
use vademecum_store::Writer;

use super::{
    JournalEntry,
    import::merge_texts,
    merge::LineMerge,
    record::{Snapshot, body_text, keep_import_base, parse_body, record, replace_fields},
    versions::{VersionWalk, entries_of_item, list_changes},
};
use crate::links::update_links;

/// Reason for keeping an item with later changes of others.
const CHANGED_SINCE: &str = "the same lines were changed by others since";

/// An item of which changes were to be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoneItem {
    /// Canonical pointer to the item.
    pub uri: Uri,
    /// Number of changes that were to be undone.
    pub changes: usize,
    /// Result for the item.
    #[serde(flatten)]
    pub outcome: UndoOutcome,
}

/// What undoing did to an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum UndoOutcome {
    /// The changes are undone; later changes of others remain.
    Undone,
    /// The item is deleted: the changes had created it.
    Deleted,
    /// The item is as it was before the changes already.
    Unchanged,
    /// Nothing was changed.
    Kept {
        /// Reason for keeping it.
        reason: &'static str,
    },
}

/// Changes that are to be undone.
#[derive(Clone, Debug)]
pub struct UndoSelection {
    /// Since this time.
    pub since: Timestamp,
    /// Only those of this client.
    pub client: Option<String>,
    /// Only those that agents made of this item.
    pub item: Option<String>,
}

impl UndoSelection {
    /// Returns true for a change that is selected by its item.
    fn selects(&self, entry: &JournalEntry) -> bool {
        let is_client = |client: &String| entry.author.client.eq_ignore_ascii_case(client);
        let Some(item) = &self.item else { return true };
        entry.item == *item
            && entry.changed_at >= self.since
            && self.client.as_ref().is_none_or(is_client)
            && entry.author.tool != ChangeAuthor::PAGE_TOOL
    }
}

/// Undoes changes that were made in the library. Changes by imports and by earlier undoing remain, as
/// do later changes of others.
pub fn undo_changes(
    source: &dyn Source,
    writer: &Writer<'_>,
    selection: &UndoSelection,
    author: &ChangeAuthor,
) -> Result<Vec<UndoneItem>, SourceError> {
    let is_meant = |entry: &JournalEntry| match entry.action {
        ChangeAction::Imported | ChangeAction::Removed => false,
        _ => entry.author.tool != author.tool && selection.selects(entry),
    };
    let (since, client) = (selection.since, selection.client.as_deref());
    let mut meant = writer.with_reader(|reader| match &selection.item {
        Some(item) => entries_of_item(reader, source.name(), item),
        None => list_changes(reader, source.name(), since, client),
    })?;
    meant.retain(is_meant);
    let mut items: Vec<&str> = meant.iter().map(|entry| entry.item.as_str()).collect();
    items.sort_unstable();
    items.dedup();
    let mut numbers_of: HashMap<&str, HashSet<i64>> = HashMap::new();
    for entry in &meant {
        numbers_of.entry(&entry.item).or_default().insert(entry.number);
    }
    let mut undone = Vec::new();
    for item in items {
        let numbers = numbers_of.remove(item).unwrap_or_default();
        let outcome = undo_item(source, writer, item, &numbers, author)?;
        let uri = Uri::item(source.name(), item);
        undone.push(UndoneItem { uri, changes: numbers.len(), outcome });
    }
    Ok(undone)
}

/// Undoes the changes of an item with these numbers.
fn undo_item(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    numbers: &HashSet<i64>,
    author: &ChangeAuthor,
) -> Result<UndoOutcome, SourceError> {
    let present = writer.with_reader(|reader| Snapshot::read(source, reader, item))?;
    let Some(present) = present else {
        return Ok(UndoOutcome::Kept { reason: "the item does not exist" });
    };
    if source.name() == SourceName::Chats {
        return Ok(UndoOutcome::Kept { reason: "conversations have no earlier versions" });
    }
    let entries = writer.with_reader(|reader| entries_of_item(reader, source.name(), item))?;
    let text = match text_without(&present, entries, numbers)? {
        Ok(text) => text,
        Err(reason) => return Ok(UndoOutcome::Kept { reason }),
    };
    if text == present.text {
        return Ok(UndoOutcome::Unchanged);
    }
    keep_import_base(writer, source.name(), item, &present.text)?;
    let outcome = if text.is_empty() {
        delete_item(source, writer, item)?;
        UndoOutcome::Deleted
    } else {
        replace_fields(source, writer, item, parse_body(&text)?)?;
        UndoOutcome::Undone
    };
    update_links(source, writer, item, None)?;
    record_local_change(writer, source.name(), item, Timestamp::now())?;
    record(source, writer, (item, Some(&present)), (ChangeAction::Restored, author))?;
    Ok(outcome)
}

/// Returns the text of an item without some of its changes, newest first: empty if one of them
/// created it. Fails with the reason if a change cannot be undone.
fn text_without(
    present: &Snapshot,
    entries: Vec<JournalEntry>,
    numbers: &HashSet<i64>,
) -> Result<Result<String, &'static str>, SourceError> {
    let mut text = present.text.clone();
    let mut walk = VersionWalk::start(present, entries);
    let mut remaining = numbers.len();
    while remaining > 0 {
        let Some(entry) = walk.entries.peek() else {
            return Ok(Err("its earlier versions are not kept any more"));
        };
        let (is_meant, action) = (numbers.contains(&entry.number), entry.action);
        if is_meant && action == ChangeAction::Created {
            let is_own = text.is_empty() || text == walk.text;
            return Ok(if is_own { Ok(String::new()) } else { Err(CHANGED_SINCE) });
        }
        let Some(after) = walk.step_back() else {
            return Ok(Err("it was changed by another program since"));
        };
        if !is_meant {
            continue;
        }
        remaining -= 1;
        text = if text == after {
            walk.text.clone()
        } else if text.is_empty() || after.is_empty() || text == walk.text {
            // The item was deleted since, or the change is undone already.
            text
        } else if walk.text.is_empty() {
            return Ok(Err(CHANGED_SINCE));
        } else {
            match merge_texts(&after, &text, &walk.text, LineMerge::Neighbouring)? {
                Some(merged) => parse_and_write(&merged)?,
                None => return Ok(Err(CHANGED_SINCE)),
            }
        };
    }
    Ok(Ok(text))
}

/// Returns the text of a version in the order of fields in which it is stored.
fn parse_and_write(text: &str) -> Result<String, SourceError> {
    body_text(parse_body(text)?)
}

/// Marks an item as deleted and removes it from the index.
pub(super) fn delete_item(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
) -> Result<(), SourceError> {
    let Some(statements) = source.item_statements() else { return Ok(()) };
    let this = named_params! { ":id": item };
    let row = writer.query_first(statements.remove_sql, this, |row| row.get::<_, i64>("row"))?;
    let Some(row) = row else { return Ok(()) };
    let table = source.searched_table(&Filters::default()).0;
    Ok(writer.index_row(
        table,
        row,
        statements.derived_fts_table.unindex_sql,
        named_params! { ":key": row },
    )?)
}
