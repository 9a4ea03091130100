//! What is stored beside the text of a document: chunks, transcript, analysis.

use std::collections::HashMap;

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
    let chunks = kept(media).unwrap_or_else(|| cut(media));
    (0..).zip(&chunks).try_for_each(|(index, chunk)| add(writer, id, index, chunk, now))?;
    listen(writer, id, media, now)?;
    analyse(writer, id, media, now)
}

/// The chunks that come with a document, if they are those of its text.
fn kept(media: &MediaDraft) -> Option<Vec<StoredChunk>> {
    let KeptMedia { chunks, length, .. } = media.kept.as_ref()?;
    let is_of_text = || length.is_none_or(|length| length == media.content.chars().count());
    (!chunks.is_empty() && is_of_text()).then(|| with_texts(chunks.clone(), &media.content))
}

/// Gives chunks without a text what stands in `content` where they are.
fn with_texts(mut chunks: Vec<StoredChunk>, content: &str) -> Vec<StoredChunk> {
    let texts = texts(&chunks, content);
    for (chunk, text) in chunks.iter_mut().zip(texts) {
        if chunk.text.is_empty() {
            text.unwrap_or_default().clone_into(&mut chunk.text);
        }
    }
    chunks
}

/// The chunks as they are kept outside: without the texts that stand in `content`,
/// and none if they are those that it is cut into here.
pub(crate) fn to_keep(mut chunks: Vec<StoredChunk>, media: &MediaDraft) -> Vec<StoredChunk> {
    if chunks == cut(media) {
        return Vec::new();
    }
    let texts = texts(&chunks, &media.content);
    for (chunk, text) in chunks.iter_mut().zip(texts) {
        if text == Some(chunk.text.as_str()) {
            chunk.text.clear();
        }
    }
    chunks
}

/// What stands in `content` where each chunk is, if it is in there.
fn texts<'c>(chunks: &[StoredChunk], content: &'c str) -> Vec<Option<&'c str>> {
    let place = |offset: Option<i64>| offset.and_then(|offset| usize::try_from(offset).ok());
    let ends = chunks.iter().flat_map(|chunk| [place(chunk.start), place(chunk.end)]);
    let mut wanted: Vec<usize> = ends.flatten().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut wanted = wanted.into_iter().peekable();
    let letters = content.char_indices().map(|(at, _)| at).chain([content.len()]);
    // Looked up once for all: going through a long text for each would take long.
    let bytes: HashMap<usize, usize> =
        letters.enumerate().filter(|(offset, _)| wanted.next_if_eq(offset).is_some()).collect();
    let text = |chunk: &StoredChunk| {
        content.get(*bytes.get(&place(chunk.start)?)?..*bytes.get(&place(chunk.end)?)?)
    };
    chunks.iter().map(text).collect()
}

/// Cuts the text into chunks.
fn cut(media: &MediaDraft) -> Vec<StoredChunk> {
    let sizes = Sizes { chunk: CHUNK, overlap: 0, whole: CHUNK };
    let mut outline = Outline::of(media);
    let stored = chunks(&media.content, sizes).into_iter().map(|chunk| StoredChunk {
        kind: Some(kind(chunk.text).to_owned()),
        metadata: outline.pass(chunk.text),
        text: chunk.text.to_owned(),
        start: i64::try_from(chunk.start).ok(),
        end: i64::try_from(chunk.end).ok(),
    });
    stored.collect()
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
