//! Documents that are added and tagged in the library itself.

use rusqlite::named_params;
use vademecum_kit::{
    model::{Body, Draft, ItemId, SourceName, Tagging, Timestamp, Written},
    source::SourceError,
    store::{StoreError, Tagged, Writer, retag, written_here},
};

use super::{
    TABLE, parts,
    save::{describe, insert, put_keywords, same_content},
};

/// Adds a document. The same one again is the one that is there.
pub(crate) fn add(writer: &Writer<'_>, draft: &Draft) -> Result<Written, SourceError> {
    let Body::Media(media) = &draft.body else {
        return Err(SourceError::Refused("this is not a media document".to_owned()));
    };
    let id = if let Some(id) = same_content(writer, media, &draft.digest)? {
        id
    } else {
        let now = Timestamp::now();
        let id = insert(writer, media, draft, now)?;
        parts::store(writer, id, media, now)?;
        describe(writer, id, media, now)?;
        written_here(writer, SourceName::Media, &id.to_string(), now)?;
        id
    };
    let added = find(writer, id)?.ok_or_else(|| SourceError::not_found("media", id))?;
    Ok(added.written(SourceName::Media))
}

/// Changes the tags of a document.
pub(crate) fn tag(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &Tagging,
) -> Result<Written, SourceError> {
    let find = |id| find(writer, id);
    retag(writer, (SourceName::Media, "media"), id, tagging, find, |id, tags, now| {
        put_keywords(writer, id, tags, now)?;
        writer.run(include_str!("../sql/touch.sql"), named_params! { ":id": id, ":now": now })?;
        writer.index(&TABLE, id, include_str!("../sql/reindex.sql"), named_params! { ":id": id })
    })
}

fn find(writer: &Writer<'_>, id: i64) -> Result<Option<Tagged>, StoreError> {
    let sql = include_str!("../sql/read.sql");
    writer.first(sql, named_params! { ":id": id }, |row| Tagged::read(row, "tags"))
}
