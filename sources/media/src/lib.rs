//! Media: documents, articles, audio and video, with what is said in them.
//!
//! A document is stored with its chunks, so that a `loc` names the chunk a
//! match is in and reading goes on from there. What is said when is kept as a
//! transcript, read as the part `transcript` of the document.

mod change;
mod outline;
mod parts;
mod read;
mod remove;
mod save;
mod transcript;

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{
        Ask, Draft, Field, Filters, Get, Hit, Holdings, Item, ItemId, Ranking, Saved, SourceName,
        Stamped, Suggestions, Tagging, Uri, View, Written,
    },
    retrieve::{self, Ids, Plan, rank},
    source::{Source, SourceError},
    store::{Column, Database, Derived, Reader, Table, Writer},
};

/// The media of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Media;

/// The full-text table, and how much a word counts in each of its columns.
const TABLE: Table = Table {
    name: "media_fts",
    columns: &[
        Column { name: "title", field: Field::Title, weight: 2.0 },
        Column { name: "content", field: Field::Text, weight: 1.0 },
        Column { name: "author", field: Field::Author, weight: 1.0 },
        Column { name: "keywords", field: Field::Tags, weight: 1.0 },
    ],
    state: include_str!("../sql/state.sql"),
    postings: include_str!("../sql/postings.sql"),
    lengths: include_str!("../sql/lengths.sql"),
    words: include_str!("../sql/words.sql"),
};

impl Source for Media {
    fn name(&self) -> SourceName {
        SourceName::Media
    }

    fn database(&self) -> Database {
        Database::Media
    }

    fn searched(&self, _: &Filters) -> (&'static Table, Vec<&'static str>) {
        (&TABLE, Vec::new())
    }

    fn derived(&self) -> Option<Derived> {
        Some(Derived {
            table: TABLE.name,
            drift: include_str!("../sql/drift.sql"),
            fill: include_str!("../sql/fill.sql"),
        })
    }

    fn rank(&self, reader: &Reader<'_>, ask: &Ask) -> Result<Ranking, SourceError> {
        let types = &ask.filters.media_types;
        let types = (!types.is_empty()).then(|| serde_json::json!(types).to_string());
        let (from, to) = (ask.filters.date_from, ask.filters.date_to);
        let filtered = types.is_some() || from.is_some() || to.is_some();
        let filters = named_params! { ":types": types, ":date_from": from, ":date_to": to };
        let plan = Plan {
            table: &TABLE,
            columns: &[],
            passes: filtered.then_some((include_str!("../sql/passes.sql"), filters)),
            identify: include_str!("../sql/identify.sql"),
            uri,
        };
        Ok(rank(reader, ask, &plan)?)
    }

    fn show(&self, reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError> {
        read::show(reader, view)
    }

    fn get(&self, reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
        read::get(reader, get)
    }

    fn draft(&self, reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
        read::draft(reader, id)
    }

    fn save(&self, writer: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError> {
        save::save(writer, draft)
    }

    fn remove(&self, writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
        remove::remove(writer, origin)
    }

    fn add(&self, writer: &Writer<'_>, draft: &Draft) -> Result<Written, SourceError> {
        change::add(writer, draft)
    }

    fn tag(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        tagging: &Tagging,
    ) -> Result<Written, SourceError> {
        change::tag(writer, id, tagging)
    }

    fn kinds(&self, reader: &Reader<'_>) -> Result<Vec<(String, usize)>, SourceError> {
        let sql = include_str!("../sql/types.sql");
        let kinds = reader.all(sql, &[], |row| Ok((row.get("type")?, row.get::<_, i64>("n")?)))?;
        let count = |n| usize::try_from(n).unwrap_or(0);
        Ok(kinds.into_iter().map(|(kind, n)| (kind, count(n))).collect())
    }

    fn suggest(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        let sql = include_str!("../sql/suggest.sql");
        Ok(retrieve::suggest(reader, &TABLE, Ids::Numbers, sql, typed, most)?)
    }

    fn contents(&self, reader: &Reader<'_>) -> Result<Vec<Stamped>, SourceError> {
        Ok(reader.contents(include_str!("../sql/contents.sql"))?)
    }

    fn counts(
        &self,
        reader: &Reader<'_>,
        filters: &Filters,
        key: i64,
    ) -> Result<Option<bool>, SourceError> {
        let types = &filters.media_types;
        let types = (!types.is_empty()).then(|| serde_json::json!(types).to_string());
        let (from, to) = (filters.date_from, filters.date_to);
        let parameters =
            named_params! { ":key": key, ":types": types, ":date_from": from, ":date_to": to };
        let found = reader.first(include_str!("../sql/passes.sql"), parameters, |_| Ok(()))?;
        Ok(Some(found.is_some()))
    }

    fn holdings(&self, reader: &Reader<'_>) -> Result<Holdings, SourceError> {
        Ok(reader.holdings(include_str!("../sql/holdings.sql"))?)
    }
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    Ok(Uri::item(SourceName::Media, row.get::<_, i64>("id")?.to_string()))
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{
        Body, Cue, Heading, KeptMedia, MediaDraft, Mode, RetrievalOptions, StoredChunk, Timestamp,
        Transcript,
    };
    use vademecum_testing::{self as testing, Bench};

    use super::*;

    fn document(title: &str, kind: &str, content: &str) -> MediaDraft {
        MediaDraft {
            title: title.to_owned(),
            media_type: kind.to_owned(),
            content: content.to_owned(),
            modified_at: Timestamp::parse("2026-01-01").ok(),
            ..MediaDraft::default()
        }
    }

    fn draft(media: MediaDraft) -> Draft {
        Draft {
            origin: format!("file:/{}", media.title),
            digest: format!("{media:?}"),
            id: None,
            body: Body::Media(media),
        }
    }

    fn shelf() -> [Draft; 3] {
        [
            draft(document("Bread", "html", "Knead the dough.")),
            draft(document("Talk", "audio", "The dough rises, she said.")),
            draft(document("Dough", "html", "Flour and water.")),
        ]
    }

    fn options(mode: Mode) -> RetrievalOptions {
        RetrievalOptions { mode: Some(mode), ..RetrievalOptions::default() }
    }

    #[test]
    fn media_keep_the_promises_of_a_source() {
        testing::check(Media, &shelf(), "dough");
    }

    #[test]
    fn media_that_are_saved_together_are_written_together() {
        testing::check_written_together(Media, &shelf());
    }

    #[test]
    fn a_draft_that_was_read_keeps_only_what_its_text_does_not_say() {
        let page = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        let content = "Über rye. Oat.".to_owned();
        let paper =
            MediaDraft { headings: vec![page(0, "Page 1")], ..document("Paper", "pdf", &content) };
        let chunk = |text: &str, start, end| StoredChunk {
            text: text.to_owned(),
            start: Some(start),
            end: Some(end),
            kind: Some("prose".to_owned()),
            metadata: None,
        };
        let chunks = vec![chunk("", 0, 9), chunk("Oat, cut by another.", 10, 14)];
        let analysis = Some("About grain.".to_owned());
        let kept = Some(KeptMedia { chunks, analysis, ..KeptMedia::default() });
        let foreign = MediaDraft { kept, ..document("Grain", "txt", &content) };
        let bench = Bench::filled(Media, &[shelf()[0].clone(), draft(paper), draft(foreign)]);
        let read = |bench: &Bench<Media>, id: &str| {
            let read = bench.read(|reader| Media.draft(reader, id)).unwrap();
            let Body::Media(media) = read.body.clone() else { panic!("media") };
            (read, media.kept)
        };
        assert!(read(&bench, "1").1.is_none());
        let other = Bench::new(Media);
        for id in ["2", "3"] {
            other.save(&read(&bench, id).0);
            assert_eq!(format!("{:?}", read(&other, id)), format!("{:?}", read(&bench, id)));
        }
        let kept = read(&other, "2").1.unwrap();
        assert_eq!((kept.chunks[0].text.as_str(), kept.length), ("", Some(14)));
        assert!(kept.chunks[0].metadata.as_deref().unwrap().contains("Page 1"));
        let kept = read(&other, "3").1.unwrap();
        let texts: Vec<&str> = kept.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        assert_eq!(texts, ["", "Oat, cut by another."]);
        assert_eq!(kept.analysis.as_deref(), Some("About grain."));
        // Whoever edits the text between the two gets chunks of what it is now.
        let mut edited = read(&bench, "3").0;
        let Body::Media(media) = &mut edited.body else { panic!("media") };
        media.content.push_str(" Spelt.");
        edited.digest = "edited".to_owned();
        other.save(&edited);
        assert!(read(&other, "3").1.unwrap().chunks.is_empty());
    }

    #[test]
    fn the_type_filter_keeps_the_named_types() {
        let bench = Bench::filled(Media, &shelf());
        let of = |kinds: &[&str]| {
            let media_types = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            bench.search_with("dough", Filters { media_types, ..Filters::default() }).len()
        };
        assert_eq!(
            (of(&["html"]), of(&["audio"]), of(&["HTML", "audio"]), of(&["pdf"])),
            (2, 1, 3, 0)
        );
        let kinds = bench.read(|reader| Media.kinds(reader)).unwrap();
        assert_eq!(kinds, [("audio".to_owned(), 1), ("html".to_owned(), 2)]);
    }

    #[test]
    fn the_date_filter_goes_by_the_day_of_ingestion() {
        let bench = Bench::new(Media);
        bench.save(&shelf()[0]);
        let between = |from: &str, to: &str| {
            let date_from = Timestamp::parse(from).ok();
            let date_to = Timestamp::parse_end(to).ok();
            bench.search_with("dough", Filters { date_from, date_to, ..Filters::default() }).len()
        };
        let today = Timestamp::now().to_string()[..10].to_owned();
        assert_eq!(between(&today, &today), 1);
        assert_eq!(between("2000-01-01", "2000-12-31"), 0);
    }

    #[test]
    fn a_match_deep_in_a_document_names_its_chunk_and_is_read_there() {
        let content =
            format!("{}Über the NEEDLE here. {}", "Häy. ".repeat(2_000), "Straw. ".repeat(900));
        let bench = Bench::new(Media);
        bench.save(&draft(document("Stack", "txt", &content)));
        let hit = bench.search("needle").remove(0);
        let loc = hit.loc.clone().unwrap();
        assert_eq!(loc.approx_offset, Some(10_009));
        assert!(hit.snippet.unwrap().contains("NEEDLE"));
        let read = |mode| {
            let options = RetrievalOptions { loc: hit.loc.clone(), ..options(mode) };
            bench.get(hit.id.clone(), options).unwrap()
        };
        let chunk = read(Mode::Chunk);
        assert!(chunk.content.as_str().unwrap().contains("NEEDLE"));
        assert_eq!(chunk.meta.loc.unwrap().chunk_index, loc.chunk_index);
        let wider = read(Mode::ChunkWithSiblings);
        assert!(wider.content.as_str().unwrap().contains(chunk.content.as_str().unwrap()));
        assert!(content.contains(wider.content.as_str().unwrap()), "nothing is repeated");
    }

    #[test]
    fn a_chunk_is_read_with_the_headings_that_it_is_under() {
        let content = format!("# Bread\n{}\n## Rye\nSour.\n", "Flour. ".repeat(400));
        let bench = Bench::new(Media);
        bench.save(&draft(document("Book", "markdown", &content)));
        let hit = bench.search("sour").remove(0);
        let options = RetrievalOptions { loc: hit.loc.clone(), ..options(Mode::Chunk) };
        let attachments = bench.get(hit.id.clone(), options).unwrap().attachments.unwrap();
        assert_eq!(attachments[0]["section_path"], "Bread / Rye");
        let whole = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        assert!(bench.get(hit.id, whole).unwrap().attachments.is_none());
    }

    #[test]
    fn a_transcript_is_read_with_its_real_times() {
        let cue = |start_ms, end_ms, text: &str| Cue {
            start_ms,
            end_ms,
            speaker: Some("Ada".to_owned()),
            text: text.to_owned(),
        };
        let transcript = Transcript {
            language: Some("en".to_owned()),
            cues: vec![cue(1_500, 2_000, "Hello."), cue(2_000, 4_250, "World.")],
        };
        let media = MediaDraft {
            transcript: Some(transcript),
            ..document("Talk", "audio", "Ada: Hello.\nWorld.")
        };
        let bench = Bench::new(Media);
        bench.save(&draft(media));
        let retrieval = vademecum_kit::model::Retrieval::full();
        let get = Get {
            id: 1.into(),
            part: Some("transcript".to_owned()),
            retrieval,
            page: None,
            about: Vec::new(),
        };
        let spoken = bench.read(|reader| Media.get(reader, &get)).unwrap().content;
        assert_eq!(spoken["segments"][1]["start"], 2.0);
        assert_eq!(spoken["segments"][1]["end"], 4.25);
        assert_eq!(
            (&spoken["text"], &spoken["language"]),
            (&"Hello.\nWorld.".into(), &"en".into())
        );
        let item = bench.get(1, options(Mode::Snippet)).unwrap();
        assert_eq!(item.attachments.unwrap()[0]["uri"], "media://1#transcript");
    }

    #[test]
    fn the_same_file_under_another_name_is_not_stored_twice() {
        let bench = Bench::new(Media);
        let first = shelf()[0].clone();
        bench.save(&first);
        let again = bench.save(&Draft { origin: "file:/elsewhere".to_owned(), ..first });
        assert!(matches!(again, Saved::Unchanged(_)));
        assert_eq!(bench.search("knead").len(), 1);
    }
}
