//! Reading notes as hits, items and drafts.

use rusqlite::{Row, named_params};
use vademecum_model::{
    Draft, DraftBody, FrontMatterBlock, Hit, ItemId, Loc, NoteDraft, SourceName, Timestamp, Uri,
};
use vademecum_search::{GetRequest, Highlighter, HitRequest, Item};
use vademecum_source::{SourceError, read_located_passage};
use vademecum_store::Reader;

/// A note as it is stored.
struct Note {
    id: String,
    title: String,
    content: String,
    names: Vec<String>,
    folders: Vec<String>,
    created_at: Option<Timestamp>,
    last_modified: Option<Timestamp>,
    version: i64,
    tags: Vec<String>,
}

/// Loads the hits for ranked matches. Notes that no longer exist are left out.
pub(crate) fn load_hits(reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
    let finder = Highlighter::from(view);
    let mut hits = Vec::with_capacity(view.matches.len());
    for ranked in &view.matches {
        let Some(note) = find_note(reader, Some(ranked.key), None)? else { continue };
        hits.push(Hit { score: ranked.score, ..match_hit(&finder, note) });
    }
    Ok(hits)
}

fn match_hit(finder: &Highlighter<'_>, note: Note) -> Hit {
    let content = note.content.as_str();
    let body = Some(FrontMatterBlock::body_of(content)).filter(|body| !body.trim().is_empty());
    let body = body.unwrap_or(content);
    let front = content.get(..content.len() - body.len()).unwrap_or_default();
    let in_body = finder.find_matches(body);
    let other_names = [note.names.as_slice(), &note.folders].concat().join("\n");
    let matched =
        finder.matched_words(&in_body, &[&note.title, front, &note.tags.join(" "), &other_names]);
    // The front matter is used only if the body has no match.
    let in_front =
        if in_body.densest.is_none() { finder.find_matches(front).densest } else { None };
    let at = match &in_body.densest {
        Some(place) => Some(front.len() + place.start),
        None => in_front.as_ref().map(|place| place.start),
    };
    let loc = at.map(|at| loc_at(content, at));
    let excerpt = match in_front {
        Some(place) => finder.make_excerpt(content, Some(place)),
        None => finder.make_excerpt(body, in_body.densest),
    };
    let (snippet, highlights) = (Some(excerpt.snippet), excerpt.highlights);
    Hit { snippet, highlights, matched, loc, ..note_hit(note) }
}

/// Loads one note, or a part of it.
pub(crate) fn load_item(reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
    let id = get.id.to_string();
    let note = find_note(reader, None, Some(&id))?
        .ok_or_else(|| SourceError::not_found("note", &get.id))?;
    let passage = read_located_passage(&note.content, &[], &get.retrieval, &get.recent_queries)?;
    let loc = Loc {
        approx_offset: Some(passage.range.start),
        chunk_index: passage.chunk,
        ..Loc::default()
    };
    let meta = Hit { loc: Some(loc), ..note_hit(note) };
    Ok(Item::from_passage(meta, passage, get.retrieval.mode))
}

/// Loads one note as a draft.
pub(crate) fn load_draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let note =
        find_note(reader, None, Some(id))?.ok_or_else(|| SourceError::not_found("note", id))?;
    let draft = NoteDraft {
        title: note.title,
        content: note.content,
        names: note.names,
        folders: note.folders,
        tags: note.tags,
        created_at: note.created_at,
        modified_at: note.last_modified,
        former_origin: None,
    };
    Ok(Draft::from_stored(id, DraftBody::Note(draft)))
}

fn find_note(
    reader: &Reader<'_>,
    row: Option<i64>,
    id: Option<&str>,
) -> Result<Option<Note>, SourceError> {
    Ok(reader.query_first(sql!("read"), named_params! { ":row": row, ":id": id }, note_from_row)?)
}

fn note_from_row(row: &Row<'_>) -> rusqlite::Result<Note> {
    let tags: String = row.get("tags")?;
    let lines =
        |column| row.get(column).map(|text: String| text.lines().map(str::to_owned).collect());
    Ok(Note {
        id: row.get("id")?,
        title: row.get("title")?,
        content: row.get("content")?,
        names: lines("names")?,
        folders: lines("folders")?,
        created_at: row.get("created_at")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn note_hit(note: Note) -> Hit {
    let uri = Uri::item(SourceName::Notes, &note.id);
    Hit {
        title: Some(note.title),
        created_at: note.created_at,
        last_modified: note.last_modified,
        version: Some(note.version),
        tags: Some(note.tags),
        folder: (!note.folders.is_empty()).then(|| note.folders.join("/")),
        ..Hit::new(uri, ItemId::Text(note.id))
    }
}

fn loc_at(content: &str, bytes: usize) -> Loc {
    let offset = content.get(..bytes).unwrap_or_default().chars().count();
    Loc { approx_offset: Some(offset), ..Loc::default() }
}
