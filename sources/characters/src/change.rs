//! Characters that are tagged in the library itself.

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{ItemId, SourceName, Tagging, Timestamp, Uri, Written},
    source::SourceError,
    store::{Writer, changed_here},
};

use super::TABLE;

/// A character as it is stored, as far as tags go.
struct Stored {
    id: i64,
    version: i64,
    tags: Vec<String>,
}

/// Changes the tags of a character.
pub(crate) fn tag(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &Tagging,
) -> Result<Written, SourceError> {
    let before = find(writer, id)?;
    let Some(tags) = tagging.applied_to(&before.tags) else { return Ok(written(before)) };
    let now = Timestamp::now();
    let tags = serde_json::json!(tags).to_string();
    let this = named_params! { ":id": before.id, ":tags": tags, ":now": now };
    writer.run(include_str!("../sql/retag.sql"), this)?;
    let this = named_params! { ":id": before.id };
    writer.index(&TABLE, before.id, include_str!("../sql/reindex.sql"), this)?;
    changed_here(writer, SourceName::Characters, &before.id.to_string(), now)?;
    Ok(written(find(writer, id)?))
}

fn find(writer: &Writer<'_>, id: &ItemId) -> Result<Stored, SourceError> {
    let missing = || SourceError::not_found("character", id);
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

fn written(character: Stored) -> Written {
    let Stored { id, version, tags } = character;
    let uri = Uri::item(SourceName::Characters, id.to_string());
    Written { id: ItemId::Number(id), uri, version, tags }
}
