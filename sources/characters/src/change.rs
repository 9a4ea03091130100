//! Characters that are tagged in the library itself.

use rusqlite::named_params;
use vademecum_kit::{
    model::{ItemId, SourceName, Tagging, Written},
    source::SourceError,
    store::{Tagged, Writer, retag},
};

use super::save::index;

/// Changes the tags of a character.
pub(crate) fn tag(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &Tagging,
) -> Result<Written, SourceError> {
    let find = |id| {
        let sql = include_str!("../sql/read.sql");
        writer.first(sql, named_params! { ":id": id }, |row| Tagged::read(row, "tags"))
    };
    retag(writer, (SourceName::Characters, "character"), id, tagging, find, |id, tags, now| {
        let tags = serde_json::json!(tags).to_string();
        let this = named_params! { ":id": id, ":tags": tags, ":now": now };
        writer.run(include_str!("../sql/retag.sql"), this)?;
        index(writer, id)
    })
}
