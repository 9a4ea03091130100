//! Reading notes, as hits and as items.

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{
        Body, Draft, Get, Hit, Item, ItemId, Loc, NoteDraft, SourceName, Timestamp, Uri, View,
    },
    retrieve::{self, Finder},
    source::SourceError,
    store::Reader,
};

/// A note as it is stored.
struct Note {
    id: String,
    title: String,
    content: String,
    created_at: Option<Timestamp>,
    last_modified: Option<Timestamp>,
    version: i64,
    tags: Vec<String>,
}

/// Reads matches for a list of results.
pub(crate) fn show(reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError> {
    let finder = Finder::from(view);
    let mut hits = Vec::with_capacity(view.wanted.len());
    for wanted in &view.wanted {
        let Some(note) = find(reader, Some(wanted.key), None)? else { continue };
        hits.push(Hit { score: wanted.score, ..shown(&finder, note) });
    }
    Ok(hits)
}

fn shown(finder: &Finder<'_>, note: Note) -> Hit {
    let content = note.content.as_str();
    let body = body(content);
    let front = content.get(..content.len() - body.len()).unwrap_or_default();
    let in_body = finder.look(body);
    let matched = finder.matched(&in_body, &[&note.title, front, &note.tags.join(" ")]);
    // A match in the front matter says less than one in the text.
    let in_front = if in_body.densest.is_none() { finder.look(front).densest } else { None };
    let at = match &in_body.densest {
        Some(place) => Some(front.len() + place.start),
        None => in_front.as_ref().map(|place| place.start),
    };
    let loc = at.map(|at| loc_at(content, at));
    let excerpt = match in_front {
        Some(place) => finder.excerpt(content, Some(place)),
        None => finder.excerpt(body, in_body.densest),
    };
    let (snippet, highlights) = (Some(excerpt.snippet), excerpt.highlights);
    Hit { snippet, highlights, matched, loc, ..hit(note) }
}

/// Reads one note.
pub(crate) fn get(reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
    let id = get.id.to_string();
    let note =
        find(reader, None, Some(&id))?.ok_or_else(|| SourceError::not_found("note", &get.id))?;
    let passage = retrieve::read(&note.content, &[], &get.retrieval, &get.about);
    let loc = Loc {
        approx_offset: Some(passage.range.start),
        chunk_index: passage.chunk,
        ..Loc::default()
    };
    let meta = Hit { loc: Some(loc), ..hit(note) };
    Ok(Item::of_passage(meta, passage, get.retrieval.mode))
}

/// Reads one note as a draft.
pub(crate) fn draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let note = find(reader, None, Some(id))?.ok_or_else(|| SourceError::not_found("note", id))?;
    let draft = NoteDraft {
        title: note.title,
        content: note.content,
        tags: note.tags,
        created_at: note.created_at,
        modified_at: note.last_modified,
    };
    Ok(Draft::stored(id, Body::Note(draft)))
}

fn find(
    reader: &Reader<'_>,
    row: Option<i64>,
    id: Option<&str>,
) -> Result<Option<Note>, SourceError> {
    let sql = include_str!("../sql/read.sql");
    Ok(reader.first(sql, named_params! { ":row": row, ":id": id }, note)?)
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let tags: String = row.get("tags")?;
    Ok(Note {
        id: row.get("id")?,
        title: row.get("title")?,
        content: row.get("content")?,
        created_at: row.get("created_at")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn hit(note: Note) -> Hit {
    let uri = Uri::item(SourceName::Notes, &note.id);
    Hit {
        title: Some(note.title),
        created_at: note.created_at,
        last_modified: note.last_modified,
        version: Some(note.version),
        tags: Some(note.tags),
        ..Hit::new(uri, ItemId::Text(note.id))
    }
}

fn loc_at(content: &str, bytes: usize) -> Loc {
    let offset = content.get(..bytes).unwrap_or_default().chars().count();
    Loc { approx_offset: Some(offset), ..Loc::default() }
}

/// The text after the front matter, if there is some of both.
fn body(content: &str) -> &str {
    let fenced = |fence: &str, mark: char| {
        let (_, body) = content.strip_prefix(fence)?.split_once(&format!("\n{fence}"))?;
        (!body.trim().is_empty()).then(|| body.trim_start_matches(mark))
    };
    fenced("---", '-').or_else(|| fenced("+++", '+')).unwrap_or(content)
}
