//! Storing the chunks, the transcript and the analysis of a document.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_model::{GeneratedMediaData, MediaDraft, StoredChunk, Timestamp, Transcription};
use vademecum_search::{ChunkSizes, split_into_chunks};
use vademecum_store::{StoreError, Writer};

use crate::{
    chunk_ranges::{chunk_spans, fill_chunk_texts, own_texts},
    sections::{SectionTracker, classify_chunk},
    transcript,
};

/// Deletes the analyses of a document.
const FORGET_ANALYSIS_SQL: &str = "DELETE FROM DocumentVersions WHERE media_id = :media_id";
/// Deletes the stored chunks of a document.
const FORGET_CHUNKS_SQL: &str = "DELETE FROM DocumentChunks WHERE media_id = :media_id";
/// Deletes the transcripts of a document.
const FORGET_TRANSCRIPTS_SQL: &str = "DELETE FROM Transcripts WHERE media_id = :media_id";

/// Size of a stored chunk, in characters; about 500 tokens.
const CHUNK_CHARS: usize = 2_000;

/// Replaces the stored chunks, the transcript and the analysis.
pub(crate) fn replace_parts(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.execute(FORGET_CHUNKS_SQL, named_params! { ":media_id": id })?;
    let chunks = supplied_chunks(media).unwrap_or_else(|| chunk_media_text(media));
    let own_texts = own_texts(&chunks, &media.content);
    for ((index, chunk), own_text) in (0..).zip(&chunks).zip(own_texts) {
        insert_chunk(writer, id, (index, own_text), chunk, now)?;
    }
    replace_transcript(writer, id, media, now)?;
    replace_analysis(writer, id, media, now)
}

/// Returns the chunks supplied with a document, or `None` if there are none or they belong to a
/// text of another length.
fn supplied_chunks(media: &MediaDraft) -> Option<Vec<StoredChunk>> {
    let GeneratedMediaData { chunks, length, .. } = media.kept.as_ref()?;
    let is_of_text = || length.is_none_or(|length| length == media.content.chars().count());
    (!chunks.is_empty() && is_of_text()).then(|| fill_chunk_texts(chunks.clone(), &media.content))
}

/// Returns the chunks to export: without texts that equal their span of `content`, and none at all
/// if [`split_into_chunks`] produces the same ones.
pub(crate) fn chunks_to_export(
    mut chunks: Vec<StoredChunk>,
    media: &MediaDraft,
) -> Vec<StoredChunk> {
    if chunks == chunk_media_text(media) {
        return Vec::new();
    }
    let spans = chunk_spans(&chunks, &media.content);
    for (chunk, span) in chunks.iter_mut().zip(spans) {
        if span == Some(chunk.text.as_str()) {
            chunk.text.clear();
        }
    }
    chunks
}

/// Splits the text into chunks of at most [`CHUNK_CHARS`] characters.
fn chunk_media_text(media: &MediaDraft) -> Vec<StoredChunk> {
    let sizes = ChunkSizes { chunk: CHUNK_CHARS, overlap: 0, max_block: CHUNK_CHARS };
    let mut outline = SectionTracker::for_document(media);
    let stored = split_into_chunks(&media.content, sizes).into_iter().map(|chunk| StoredChunk {
        kind: Some(classify_chunk(chunk.text).to_owned()),
        metadata: outline.advance(chunk.text),
        text: chunk.text.to_owned(),
        start: i64::try_from(chunk.start).ok(),
        end: i64::try_from(chunk.end).ok(),
    });
    stored.collect()
}

fn insert_chunk(
    writer: &Writer<'_>,
    id: i64,
    (index, own_text): (i64, &str),
    chunk: &StoredChunk,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.execute(
        sql!("add_chunk"),
        named_params! {
            ":media_id": id,
            ":own_text": own_text,
            ":index": index,
            ":start": chunk.start,
            ":end": chunk.end,
            ":type": chunk.kind,
            ":metadata": chunk.metadata,
            ":uuid": Uuid::new_v4().to_string(),
            ":now": now,
        },
    )?;
    Ok(())
}

/// Replaces the transcript by the one that another program wrote, or by the draft's own.
fn replace_transcript(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.execute(FORGET_TRANSCRIPTS_SQL, named_params! { ":media_id": id })?;
    let kept = media.kept.as_ref().and_then(|kept| kept.transcription.clone());
    let heard = || {
        let text = transcript::serialize_transcript(media.transcript.as_ref()?);
        Some(Transcription { text, ..Transcription::default() })
    };
    if let Some(Transcription { text, model, created_at }) = kept.or_else(heard) {
        writer.execute(
            sql!("add_transcript"),
            named_params! {
                ":media_id": id,
                ":transcription": text,
                ":model": model,
                ":created_at": created_at.unwrap_or(now),
                ":uuid": Uuid::new_v4().to_string(),
                ":now": now,
            },
        )?;
    }
    Ok(())
}

/// Replaces the analysis by the one in the draft, if the draft has stored parts.
fn replace_analysis(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(kept) = &media.kept else { return Ok(()) };
    writer.execute(FORGET_ANALYSIS_SQL, named_params! { ":media_id": id })?;
    if let Some(analysis) = &kept.analysis {
        writer.execute(
            sql!("add_analysis"),
            named_params! {
                ":media_id": id,
                ":analysis": analysis,
                ":uuid": Uuid::new_v4().to_string(),
                ":now": now,
            },
        )?;
    }
    Ok(())
}
