//! Versions of an item on two machines: finding the newest one that both had, and merging.

use vademecum_model::{DraftBody, SourceName};
use vademecum_source::{Source, SourceError};
use vademecum_store::Reader;

use super::{
    exported::{ExportedChange, ExportedVersions, older_text},
    import::{merge_texts, merge_without_base},
    merge::LineMerge,
    record::{Snapshot, body_text, canonical_text, parse_body, text_with_sorted_tags},
    versions::{VersionWalk, entries_of_item},
};

/// Returns the newest version of an item whose canonical text `accept` accepts: the present one, then
/// those in the journal.
pub fn find_version(
    source: &dyn Source,
    reader: &Reader<'_>,
    item: &str,
    accept: impl Fn(&str) -> bool,
) -> Result<Option<DraftBody>, SourceError> {
    let Some(present) = Snapshot::read(source, reader, item)? else { return Ok(None) };
    let mut walk = VersionWalk::start(&present, entries_of_item(reader, source.name(), item)?);
    loop {
        if !walk.text.is_empty() {
            let body = parse_body(&walk.text)?;
            if accept(&canonical_text(&body)?) {
                return Ok(Some(body));
            }
        }
        if walk.step_back().is_none() {
            return Ok(None);
        }
    }
}

/// Returns the client that made the last change of an item; empty if it is not known.
pub fn last_client(
    reader: &Reader<'_>,
    source: SourceName,
    item: &str,
) -> Result<String, SourceError> {
    let entries = entries_of_item(reader, source, item)?;
    Ok(entries.into_iter().next().map(|entry| entry.author.client).unwrap_or_default())
}

/// Returns the newest version among the changes of another machine whose canonical text `accept` accepts.
pub fn find_received_version(
    source: SourceName,
    present: &DraftBody,
    versions: &ExportedVersions,
    accept: impl Fn(&str) -> bool,
) -> Result<Option<DraftBody>, SourceError> {
    let mut text = body_text(present.clone())?;
    for change in &versions.changes {
        let Some(older) = text_before(source, &text, change)? else { break };
        text = older;
        if text.is_empty() {
            continue;
        }
        let body = parse_body(&text)?;
        if accept(&canonical_text(&body)?) {
            return Ok(Some(body));
        }
    }
    Ok(None)
}

/// Merges two versions of an item, as the import of a changed file does. The lines of `later` come first
/// where both added some. `None` if the changes contradict each other.
pub fn merge_versions(
    base: Option<&DraftBody>,
    earlier: &DraftBody,
    later: &DraftBody,
) -> Result<Option<DraftBody>, SourceError> {
    let text = |body: &DraftBody| text_with_sorted_tags(body.clone());
    let [ours, theirs] = [text(earlier)?, text(later)?];
    let merged = match base {
        Some(base) => merge_texts(&text(base)?, &ours, &theirs, LineMerge::Apart)?,
        None => merge_without_base(&ours, &theirs)?,
    };
    merged.as_deref().map(parse_body).transpose()
}

/// Returns the text before a change; empty if the item was deleted, `None` if it is not known.
pub(super) fn text_before(
    source: SourceName,
    text: &str,
    change: &ExportedChange,
) -> Result<Option<String>, SourceError> {
    match &change.before {
        None if change.deleted_before => Ok(Some(String::new())),
        None => Ok(None),
        Some(before) => older_text(source, text, before).map(Some),
    }
}
