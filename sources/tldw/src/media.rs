//! Media in a tldw database, with their chunks, transcripts and analyses.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use vademecum_model::{DraftBody, GeneratedMediaData, MediaDraft, StoredChunk, Transcription};

use crate::{cell, read_limits::RowBudget};

/// Lists the documents with their change marks and sizes.
pub(crate) const LIST_SQL: &str = sql!("media");

/// Reads a document; `None` if it no longer exists.
pub(crate) fn read_document(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<DraftBody>> {
    let mut statement = connection.prepare_cached(sql!("medium"))?;
    let found = statement.query_row(named_params! { ":id": id }, document_from_row).optional()?;
    let Some((mut media, mut kept)) = found else { return Ok(None) };
    kept.chunks = read_chunks(connection, id, &media.content)?;
    kept.transcription = read_transcription(connection, id)?;
    kept.analysis = read_analysis(connection, id)?;
    media.kept = Some(kept);
    Ok(Some(DraftBody::Media(media)))
}

fn document_from_row(row: &Row<'_>) -> rusqlite::Result<(MediaDraft, GeneratedMediaData)> {
    let media = MediaDraft {
        title: cell::text(row, "title")?.unwrap_or_default(),
        media_type: cell::non_blank_text(row, "type")?.unwrap_or_else(|| "document".to_owned()),
        url: cell::non_blank_text(row, "url")?,
        author: cell::non_blank_text(row, "author")?,
        content: cell::text(row, "content")?.unwrap_or_default(),
        tags: cell::text_list(row, "keywords")?,
        ingested_at: cell::datetime(row, "ingestion_date")?,
        modified_at: cell::datetime(row, "last_modified")?,
        ..MediaDraft::default()
    };
    Ok((media, GeneratedMediaData::default()))
}

/// Reads the stored chunks; empty unless every chunk has a valid range in the text.
fn read_chunks(
    connection: &Connection,
    id: &str,
    content: &str,
) -> rusqlite::Result<Vec<StoredChunk>> {
    let length = i64::try_from(content.chars().count()).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql!("chunks"))?;
    let mut rows = statement.query(named_params! { ":id": id })?;
    let (mut chunks, mut budget) = (Vec::new(), RowBudget::of_item());
    while let Some(row) = rows.next()? {
        let (start, end) = (cell::integer(row, "start_char")?, cell::integer(row, "end_char")?);
        let is_inside =
            start.zip(end).is_some_and(|(start, end)| 0 <= start && start < end && end <= length);
        if !is_inside {
            return Ok(Vec::new());
        }
        let chunk = StoredChunk {
            text: cell::text(row, "chunk_text")?.unwrap_or_default(),
            start,
            end,
            kind: cell::non_blank_text(row, "chunk_type")?,
            metadata: cell::non_blank_text(row, "metadata")?,
        };
        budget.count(chunk.text.len() + chunk.metadata.as_ref().map_or(0, String::len))?;
        chunks.push(chunk);
    }
    Ok(chunks)
}

fn read_transcription(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<Transcription>> {
    let mut statement = connection.prepare_cached(sql!("transcript"))?;
    let newest = statement.query_row(named_params! { ":id": id }, |row| {
        Ok(Transcription {
            text: cell::text(row, "transcription")?.unwrap_or_default(),
            model: cell::non_blank_text(row, "whisper_model")?,
            created_at: cell::datetime(row, "created_at")?,
        })
    });
    newest.optional()
}

fn read_analysis(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached(sql!("analysis"))?;
    let latest = statement.query_row(named_params! { ":id": id }, |row| {
        cell::non_blank_text(row, "analysis_content")
    });
    Ok(latest.optional()?.flatten())
}
