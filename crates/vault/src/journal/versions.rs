//! Reading of the journal: the history of an item, and its earlier versions.

use std::{collections::BTreeSet, iter::Peekable, vec};

use rusqlite::named_params;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use vademecum_model::{ChangeAction, DraftBody, SourceName, Timestamp, Uri};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Reader, StoreError};

use super::{
    JournalEntry,
    delta::Delta,
    record::{Snapshot, fingerprint, parse_body},
};

/// Lists the changes of an item, newest first.
const OF_ITEM_SQL: &str =
    "SELECT * FROM changes WHERE source = :source AND item = :item ORDER BY number DESC";

/// Maximum length of the removed and the added part of a field in a history, in characters.
const MAX_EXCERPT_CHARS: usize = 200;

/// The changes of an item.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ItemHistory {
    /// The item.
    pub uri: Uri,
    /// Present version.
    pub version: i64,
    /// Whether the item is deleted.
    pub deleted: bool,
    /// Oldest version that can be restored, if there is one besides the present version.
    pub oldest_version: Option<i64>,
    /// The changes, newest first.
    pub changes: Vec<ItemChange>,
    /// Number of all changes that are kept.
    pub total: usize,
    /// Where the next page begins, if there is one.
    pub next_offset: Option<usize>,
}

/// A change of an item.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ItemChange {
    /// Version of the item after the change.
    pub version: i64,
    /// Time of the change.
    pub changed_at: Timestamp,
    /// What the change did.
    pub action: ChangeAction,
    /// Name of the client program.
    pub client: Option<String>,
    /// The tool or command.
    pub tool: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// Identifier of the API key.
    pub key: Option<String>,
    /// The changed fields, if the texts are kept.
    pub fields: Option<Vec<FieldChange>>,
}

/// A change of a field: the part that differs.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldChange {
    /// Name of the field.
    pub field: String,
    /// Beginning of the removed part.
    pub removed: Option<String>,
    /// Beginning of the added part.
    pub added: Option<String>,
}

/// Walks back through the versions of an item.
pub(super) struct VersionWalk {
    /// Text of the version that was reached.
    pub(super) text: String,
    /// Version that was reached.
    pub(super) version: i64,
    pub(super) entries: Peekable<vec::IntoIter<JournalEntry>>,
}

impl VersionWalk {
    pub(super) fn start(present: &Snapshot, entries: Vec<JournalEntry>) -> Self {
        let entries = entries.into_iter().peekable();
        Self { text: present.text.clone(), version: present.version, entries }
    }

    /// Goes to the version before, and returns the text after the change between. `None` if the
    /// version before is not known.
    pub(super) fn step_back(&mut self) -> Option<String> {
        let (text, version) = (&self.text, self.version);
        let fits = |entry: &JournalEntry| {
            entry.version == version
                && usize::try_from(entry.length) == Ok(text.len())
                && entry.fingerprint == fingerprint(text)
        };
        let entry = self.entries.next_if(fits)?;
        let older = Delta::from_text(entry.delta.as_ref()?)?.apply(&self.text)?;
        self.version = self.entries.peek().map_or(entry.version - 1, |before| before.version);
        Some(std::mem::replace(&mut self.text, older))
    }
}

/// Returns the history of an item, which may be deleted.
pub fn read_history(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
    (offset, limit): (usize, usize),
) -> Result<ItemHistory, SourceError> {
    let present = read_present(source, reader, item)?;
    let entries = entries_of_item(reader, source.name(), item)?;
    let total = entries.len();
    let mut changes: Vec<ItemChange> =
        entries.iter().skip(offset).take(limit).map(ItemChange::from).collect();
    let mut walk = VersionWalk::start(&present, entries);
    let mut oldest_version = None;
    for step in 0.. {
        let Some(newer) = walk.step_back() else { break };
        let shown = usize::checked_sub(step, offset).and_then(|index| changes.get_mut(index));
        if let Some(change) = shown {
            change.fields = Some(changed_fields(&walk.text, &newer));
        }
        if !walk.text.is_empty() {
            oldest_version = Some(walk.version);
        }
    }
    let next_offset = (offset + limit < total).then_some(offset + limit);
    let uri = Uri::item(source.name(), item);
    let (version, deleted) = (present.version, present.is_deleted);
    Ok(ItemHistory { uri, version, deleted, oldest_version, changes, total, next_offset })
}

/// Returns the fields of an earlier version of an item.
pub(super) fn read_version(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
    version: i64,
) -> Result<DraftBody, SourceError> {
    let present = read_present(source, reader, item)?;
    let uri = Uri::item(source.name(), item);
    if present.version == version && !present.is_deleted {
        return Err(SourceError::Refused(format!("version: `{uri}` is at version {version}")));
    }
    let mut walk = VersionWalk::start(&present, entries_of_item(reader, source.name(), item)?);
    // A deleted item can have the version that it had before.
    while (walk.version > version || walk.text.is_empty()) && walk.step_back().is_some() {}
    if walk.version != version || walk.text.is_empty() {
        return Err(SourceError::Refused(format!(
            "version: `{uri}` has no version {version} that can be restored; knowledge.history \
             lists those that are kept"
        )));
    }
    parse_body(&walk.text)
}

/// Returns the changes of all items of a source since a time, newest first; with a name of a client,
/// only those of this client.
pub fn list_changes(
    reader: &Reader<'_>,
    source: SourceName,
    since: Timestamp,
    client: Option<&str>,
) -> Result<Vec<JournalEntry>, StoreError> {
    reader.query_all(
        include_str!("sql/list.sql"),
        named_params! { ":source": source.as_str(), ":since": since, ":client": client },
        JournalEntry::from_row,
    )
}

/// Returns at most `limit` changes that clients made since a time, newest first, without their texts.
pub fn list_client_changes(
    reader: &Reader<'_>,
    source: SourceName,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<JournalEntry>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    reader.query_all(
        include_str!("sql/client_changes.sql"),
        named_params! { ":source": source.as_str(), ":since": since, ":limit": limit },
        JournalEntry::from_row,
    )
}

/// Returns the changes of an item, newest first.
pub(super) fn entries_of_item(
    reader: &Reader<'_>,
    source: SourceName,
    item: &str,
) -> Result<Vec<JournalEntry>, StoreError> {
    reader.query_all(
        OF_ITEM_SQL,
        named_params! { ":source": source.as_str(), ":item": item },
        JournalEntry::from_row,
    )
}

pub(super) fn read_present(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
) -> Result<Snapshot, SourceError> {
    let found = Snapshot::read(source, reader, item)?;
    found.ok_or_else(|| SourceError::not_found("item", item))
}

impl From<&JournalEntry> for ItemChange {
    fn from(entry: &JournalEntry) -> Self {
        let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Self {
            version: entry.version,
            changed_at: entry.changed_at,
            action: entry.action,
            client: known(&entry.author.client),
            tool: known(&entry.author.tool),
            user: known(&entry.author.user),
            key: known(&entry.author.key),
            fields: None,
        }
    }
}

/// Returns the fields in which two versions differ.
fn changed_fields(older: &str, newer: &str) -> Vec<FieldChange> {
    let (older, newer) = (fields_of(older), fields_of(newer));
    let names: BTreeSet<&String> = older.keys().chain(newer.keys()).collect();
    let differing = names.into_iter().filter(|name| older.get(*name) != newer.get(*name));
    differing.map(|name| field_change(name, older.get(name), newer.get(name))).collect()
}

/// Returns the fields in the text of a version; none for a deleted item.
pub(super) fn fields_of(text: &str) -> Map<String, Value> {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let fields = body.as_object().and_then(|body| body.values().next()?.as_object().cloned());
    fields.unwrap_or_default()
}

fn field_change(name: &str, older: Option<&Value>, newer: Option<&Value>) -> FieldChange {
    let text = |value: Option<&Value>| match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Some(value) => value.to_string(),
    };
    let (older, newer) = (text(older), text(newer));
    let excerpt = |part: String| {
        let short: String = part.chars().take(MAX_EXCERPT_CHARS).collect();
        let cut = if short.len() < part.len() { "…" } else { "" };
        Some(short + cut).filter(|text| !text.is_empty())
    };
    let removed = excerpt(Delta::between(&newer, &older).into_text());
    let added = excerpt(Delta::between(&older, &newer).into_text());
    FieldChange { field: name.to_owned(), removed, added }
}
