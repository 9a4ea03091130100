//! The notes source: short texts written by the user.
//!
//! A note is one text with a title and keywords. Its `loc` is the offset of the first match in the
//! text, in characters.

#[macro_use]
extern crate vademecum_source;

mod change;
mod full_text;
mod item_table;
mod read;
mod save;

use vademecum_model::{
    ChangedItem, Draft, Edit, Facet, Filters, FtsTable, Hit, ItemId, ListRequest, SaveOutcome,
    SourceName, Suggestions, TagChange, json_list,
};
use vademecum_search::{GetRequest, HitRequest, Item};
use vademecum_source::{
    FilterParameters, ItemStatements, Source, SourceError, shared_parameters, suggest_words,
};
use vademecum_store::{Database, Reader, Writer};

use full_text::FULL_TEXT_TABLE;
use item_table::ITEM_STATEMENTS;

/// The notes of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes;

impl Source for Notes {
    fn name(&self) -> SourceName {
        SourceName::Notes
    }

    fn database(&self) -> Database {
        Database::Chacha
    }

    fn searched_table(&self, _: &Filters) -> (&'static FtsTable, Vec<&'static str>) {
        (&FULL_TEXT_TABLE, Vec::new())
    }

    fn item_statements(&self) -> Option<&'static ItemStatements> {
        Some(&*ITEM_STATEMENTS)
    }

    fn filter_parameters(&self, filters: &Filters) -> FilterParameters {
        let mut parameters = shared_parameters(filters);
        parameters.push((":keywords", Box::new(json_list(&filters.keywords))));
        parameters
    }

    fn list_parameters(&self, request: &ListRequest) -> FilterParameters {
        let mut parameters = shared_parameters(&request.filters);
        parameters.push((":folder", Box::new(request.folder_parameter())));
        parameters.push((":counts_folders", Box::new(request.facets.contains(&Facet::Folders))));
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
        save::replace_note(writer, id, draft)
    }

    fn save_draft(&self, writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
        save::save_note(writer, draft)
    }

    fn insert_item(&self, writer: &Writer<'_>, draft: &Draft) -> Result<ChangedItem, SourceError> {
        change::create_note(writer, draft)
    }

    fn tag_item(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        tagging: &TagChange,
    ) -> Result<ChangedItem, SourceError> {
        change::update_tags(writer, id, tagging)
    }

    fn edit_item(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        version: Option<i64>,
        edit: &Edit,
    ) -> Result<ChangedItem, SourceError> {
        change::edit_note(writer, id, version, edit)
    }

    fn suggest_keywords(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        Ok(suggest_words(reader, sql!("keywords"), typed, most)?)
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{DraftBody, NoteDraft, RetrievalMode, RetrievalOptions, Timestamp};
    use vademecum_testing as testing;
    use vademecum_testing::SourceFixture;

    use super::*;

    fn note_draft(title: &str, content: &str, tags: &[&str], day: &str) -> Draft {
        Draft {
            origin: format!("file:/{title}.md"),
            digest: "1".to_owned(),
            id: None,
            body: DraftBody::Note(NoteDraft {
                title: title.to_owned(),
                content: content.to_owned(),
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                modified_at: Some(Timestamp::parse(day).unwrap()),
                ..NoteDraft::default()
            }),
        }
    }

    fn bakery_notes() -> [Draft; 4] {
        [
            note_draft(
                "Bread",
                "Knead the dough for ten minutes.",
                &["baking", "daily"],
                "2026-01-01",
            ),
            note_draft("Pizza", "The dough rests; the dough rises.", &["baking"], "2026-01-02"),
            note_draft("Dough", "Flour, water, salt.", &[], "2026-01-03"),
            note_draft("Garden", "Water the tomatoes.", &["daily"], "2026-01-04"),
        ]
    }

    fn bakery_bench() -> SourceFixture<Notes> {
        SourceFixture::with_drafts(Notes, &bakery_notes())
    }

    #[test]
    fn notes_follow_an_archive() {
        testing::check_following(&Notes, &bakery_notes(), "dough");
    }

    #[test]
    fn notes_satisfy_the_source_contract() {
        testing::check_source_contract(Notes, &bakery_notes(), "dough");
    }

    #[test]
    fn notes_saved_together_are_written_in_one_batch() {
        testing::check_batched_index_writes(Notes, &bakery_notes());
    }

    #[test]
    fn note_under_former_origin_is_updated_once() {
        let bench = SourceFixture::new(Notes);
        let note = |origin: &str, digest: &str| {
            let mut draft = note_draft("Ada", "Grows rye.", &[], "2026-01-01");
            (draft.origin, draft.digest) = (origin.to_owned(), digest.to_owned());
            let DraftBody::Note(note) = &mut draft.body else { panic!("note") };
            note.former_origin = Some("memory:Ada".to_owned());
            draft
        };
        let first = bench.save_draft(&note("memory:Ada", "1"));
        let outcome = bench.save_draft(&note("file:/a.json#1", "1"));
        assert!(matches!(outcome, SaveOutcome::Unchanged(_)), "{outcome:?}");
        assert_eq!(outcome.uri(), first.uri());
        assert!(matches!(bench.save_draft(&note("file:/b.json#1", "1")), SaveOutcome::New(_)));
        let outcome = bench.save_draft(&note("file:/a.json#1", "2"));
        assert!(matches!(&outcome, SaveOutcome::Updated(uri) if uri == first.uri()), "{outcome:?}");
    }

    #[test]
    fn note_matches_title_text_and_keyword() {
        let bench = bakery_bench();
        for query in ["pizza", "rises", "baking", "PIZZÀ", "rise"] {
            let titles: Vec<_> =
                bench.search(query).into_iter().filter_map(|hit| hit.title).collect();
            assert!(titles.contains(&"Pizza".to_owned()), "{query}: {titles:?}");
        }
    }

    #[test]
    fn keyword_filter_keeps_notes_with_any_keyword() {
        let bench = bakery_bench();
        let with = |keywords: &[&str]| {
            let keywords = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
            bench.search_with("dough water", Filters { keywords, ..Filters::default() }).len()
        };
        assert_eq!((with(&["baking"]), with(&["Daily"]), with(&["baking", "daily"])), (2, 2, 3));
        assert_eq!(with(&["nothing"]), 0);
    }

    #[test]
    fn suggestions_complete_typed_prefixes_best_first() {
        let bench = SourceFixture::new(Notes);
        for (title, day) in [
            ("Rye bread", "2026-01-01"),
            ("Bread of rye", "2026-01-02"),
            ("Brioche", "2026-01-03"),
            ("Ryegrass", "2026-01-04"),
        ] {
            bench.save_draft(&note_draft(title, "Text.", &[], day));
        }
        let titles = |typed: &str| -> Vec<String> {
            let title = |id: &String| bench.load_item(id.as_str(), RetrievalOptions::default());
            let ids = bench.suggest_items(typed, 10).values;
            ids.iter().map(|id| title(id).unwrap().meta.title.unwrap()).collect()
        };
        // Each typed word must be the prefix of a title word; titles that start with the typed text
        // come first.
        assert_eq!(titles("br ry"), ["Bread of rye", "Rye bread"]);
        assert_eq!(titles("RYE"), ["Ryegrass", "Rye bread", "Bread of rye"]);
        assert_eq!(titles("text"), Vec::<String>::new());
        assert_eq!(titles(""), ["Ryegrass", "Brioche", "Bread of rye", "Rye bread"]);
    }

    #[test]
    fn keyword_suggestions_come_most_used_first() {
        let bench = bakery_bench();
        let suggest = |typed: &str, most| {
            let found = bench.read(|reader| Notes.suggest_keywords(reader, typed, most)).unwrap();
            (found.values, found.total)
        };
        bench.save_draft(&note_draft("More", "Text.", &["daily", "bagels"], "2026-01-05"));
        let some = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(suggest("", 10), (some(&["daily", "baking", "bagels"]), 3));
        assert_eq!(suggest("BA", 1), (some(&["baking"]), 2));
        assert_eq!(suggest("x", 10), (Vec::new(), 0));
    }

    #[test]
    fn tags_of_listed_notes_are_counted() {
        let bench = bakery_bench();
        let request = ListRequest { facets: vec![Facet::Tags], ..ListRequest::default() };
        let listing = bench.read(|reader| Notes.list_items(reader, &request)).unwrap();
        let tags = &listing.facets[&Facet::Tags];
        assert_eq!((listing.total, tags["baking"], tags["daily"]), (4, 2, 2));
    }

    #[test]
    fn single_hit_has_top_score_and_loc() {
        let hits = bakery_bench().search("tomatoes");
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].score, 1.0);
        assert_eq!(hits[0].loc.as_ref().and_then(|loc| loc.approx_offset), Some(10));
        assert_eq!(hits[0].tags, Some(vec!["daily".to_owned()]));
    }

    #[test]
    fn update_replaces_text_keywords_and_increments_version() {
        let bench = bakery_bench();
        let mut edited = note_draft("Garden", "Prune the roses.", &["weekly"], "2026-02-01");
        edited.digest = "2".to_owned();
        bench.save_draft(&edited);
        assert!(bench.search("tomatoes").is_empty() && bench.search("daily").len() == 1);
        let hit = &bench.search("roses")[0];
        assert_eq!((hit.version, hit.tags.as_deref()), (Some(2), Some(&["weekly".to_owned()][..])));
    }

    #[test]
    fn note_is_read_in_full_unchanged() {
        let bench = bakery_bench();
        let id = bench.search("pizza")[0].id.clone();
        let full =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        assert_eq!(bench.load_item(id, full).unwrap().content, "The dough rests; the dough rises.");
    }

    #[test]
    fn snippet_without_body_match_omits_front_matter() {
        let bench = SourceFixture::new(Notes);
        bench.save_draft(&note_draft("Odd", "---\ntags: [x]\n---\nThe body.", &[], "2026-01-01"));
        bench.save_draft(&note_draft(
            "Even",
            "+++\ntags = ['x']\n+++\nThe body.",
            &[],
            "2026-01-01",
        ));
        for query in ["odd", "even"] {
            assert_eq!(bench.search(query)[0].snippet.as_deref(), Some("The body."));
        }
    }

    #[test]
    fn snippet_begins_where_front_matter_ends() {
        let bench = SourceFixture::new(Notes);
        for (title, content, snippet) in [
            ("Ruled", "----------\nOne.\n---\nTwo.", "---------- One. --- Two."),
            ("Spoken", "--- Anna: hello\nHi.\n---\nBye.", "--- Anna: hello Hi. --- Bye."),
            ("Proverb", "---\nOne.\n---\nTwo.", "--- One. --- Two."),
            ("Dotted", "---\ntags: [x]\n...\nOne.\n---\nTwo.", "One. --- Two."),
            ("Windows", "---\r\ntags: [x]\r\n---\r\nOne.", "One."),
        ] {
            bench.save_draft(&note_draft(title, content, &[], "2026-01-01"));
            assert_eq!(bench.search(title)[0].snippet.as_deref(), Some(snippet), "{title}");
        }
    }
}
