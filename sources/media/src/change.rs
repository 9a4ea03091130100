//! Creating and tagging documents in the library itself.

use rusqlite::named_params;
use vademecum_model::{ChangedItem, Draft, DraftBody, ItemId, SourceName, TagChange, Timestamp};
use vademecum_source::{SourceError, TaggedItem, change_tags, record_local_item};
use vademecum_store::{StoreError, Writer};

use super::{
    FULL_TEXT_TABLE, document_parts,
    save::{find_same_content, index_document, insert_document},
};
use crate::item_table::KEYWORD_TABLES;

/// Increments the version of the document `:id` and updates its modification time.
const TOUCH_SQL: &str = "UPDATE Media \
     SET last_modified = :now, prev_version = version, version = version + 1 \
     WHERE id = :id";

/// Creates a document. A document with the same content and title is returned instead of stored
/// twice.
pub(crate) fn create_document(
    writer: &Writer<'_>,
    draft: &Draft,
) -> Result<ChangedItem, SourceError> {
    let DraftBody::Media(media) = &draft.body else {
        return Err(SourceError::Refused("this is not a media document".to_owned()));
    };
    let same = find_same_content(writer, media, &draft.digest)?;
    let id = if let Some(id) = same {
        id
    } else {
        let now = Timestamp::now();
        let id = insert_document(writer, media, draft, now)?;
        document_parts::replace_parts(writer, id, media, now)?;
        KEYWORD_TABLES.replace_keywords(writer, &id, &media.tags, now)?;
        index_document(writer, id, media, "")?;
        record_local_item(writer, SourceName::Media, &id.to_string(), now)?;
        id
    };
    let added = find_tagged(writer, id)?.ok_or_else(|| SourceError::not_found("media", id))?;
    Ok(ChangedItem { is_new: same.is_none(), ..added.into_changed_item(SourceName::Media) })
}

/// Changes the tags of a document.
pub(crate) fn update_tags(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &TagChange,
) -> Result<ChangedItem, SourceError> {
    let find = |id| find_tagged(writer, id);
    change_tags(writer, (SourceName::Media, "media"), id, tagging, find, |id, tags, now| {
        KEYWORD_TABLES.replace_keywords(writer, &id, tags, now)?;
        writer.execute(TOUCH_SQL, named_params! { ":id": id, ":now": now })?;
        writer.index_row(&FULL_TEXT_TABLE, id, sql!("reindex"), named_params! { ":key": id })
    })
}

fn find_tagged(writer: &Writer<'_>, id: i64) -> Result<Option<TaggedItem>, StoreError> {
    let sql = sql!("read");
    writer.query_first(sql, named_params! { ":id": id }, |row| TaggedItem::from_row(row, "tags"))
}
