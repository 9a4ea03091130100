//! The media source: documents, articles, audio and video with their texts and transcripts.
//!
//! A document is stored with its chunks, which are ranges of its text, so that a `loc` names the chunk
//! of a match and reading can continue from there. Timed speech is stored as a transcript and read as
//! the part `transcript` of the document.

#[macro_use]
extern crate vademecum_source;

mod change;
mod chunk_ranges;
mod document_parts;
mod full_text;
mod item_table;
mod media;
mod read;
mod save;
mod sections;
mod transcript;
mod transcript_start;

use vademecum_model::{
    ChangedItem, Draft, Filters, FtsTable, Hit, ItemId, ListRequest, SaveOutcome, SourceName,
    TagChange, json_list,
};
use vademecum_search::{GetRequest, HitRequest, Item};
use vademecum_source::{FilterParameters, ItemStatements, Source, SourceError, shared_parameters};
use vademecum_store::{Database, Reader, StoreError, Writer};

use full_text::FULL_TEXT_TABLE;
use item_table::ITEM_STATEMENTS;
pub use media::Media;

impl Source for Media {
    fn name(&self) -> SourceName {
        SourceName::Media
    }

    fn database(&self) -> Database {
        Database::Media
    }

    fn searched_table(&self, _: &Filters) -> (&'static FtsTable, Vec<&'static str>) {
        (&FULL_TEXT_TABLE, Vec::new())
    }

    fn item_statements(&self) -> Option<&'static ItemStatements> {
        Some(&*ITEM_STATEMENTS)
    }

    fn filter_parameters(&self, filters: &Filters) -> FilterParameters {
        let mut parameters = shared_parameters(filters);
        parameters.push((":types", Box::new(json_list(&filters.media_types))));
        parameters.push((":date_from", Box::new(filters.date_from)));
        parameters.push((":date_to", Box::new(filters.date_to)));
        parameters
    }

    fn list_parameters(&self, request: &ListRequest) -> FilterParameters {
        let mut parameters = shared_parameters(&request.filters);
        parameters.push((":types", Box::new(json_list(&request.filters.media_types))));
        parameters
    }

    fn load_hits(&self, reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
        read::load_hits(reader, view)
    }

    fn load_item(&self, reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
        read::load_item(reader, get)
    }

    fn load_draft(&self, reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
        read::load_draft(reader, id)
    }

    fn replace_item(
        &self,
        writer: &Writer<'_>,
        id: &str,
        draft: &Draft,
    ) -> Result<(), SourceError> {
        save::replace_document(writer, id, draft)
    }

    fn save_draft(&self, writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
        save::save_document(writer, draft)
    }

    fn insert_item(&self, writer: &Writer<'_>, draft: &Draft) -> Result<ChangedItem, SourceError> {
        change::create_document(writer, draft)
    }

    fn tag_item(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        tagging: &TagChange,
    ) -> Result<ChangedItem, SourceError> {
        change::update_tags(writer, id, tagging)
    }

    fn has_earlier_rows(&self, reader: &Reader<'_>) -> Result<bool, StoreError> {
        chunk_ranges::has_repeated_texts(reader)
    }

    fn update_earlier_rows(&self, writer: &Writer<'_>) -> Result<bool, SourceError> {
        Ok(chunk_ranges::forget_repeated_texts(writer, chunk_ranges::MAX_BATCH_COST)?)
    }

    fn item_kinds(&self, reader: &Reader<'_>) -> Result<Vec<(String, usize)>, SourceError> {
        let kinds = reader
            .query_all(sql!("types"), &[], |row| Ok((row.get("type")?, row.get::<_, i64>("n")?)))?;
        let count = |n| usize::try_from(n).unwrap_or(0);
        Ok(kinds.into_iter().map(|(kind, n)| (kind, count(n))).collect())
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{
        Cue, DraftBody, GeneratedMediaData, Heading, MediaDraft, RetrievalMode, RetrievalOptions,
        StoredChunk, Timestamp, Transcript,
    };
    use vademecum_testing as testing;
    use vademecum_testing::SourceFixture;

    use super::*;

    fn media_draft(title: &str, kind: &str, content: &str) -> MediaDraft {
        MediaDraft {
            title: title.to_owned(),
            media_type: kind.to_owned(),
            content: content.to_owned(),
            modified_at: Timestamp::parse("2026-01-01").ok(),
            ..MediaDraft::default()
        }
    }

    fn to_draft(media: MediaDraft) -> Draft {
        Draft {
            origin: format!("file:/{}", media.title),
            digest: format!("{media:?}"),
            id: None,
            body: DraftBody::Media(media),
        }
    }

    fn sample_drafts() -> [Draft; 3] {
        [
            to_draft(media_draft("Bread", "html", "Knead the dough.")),
            to_draft(media_draft("Talk", "audio", "The dough rises, she said.")),
            to_draft(media_draft("Dough", "html", "Flour and water.")),
        ]
    }

    fn mode_options(mode: RetrievalMode) -> RetrievalOptions {
        RetrievalOptions { mode: Some(mode), ..RetrievalOptions::default() }
    }

    #[test]
    fn media_follow_an_archive() {
        testing::check_following(&Media, &sample_drafts(), "dough");
    }

    #[test]
    fn media_satisfy_the_source_contract() {
        testing::check_source_contract(Media, &sample_drafts(), "dough");
    }

    #[test]
    fn media_saved_together_are_written_in_one_batch() {
        testing::check_batched_index_writes(Media, &sample_drafts());
    }

    #[test]
    fn draft_keeps_only_parts_not_derivable() {
        let page = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        let content = "Über rye. Oat.".to_owned();
        let paper = MediaDraft {
            headings: vec![page(0, "Page 1")],
            ..media_draft("Paper", "pdf", &content)
        };
        let chunk = |text: &str, start, end| StoredChunk {
            text: text.to_owned(),
            start: Some(start),
            end: Some(end),
            kind: Some("prose".to_owned()),
            metadata: None,
        };
        let chunks = vec![chunk("", 0, 9), chunk("Oat, cut by another.", 10, 14)];
        let analysis = Some("About grain.".to_owned());
        let kept = Some(GeneratedMediaData { chunks, analysis, ..GeneratedMediaData::default() });
        let foreign = MediaDraft { kept, ..media_draft("Grain", "txt", &content) };
        let bench = SourceFixture::with_drafts(
            Media,
            &[sample_drafts()[0].clone(), to_draft(paper), to_draft(foreign)],
        );
        let read = |bench: &SourceFixture<Media>, id: &str| {
            let read = bench.read(|reader| Media.load_draft(reader, id)).unwrap();
            let DraftBody::Media(media) = read.body.clone() else { panic!("media") };
            (read, media.kept)
        };
        assert!(read(&bench, "1").1.is_none());
        let other = SourceFixture::new(Media);
        for id in ["2", "3"] {
            other.save_draft(&read(&bench, id).0);
            assert_eq!(format!("{:?}", read(&other, id)), format!("{:?}", read(&bench, id)));
        }
        let kept = read(&other, "2").1.unwrap();
        assert_eq!((kept.chunks[0].text.as_str(), kept.length), ("", Some(14)));
        assert!(kept.chunks[0].metadata.as_deref().unwrap().contains("Page 1"));
        let kept = read(&other, "3").1.unwrap();
        let texts: Vec<&str> = kept.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        assert_eq!(texts, ["", "Oat, cut by another."]);
        assert_eq!(kept.analysis.as_deref(), Some("About grain."));
        // After the text is edited between export and import, the chunks are cut from the new text.
        let mut edited = read(&bench, "3").0;
        let DraftBody::Media(media) = &mut edited.body else { panic!("media") };
        media.content.push_str(" Spelt.");
        edited.digest = "edited".to_owned();
        other.save_draft(&edited);
        assert!(read(&other, "3").1.unwrap().chunks.is_empty());
    }

    #[test]
    fn type_filter_keeps_named_types() {
        let bench = SourceFixture::with_drafts(Media, &sample_drafts());
        let of = |kinds: &[&str]| {
            let media_types = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            bench.search_with("dough", Filters { media_types, ..Filters::default() }).len()
        };
        assert_eq!(
            (of(&["html"]), of(&["audio"]), of(&["HTML", "audio"]), of(&["pdf"])),
            (2, 1, 3, 0)
        );
        let kinds = bench.read(|reader| Media.item_kinds(reader)).unwrap();
        assert_eq!(kinds, [("audio".to_owned(), 1), ("html".to_owned(), 2)]);
    }

    #[test]
    fn date_filter_uses_ingestion_date() {
        let bench = SourceFixture::new(Media);
        bench.save_draft(&sample_drafts()[0]);
        let between = |from: &str, to: &str| {
            let date_from = Timestamp::parse(from).ok();
            let date_to = Timestamp::parse_range_end(to).ok();
            bench.search_with("dough", Filters { date_from, date_to, ..Filters::default() }).len()
        };
        let today = Timestamp::now().to_string()[..10].to_owned();
        assert_eq!(between(&today, &today), 1);
        assert_eq!(between("2000-01-01", "2000-12-31"), 0);
    }

    #[test]
    fn deep_match_names_chunk_and_reads_it() {
        let content =
            format!("{}Über the NEEDLE here. {}", "Häy. ".repeat(2_000), "Straw. ".repeat(900));
        let bench = SourceFixture::new(Media);
        bench.save_draft(&to_draft(media_draft("Stack", "txt", &content)));
        let hit = bench.search("needle").remove(0);
        let loc = hit.loc.clone().unwrap();
        assert_eq!(loc.approx_offset, Some(10_009));
        assert!(hit.snippet.unwrap().contains("NEEDLE"));
        let read = |mode| {
            let options = RetrievalOptions { loc: hit.loc.clone(), ..mode_options(mode) };
            bench.load_item(hit.id.clone(), options).unwrap()
        };
        let chunk = read(RetrievalMode::Chunk);
        assert!(chunk.content.as_str().unwrap().contains("NEEDLE"));
        assert_eq!(chunk.meta.loc.unwrap().chunk_index, loc.chunk_index);
        let wider = read(RetrievalMode::ChunkWithSiblings);
        assert!(wider.content.as_str().unwrap().contains(chunk.content.as_str().unwrap()));
        assert!(content.contains(wider.content.as_str().unwrap()), "nothing is repeated");
    }

    #[test]
    fn chunk_is_read_with_its_section_path() {
        let content = format!("# Bread\n{}\n## Rye\nSour.\n", "Flour. ".repeat(400));
        let bench = SourceFixture::new(Media);
        bench.save_draft(&to_draft(media_draft("Book", "markdown", &content)));
        let hit = bench.search("sour").remove(0);
        let options =
            RetrievalOptions { loc: hit.loc.clone(), ..mode_options(RetrievalMode::Chunk) };
        let attachments = bench.load_item(hit.id.clone(), options).unwrap().attachments.unwrap();
        assert_eq!(attachments[0]["section_path"], "Bread / Rye");
        let whole =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        assert!(bench.load_item(hit.id, whole).unwrap().attachments.is_none());
    }

    #[test]
    fn transcript_is_read_with_its_times() {
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
            ..media_draft("Talk", "audio", "Ada: Hello.\nWorld.")
        };
        let bench = SourceFixture::new(Media);
        bench.save_draft(&to_draft(media));
        let retrieval = vademecum_model::Retrieval::full();
        let get = GetRequest {
            id: 1.into(),
            part: Some("transcript".to_owned()),
            retrieval,
            page: None,
            recent_queries: Vec::new(),
        };
        let spoken = bench.read(|reader| Media.load_item(reader, &get)).unwrap().content;
        assert_eq!(spoken["segments"][1]["start"], 2.0);
        assert_eq!(spoken["segments"][1]["end"], 4.25);
        assert_eq!(
            (&spoken["text"], &spoken["language"]),
            (&"Hello.\nWorld.".into(), &"en".into())
        );
        let item = bench.load_item(1, mode_options(RetrievalMode::Snippet)).unwrap();
        assert_eq!(item.attachments.unwrap()[0]["uri"], "media://1#transcript");
    }

    #[test]
    fn same_file_with_other_name_is_stored_once() {
        let bench = SourceFixture::new(Media);
        let first = sample_drafts()[0].clone();
        bench.save_draft(&first);
        let copy = Draft { origin: "file:/elsewhere".to_owned(), ..first.clone() };
        for _ in 0..2 {
            assert!(matches!(bench.save_draft(&copy), SaveOutcome::Merged(_)));
            assert!(matches!(bench.save_draft(&first), SaveOutcome::Unchanged(_)));
        }
        assert_eq!(bench.search("knead").len(), 1);
    }

    #[test]
    fn edited_file_equal_to_another_is_merged() {
        let bench = SourceFixture::with_drafts(Media, &sample_drafts());
        let [bread, recording, _] = sample_drafts();
        let edited = Draft { origin: recording.origin, ..bread };
        assert!(matches!(bench.save_draft(&edited), SaveOutcome::Merged(_)));
        assert_eq!((bench.search("knead").len(), bench.search("rises").len()), (1, 0));
    }

    #[test]
    fn merged_file_follows_new_importer_version() {
        let bench = SourceFixture::new(Media);
        let first = sample_drafts()[0].clone();
        bench.save_draft(&first);
        let mut newer = Draft { digest: "newer".to_owned(), ..first.clone() };
        let DraftBody::Media(media) = &mut newer.body else { panic!("media") };
        media.former_digest = Some(first.digest);
        media.content.push_str(" Twice.");
        let copy = Draft { origin: "file:/elsewhere".to_owned(), ..newer.clone() };
        assert!(matches!(bench.save_draft(&copy), SaveOutcome::Merged(_)));
        assert!(matches!(bench.save_draft(&newer), SaveOutcome::Unchanged(_)));
        assert_eq!(bench.search("twice").len(), 1);
    }

    #[test]
    fn part_of_file_replaces_no_longer_text() {
        let bench = SourceFixture::new(Media);
        let text = |pages: usize| "Knead the rye. ".repeat(pages);
        let draft = |pages: usize, is_part, digest: &str| {
            let media = MediaDraft { is_part, ..media_draft("Book", "pdf", &text(pages)) };
            Draft { digest: digest.to_owned(), ..to_draft(media) }
        };
        let stored = |pages: usize| {
            let read = bench.read(|reader| Media.load_draft(reader, "1")).unwrap();
            let DraftBody::Media(media) = read.body else { panic!("media") };
            assert_eq!(media.content, text(pages));
        };
        bench.save_draft(&draft(9, false, "whole"));
        // A copy that is read up to the same page as this file.
        let copy = Draft { origin: "file:/copy".to_owned(), ..draft(2, true, "part of 2") };
        assert!(matches!(bench.save_draft(&copy), SaveOutcome::New(_)));
        let outcome = bench.save_draft(&draft(2, true, "part of 2"));
        assert!(matches!(outcome, SaveOutcome::Unchanged(_)), "{outcome:?}");
        stored(9);
        let outcome = bench.save_draft(&draft(9, false, "whole"));
        assert!(matches!(outcome, SaveOutcome::Unchanged(_)), "{outcome:?}");
        assert!(matches!(bench.save_draft(&draft(12, true, "part")), SaveOutcome::Updated(_)));
        stored(12);
        assert!(matches!(bench.save_draft(&draft(3, false, "shorter")), SaveOutcome::Updated(_)));
        stored(3);
    }

    #[test]
    fn own_date_of_document_is_its_creation() {
        let bench = SourceFixture::new(Media);
        let created_at = Timestamp::parse("2001-02-03T04:05:06Z").ok();
        let dated = MediaDraft { created_at, ..media_draft("Mail", "email", "A thimble.") };
        bench.save_draft(&to_draft(dated.clone()));
        assert_eq!(bench.search("thimble")[0].created_at, created_at);
        let in_year = |year: &str| {
            let date_from = Timestamp::parse(&format!("{year}-01-01")).ok();
            let date_to = Timestamp::parse_range_end(&format!("{year}-12-31")).ok();
            let filters = Filters { date_from, date_to, ..Filters::default() };
            bench.search_with("thimble", filters).len()
        };
        assert_eq!((in_year("2001"), in_year("2002")), (1, 0));
        let read = bench.read(|reader| Media.load_draft(reader, "1")).unwrap();
        let DraftBody::Media(media) = read.body else { panic!("media") };
        assert_eq!(media.created_at, created_at);
        let undated = MediaDraft { created_at: None, content: "A thimble!".to_owned(), ..dated };
        bench.save_draft(&to_draft(undated));
        assert!(bench.search("thimble")[0].created_at > created_at);
        bench.save_draft(&sample_drafts()[0]);
        assert!(bench.search("knead")[0].created_at > created_at, "the time of the import");
    }
}
