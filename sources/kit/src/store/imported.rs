//! Where items came from, so that importing again never makes a second one.

use rusqlite::{Row, named_params};

use super::{StoreError, Writer};
use crate::{
    model::{Draft, Saved, SourceName, Timestamp, Uri},
    source::SourceError,
};

/// Saves a draft once: the same origin again updates its item, the same
/// fingerprint again changes nothing.
///
/// An item that was changed in the library since is left as it is.
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
        |row| Ok((row.get::<_, String>("item")?, row.get::<_, String>("digest")?, changed(row)?)),
    )?;
    if let Some((item, digest, changed)) = &before {
        let uri = Uri::item(source, item);
        if *digest == draft.digest {
            return Ok(Saved::Unchanged(uri));
        }
        if *changed {
            return Err(SourceError::Refused(format!(
                "`{uri}` was changed in the library since it was imported, and is left as it is"
            )));
        }
    }
    let now = Timestamp::now();
    let item = put(before.as_ref().map(|(item, ..)| item.as_str()), now)?;
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

fn changed(row: &Row<'_>) -> rusqlite::Result<bool> {
    Ok(row.get::<_, Option<String>>("changed_at")?.is_some())
}

/// Remembers that an item was changed in the library, if it was imported: what it
/// came from is not to take its place any more.
pub fn changed_here(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(
        include_str!("sql/changed_here.sql"),
        named_params! { ":source": source.as_str(), ":item": item, ":now": now },
    )?;
    Ok(())
}
