//! Where items came from, so that importing again never makes a second one.

use std::collections::HashMap;

use rusqlite::named_params;

use super::{Reader, StoreError, Writer};
use crate::{
    model::{Draft, Saved, SourceName, Timestamp, Uri},
    source::SourceError,
};

/// Saves a draft once: the same origin again updates its item, the same
/// fingerprint again changes nothing.
///
/// `put` is given the identifier of the item that the origin became before, if
/// any, and answers with the identifier of the item it has written.
pub fn save_once(
    writer: &Writer<'_>,
    source: SourceName,
    draft: &Draft,
    put: impl FnOnce(Option<&str>, Timestamp) -> Result<String, SourceError>,
) -> Result<Saved, SourceError> {
    let before = writer.first(
        include_str!("sql/known.sql"),
        named_params! { ":source": source.as_str(), ":origin": draft.origin },
        |row| Ok((row.get::<_, String>("item")?, row.get::<_, String>("digest")?)),
    )?;
    if let Some((item, digest)) = &before
        && *digest == draft.digest
    {
        return Ok(Saved::Unchanged(Uri::item(source, item)));
    }
    let now = Timestamp::now();
    let item = put(before.as_ref().map(|(item, _)| item.as_str()), now)?;
    writer.run(
        include_str!("sql/remember.sql"),
        named_params! {
            ":source": source.as_str(),
            ":origin": draft.origin,
            ":digest": draft.digest,
            ":item": item,
            ":now": now,
        },
    )?;
    let uri = Uri::item(source, item);
    Ok(if before.is_some() { Saved::Updated(uri) } else { Saved::New(uri) })
}

/// Where the items of a source came from, by their identifiers; an item that
/// came from several places has the first of them.
pub fn origins(
    reader: &Reader<'_>,
    source: SourceName,
) -> Result<HashMap<String, String>, StoreError> {
    let rows = reader.all(
        include_str!("sql/origins.sql"),
        named_params! { ":source": source.as_str() },
        |row| Ok((row.get("item")?, row.get("origin")?)),
    )?;
    Ok(rows.into_iter().collect())
}
