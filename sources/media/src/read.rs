//! Reading media, as hits and as items.

use rusqlite::{Row, named_params};
use serde_json::{Map, Value, json};
use vademecum_kit::{
    model::{
        Body, Draft, Get, Hit, Item, ItemId, KeptMedia, Loc, MediaDraft, Mode, SourceName,
        StoredChunk, Timestamp, Uri, View,
    },
    retrieve::{self, Finder, Span},
    source::SourceError,
    store::{Reader, StoreError},
};

use crate::{outline::section_path, parts, transcript};

/// A document as it is stored.
struct Document {
    id: i64,
    title: String,
    media_type: String,
    url: Option<String>,
    author: Option<String>,
    content: String,
    ingestion_date: Option<Timestamp>,
    last_modified: Option<Timestamp>,
    version: i64,
    tags: Vec<String>,
}

/// Reads matches for a list of results.
pub(crate) fn show(reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError> {
    let finder = Finder::from(view);
    let mut hits = Vec::with_capacity(view.wanted.len());
    for wanted in &view.wanted {
        let Some(document) = find(reader, wanted.key)? else { continue };
        hits.push(Hit { score: wanted.score, ..shown(reader, &finder, document)? });
    }
    Ok(hits)
}

fn shown(reader: &Reader<'_>, finder: &Finder<'_>, document: Document) -> Result<Hit, StoreError> {
    let found = finder.look(&document.content);
    let author = document.author.as_deref().unwrap_or_default();
    let matched = finder.matched(&found, &[&document.title, author, &document.tags.join(" ")]);
    let loc = match &found.densest {
        Some(place) => Some(loc_at(reader, &document, place.start)?),
        None => None,
    };
    let excerpt = finder.excerpt(&document.content, found.densest);
    let (snippet, highlights) = (Some(excerpt.snippet), excerpt.highlights);
    Ok(Hit { snippet, highlights, matched, loc, ..hit(document) })
}

/// Reads one document, or its transcript.
pub(crate) fn get(reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
    let missing = || SourceError::not_found("media", &get.id);
    let id = get.id.as_number().ok_or_else(missing)?;
    let document = find(reader, id)?.ok_or_else(missing)?;
    match get.part.as_deref() {
        None => text(reader, get, document),
        Some("transcript") => spoken(reader, document),
        Some(part) => Err(SourceError::not_found("part of a media document", part)),
    }
}

fn text(reader: &Reader<'_>, get: &Get, document: Document) -> Result<Item, SourceError> {
    let stored = chunks(reader, document.id)?;
    let passage = retrieve::read(&document.content, &stored, &get.retrieval, &get.about);
    let loc = Loc {
        media_id: Some(document.id),
        chunk_index: passage.chunk,
        approx_offset: Some(passage.range.start),
        ..Loc::default()
    };
    let section = section(reader, document.id, passage.chunk, get.retrieval.mode)?;
    let attachments = attachments(reader, &document, get.retrieval.mode, section)?;
    let meta = Hit { loc: Some(loc), ..hit(document) };
    Ok(Item { attachments, ..Item::of_passage(meta, passage, get.retrieval.mode) })
}

/// The newest transcript, as an object with `segments`.
fn spoken(reader: &Reader<'_>, document: Document) -> Result<Item, SourceError> {
    let newest = transcripts(reader, document.id)?.into_iter().next();
    let stored =
        newest.ok_or_else(|| SourceError::not_found("transcript of media", document.id))?;
    let mut spoken = transcript::read(&stored.transcription);
    if let (Some(model), Value::Object(fields)) = (stored.model, &mut spoken) {
        fields.entry("model").or_insert(Value::String(model));
    }
    Ok(Item { meta: hit(document), content: spoken, attachments: None, range: None })
}

/// Reads one document as a draft, with its newest transcript.
pub(crate) fn draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let missing = || SourceError::not_found("media", id);
    let number = id.parse().map_err(|_| missing())?;
    let document = find(reader, number)?.ok_or_else(missing)?;
    let newest = transcripts(reader, number)?.into_iter().next();
    let mut draft = MediaDraft {
        title: document.title,
        media_type: document.media_type,
        url: document.url,
        author: document.author,
        content: document.content,
        tags: document.tags,
        ingested_at: document.ingestion_date,
        modified_at: document.last_modified,
        transcript: newest
            .map(|stored| transcript::draft(&transcript::read(&stored.transcription))),
        kept: None,
        headings: Vec::new(),
    };
    draft.kept = kept(reader, number, &draft)?;
    Ok(Draft::stored(id, Body::Media(draft)))
}

/// What is stored of a document that cannot be made of its text again.
fn kept(
    reader: &Reader<'_>,
    media_id: i64,
    media: &MediaDraft,
) -> Result<Option<KeptMedia>, StoreError> {
    let parameters = named_params! { ":media_id": media_id };
    let stored = reader.all(include_str!("../sql/stored_chunks.sql"), parameters, |row| {
        Ok(StoredChunk {
            text: row.get("chunk_text")?,
            start: row.get("start_char")?,
            end: row.get("end_char")?,
            kind: row.get("chunk_type")?,
            metadata: row.get("metadata")?,
        })
    })?;
    let chunks = parts::to_keep(stored, media);
    let analysis = reader.first(include_str!("../sql/analysis.sql"), parameters, |row| {
        row.get("analysis_content")
    })?;
    let length = (!chunks.is_empty()).then(|| media.content.chars().count());
    let is_any = !chunks.is_empty() || analysis.is_some();
    Ok(is_any.then_some(KeptMedia { chunks, length, analysis, transcription: None }))
}

fn find(reader: &Reader<'_>, id: i64) -> Result<Option<Document>, StoreError> {
    reader.first(include_str!("../sql/read.sql"), named_params! { ":id": id }, document)
}

fn document(row: &Row<'_>) -> rusqlite::Result<Document> {
    let tags: String = row.get("tags")?;
    Ok(Document {
        id: row.get("id")?,
        title: row.get("title")?,
        media_type: row.get("type")?,
        url: row.get("url")?,
        author: row.get("author")?,
        content: row.get("content")?,
        ingestion_date: row.get("ingestion_date")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn hit(document: Document) -> Hit {
    let uri = Uri::item(SourceName::Media, document.id.to_string());
    Hit {
        title: Some(document.title),
        created_at: document.ingestion_date,
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
    let chunk = reader.first(
        include_str!("../sql/chunk_at.sql"),
        named_params! { ":media_id": document.id, ":offset": index(offset) },
        |row| row.get::<_, i64>("chunk_index"),
    )?;
    Ok(Loc {
        media_id: Some(document.id),
        chunk_index: chunk.and_then(|chunk| usize::try_from(chunk).ok()),
        approx_offset: Some(offset),
        ..Loc::default()
    })
}

fn index(offset: usize) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

fn chunks(reader: &Reader<'_>, media_id: i64) -> Result<Vec<Span>, StoreError> {
    let characters = |row: &Row<'_>, column: &str| -> rusqlite::Result<usize> {
        Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
    };
    reader.all(include_str!("../sql/chunks.sql"), named_params! { ":media_id": media_id }, |row| {
        Ok(Span {
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

fn transcripts(reader: &Reader<'_>, media_id: i64) -> Result<Vec<StoredTranscript>, StoreError> {
    reader.all(
        include_str!("../sql/transcripts.sql"),
        named_params! { ":media_id": media_id },
        |row| {
            Ok(StoredTranscript {
                id: row.get("id")?,
                model: row.get("whisper_model")?,
                transcription: row.get("transcription")?,
                created_at: row.get("created_at")?,
            })
        },
    )
}

/// The headings that a chunk is under, where a chunk is read.
fn section(
    reader: &Reader<'_>,
    media_id: i64,
    chunk: Option<usize>,
    mode: Mode,
) -> Result<Option<Value>, StoreError> {
    let (Some(chunk), Mode::Chunk | Mode::ChunkWithSiblings) = (chunk, mode) else {
        return Ok(None);
    };
    let stored = reader.first(
        include_str!("../sql/section.sql"),
        named_params! { ":media_id": media_id, ":index": index(chunk) },
        |row| row.get::<_, String>("metadata"),
    )?;
    let path = stored.and_then(|metadata| section_path(&metadata));
    Ok(path.map(|path| json!({ "type": "section", "section_path": path })))
}

/// Names what belongs to a document: the section that is read, its transcripts, and with the full text
/// also what was made of it.
fn attachments(
    reader: &Reader<'_>,
    document: &Document,
    mode: Mode,
    section: Option<Value>,
) -> Result<Option<Vec<Map<String, Value>>>, StoreError> {
    let mut attachments: Vec<Value> = section.into_iter().collect();
    for stored in transcripts(reader, document.id)? {
        attachments.push(json!({
            "type": "transcript",
            "id": stored.id,
            "model": stored.model,
            "created_at": stored.created_at,
            "cues": transcript::cues(&transcript::read(&stored.transcription)),
            "uri": Uri::part(SourceName::Media, document.id.to_string(), "transcript"),
        }));
    }
    if mode == Mode::Full {
        if let Some(author) = &document.author {
            attachments.push(json!({ "type": "author", "name": author }));
        }
        let analysis = reader.first(
            include_str!("../sql/analysis.sql"),
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
