//! Reading media as hits, items and drafts.

use rusqlite::{Row, named_params};
use serde_json::{Map, Value, json};
use vademecum_model::{
    Draft, DraftBody, GeneratedMediaData, Hit, ItemId, Loc, MediaDraft, Retrieval, RetrievalMode,
    SourceName, Timestamp, Uri,
};
use vademecum_search::{ChunkSpan, GetRequest, Highlighter, HitRequest, Item};
use vademecum_source::{SourceError, missing_place, read_located_passage};
use vademecum_store::{Reader, StoreError};

use crate::{
    chunk_ranges::{chunk_from_row, fill_chunk_texts},
    document_parts,
    sections::parse_section_path,
    transcript,
    transcript_start::{place_at, start_at},
};

/// Reads the metadata of a stored chunk, which holds its section path.
const SECTION_SQL: &str = "SELECT metadata \
     FROM DocumentChunks \
     WHERE media_id = :media_id AND chunk_index = :index AND deleted = 0 AND metadata IS NOT NULL";

/// A document as it is stored.
struct Document {
    id: i64,
    title: String,
    /// Names of the files from which it was imported, one a line.
    names: String,
    media_type: String,
    url: Option<String>,
    author: Option<String>,
    content: String,
    ingestion_date: Option<Timestamp>,
    created_at: Option<Timestamp>,
    last_modified: Option<Timestamp>,
    version: i64,
    tags: Vec<String>,
}

/// Loads the hits for ranked matches. Documents that no longer exist are left out.
pub(crate) fn load_hits(reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
    let finder = Highlighter::from(view);
    let mut hits = Vec::with_capacity(view.matches.len());
    for ranked in &view.matches {
        let Some(document) = find_document(reader, ranked.key)? else { continue };
        hits.push(Hit { score: ranked.score, ..match_hit(reader, &finder, document)? });
    }
    Ok(hits)
}

fn match_hit(
    reader: &Reader<'_>,
    finder: &Highlighter<'_>,
    document: Document,
) -> Result<Hit, StoreError> {
    let found = finder.find_matches(&document.content);
    let author = document.author.as_deref().unwrap_or_default();
    let tags = document.tags.join(" ");
    let matched = finder.matched_words(&found, &[&document.title, &document.names, author, &tags]);
    let loc = match &found.densest {
        Some(place) => Some(loc_at(reader, &document, place.start)?),
        None => None,
    };
    let start_ms = match &found.densest {
        Some(place) => find_start(reader, &document, place.start)?,
        None => None,
    };
    let excerpt = finder.make_excerpt(&document.content, found.densest);
    let (snippet, highlights) = (Some(excerpt.snippet), excerpt.highlights);
    Ok(Hit { snippet, highlights, matched, loc, start_ms, ..document_hit(document) })
}

/// Loads one document, or its part `transcript`.
pub(crate) fn load_item(reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
    let missing = || SourceError::not_found("media", &get.id);
    let id = get.id.as_number().ok_or_else(missing)?;
    let document = find_document(reader, id)?.ok_or_else(missing)?;
    match get.part.as_deref() {
        None => load_text(reader, get, document),
        Some("transcript") => load_transcript(reader, document),
        Some(part) => Err(SourceError::not_found("part of a media document", part)),
    }
}

fn load_text(
    reader: &Reader<'_>,
    get: &GetRequest,
    document: Document,
) -> Result<Item, SourceError> {
    let stored = chunk_spans(reader, document.id)?;
    let retrieval = match get.retrieval.loc.start_ms {
        Some(time) => at_time(reader, &document, &get.retrieval, time)?,
        None => get.retrieval.clone(),
    };
    let passage =
        read_located_passage(&document.content, &stored, &retrieval, &get.recent_queries)?;
    // Other divisions of the text have no stored chunks.
    let is_read =
        |chunk: &&ChunkSpan| retrieval.prefer_prechunked && Some(chunk.index) == passage.chunk;
    let read = stored.iter().find(is_read);
    let loc = Loc {
        media_id: Some(document.id),
        chunk_index: passage.chunk,
        chunk_uuid: read.and_then(|chunk| chunk.uuid.clone()),
        approx_offset: Some(passage.range.start),
        ..Loc::default()
    };
    let section = find_section(reader, document.id, passage.chunk, get.retrieval.mode)?;
    let attachments = collect_attachments(reader, &document, get.retrieval.mode, section)?;
    let meta = Hit { loc: Some(loc), ..document_hit(document) };
    Ok(Item { attachments, ..Item::from_passage(meta, passage, get.retrieval.mode) })
}

/// Returns the retrieval at the place of the text that is spoken at a time, in milliseconds. An offset in its
/// location is more precise.
fn at_time(
    reader: &Reader<'_>,
    document: &Document,
    retrieval: &Retrieval,
    time: u64,
) -> Result<Retrieval, SourceError> {
    let loc = &retrieval.loc;
    if loc.approx_offset.is_some() || loc.chunk_index.is_some() || loc.chunk_uuid.is_some() {
        return Ok(retrieval.clone());
    }
    let newest = newest_transcription(reader, document.id)?;
    let place = newest.and_then(|stored| place_at(&stored, &document.content, time));
    let place = place
        .ok_or_else(|| missing_place("start_ms", time, "this item has no transcript with times"))?;
    let offset = document.content.get(..place).unwrap_or_default().chars().count();
    let loc = Loc { approx_offset: Some(offset), ..loc.clone() };
    Ok(Retrieval { loc, ..retrieval.clone() })
}

/// Loads the newest transcript as an object with `segments`.
fn load_transcript(reader: &Reader<'_>, document: Document) -> Result<Item, SourceError> {
    let newest = read_transcripts(reader, document.id)?.into_iter().next();
    let stored =
        newest.ok_or_else(|| SourceError::not_found("transcript of media", document.id))?;
    let mut spoken = transcript::parse_transcript(&stored.transcription);
    if let (Some(model), Value::Object(fields)) = (stored.model, &mut spoken) {
        fields.entry("model").or_insert(Value::String(model));
    }
    Ok(Item::from_object(document_hit(document), spoken))
}

/// Loads one document as a draft, with its newest transcript.
pub(crate) fn load_draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let missing = || SourceError::not_found("media", id);
    let number = id.parse().map_err(|_| missing())?;
    let document = find_document(reader, number)?.ok_or_else(missing)?;
    let newest = read_transcripts(reader, number)?.into_iter().next();
    let mut draft = MediaDraft {
        title: document.title,
        media_type: document.media_type,
        url: document.url,
        author: document.author,
        content: document.content,
        tags: document.tags,
        ingested_at: document.ingestion_date,
        created_at: document.created_at,
        modified_at: document.last_modified,
        transcript: newest.map(|stored| {
            transcript::to_transcript(&transcript::parse_transcript(&stored.transcription))
        }),
        kept: None,
        headings: Vec::new(),
        former_digest: None,
        former_origin: None,
        is_part: false,
    };
    draft.kept = non_derivable_parts(reader, number, &draft)?;
    Ok(Draft::from_stored(id, DraftBody::Media(draft)))
}

/// Returns the stored parts that cannot be derived from the text; `None` if there are none.
fn non_derivable_parts(
    reader: &Reader<'_>,
    media_id: i64,
    media: &MediaDraft,
) -> Result<Option<GeneratedMediaData>, StoreError> {
    let parameters = named_params! { ":media_id": media_id };
    let stored = reader.query_all(sql!("stored_chunks"), parameters, chunk_from_row)?;
    let stored = fill_chunk_texts(stored, &media.content);
    let chunks = document_parts::chunks_to_export(stored, media);
    let analysis =
        reader.query_first(sql!("analysis"), parameters, |row| row.get("analysis_content"))?;
    let length = (!chunks.is_empty()).then(|| media.content.chars().count());
    let is_any = !chunks.is_empty() || analysis.is_some();
    Ok(is_any.then_some(GeneratedMediaData { chunks, length, analysis, transcription: None }))
}

fn find_document(reader: &Reader<'_>, id: i64) -> Result<Option<Document>, StoreError> {
    reader.query_first(sql!("read"), named_params! { ":id": id }, document_from_row)
}

fn document_from_row(row: &Row<'_>) -> rusqlite::Result<Document> {
    let tags: String = row.get("tags")?;
    Ok(Document {
        id: row.get("id")?,
        title: row.get("title")?,
        names: row.get("names")?,
        media_type: row.get("type")?,
        url: row.get("url")?,
        author: row.get("author")?,
        content: row.get("content")?,
        ingestion_date: row.get("ingestion_date")?,
        created_at: row.get("created_at")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn document_hit(document: Document) -> Hit {
    let uri = Uri::item(SourceName::Media, document.id.to_string());
    Hit {
        title: Some(document.title),
        created_at: document.created_at.or(document.ingestion_date),
        last_modified: document.last_modified,
        version: Some(document.version),
        tags: Some(document.tags),
        media_type: Some(document.media_type),
        url: document.url,
        ..Hit::new(uri, ItemId::Number(document.id))
    }
}

fn loc_at(reader: &Reader<'_>, document: &Document, bytes: usize) -> Result<Loc, StoreError> {
    let offset = document.content.get(..bytes).unwrap_or_default().chars().count();
    let chunk = reader.query_first(
        sql!("chunk_at"),
        named_params! { ":media_id": document.id, ":offset": to_sql_integer(offset) },
        |row| row.get::<_, i64>("chunk_index"),
    )?;
    Ok(Loc {
        media_id: Some(document.id),
        chunk_index: chunk.and_then(|chunk| usize::try_from(chunk).ok()),
        approx_offset: Some(offset),
        ..Loc::default()
    })
}

/// Returns the time in the recording at which the byte `at` of the text is spoken, if the newest
/// transcript has times.
fn find_start(
    reader: &Reader<'_>,
    document: &Document,
    at: usize,
) -> Result<Option<u64>, StoreError> {
    let newest = newest_transcription(reader, document.id)?;
    Ok(newest.and_then(|stored| start_at(&stored, &document.content, at)))
}

fn newest_transcription(reader: &Reader<'_>, media_id: i64) -> Result<Option<String>, StoreError> {
    let parameters = named_params! { ":media_id": media_id };
    reader.query_first(sql!("transcripts"), parameters, |row| row.get("transcription"))
}

fn to_sql_integer(offset: usize) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

fn chunk_spans(reader: &Reader<'_>, media_id: i64) -> Result<Vec<ChunkSpan>, StoreError> {
    let characters = |row: &Row<'_>, column: &str| -> rusqlite::Result<usize> {
        Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
    };
    reader.query_all(sql!("chunks"), named_params! { ":media_id": media_id }, |row| {
        Ok(ChunkSpan {
            index: characters(row, "chunk_index")?,
            uuid: row.get("uuid")?,
            start: characters(row, "start_char")?,
            end: characters(row, "end_char")?,
        })
    })
}

struct StoredTranscript {
    id: i64,
    model: Option<String>,
    transcription: String,
    created_at: Option<Timestamp>,
}

fn read_transcripts(
    reader: &Reader<'_>,
    media_id: i64,
) -> Result<Vec<StoredTranscript>, StoreError> {
    reader.query_all(sql!("transcripts"), named_params! { ":media_id": media_id }, |row| {
        Ok(StoredTranscript {
            id: row.get("id")?,
            model: row.get("whisper_model")?,
            transcription: row.get("transcription")?,
            created_at: row.get("created_at")?,
        })
    })
}

/// Returns the section path of a chunk, if the mode reads a chunk.
fn find_section(
    reader: &Reader<'_>,
    media_id: i64,
    chunk: Option<usize>,
    mode: RetrievalMode,
) -> Result<Option<Value>, StoreError> {
    let (Some(chunk), RetrievalMode::Chunk | RetrievalMode::ChunkWithSiblings) = (chunk, mode)
    else {
        return Ok(None);
    };
    let stored = reader.query_first(
        SECTION_SQL,
        named_params! { ":media_id": media_id, ":index": to_sql_integer(chunk) },
        |row| row.get::<_, String>("metadata"),
    )?;
    let path = stored.and_then(|metadata| parse_section_path(&metadata));
    Ok(path.map(|path| json!({ "type": "section", "section_path": path })))
}

/// Lists the attachments of a document: the section read and the transcripts; in mode `full` also
/// the author and the latest analysis.
fn collect_attachments(
    reader: &Reader<'_>,
    document: &Document,
    mode: RetrievalMode,
    section: Option<Value>,
) -> Result<Option<Vec<Map<String, Value>>>, StoreError> {
    let mut attachments: Vec<Value> = section.into_iter().collect();
    for stored in read_transcripts(reader, document.id)? {
        attachments.push(json!({
            "type": "transcript",
            "id": stored.id,
            "model": stored.model,
            "created_at": stored.created_at,
            "cues": transcript::count_segments(&transcript::parse_transcript(&stored.transcription)),
            "uri": Uri::part(SourceName::Media, document.id.to_string(), "transcript"),
        }));
    }
    if mode == RetrievalMode::Full {
        if let Some(author) = &document.author {
            attachments.push(json!({ "type": "author", "name": author }));
        }
        let analysis = reader.query_first(
            sql!("analysis"),
            named_params! { ":media_id": document.id },
            |row| {
                Ok(json!({
                    "type": "analysis",
                    "version_number": row.get::<_, i64>("version_number")?,
                    "created_at": row.get::<_, Option<Timestamp>>("created_at")?,
                    "content": row.get::<_, String>("analysis_content")?,
                }))
            },
        )?;
        attachments.extend(analysis);
    }
    let objects: Vec<_> = attachments
        .into_iter()
        .filter_map(|attachment| match attachment {
            Value::Object(fields) => Some(fields),
            _ => None,
        })
        .collect();
    Ok((!objects.is_empty()).then_some(objects))
}
