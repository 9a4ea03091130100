//! Inserting and updating media from drafts.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_model::{Draft, DraftBody, MediaDraft, SaveOutcome, SourceName, Timestamp, Uri};
use vademecum_source::{
    Source, SourceError, find_draft_origin, item_origins, record_origin, save_imported,
};
use vademecum_store::{StoreError, Writer, file_name_of_origin};

use super::{FULL_TEXT_TABLE, Media};
use crate::document_parts::replace_parts;
use crate::item_table::KEYWORD_TABLES;

/// Deletes the date of the document `:media_id`.
const FORGET_DATE_SQL: &str = "DELETE FROM DocumentDates WHERE media_id = :media_id";
/// Indexes a document, replacing its previous entry.
const INDEX_SQL: &str = "INSERT OR REPLACE INTO media_fts (rowid, title, content, author, keywords) \
     VALUES (:id, :title, :content, :author, :keywords)";
/// Selects the length of the text of the document `:id`, in code points.
const TEXT_LENGTH_SQL: &str =
    "SELECT length(content) AS length FROM Media WHERE id = :id AND deleted = 0";
/// Sets when the document `:media_id` was created, as it states itself.
const SET_DATE_SQL: &str =
    "INSERT OR REPLACE INTO DocumentDates (media_id, created_at) VALUES (:media_id, :created_at)";

/// Saves a document, its chunks, its transcript, its keywords and its index entry.
///
/// A document with the same content and title is stored once, even under another origin. A part of a file,
/// whose reading was cut, does not replace a longer text.
pub(crate) fn save_document(
    writer: &Writer<'_>,
    draft: &Draft,
) -> Result<SaveOutcome, SourceError> {
    let DraftBody::Media(media) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a media document", draft.origin)));
    };
    let own = find_draft_origin(writer, SourceName::Media, draft)?;
    if let Some(known) = own.as_ref().filter(|_| media.is_part)
        && is_shorter(writer, media, &known.item)?
    {
        return Ok(SaveOutcome::Unchanged(Uri::item(SourceName::Media, &known.item)));
    }
    if let Some(id) = find_same_content(writer, media, &draft.digest)? {
        if let Some(known) = &own
            && known.item == id.to_string()
            && known.digest != draft.digest
        {
            // The file was renamed, and has nothing else that is new.
            let now = Timestamp::now();
            record_origin(
                writer,
                SourceName::Media,
                &draft.origin,
                &draft.digest,
                &known.item,
                now,
            )?;
            index_document(writer, id, media, &draft.origin)?;
        }
        return merge(writer, draft, own.as_ref().map(|known| known.item.as_str()), id);
    }
    if let (None, Some(former)) = (&own, &media.former_digest)
        && let Some(id) = find_same_content(writer, media, former)?
    {
        write_document(writer, Some(id), media, draft, Timestamp::now())?;
        return merge(writer, draft, None, id);
    }
    save_imported(writer, SourceName::Media, draft, |item, now| {
        let id = item.and_then(|item| item.parse().ok());
        Ok(write_document(writer, id, media, draft, now)?.to_string())
    })
}

/// Returns `true` if the text of a draft is shorter than that of the stored document.
fn is_shorter(writer: &Writer<'_>, media: &MediaDraft, item: &str) -> Result<bool, StoreError> {
    let id = named_params! { ":id": item.parse::<i64>().unwrap_or_default() };
    let stored = writer.query_first(TEXT_LENGTH_SQL, id, |row| row.get::<_, i64>("length"))?;
    let length = i64::try_from(media.content.chars().count()).unwrap_or(i64::MAX);
    Ok(stored.is_some_and(|stored| length < stored))
}

/// Returns the outcome for a draft whose content is that of document `id`. `own` is the item that its
/// origin had before; another document than `id` is removed, because its content is gone.
fn merge(
    writer: &Writer<'_>,
    draft: &Draft,
    own: Option<&str>,
    id: i64,
) -> Result<SaveOutcome, SourceError> {
    let id = id.to_string();
    if own == Some(id.as_str()) {
        return Ok(SaveOutcome::Unchanged(Uri::item(SourceName::Media, id)));
    }
    if own.is_some() {
        Media.remove_origin(writer, &draft.origin)?;
    }
    Ok(SaveOutcome::Merged(Uri::item(SourceName::Media, id)))
}

/// Replaces all fields of a document.
pub(crate) fn replace_document(
    writer: &Writer<'_>,
    id: &str,
    draft: &Draft,
) -> Result<(), SourceError> {
    let (DraftBody::Media(media), Ok(number)) = (&draft.body, id.parse()) else {
        return Err(SourceError::not_found("media", id));
    };
    write_document(writer, Some(number), media, draft, Timestamp::now())?;
    Ok(())
}

/// Writes a document, its chunks, its keywords and its index entry. Returns its identifier.
fn write_document(
    writer: &Writer<'_>,
    id: Option<i64>,
    media: &MediaDraft,
    draft: &Draft,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let id = match id {
        Some(id) => update_document(writer, id, media, &draft.digest, now)?,
        None => insert_document(writer, media, draft, now)?,
    };
    set_creation_date(writer, id, media.created_at)?;
    replace_parts(writer, id, media, now)?;
    KEYWORD_TABLES.replace_keywords(writer, &id, &media.tags, now)?;
    index_document(writer, id, media, &draft.origin)?;
    Ok(id)
}

/// Sets or deletes the date that a document states as its creation.
fn set_creation_date(
    writer: &Writer<'_>,
    id: i64,
    created_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    match created_at {
        Some(created_at) => writer
            .execute(SET_DATE_SQL, named_params! { ":media_id": id, ":created_at": created_at })?,
        None => writer.execute(FORGET_DATE_SQL, named_params! { ":media_id": id })?,
    };
    Ok(())
}

/// Returns the document with this content hash and title, if there is one.
pub(crate) fn find_same_content(
    writer: &Writer<'_>,
    media: &MediaDraft,
    digest: &str,
) -> Result<Option<i64>, StoreError> {
    writer.query_first(
        sql!("same_content"),
        named_params! { ":content_hash": digest, ":title": media.title },
        |row| row.get("id"),
    )
}

/// Inserts a document without chunks, keywords and index entry. Returns its identifier.
pub(crate) fn insert_document(
    writer: &Writer<'_>,
    media: &MediaDraft,
    draft: &Draft,
    now: Timestamp,
) -> Result<i64, StoreError> {
    writer.insert_row(
        sql!("insert"),
        named_params! {
            ":wanted": draft.numeric_id(),
            ":url": media.url,
            ":title": media.title,
            ":type": media.media_type,
            ":content": media.content,
            ":author": media.author,
            ":ingestion_date": media.ingested_at.unwrap_or(now),
            ":content_hash": draft.digest,
            ":uuid": Uuid::new_v4().to_string(),
            ":last_modified": media.modified_at.unwrap_or(now),
        },
    )
}

fn update_document(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    digest: &str,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let changed = writer.execute(
        sql!("update"),
        named_params! {
            ":id": id,
            ":url": media.url,
            ":title": media.title,
            ":type": media.media_type,
            ":content": media.content,
            ":author": media.author,
            ":content_hash": digest,
            ":last_modified": media.modified_at.unwrap_or(now),
        },
    )?;
    if changed == 0 { Err(SourceError::not_found("media", id)) } else { Ok(id) }
}

/// Replaces the index entry of a document that is imported from `origin`. Statements that read the stored
/// document index the same words.
pub(crate) fn index_document(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    origin: &str,
) -> Result<(), StoreError> {
    let item = id.to_string();
    let source = SourceName::Media.as_str();
    let mut origins = writer.with_reader(|reader| item_origins(reader, source, &item))?;
    if origins.is_empty() {
        // It is recorded after the document.
        origins.push(origin.to_owned());
    }
    let names = origins.iter().filter_map(|origin| file_name_of_origin(origin));
    let names = names.filter(|name| *name != media.title);
    let titles: Vec<&str> = [media.title.as_str()].into_iter().chain(names).collect();
    writer.index_row(
        &FULL_TEXT_TABLE,
        id,
        INDEX_SQL,
        named_params! {
            ":id": id,
            ":title": titles.join("\n"),
            ":content": media.content,
            ":author": media.author,
            ":keywords": media.tags.join(" "),
        },
    )
}
