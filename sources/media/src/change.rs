//! Documents that are added and tagged in the library itself.

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{Body, Draft, ItemId, SourceName, Tagging, Timestamp, Uri, Written},
    source::SourceError,
    store::{Writer, changed_here, written_here},
};

use super::{
    TABLE, parts,
    save::{describe, insert, put_keywords, same_content},
};

/// A document as it is stored, as far as tags go.
struct Stored {
    id: i64,
    version: i64,
    tags: Vec<String>,
}

/// Adds a document. The same one again is the one that is there.
pub(crate) fn add(writer: &Writer<'_>, draft: &Draft) -> Result<Written, SourceError> {
    let Body::Media(media) = &draft.body else {
        return Err(SourceError::Refused("this is not a media document".to_owned()));
    };
    if let Some(id) = same_content(writer, media, &draft.digest)? {
        return Ok(written(find(writer, &ItemId::Number(id))?));
    }
    let now = Timestamp::now();
    let id = insert(writer, media, draft, now)?;
    parts::store(writer, id, media, now)?;
    describe(writer, id, media, now)?;
    written_here(writer, SourceName::Media, &id.to_string(), now)?;
    Ok(written(find(writer, &ItemId::Number(id))?))
}

/// Changes the tags of a document.
pub(crate) fn tag(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &Tagging,
) -> Result<Written, SourceError> {
    let before = find(writer, id)?;
    let Some(tags) = tagging.applied_to(&before.tags) else { return Ok(written(before)) };
    let now = Timestamp::now();
    put_keywords(writer, before.id, &tags, now)?;
    let this = named_params! { ":id": before.id, ":now": now };
    writer.run(include_str!("../sql/touch.sql"), this)?;
    let this = named_params! { ":id": before.id };
    writer.index(&TABLE, before.id, include_str!("../sql/reindex.sql"), this)?;
    changed_here(writer, SourceName::Media, &before.id.to_string(), now)?;
    Ok(written(find(writer, id)?))
}

fn find(writer: &Writer<'_>, id: &ItemId) -> Result<Stored, SourceError> {
    let missing = || SourceError::not_found("media", id);
    let number = id.as_number().ok_or_else(missing)?;
    let found =
        writer.first(include_str!("../sql/read.sql"), named_params! { ":id": number }, stored)?;
    found.ok_or_else(missing)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let tags: String = row.get("tags")?;
    Ok(Stored {
        id: row.get("id")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn written(media: Stored) -> Written {
    let Stored { id, version, tags } = media;
    let uri = Uri::item(SourceName::Media, id.to_string());
    Written { id: ItemId::Number(id), uri, version, tags }
}
