//! What is stored beside the text of a document: chunks, transcript, analysis.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_kit::{
    model::{KeptMedia, MediaDraft, StoredChunk, Timestamp, Transcription},
    retrieve::{Sizes, chunks},
    store::{StoreError, Writer},
};

use crate::{
    outline::{Outline, kind},
    transcript,
};

/// Size of a stored chunk, in characters: about 500 tokens.
const CHUNK: usize = 2_000;

/// Replaces the stored chunks, the transcript and the analysis.
pub(crate) fn store(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(include_str!("../sql/forget_chunks.sql"), named_params! { ":media_id": id })?;
    match &media.kept {
        Some(KeptMedia { chunks, .. }) if !chunks.is_empty() => {
            (0..).zip(chunks).try_for_each(|(index, chunk)| add(writer, id, index, chunk, now))?;
        }
        _ => cut(writer, id, media, now)?,
    }
    listen(writer, id, media, now)?;
    analyse(writer, id, media, now)
}

/// Cuts the text into chunks.
fn cut(writer: &Writer<'_>, id: i64, media: &MediaDraft, now: Timestamp) -> Result<(), StoreError> {
    let sizes = Sizes { chunk: CHUNK, overlap: 0, whole: CHUNK };
    let mut outline = Outline::of(media);
    for (index, chunk) in (0..).zip(chunks(&media.content, sizes)) {
        let chunk = StoredChunk {
            kind: Some(kind(chunk.text).to_owned()),
            metadata: outline.pass(chunk.text),
            text: chunk.text.to_owned(),
            start: i64::try_from(chunk.start).ok(),
            end: i64::try_from(chunk.end).ok(),
        };
        add(writer, id, index, &chunk, now)?;
    }
    Ok(())
}

fn add(
    writer: &Writer<'_>,
    id: i64,
    index: i64,
    chunk: &StoredChunk,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(
        include_str!("../sql/add_chunk.sql"),
        named_params! {
            ":media_id": id,
            ":text": chunk.text,
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

/// Replaces the transcript.
fn listen(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(include_str!("../sql/forget_transcripts.sql"), named_params! { ":media_id": id })?;
    let kept = media.kept.as_ref().and_then(|kept| kept.transcription.clone());
    let heard = || {
        let text = transcript::write(media.transcript.as_ref()?);
        Some(Transcription { text, ..Transcription::default() })
    };
    if let Some(Transcription { text, model, created_at }) = kept.or_else(heard) {
        writer.run(
            include_str!("../sql/add_transcript.sql"),
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

/// Replaces the analysis by the one that was kept.
fn analyse(
    writer: &Writer<'_>,
    id: i64,
    media: &MediaDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(kept) = &media.kept else { return Ok(()) };
    writer.run(include_str!("../sql/forget_analysis.sql"), named_params! { ":media_id": id })?;
    if let Some(analysis) = &kept.analysis {
        writer.run(
            include_str!("../sql/add_analysis.sql"),
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
