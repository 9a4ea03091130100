//! Media as tldw keeps them, with their chunks, transcripts and analyses.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use vademecum_kit::model::{Body, KeptMedia, MediaDraft, StoredChunk, Transcription};

use crate::cell;

/// The documents that are there.
pub(crate) const LIST: &str = include_str!("../sql/media.sql");

/// Reads a document, if it is still there.
pub(crate) fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<Body>> {
    let mut statement = connection.prepare_cached(include_str!("../sql/medium.sql"))?;
    let found = statement.query_row(named_params! { ":id": id }, document).optional()?;
    let Some((mut media, mut kept)) = found else { return Ok(None) };
    kept.chunks = chunks(connection, id, &media.content)?;
    kept.transcription = transcription(connection, id)?;
    kept.analysis = analysis(connection, id)?;
    media.kept = Some(kept);
    Ok(Some(Body::Media(media)))
}

fn document(row: &Row<'_>) -> rusqlite::Result<(MediaDraft, KeptMedia)> {
    let media = MediaDraft {
        title: cell::text(row, "title")?.unwrap_or_default(),
        media_type: cell::some_text(row, "type")?.unwrap_or_else(|| "document".to_owned()),
        url: cell::some_text(row, "url")?,
        author: cell::some_text(row, "author")?,
        content: cell::text(row, "content")?.unwrap_or_default(),
        tags: cell::list(row, "keywords")?,
        modified_at: cell::moment(row, "last_modified")?,
        ..MediaDraft::default()
    };
    let ingested_at = cell::moment(row, "ingestion_date")?;
    Ok((media, KeptMedia { ingested_at, ..KeptMedia::default() }))
}

/// The stored chunks, if each of them has a place in the text.
fn chunks(connection: &Connection, id: &str, content: &str) -> rusqlite::Result<Vec<StoredChunk>> {
    let length = i64::try_from(content.chars().count()).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(include_str!("../sql/chunks.sql"))?;
    let mut rows = statement.query(named_params! { ":id": id })?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.next()? {
        let (start, end) = (cell::number(row, "start_char")?, cell::number(row, "end_char")?);
        let is_inside =
            start.zip(end).is_some_and(|(start, end)| 0 <= start && start < end && end <= length);
        if !is_inside {
            return Ok(Vec::new());
        }
        chunks.push(StoredChunk {
            text: cell::text(row, "chunk_text")?.unwrap_or_default(),
            start,
            end,
            kind: cell::some_text(row, "chunk_type")?,
            metadata: cell::some_text(row, "metadata")?,
        });
    }
    Ok(chunks)
}

fn transcription(connection: &Connection, id: &str) -> rusqlite::Result<Option<Transcription>> {
    let mut statement = connection.prepare_cached(include_str!("../sql/transcript.sql"))?;
    let newest = statement.query_row(named_params! { ":id": id }, |row| {
        Ok(Transcription {
            text: cell::text(row, "transcription")?.unwrap_or_default(),
            model: cell::some_text(row, "whisper_model")?,
            created_at: cell::moment(row, "created_at")?,
        })
    });
    newest.optional()
}

fn analysis(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached(include_str!("../sql/analysis.sql"))?;
    let latest = statement
        .query_row(named_params! { ":id": id }, |row| cell::some_text(row, "analysis_content"));
    Ok(latest.optional()?.flatten())
}
