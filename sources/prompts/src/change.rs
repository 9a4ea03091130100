//! Prompts that are tagged in the library itself.

use rusqlite::named_params;
use vademecum_kit::{
    model::{ItemId, SourceName, Tagging, Written},
    source::SourceError,
    store::{Tagged, Writer, retag},
};

use super::{TABLE, save::put_keywords};

/// Changes the tags of a prompt.
pub(crate) fn tag(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &Tagging,
) -> Result<Written, SourceError> {
    let find = |id| {
        let sql = include_str!("../sql/read.sql");
        let this = named_params! { ":id": id, ":name": None::<&str> };
        writer.first(sql, this, |row| Tagged::read(row, "keywords"))
    };
    retag(writer, (SourceName::Prompts, "prompt"), id, tagging, find, |id, tags, now| {
        put_keywords(writer, id, tags, now)?;
        writer.run(include_str!("../sql/touch.sql"), named_params! { ":id": id, ":now": now })?;
        writer.index(&TABLE, id, include_str!("../sql/reindex.sql"), named_params! { ":id": id })
    })
}
