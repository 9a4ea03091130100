//! Where items came from, so that importing again never makes a second one.

use std::{collections::HashMap, time::Duration};

use rusqlite::{Row, named_params};

use super::{Reader, Store, StoreError, Writer};
use crate::{
    model::{Deadline, Draft, Saved, SourceName, Timestamp, Uri},
    source::SourceError,
};

/// How long reading the list of all origins may take.
const PATIENCE: Duration = Duration::from_mins(10);

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
    remember(writer, source, &draft.origin, &draft.digest, &item, now)?;
    let uri = Uri::item(source, item);
    Ok(if before.is_some() { Saved::Updated(uri) } else { Saved::New(uri) })
}

/// What came from one place comes from another from now on: a file was renamed.
pub fn rename_origin(
    writer: &Writer<'_>,
    source: SourceName,
    from: &str,
    to: &str,
) -> Result<(), StoreError> {
    writer.run(
        include_str!("sql/rename.sql"),
        named_params! { ":source": source.as_str(), ":from": from, ":to": to },
    )?;
    Ok(())
}

/// Forgets what an origin was, and has `take` take its item away. The origin
/// keeps its item: if it comes again, so does the item. Tells whether there was one.
pub fn remove_once(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
    take: impl FnOnce(&str) -> Result<(), StoreError>,
) -> Result<bool, SourceError> {
    let item = writer.first(
        include_str!("sql/forget.sql"),
        named_params! { ":source": source.as_str(), ":origin": origin },
        |row| row.get::<_, String>("item"),
    )?;
    let was_there = item.is_some();
    item.as_deref().map(take).transpose()?;
    Ok(was_there)
}

/// Remembers that an item was written here and came from nowhere else: an export
/// of it that comes back is the same item.
pub fn written_here(
    writer: &Writer<'_>,
    source: SourceName,
    item: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    remember(writer, source, &Uri::item(source, item).to_string(), "written here", item, now)
}

fn remember(
    writer: &Writer<'_>,
    source: SourceName,
    origin: &str,
    digest: &str,
    item: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(
        include_str!("sql/remember.sql"),
        named_params! {
            ":source": source.as_str(),
            ":origin": origin,
            ":digest": digest,
            ":item": item,
            ":now": now,
        },
    )?;
    Ok(())
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

/// Where the items of a source came from, by their identifiers; an item that
/// came from several places has the first of them.
pub fn first_origins(
    reader: &Reader<'_>,
    source: SourceName,
) -> Result<HashMap<String, String>, StoreError> {
    let rows = reader.all(
        include_str!("sql/first_origins.sql"),
        named_params! { ":source": source.as_str() },
        |row| Ok((row.get("item")?, row.get("origin")?)),
    )?;
    Ok(rows.into_iter().collect())
}

impl Store {
    /// The origins of a source that begin with `prefix`, each with the fingerprint
    /// that it had when it was read.
    pub fn origins(
        &self,
        source: SourceName,
        prefix: &str,
    ) -> Result<HashMap<String, String>, StoreError> {
        let mut origins = HashMap::new();
        self.read(Deadline::after(PATIENCE), |reader| {
            reader.each(
                include_str!("sql/origins.sql"),
                named_params! { ":source": source.as_str(), ":prefix": prefix },
                |row| {
                    origins.insert(row.get("origin")?, row.get("digest")?);
                    Ok(())
                },
            )
        })?;
        Ok(origins)
    }
}
