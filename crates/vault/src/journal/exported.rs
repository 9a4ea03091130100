//! Versions of an item in an export, and their return by an import.
//!
//! An exported change has the fields that the version before had and the version after has not. So
//! a person can read it, and unchanged fields are written once, in the item's own file.

use rusqlite::named_params;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_model::{ChangeAction, ChangeAuthor, Provenance, SourceName, Timestamp};
use vademecum_source::{ProvenanceRows, Source, SourceError, add_provenance, read_provenance};
use vademecum_store::{Reader, Writer, to_stored_text};

use super::{
    delta::Delta,
    record::{Snapshot, body_text, fingerprint, parse_body},
    versions::{VersionWalk, entries_of_item, fields_of},
};

/// Maximum number of changes of an item in an export; the newest are kept.
pub const MAX_EXPORTED_CHANGES: usize = 500;
/// Maximum size of the changes of an item in an export, in bytes of JSON; the newest are kept.
pub const MAX_EXPORTED_BYTES: usize = 8 * 1_024 * 1_024;

/// Maximum size of the texts of all versions of an item that an import reads, in bytes.
const MAX_READ_BYTES: usize = 256 * 1_024 * 1_024;

type Fields = Map<String, Value>;

/// The changes of an item, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedVersions {
    /// Version of the exported item.
    pub version: i64,
    /// The changes, newest first; empty if no earlier version is known.
    pub changes: Vec<ExportedChange>,
    /// Provenance of the item, if agents wrote it.
    #[serde(default, skip_serializing_if = "Provenance::is_empty")]
    pub provenance: Provenance,
}

/// A change of an item.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedChange {
    /// Version after the change.
    pub version: i64,
    /// Time of the change.
    pub changed_at: Timestamp,
    /// What the change did.
    pub action: ChangeAction,
    /// User, client, key and tool that made the change.
    #[serde(flatten)]
    pub author: ChangeAuthor,
    /// Fields in which the version before differs, with `null` for those that it had not; all fields
    /// if the version after is a deleted item. `None` if the version before is not known.
    pub before: Option<Fields>,
    /// Whether the item was deleted before the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted_before: bool,
}

/// Returns the changes of an item and its provenance; `None` if neither an earlier version nor an agent
/// is known.
pub fn export_versions(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
) -> Result<Option<ExportedVersions>, SourceError> {
    let Some(mut exported) = export_all_versions(source, reader, item)? else { return Ok(None) };
    // Entries without texts tell what the item itself tells.
    let has_texts = |change: &ExportedChange| {
        change.deleted_before || change.before.as_ref().is_some_and(|before| !before.is_empty())
    };
    if !exported.changes.iter().any(has_texts) {
        exported.changes.clear();
    }
    let is_empty = exported.changes.is_empty() && exported.provenance.is_empty();
    Ok(Some(exported).filter(|_| !is_empty))
}

/// Returns the changes of an item, also those without texts, and its provenance; `None` if there are neither.
pub fn export_all_versions(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
) -> Result<Option<ExportedVersions>, SourceError> {
    let entries = entries_of_item(reader, source.name(), item)?;
    let provenance = read_provenance(reader, source.name(), &[item], ProvenanceRows::All)?;
    let provenance = provenance.into_values().next().unwrap_or_default();
    if entries.is_empty() && provenance.is_empty() {
        return Ok(None);
    }
    let Some(present) = Snapshot::read(source, reader, item)? else { return Ok(None) };
    let mut walk = VersionWalk::start(&present, entries);
    let mut exported =
        ExportedVersions { version: present.version, changes: Vec::new(), provenance };
    let (mut bytes, mut is_known) = (0, true);
    while let Some(entry) = walk.entries.peek().cloned() {
        let mut change = ExportedChange {
            version: entry.version,
            changed_at: entry.changed_at,
            action: entry.action,
            author: entry.author.clone(),
            before: None,
            deleted_before: false,
        };
        // Without one text, the texts before it are not known either.
        match is_known.then(|| walk.step_back()).flatten() {
            Some(newer) if walk.text.is_empty() => {
                change.deleted_before = !newer.is_empty();
            }
            Some(newer) => change.before = Some(differing_fields(&walk.text, &newer)),
            None => {
                is_known = false;
                walk.entries.next_if_eq(&entry);
            }
        }
        bytes += serde_json::to_string(&change).map_or(0, |json| json.len());
        if bytes > MAX_EXPORTED_BYTES || exported.changes.len() == MAX_EXPORTED_CHANGES {
            break;
        }
        exported.changes.push(change);
    }
    Ok(Some(exported))
}

/// Adds exported changes to the journal of an imported item that has none, and gives the item their
/// version. Returns how many were added. Its provenance is added in any case.
pub fn import_versions(
    source: &dyn Source,
    writer: &Writer<'_>,
    item: &str,
    exported: &ExportedVersions,
) -> Result<usize, SourceError> {
    let name = source.name();
    let Some(statements) = source.item_statements() else { return Ok(0) };
    add_provenance(writer, name, item, &exported.provenance)?;
    if exported.changes.is_empty() {
        return Ok(0);
    }
    let (present, has_entries) = writer.with_reader(|reader| {
        let entries = entries_of_item(reader, name, item)?;
        Ok::<_, SourceError>((Snapshot::read(source, reader, item)?, !entries.is_empty()))
    })?;
    let Some(present) = present.filter(|present| !present.is_deleted && !has_entries) else {
        return Ok(0);
    };
    if exported.version < present.version {
        return Ok(0);
    }
    let changes = with_deltas(name, &present.text, exported)?;
    writer.execute(
        statements.set_version_sql,
        named_params! { ":id": item, ":version": exported.version },
    )?;
    for ChangeWithDelta { change, length, fingerprint, delta } in changes.iter().rev() {
        let author = &change.author;
        writer.execute(
            include_str!("sql/append.sql"),
            named_params! {
                ":source": name.as_str(),
                ":item": item,
                ":version": change.version,
                ":changed_at": change.changed_at,
                ":action": change.action.as_str(),
                ":user": author.user,
                ":client": author.client,
                ":key": author.key,
                ":tool": author.tool,
                ":delta": delta.as_ref().map(|delta| to_stored_text(delta)),
                ":length": length,
                ":fingerprint": fingerprint,
            },
        )?;
    }
    Ok(changes.len())
}

/// A change, length and fingerprint of the text after it, and the delta to the text before.
struct ChangeWithDelta<'a> {
    change: &'a ExportedChange,
    length: i64,
    fingerprint: i64,
    delta: Option<String>,
}

/// Checks exported changes and returns their deltas, of the newest only if the texts are too long.
fn with_deltas<'a>(
    source: SourceName,
    present: &str,
    exported: &'a ExportedVersions,
) -> Result<Vec<ChangeWithDelta<'a>>, SourceError> {
    let refused = |reason: &str| SourceError::Refused(reason.to_owned());
    if exported.changes.len() > MAX_EXPORTED_CHANGES {
        return Err(refused("there are more than an export has"));
    }
    let mut text = present.to_owned();
    let (mut version, mut bytes) = (exported.version, 0);
    let mut changes = Vec::new();
    for (index, change) in exported.changes.iter().enumerate() {
        let is_next =
            if index == 0 { change.version == version } else { change.version <= version };
        if !is_next || change.version < 1 {
            return Err(refused("they are not in order, newest first"));
        }
        version = change.version;
        bytes += text.len();
        if bytes > MAX_READ_BYTES {
            break;
        }
        let older = match &change.before {
            None if change.deleted_before => Some(String::new()),
            None => None,
            Some(before) => Some(older_text(source, &text, before)?),
        };
        changes.push(ChangeWithDelta {
            change,
            length: i64::try_from(text.len()).unwrap_or(i64::MAX),
            fingerprint: fingerprint(&text),
            delta: older.as_ref().map(|older| Delta::between(&text, older).to_text()),
        });
        text = older.unwrap_or_default();
    }
    Ok(changes)
}

/// Returns the fields in which `older` differs from `newer`, with `null` for those that it has not.
fn differing_fields(older: &str, newer: &str) -> Fields {
    let (older, newer) = (fields_of(older), fields_of(newer));
    let gone = newer.keys().filter(|name| !older.contains_key(*name));
    let mut fields: Fields = gone.map(|name| (name.clone(), Value::Null)).collect();
    let differing = older.into_iter().filter(|(name, value)| newer.get(name) != Some(value));
    fields.extend(differing);
    fields
}

/// Returns the text of the version before, from the text after and the differing fields.
pub(super) fn older_text(
    source: SourceName,
    newer: &str,
    before: &Fields,
) -> Result<String, SourceError> {
    let mut fields = fields_of(newer);
    for (name, value) in before {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    let kind = match source {
        SourceName::Notes => "Note",
        SourceName::Media => "Media",
        SourceName::Chats | SourceName::Collections => "Chat",
        SourceName::Characters => "Character",
        SourceName::Prompts => "Prompt",
    };
    let body = Value::from(Map::from_iter([(kind.to_owned(), fields.into())]));
    body_text(parse_body(&body.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_model::{DraftBody, NoteDraft};

    fn text(title: &str, content: &str, tags: &[&str]) -> String {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let note = NoteDraft {
            title: title.to_owned(),
            content: content.to_owned(),
            tags,
            ..NoteDraft::default()
        };
        body_text(DraftBody::Note(note)).unwrap()
    }

    fn change(version: i64, before: Option<Fields>) -> ExportedChange {
        ExportedChange {
            version,
            changed_at: Timestamp::earliest(),
            action: ChangeAction::Changed,
            author: ChangeAuthor::default(),
            before,
            deleted_before: false,
        }
    }

    fn exported_versions(version: i64, changes: Vec<ExportedChange>) -> ExportedVersions {
        ExportedVersions { version, changes, ..ExportedVersions::default() }
    }

    #[test]
    fn exported_fields_restore_older_text() {
        let texts =
            [text("A", "one", &[]), text("A", "two", &["x"]), text("B", "two", &["x", "y"])];
        for older in &texts {
            for newer in &texts {
                let before = differing_fields(older, newer);
                assert_eq!(&older_text(SourceName::Notes, newer, &before).unwrap(), older);
            }
        }
        let all = differing_fields(&texts[1], "");
        assert_eq!(older_text(SourceName::Notes, "", &all).unwrap(), texts[1]);
    }

    #[test]
    fn damaged_versions_are_refused() {
        let refused = |versions: &[i64]| {
            let changes = versions.iter().map(|version| change(*version, None)).collect();
            with_deltas(SourceName::Notes, "", &exported_versions(3, changes)).is_err()
        };
        assert!(!refused(&[3, 2, 1]));
        for versions in [&[2, 1][..], &[3, 4], &[3, 0]] {
            assert!(refused(versions), "{versions:?}");
        }
        let odd = Fields::from_iter([("content".to_owned(), 7.into())]);
        let odd = exported_versions(1, vec![change(1, Some(odd))]);
        assert!(with_deltas(SourceName::Notes, &text("A", "one", &[]), &odd).is_err());
    }
}
