//! Adding media and bringing them up to date.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_kit::{
    model::{Body, Draft, MediaDraft, Saved, SourceName, Timestamp, Uri},
    retrieve::{Sizes, chunks},
    source::SourceError,
    store::{StoreError, Writer, save_once},
};

use super::TABLE;

use crate::{
    outline::{Outline, kind},
    transcript,
};

/// Size of a stored chunk, in characters: about 500 tokens.
const CHUNK: usize = 2_000;

/// Saves a document, its chunks, its transcript, its keywords and its words.
///
/// A file that is already there under another name is not stored twice.
pub(crate) fn save(writer: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError> {
    let Body::Media(media) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a media document", draft.origin)));
    };
    if let Some(id) = same_content(writer, media, &draft.digest)? {
        return Ok(Saved::Unchanged(Uri::item(SourceName::Media, id.to_string())));
    }
    save_once(writer, SourceName::Media, draft, |item, now| {
        let id = match item.and_then(|item| item.parse().ok()) {
            Some(id) => update(writer, id, media, &draft.digest, now)?,
            None => insert(writer, media, draft, now)?,
        };
        cut(writer, id, media, now)?;
        describe(writer, id, media, now)?;
        Ok(id.to_string())
    })
}

fn same_content(
    writer: &Writer<'_>,
    media: &MediaDraft,
    digest: &str,
) -> Result<Option<i64>, StoreError> {
    writer.first(
        include_str!("../sql/same_content.sql"),
        named_params! { ":content_hash": digest, ":title": media.title },
        |row| row.get("id"),
    )
}

fn insert(
    writer: &Writer<'_>,
    media: &MediaDraft,
    draft: &Draft,
    now: Timestamp,
) -> Result<i64, StoreError> {
    writer.insert(
        include_str!("../sql/insert.sql"),
        named_params! {
            ":wanted": draft.wanted_number(),
            ":url": media.url,
            ":title": media.title,
            ":type": media.media_type,
            ":content": media.content,
            ":author": media.author,
            ":now": now,
            ":content_hash": draft.digest,
            ":uuid": Uuid::new_v4().to_string(),
            ":last_modified": media.modified_at.unwrap_or(now),
        },
    )
}

fn update(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    digest: &str,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let changed = writer.run(
        include_str!("../sql/update.sql"),
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

/// Replaces the stored chunks and the transcript.
fn cut(writer: &Writer<'_>, id: i64, media: &MediaDraft, now: Timestamp) -> Result<(), StoreError> {
    let of_this = named_params! { ":media_id": id };
    writer.run(include_str!("../sql/forget_chunks.sql"), of_this)?;
    let sizes = Sizes { chunk: CHUNK, overlap: 0, whole: CHUNK };
    let mut outline = Outline::of(media);
    for (index, chunk) in (0_i64..).zip(chunks(&media.content, sizes)) {
        writer.run(
            include_str!("../sql/add_chunk.sql"),
            named_params! {
                ":media_id": id,
                ":text": chunk.text,
                ":index": index,
                ":start": i64::try_from(chunk.start).unwrap_or(i64::MAX),
                ":end": i64::try_from(chunk.end).unwrap_or(i64::MAX),
                ":type": kind(chunk.text),
                ":metadata": outline.pass(chunk.text),
                ":uuid": Uuid::new_v4().to_string(),
                ":now": now,
            },
        )?;
    }
    writer.run(include_str!("../sql/forget_transcripts.sql"), of_this)?;
    if let Some(spoken) = &media.transcript {
        writer.run(
            include_str!("../sql/add_transcript.sql"),
            named_params! {
                ":media_id": id,
                ":transcription": transcript::write(spoken),
                ":uuid": Uuid::new_v4().to_string(),
                ":now": now,
            },
        )?;
    }
    Ok(())
}

/// Replaces the keywords and the words.
fn describe(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(include_str!("../sql/unlink_keywords.sql"), named_params! { ":media_id": id })?;
    for keyword in &media.tags {
        let keyword = keyword.trim();
        writer.run(
            include_str!("../sql/add_keyword.sql"),
            named_params! {
                ":keyword": keyword,
                ":uuid": Uuid::new_v4().to_string(),
                ":now": now,
            },
        )?;
        writer.run(
            include_str!("../sql/link_keyword.sql"),
            named_params! { ":media_id": id, ":keyword": keyword },
        )?;
    }
    writer.index(
        &TABLE,
        id,
        include_str!("../sql/index.sql"),
        named_params! {
            ":id": id,
            ":title": media.title,
            ":content": media.content,
            ":author": media.author,
            ":keywords": media.tags.join(" "),
        },
    )?;
    Ok(())
}
