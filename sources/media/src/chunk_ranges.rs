//! Chunks as ranges of the text of their document, so that a text is stored once
//! (`docs/adr/0058-chunks-are-ranges.md`).
//!
//! A chunk whose text is not that between its offsets has a text of its own. Chunks of earlier versions
//! have one even if it repeats the document; they are changed in the background, some documents in each
//! transaction.

use std::collections::HashMap;

use rusqlite::{Row, named_params, types::ValueRef};
use vademecum_model::StoredChunk;
use vademecum_store::{Reader, StoreError, Writer};

/// Records that all chunks up to the document before `:next` are ranges, where they can be.
const CONTINUE_SQL: &str = "UPDATE chunk_range_progress SET next_media_id = :next";
/// Records that all chunks are ranges, where they can be.
const FINISH_SQL: &str = "DELETE FROM chunk_range_progress";
/// Removes what the chunk `:id`, which is a range of its document, repeats.
const FORGET_TEXT_SQL: &str = "UPDATE DocumentChunks \
     SET own_text = '', creation_date = nullif(creation_date, last_modified) \
     WHERE id = :id";
/// The next document with chunks, from `:next` on.
const NEXT_DOCUMENT_SQL: &str =
    "SELECT min(media_id) AS media_id FROM DocumentChunks WHERE media_id >= :next";
/// The document from which on chunks may repeat its text.
const PROGRESS_SQL: &str = "SELECT next_media_id FROM chunk_range_progress";
/// Removes the chunk `:id` and inserts it again, so that SQLite merges and frees pages. A row that an update
/// makes smaller leaves its page to itself.
const REINSERT_SQL: &str =
    "INSERT OR REPLACE INTO DocumentChunks SELECT * FROM DocumentChunks WHERE id = :id";
/// The text of a document, also of a deleted one.
const TEXT_SQL: &str = "SELECT content FROM Media WHERE id = :media_id AND content IS NOT NULL";

/// Maximum cost of the documents whose chunks are changed in one transaction: bytes of their texts, and a
/// fixed cost for each.
pub(crate) const MAX_BATCH_COST: usize = 4 << 20;
/// Fixed cost of a document.
const DOCUMENT_COST: usize = 4 << 10;

/// Returns the span of `content` for each chunk, or `None` where its offsets are missing or out of
/// range.
pub(crate) fn chunk_spans<'c>(chunks: &[StoredChunk], content: &'c str) -> Vec<Option<&'c str>> {
    let place = |offset: Option<i64>| offset.and_then(|offset| usize::try_from(offset).ok());
    let ends = chunks.iter().flat_map(|chunk| [place(chunk.start), place(chunk.end)]);
    let mut offsets: Vec<usize> = ends.flatten().collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut offsets = offsets.into_iter().peekable();
    let letters = content.char_indices().map(|(at, _)| at).chain([content.len()]);
    // One pass over the text resolves all offsets; one pass per chunk would be quadratic.
    let bytes: HashMap<usize, usize> =
        letters.enumerate().filter(|(offset, _)| offsets.next_if_eq(offset).is_some()).collect();
    let span = |chunk: &StoredChunk| {
        content.get(*bytes.get(&place(chunk.start)?)?..*bytes.get(&place(chunk.end)?)?)
    };
    chunks.iter().map(span).collect()
}

/// Fills in the text of chunks without one from their offsets in `content`.
pub(crate) fn fill_chunk_texts(mut chunks: Vec<StoredChunk>, content: &str) -> Vec<StoredChunk> {
    let spans = chunk_spans(&chunks, content);
    for (chunk, span) in chunks.iter_mut().zip(spans) {
        if chunk.text.is_empty() {
            span.unwrap_or_default().clone_into(&mut chunk.text);
        }
    }
    chunks
}

/// Returns the text to store with each chunk: none for a range of `content`.
pub(crate) fn own_texts<'c>(chunks: &'c [StoredChunk], content: &str) -> Vec<&'c str> {
    // SQLite's `substr` ends a text at a NUL, so that other programs would not read such a range.
    let may_be_ranges = !content.contains('\0');
    let spans = chunk_spans(chunks, content).into_iter();
    let own = |(chunk, span): (&'c StoredChunk, Option<&str>)| {
        let is_range = may_be_ranges && span == Some(chunk.text.as_str());
        if is_range { "" } else { chunk.text.as_str() }
    };
    chunks.iter().zip(spans).map(own).collect()
}

/// Reads a chunk from a row of the statement `stored_chunks`. The text of a range is empty.
pub(crate) fn chunk_from_row(row: &Row<'_>) -> rusqlite::Result<StoredChunk> {
    Ok(StoredChunk {
        text: row.get("own_text")?,
        start: row.get("start_char")?,
        end: row.get("end_char")?,
        kind: row.get("chunk_type")?,
        metadata: row.get("metadata")?,
    })
}

/// Returns whether chunks of an earlier version may repeat texts of their documents.
pub(crate) fn has_repeated_texts(reader: &Reader<'_>) -> Result<bool, StoreError> {
    Ok(reader.query_first(PROGRESS_SQL, &[], |_| Ok(()))?.is_some())
}

/// Removes the texts of chunks that are ranges, of the next documents up to a cost. Returns whether there are
/// more.
pub(crate) fn forget_repeated_texts(
    writer: &Writer<'_>,
    max_cost: usize,
) -> Result<bool, StoreError> {
    let progress = writer.query_first(PROGRESS_SQL, &[], |row| row.get("next_media_id"))?;
    let mut next: Option<i64> = progress;
    let mut cost = 0;
    while let Some(first) = next
        && cost < max_cost
    {
        let from = named_params! { ":next": first };
        let found = writer.query_first(NEXT_DOCUMENT_SQL, from, |row| row.get("media_id"))?;
        let found: Option<i64> = found.flatten();
        if let Some(media_id) = found {
            cost += DOCUMENT_COST + forget_texts_of(writer, media_id)?;
        }
        next = found.and_then(|media_id| media_id.checked_add(1));
    }
    match next {
        Some(next) => writer.execute(CONTINUE_SQL, named_params! { ":next": next })?,
        None => writer.execute(FINISH_SQL, &[])?,
    };
    Ok(next.is_some())
}

/// Removes the texts of the chunks of a document that are ranges of it. Returns the length of its text.
fn forget_texts_of(writer: &Writer<'_>, media_id: i64) -> Result<usize, StoreError> {
    let this = named_params! { ":media_id": media_id };
    let content = writer.query_first(TEXT_SQL, this, |row| read_sound_text(row, "content"))?;
    let Some(content) = content.flatten() else { return Ok(0) };
    let stored = writer.query_all(sql!("chunks_with_texts"), this, |row| {
        // A damaged value may have another type.
        let offset = |column| row.get::<_, Option<i64>>(column).ok().flatten();
        let (start, end) = (offset("start_char"), offset("end_char"));
        let chunk = |text| StoredChunk { text, start, end, ..StoredChunk::default() };
        Ok((row.get::<_, i64>("id")?, read_sound_text(row, "own_text")?.map(chunk)))
    })?;
    let sound = stored.into_iter().filter_map(|(id, chunk)| Some((id, chunk?)));
    let (ids, chunks): (Vec<i64>, Vec<StoredChunk>) = sound.unzip();
    for (id, own_text) in ids.into_iter().zip(own_texts(&chunks, &content)) {
        if !own_text.is_empty() {
            continue;
        }
        let chunk = named_params! { ":id": id };
        match writer.execute(FORGET_TEXT_SQL, chunk) {
            Ok(_) => writer.execute(REINSERT_SQL, chunk)?,
            // A damaged row stays as it is, so that its damage is reported.
            Err(StoreError::DamagedItem { .. }) => continue,
            Err(error) => return Err(error),
        };
    }
    Ok(content.len())
}

/// Reads a text; `None` if it is none, because it is damaged.
fn read_sound_text(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) => str::from_utf8(bytes).ok().map(str::to_owned),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vademecum_model::{
        Deadline, Draft, DraftBody, GeneratedMediaData, MediaDraft, SaveOutcome,
    };
    use vademecum_source::{Source, SourceError, are_rows_earlier, update_all_earlier_rows};
    use vademecum_store::{Database, Durability, RowDamageKind, Store};
    use vademecum_testing::{MemoryArchive, SourceFixture, follow_archive};

    use super::*;
    use crate::Media;

    /// Stores the text of each chunk with it, as earlier versions did.
    const REPEAT_TEXTS_SQL: &str = "UPDATE DocumentChunks SET own_text = (\
             SELECT chunk_text FROM UnvectorizedMediaChunks AS whole WHERE whole.id = DocumentChunks.id\
         ) WHERE own_text = ''";
    const BEGIN_SQL: &str =
        "INSERT OR REPLACE INTO chunk_range_progress (id, next_media_id) VALUES (1, 0)";
    const OWN_TEXTS_SQL: &str = "SELECT own_text AS text FROM DocumentChunks ORDER BY id";
    const WHOLE_TEXTS_SQL: &str =
        "SELECT chunk_text AS text FROM UnvectorizedMediaChunks ORDER BY id";

    fn document(title: &str, content: &str, chunks: &[(&str, i64, i64)]) -> Draft {
        let chunk = |(text, start, end): &(&str, i64, i64)| StoredChunk {
            text: (*text).to_owned(),
            start: Some(*start),
            end: Some(*end),
            ..StoredChunk::default()
        };
        let chunks = chunks.iter().map(chunk).collect();
        let media = MediaDraft {
            title: title.to_owned(),
            media_type: "html".to_owned(),
            content: content.to_owned(),
            kept: Some(GeneratedMediaData { chunks, ..GeneratedMediaData::default() }),
            ..MediaDraft::default()
        };
        Draft {
            origin: format!("file:/{title}"),
            digest: title.to_owned(),
            id: None,
            body: DraftBody::Media(media),
        }
    }

    /// Documents with overlapping chunks, a normalised one, one out of range, and a NUL.
    fn documents() -> [Draft; 4] {
        [
            document("Bread", "Über rye. Oat.", &[("Über rye.", 0, 9), ("rye. Oat.", 5, 14)]),
            document("Oven", "Hot  stone.", &[("Hot stone.", 0, 11), ("gone", 90, 94)]),
            document("Odd", "a\0b c", &[("a\0b", 0, 3), ("c", 4, 5)]),
            document("Grain", "Spelt 🌾 and bran.", &[]),
        ]
    }

    const WHOLE_TEXTS: [&str; 7] =
        ["Über rye.", "rye. Oat.", "Hot stone.", "gone", "a\0b", "c", "Spelt 🌾 and bran."];
    const OWN_TEXTS: [&str; 7] = ["", "", "Hot stone.", "gone", "a\0b", "c", ""];

    fn library(folder: &tempfile::TempDir) -> Store {
        let store = Store::new(Database::Media, folder.path());
        for draft in documents() {
            let saved = store.write(Durability::Bulk, |writer| Media.save_draft(writer, &draft));
            assert!(matches!(saved.unwrap(), SaveOutcome::New(_)));
        }
        store
    }

    fn texts(store: &Store, sql: &str) -> Vec<String> {
        let minute = Deadline::after(std::time::Duration::from_mins(1));
        let read: Result<_, StoreError> =
            store.read(minute, |reader| reader.query_all(sql, &[], |row| row.get("text")));
        read.unwrap()
    }

    fn execute(store: &Store, statements: &[&str]) {
        let done: Result<(), StoreError> = store.write(Durability::Bulk, |writer| {
            statements.iter().try_for_each(|sql| writer.execute(sql, &[]).map(drop))
        });
        done.unwrap();
    }

    /// Changes a row as damage of the file does: its digest stays.
    fn damage(store: &Store, sql: &str) {
        let connection = store.inspect().unwrap();
        connection
            .execute_batch(&format!(
                "UPDATE digest_state SET is_writing = 1; {sql}; UPDATE digest_state SET is_writing = 0"
            ))
            .unwrap();
    }

    #[test]
    fn only_texts_that_are_no_ranges_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = library(&folder);
        assert_eq!(texts(&store, OWN_TEXTS_SQL), OWN_TEXTS);
        assert_eq!(texts(&store, WHOLE_TEXTS_SQL), WHOLE_TEXTS);
        assert!(!are_rows_earlier(&Media, &store).unwrap(), "a new library has no earlier rows");
    }

    #[test]
    fn earlier_chunks_become_ranges_in_several_transactions() {
        let folder = tempfile::tempdir().unwrap();
        let store = library(&folder);
        execute(&store, &[REPEAT_TEXTS_SQL, BEGIN_SQL]);
        assert_eq!(texts(&store, OWN_TEXTS_SQL), WHOLE_TEXTS);
        let next = |store: &Store| {
            store.write(Durability::Bulk, |writer| forget_repeated_texts(writer, 1)).unwrap()
        };
        assert!(next(&store));
        assert_eq!(texts(&store, OWN_TEXTS_SQL)[..2], OWN_TEXTS[..2]);
        assert_eq!(texts(&store, OWN_TEXTS_SQL)[2..], WHOLE_TEXTS[2..], "one document is changed");
        drop(store);
        // Another process continues.
        let store = Store::new(Database::Media, folder.path());
        assert!(are_rows_earlier(&Media, &store).unwrap());
        assert!(next(&store) && update_all_earlier_rows(&Media, &store).unwrap());
        assert_eq!(texts(&store, OWN_TEXTS_SQL), OWN_TEXTS);
        assert_eq!(texts(&store, WHOLE_TEXTS_SQL), WHOLE_TEXTS);
        assert!(!update_all_earlier_rows(&Media, &store).unwrap());
        let verified = store.verify_rows().unwrap();
        assert!(verified.damage.is_empty() && !verified.lacks_digests(), "{verified:?}");
    }

    #[test]
    fn pages_of_repeated_texts_become_free() {
        let folder = tempfile::tempdir().unwrap();
        let store = library(&folder);
        let long = document("Long", &"A line of the oven. ".repeat(5_000), &[]);
        let saved: Result<_, SourceError> =
            store.write(Durability::Bulk, |writer| Media.save_draft(writer, &long));
        saved.unwrap();
        execute(&store, &[REPEAT_TEXTS_SQL, BEGIN_SQL]);
        let free_pages = "SELECT CAST(freelist_count AS TEXT) AS text FROM pragma_freelist_count";
        let before: usize = texts(&store, free_pages)[0].parse().unwrap();
        assert!(update_all_earlier_rows(&Media, &store).unwrap());
        let after: usize = texts(&store, free_pages)[0].parse().unwrap();
        assert!(after > before + 30, "{before} {after}: 100 kB in chunks of 2 kB");
    }

    #[test]
    fn damaged_chunks_stay_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let store = library(&folder);
        execute(&store, &[REPEAT_TEXTS_SQL, BEGIN_SQL]);
        damage(&store, "UPDATE DocumentChunks SET own_text = 'Über rxe.' WHERE id = 1");
        damage(&store, "UPDATE DocumentChunks SET metadata = 'x' WHERE id = 2");
        damage(&store, "UPDATE DocumentChunks SET start_char = 'x' WHERE id = 5");
        damage(&store, "UPDATE DocumentChunks SET own_text = CAST(x'FF' AS TEXT) WHERE id = 3");
        assert!(update_all_earlier_rows(&Media, &store).unwrap());
        let damaged: Vec<_> = store.verify_rows().unwrap().damage;
        let kinds: Vec<_> = damaged.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, [RowDamageKind::Changed; 4], "{damaged:?}");
        let (mut kept, mut expected) = (Vec::new(), Vec::new());
        for (sql, texts) in
            [("id IN (1, 2)", ["Über rxe.", "rye. Oat."]), ("id IN (6, 7)", ["c", ""])]
        {
            let sql =
                format!("SELECT own_text AS text FROM DocumentChunks WHERE {sql} ORDER BY id");
            kept.extend(self::texts(&store, &sql));
            expected.extend(texts);
        }
        assert_eq!(kept, expected);
    }

    #[test]
    fn last_possible_document_ends_the_update() {
        let folder = tempfile::tempdir().unwrap();
        let store = library(&folder);
        let last =
            Draft { id: Some(i64::MAX.to_string()), ..document("Last", "Rye.", &[("Rye.", 0, 4)]) };
        let saved: Result<_, SourceError> =
            store.write(Durability::Bulk, |writer| Media.save_draft(writer, &last));
        saved.unwrap();
        execute(&store, &[REPEAT_TEXTS_SQL, BEGIN_SQL]);
        assert!(update_all_earlier_rows(&Media, &store).unwrap());
        assert_eq!(texts(&store, OWN_TEXTS_SQL).last().unwrap(), "");
    }

    #[test]
    fn servers_of_an_archive_update_rows_once() {
        let archive = Arc::new(MemoryArchive::default());
        let server = || SourceFixture::following(Media, &follow_archive(&Media, &archive));
        let [one, other] = [server(), server()];
        one.save_draft(&documents()[0]);
        one.write(|writer| {
            writer.execute(REPEAT_TEXTS_SQL, &[])?;
            writer.execute(BEGIN_SQL, &[])
        });
        let own = |server: &SourceFixture<Media>| {
            let read = server.read(|reader| {
                Ok(reader.query_all(OWN_TEXTS_SQL, &[], |row| row.get::<_, String>("text"))?)
            });
            read.unwrap()
        };
        assert_eq!(own(&other), WHOLE_TEXTS[..2]);
        assert!(!other.write(|writer| forget_repeated_texts(writer, MAX_BATCH_COST)));
        assert_eq!(own(&one), ["", ""]);
        let is_left = one.read(|reader| Ok(has_repeated_texts(reader)?)).unwrap();
        assert!(!is_left, "the other server is done");
    }
}
