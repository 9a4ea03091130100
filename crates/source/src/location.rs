//! Reading a passage at a location that must exist.
//!
//! A location that names something the item does not have is an error that says what exists. A
//! passage from elsewhere would look like an answer.

use std::{fmt::Display, sync::Arc};

use vademecum_fts5::detect_language;
use vademecum_model::{ItemId, Loc, Retrieval, RetrievalMode, SourceName};
use vademecum_search::{
    ChunkSizes, ChunkSpan, FtsQuery, ItemFields, Passage, find_section, read_passage,
    section_names, split_into_chunks,
};

use crate::SourceError;

/// A field of an item: its name, and its text if it has any.
pub type NamedField = (&'static str, Option<String>);

/// Reads a passage of `text` like [`read_passage`], after checking that the location exists.
pub fn read_located_passage(
    text: &str,
    stored: &[ChunkSpan],
    retrieval: &Retrieval,
    about: &[Arc<FtsQuery>],
) -> Result<Passage, SourceError> {
    if let Some(heading) = &retrieval.loc.heading {
        return read_section(text, heading, retrieval);
    }
    let loc = resolve_loc(text, stored, retrieval)?;
    let retrieval = Retrieval { loc, ..retrieval.clone() };
    let passage = read_passage(text, stored, &retrieval, about);
    Ok(Passage { language: detect_language(text), ..passage })
}

/// Reads a section, or its beginning if it is longer than an answer; in mode `snippet`, a snippet at its
/// beginning.
fn read_section(text: &str, heading: &str, retrieval: &Retrieval) -> Result<Passage, SourceError> {
    let section = find_section(text, heading).ok_or_else(|| {
        let names = section_names(text);
        let exists = match names.as_slice() {
            [] => "this text has no headings".to_owned(),
            names => format!("this text has the headings {}", names.join("; ")),
        };
        missing_place("heading", heading, exists)
    })?;
    let before = text.get(..section.start).unwrap_or_default().chars().count();
    let length = text.get(section).unwrap_or_default().chars().count();
    let is_snippet = retrieval.mode == RetrievalMode::Snippet;
    let budget = retrieval.max_chars.unwrap_or(Retrieval::MAX_RESPONSE_CHARS);
    let retrieval = Retrieval {
        mode: if is_snippet { RetrievalMode::Snippet } else { RetrievalMode::Full },
        loc: Loc { approx_offset: Some(before), ..Loc::default() },
        offset: before.max(retrieval.offset.min(before + length)),
        max_chars: Some(budget.min((before + length).saturating_sub(retrieval.offset.max(before)))),
        ..retrieval.clone()
    };
    let passage = read_passage(text, &[], &retrieval, &[]);
    Ok(Passage { language: detect_language(text), ..passage })
}

/// Reads a passage of the field that the location names, or of all fields joined, each with its
/// name.
pub fn read_field_passage(
    fields: impl IntoIterator<Item = NamedField>,
    retrieval: &Retrieval,
    about: &[Arc<FtsQuery>],
) -> Result<Passage, SourceError> {
    let is_filled = |text: &Option<String>| text.as_ref().is_some_and(|it| !it.trim().is_empty());
    let fields: Vec<_> = fields.into_iter().filter(|(_, text)| is_filled(text)).collect();
    let Some(named) = retrieval.loc.field.as_deref() else {
        let text = ItemFields::new(fields).joined_text();
        return read_located_passage(&text, &[], retrieval, about);
    };
    if let Some((_, text)) = fields.iter().find(|(name, _)| *name == named) {
        return read_located_passage(text.as_deref().unwrap_or_default(), &[], retrieval, about);
    }
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    let exists = format!("this item has the fields {}", names.join(", "));
    Err(missing_place("field", named, exists))
}

/// Checks that a location names nothing that items of the source do not have, nor another item.
pub fn check_loc(source: SourceName, id: &ItemId, loc: &Loc) -> Result<(), SourceError> {
    let is_chat = source == SourceName::Chats;
    let has_fields = matches!(source, SourceName::Characters | SourceName::Prompts);
    let foreign = [
        ("conversation_id", !is_chat && loc.conversation_id.is_some()),
        ("message_id", !is_chat && loc.message_id.is_some()),
        ("message_index", !is_chat && loc.message_index.is_some()),
        ("chunk_index", is_chat && loc.chunk_index.is_some()),
        ("chunk_uuid", is_chat && loc.chunk_uuid.is_some()),
        ("field", !has_fields && loc.field.is_some()),
        ("heading", (is_chat || has_fields) && loc.heading.is_some()),
        ("start_ms", source != SourceName::Media && loc.start_ms.is_some()),
        ("media_id", source != SourceName::Media && loc.media_id.is_some()),
    ];
    if let Some((name, _)) = foreign.iter().find(|(_, is_foreign)| *is_foreign) {
        let exist = match source {
            SourceName::Chats => "message_id and message_index",
            SourceName::Characters | SourceName::Prompts => "field and approx_offset",
            SourceName::Media => "chunk_index, chunk_uuid, approx_offset, start_ms and heading",
            SourceName::Notes | SourceName::Collections => "chunk_index, approx_offset and heading",
        };
        return Err(SourceError::Refused(format!("{name}: a location in {source} has {exist}")));
    }
    match loc.media_id {
        Some(media_id) if id.as_number() != Some(media_id) => {
            Err(missing_place("media_id", media_id, format!("this item is {source}://{id}")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the error for a part of a location that does not exist, with what exists instead.
pub fn missing_place(name: &str, value: impl Display, exists: impl Display) -> SourceError {
    SourceError::Refused(format!("{name} {value}: {exists}"))
}

/// Returns `0 to 7` for eight numbered things, with their name in the plural.
pub fn numbered(what: &str, count: usize) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("{what} 0 only"),
        _ => format!("{what} 0 to {}", count - 1),
    }
}

/// Checks a location and resolves the number of a chunk that is cut on the fly to its offset.
fn resolve_loc(
    text: &str,
    stored: &[ChunkSpan],
    retrieval: &Retrieval,
) -> Result<Loc, SourceError> {
    let loc = &retrieval.loc;
    let has_chunks = |count| format!("this item has {}", numbered("chunks", count));
    if let Some(uuid) = &loc.chunk_uuid
        && !stored.iter().any(|span| span.uuid.as_ref() == Some(uuid))
    {
        let known = stored.iter().filter(|span| span.uuid.is_some()).count();
        let exists = match known {
            0 => "this item has no chunks with a chunk_uuid; name a chunk_index".to_owned(),
            _ => format!("{}; name a chunk_index", has_chunks(stored.len())),
        };
        return Err(missing_place("chunk_uuid", uuid, exists));
    }
    let total = text.chars().count();
    if let Some(offset) = loc.approx_offset.filter(|offset| *offset > total) {
        let exists = format!("this text has {total} characters");
        return Err(missing_place("approx_offset", offset, exists));
    }
    let Some(index) = loc.chunk_index else { return Ok(loc.clone()) };
    let reads_chunks =
        matches!(retrieval.mode, RetrievalMode::Chunk | RetrievalMode::ChunkWithSiblings);
    if !stored.is_empty() && (retrieval.prefer_prechunked || !reads_chunks) {
        return if stored.iter().any(|span| span.index == index) {
            Ok(loc.clone())
        } else {
            Err(missing_place("chunk_index", index, has_chunks(stored.len())))
        };
    }
    // A hit counts the chunks of another division, and its offset is exact.
    if loc.approx_offset.is_some() {
        return Ok(loc.clone());
    }
    let sizes = ChunkSizes {
        chunk: retrieval.chunk_chars,
        overlap: retrieval.overlap_chars,
        max_block: retrieval.sibling_budget(),
    };
    let chunks = split_into_chunks(text, sizes);
    match chunks.get(index) {
        Some(chunk) => Ok(Loc { approx_offset: Some(chunk.start), ..loc.clone() }),
        None => Err(missing_place("chunk_index", index, has_chunks(chunks.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_model::{Preferences, RetrievalOptions};

    fn retrieval(mode: RetrievalMode, loc: Loc) -> Retrieval {
        let options =
            RetrievalOptions { mode: Some(mode), loc: Some(loc), ..RetrievalOptions::default() };
        let options = RetrievalOptions { chunk_size_tokens: Some(16), ..options };
        Retrieval::resolve(options, &Preferences::default())
    }

    fn chunk_at(index: usize) -> Loc {
        Loc { chunk_index: Some(index), ..Loc::default() }
    }

    fn reason(read: Result<Passage, SourceError>) -> String {
        read.unwrap_err().public_reason().into_owned()
    }

    #[test]
    fn unknown_stored_chunk_lists_existing_chunks() {
        let span =
            |index, start, end| ChunkSpan { index, uuid: Some(format!("u{index}")), start, end };
        let stored = [span(0, 0, 5), span(1, 5, 10)];
        let uuid = |uuid: &str| Loc { chunk_uuid: Some(uuid.to_owned()), ..Loc::default() };
        for mode in [RetrievalMode::Snippet, RetrievalMode::Chunk, RetrievalMode::Full] {
            let read =
                |loc| read_located_passage("aaaa bbbb ", &stored, &retrieval(mode, loc), &[]);
            assert_eq!(reason(read(chunk_at(2))), "chunk_index 2: this item has chunks 0 to 1");
            let unknown = reason(read(uuid("x")));
            assert!(unknown.starts_with("chunk_uuid x: this item has chunks 0 to 1"), "{unknown}");
            assert!(read(chunk_at(1)).is_ok() && read(uuid("u1")).is_ok());
        }
    }

    #[test]
    fn chunk_cut_on_the_fly_is_counted() {
        let text = "Ten words and a few more stand here in a row. ".repeat(40);
        for mode in [RetrievalMode::Snippet, RetrievalMode::Chunk] {
            let read = |loc| read_located_passage(&text, &[], &retrieval(mode, loc), &[]);
            let count = (0..200).find(|index| read(chunk_at(*index)).is_err());
            let last = count.unwrap() - 1;
            assert!(read(chunk_at(last)).unwrap().range.start > text.len() / 2, "{mode:?}");
            let reason = reason(read(chunk_at(last + 1)));
            assert!(reason.ends_with(&format!("this item has chunks 0 to {last}")), "{reason}");
        }
    }

    #[test]
    fn offset_beyond_text_names_its_length() {
        let loc = |offset| Loc { approx_offset: Some(offset), ..chunk_at(99) };
        let read = |offset| {
            read_located_passage("short", &[], &retrieval(RetrievalMode::Chunk, loc(offset)), &[])
        };
        assert_eq!(reason(read(6)), "approx_offset 6: this text has 5 characters");
        assert_eq!(read(5).unwrap().text, "short");
    }

    #[test]
    fn section_is_read_whole_or_in_part() {
        let text = "Ö\n# A\none\n## B\ntwo\n# C\nthree";
        let read = |heading: &str, mode, max_tokens| {
            let loc = Loc { heading: Some(heading.to_owned()), ..Loc::default() };
            let budget = Retrieval { max_chars: max_tokens, ..retrieval(mode, loc) };
            read_located_passage(text, &[], &budget, &[])
        };
        let section = read("a", RetrievalMode::Chunk, None).unwrap();
        assert_eq!(section.text, "# A\none\n## B\ntwo\n");
        assert_eq!((section.range.start, section.range.end), (2, 19));
        assert_eq!(read("A", RetrievalMode::Full, Some(4)).unwrap().text, "# A\n");
        assert!(read("C", RetrievalMode::Snippet, None).unwrap().text.contains("three"));
        let missing = reason(read("D", RetrievalMode::Chunk, None));
        assert_eq!(missing, "heading D: this text has the headings A; B; C");
        assert!(read("B", RetrievalMode::ChunkWithSiblings, None).unwrap().text.contains("two"));
    }

    #[test]
    fn unknown_field_lists_existing_fields() {
        let fields = [("name", Some("Ada".to_owned())), ("scenario", None)];
        let read = |field: &str| {
            let loc = Loc { field: Some(field.to_owned()), ..Loc::default() };
            let retrieval = retrieval(RetrievalMode::Snippet, loc);
            read_field_passage(fields.clone(), &retrieval, &[])
        };
        assert_eq!(read("name").unwrap().text, "Ada");
        assert_eq!(reason(read("scenario")), "field scenario: this item has the fields name");
    }

    #[test]
    fn loc_of_another_source_is_an_error() {
        let loc = Loc { message_index: Some(1), ..Loc::default() };
        let id = ItemId::Number(3);
        assert!(check_loc(SourceName::Chats, &id, &loc).is_ok());
        for source in [SourceName::Notes, SourceName::Media, SourceName::Prompts] {
            assert!(check_loc(source, &id, &loc).is_err(), "{source}");
        }
        let other = Loc { media_id: Some(4), ..Loc::default() };
        assert!(check_loc(SourceName::Media, &id, &other).is_err());
        assert!(check_loc(SourceName::Media, &ItemId::Number(4), &other).is_ok());
    }
}
