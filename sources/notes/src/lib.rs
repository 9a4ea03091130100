//! Notes: what the user wrote down.
//!
//! A note is one text with a title and keywords. Its `loc` is the place of
//! the first match in the text, in characters.

mod change;
mod read;
mod remove;
mod save;

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{
        Ask, Draft, Edit, Field, Filters, Get, Hit, Holdings, Item, ItemId, Ranking, Saved,
        SourceName, Stamped, Suggestions, Tagging, Uri, View, Written,
    },
    retrieve::{self, Ids, Plan, rank},
    source::{Source, SourceError},
    store::{Column, Database, Derived, Reader, Table, Writer},
};

/// The notes of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes;

/// The full-text table, and how much a word counts in each of its columns.
const TABLE: Table = Table {
    name: "note_fts",
    columns: &[
        Column { name: "title", field: Field::Title, weight: 2.0 },
        Column { name: "content", field: Field::Text, weight: 1.0 },
        Column { name: "keywords", field: Field::Tags, weight: 1.0 },
    ],
    state: include_str!("../sql/state.sql"),
    postings: include_str!("../sql/postings.sql"),
    lengths: include_str!("../sql/lengths.sql"),
    words: include_str!("../sql/words.sql"),
};

impl Source for Notes {
    fn name(&self) -> SourceName {
        SourceName::Notes
    }

    fn database(&self) -> Database {
        Database::Chacha
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
        let keywords = &ask.filters.keywords;
        let filtered = !keywords.is_empty();
        let keywords = serde_json::json!(keywords).to_string();
        let filters = named_params! { ":keywords": keywords };
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

    fn edit(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        version: Option<i64>,
        edit: &Edit,
    ) -> Result<Written, SourceError> {
        change::edit(writer, id, version, edit)
    }

    fn suggest(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        let sql = include_str!("../sql/suggest.sql");
        Ok(retrieve::suggest(reader, &TABLE, Ids::Texts, sql, typed, most)?)
    }

    fn keywords(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        Ok(retrieve::words(reader, include_str!("../sql/keywords.sql"), typed, most)?)
    }

    fn contents(&self, reader: &Reader<'_>) -> Result<Vec<Stamped>, SourceError> {
        Ok(reader.contents(include_str!("../sql/contents.sql"))?)
    }

    fn holdings(&self, reader: &Reader<'_>) -> Result<Holdings, SourceError> {
        Ok(reader.holdings(include_str!("../sql/holdings.sql"))?)
    }
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    Ok(Uri::item(SourceName::Notes, row.get::<_, String>("id")?))
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Body, Mode, NoteDraft, RetrievalOptions, Timestamp};
    use vademecum_testing::{self as testing, Bench};

    use super::*;

    fn draft(title: &str, content: &str, tags: &[&str], day: &str) -> Draft {
        Draft {
            origin: format!("file:/{title}.md"),
            digest: "1".to_owned(),
            id: None,
            body: Body::Note(NoteDraft {
                title: title.to_owned(),
                content: content.to_owned(),
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                created_at: None,
                modified_at: Some(Timestamp::parse(day).unwrap()),
            }),
        }
    }

    fn bakery() -> [Draft; 4] {
        [
            draft("Bread", "Knead the dough for ten minutes.", &["baking", "daily"], "2026-01-01"),
            draft("Pizza", "The dough rests; the dough rises.", &["baking"], "2026-01-02"),
            draft("Dough", "Flour, water, salt.", &[], "2026-01-03"),
            draft("Garden", "Water the tomatoes.", &["daily"], "2026-01-04"),
        ]
    }

    fn filled() -> Bench<Notes> {
        Bench::filled(Notes, &bakery())
    }

    #[test]
    fn notes_keep_the_promises_of_a_source() {
        testing::check(Notes, &bakery(), "dough");
    }

    #[test]
    fn notes_that_are_saved_together_are_written_together() {
        testing::check_written_together(Notes, &bakery());
    }

    #[test]
    fn a_note_is_found_by_title_text_and_keyword() {
        let bench = filled();
        for query in ["pizza", "rises", "baking", "PIZZÀ", "rise"] {
            let titles: Vec<_> =
                bench.search(query).into_iter().filter_map(|hit| hit.title).collect();
            assert!(titles.contains(&"Pizza".to_owned()), "{query}: {titles:?}");
        }
    }

    #[test]
    fn the_keyword_filter_keeps_notes_with_any_of_the_keywords() {
        let bench = filled();
        let with = |keywords: &[&str]| {
            let keywords = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
            bench.search_with("dough water", Filters { keywords, ..Filters::default() }).len()
        };
        assert_eq!((with(&["baking"]), with(&["Daily"]), with(&["baking", "daily"])), (2, 2, 3));
        assert_eq!(with(&["nothing"]), 0);
    }

    #[test]
    fn what_was_typed_is_completed_best_first() {
        let bench = Bench::new(Notes);
        for (title, day) in [
            ("Rye bread", "2026-01-01"),
            ("Bread of rye", "2026-01-02"),
            ("Brioche", "2026-01-03"),
            ("Ryegrass", "2026-01-04"),
        ] {
            bench.save(&draft(title, "Text.", &[], day));
        }
        let titles = |typed: &str| -> Vec<String> {
            let title = |id: &String| bench.get(id.as_str(), RetrievalOptions::default());
            let ids = bench.suggest(typed, 10).values;
            ids.iter().map(|id| title(id).unwrap().meta.title.unwrap()).collect()
        };
        // All words must begin a word of the title; what is typed first comes first.
        assert_eq!(titles("br ry"), ["Bread of rye", "Rye bread"]);
        assert_eq!(titles("RYE"), ["Ryegrass", "Rye bread", "Bread of rye"]);
        assert_eq!(titles("text"), Vec::<String>::new());
        assert_eq!(titles(""), ["Ryegrass", "Brioche", "Bread of rye", "Rye bread"]);
    }

    #[test]
    fn keywords_are_completed_the_most_used_first() {
        let bench = filled();
        let suggest = |typed: &str, most| {
            let found = bench.read(|reader| Notes.keywords(reader, typed, most)).unwrap();
            (found.values, found.total)
        };
        bench.save(&draft("More", "Text.", &["daily", "bagels"], "2026-01-05"));
        let some = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(suggest("", 10), (some(&["daily", "baking", "bagels"]), 3));
        assert_eq!(suggest("BA", 1), (some(&["baking"]), 2));
        assert_eq!(suggest("x", 10), (Vec::new(), 0));
    }

    #[test]
    fn an_only_hit_has_the_best_score_and_says_where_it_is() {
        let hits = filled().search("tomatoes");
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].score, 1.0);
        assert_eq!(hits[0].loc.as_ref().and_then(|loc| loc.approx_offset), Some(10));
        assert_eq!(hits[0].tags, Some(vec!["daily".to_owned()]));
    }

    #[test]
    fn an_update_replaces_words_and_keywords_and_counts_up() {
        let bench = filled();
        let mut edited = draft("Garden", "Prune the roses.", &["weekly"], "2026-02-01");
        edited.digest = "2".to_owned();
        bench.save(&edited);
        assert!(bench.search("tomatoes").is_empty() && bench.search("daily").len() == 1);
        let hit = &bench.search("roses")[0];
        assert_eq!((hit.version, hit.tags.as_deref()), (Some(2), Some(&["weekly".to_owned()][..])));
    }

    #[test]
    fn a_note_is_read_whole_as_it_was_written() {
        let bench = filled();
        let id = bench.search("pizza")[0].id.clone();
        let full = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        assert_eq!(bench.get(id, full).unwrap().content, "The dough rests; the dough rises.");
    }

    #[test]
    fn a_snippet_without_a_match_in_the_text_leaves_the_front_matter_out() {
        let bench = Bench::new(Notes);
        bench.save(&draft("Odd", "---\ntags: [x]\n---\nThe body.", &[], "2026-01-01"));
        bench.save(&draft("Even", "+++\ntags = ['x']\n+++\nThe body.", &[], "2026-01-01"));
        for query in ["odd", "even"] {
            assert_eq!(bench.search(query)[0].snippet.as_deref(), Some("The body."));
        }
    }
}
