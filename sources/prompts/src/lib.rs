//! Prompts: what the user tells a model again and again.
//!
//! A prompt is made of fields and has a name of its own. Its `loc` names the
//! field that matched and the place in it; read in full, it is an object.

mod change;
mod read;
mod remove;
mod save;

use rusqlite::Row;
use vademecum_kit::{
    model::{
        Ask, Draft, Field, Filters, Get, Hit, Holdings, Item, ItemId, PromptField, Ranking, Saved,
        SourceName, Stamped, StoredPrompt, Suggestions, Tagging, Uri, View, Written,
    },
    retrieve::{self, Ids, Plan, rank},
    source::{Source, SourceError},
    store::{Column, Database, Derived, Reader, Table, Writer},
};

/// The prompts of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prompts;

/// The full-text table, and how much a word counts in each of its columns.
const TABLE: Table = Table {
    name: "prompt_fts",
    columns: &[
        Column { name: "name", field: Field::Title, weight: 2.0 },
        Column { name: "details", field: Field::Description, weight: 1.0 },
        Column { name: "system_prompt", field: Field::SystemPrompt, weight: 1.0 },
        Column { name: "user_prompt", field: Field::UserPrompt, weight: 1.0 },
        Column { name: "author", field: Field::Author, weight: 1.0 },
        Column { name: "keywords", field: Field::Tags, weight: 1.0 },
    ],
    state: include_str!("../sql/state.sql"),
    postings: include_str!("../sql/postings.sql"),
    lengths: include_str!("../sql/lengths.sql"),
    words: include_str!("../sql/words.sql"),
};

impl Source for Prompts {
    fn name(&self) -> SourceName {
        SourceName::Prompts
    }

    fn database(&self) -> Database {
        Database::Prompts
    }

    fn searched(&self, filters: &Filters) -> (&'static Table, Vec<&'static str>) {
        (&TABLE, filters.fields.iter().map(|field| PromptField::as_str(*field)).collect())
    }

    fn derived(&self) -> Option<Derived> {
        Some(Derived {
            table: TABLE.name,
            drift: include_str!("../sql/drift.sql"),
            fill: include_str!("../sql/fill.sql"),
        })
    }

    fn rank(&self, reader: &Reader<'_>, ask: &Ask) -> Result<Ranking, SourceError> {
        let (table, columns) = self.searched(&ask.filters);
        let plan = Plan {
            table,
            columns: &columns,
            passes: None,
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

    fn tag(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        tagging: &Tagging,
    ) -> Result<Written, SourceError> {
        change::tag(writer, id, tagging)
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

    fn prompts(&self, reader: &Reader<'_>) -> Result<Vec<StoredPrompt>, SourceError> {
        Ok(reader.all(include_str!("../sql/prompts.sql"), &[], |row| {
            Ok(StoredPrompt {
                name: row.get("name")?,
                details: row.get("details")?,
                system_prompt: row.get("system_prompt")?,
                user_prompt: row.get("user_prompt")?,
            })
        })?)
    }

    fn contents(&self, reader: &Reader<'_>) -> Result<Vec<Stamped>, SourceError> {
        Ok(reader.contents(include_str!("../sql/contents.sql"))?)
    }

    fn holdings(&self, reader: &Reader<'_>) -> Result<Holdings, SourceError> {
        Ok(reader.holdings(include_str!("../sql/holdings.sql"))?)
    }
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    Ok(Uri::item(SourceName::Prompts, row.get::<_, i64>("id")?.to_string()))
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Body, Mode, PromptDraft, RetrievalOptions, Timestamp};
    use vademecum_testing::{self as testing, Bench};

    use super::*;

    fn prompt(origin: &str, name: &str, details: &str, user: &str, keywords: &[&str]) -> Draft {
        let prompt = PromptDraft {
            name: name.to_owned(),
            author: Some("Ada".to_owned()),
            details: Some(details.to_owned()),
            user_prompt: Some(user.to_owned()),
            keywords: keywords.iter().map(|keyword| (*keyword).to_owned()).collect(),
            modified_at: Timestamp::parse("2026-01-01").ok(),
            ..PromptDraft::default()
        };
        Draft {
            origin: origin.to_owned(),
            digest: format!("{prompt:?}"),
            id: None,
            body: Body::Prompt(prompt),
        }
    }

    fn library() -> [Draft; 3] {
        [
            prompt("a", "Baker", "About dough.", "Tell me how to knead.", &["kitchen"]),
            prompt("b", "Critic", "Judges bread.", "Is this dough good?", &["taste"]),
            prompt("c", "3", "A number for a name.", "Count the dough balls.", &["dough"]),
        ]
    }

    fn filled() -> Bench<Prompts> {
        Bench::filled(Prompts, &library())
    }

    #[test]
    fn prompts_keep_the_promises_of_a_source() {
        testing::check(Prompts, &library(), "dough");
    }

    #[test]
    fn prompts_that_are_saved_together_are_written_together() {
        testing::check_written_together(Prompts, &library());
    }

    #[test]
    fn only_the_named_fields_are_matched_and_shown() {
        let bench = filled();
        let names = |fields: &[PromptField]| -> Vec<String> {
            let filters = Filters { fields: fields.to_vec(), ..Filters::default() };
            let mut names: Vec<_> = bench
                .search_with("dough", filters)
                .into_iter()
                .filter_map(|hit| hit.title)
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&[PromptField::Details]), ["Baker"]);
        assert_eq!(names(&[PromptField::UserPrompt]), ["3", "Critic"]);
        assert_eq!(names(&[PromptField::Keywords]), ["3"]);
        assert_eq!(names(&[PromptField::Details, PromptField::Keywords]), ["3", "Baker"]);
        let filters = Filters { fields: vec![PromptField::Details], ..Filters::default() };
        let loc = bench.search_with("dough", filters).remove(0).loc.unwrap();
        assert_eq!((loc.field.as_deref(), loc.approx_offset), (Some("details"), Some(6)));
    }

    #[test]
    fn a_prompt_is_read_by_name_or_id_even_if_its_name_is_a_number() {
        let bench = filled();
        let full = || RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        let name = |id: ItemId| bench.get(id, full()).unwrap().content["name"].clone();
        assert_eq!(name("Baker".into()), "Baker");
        assert_eq!(name("2".into()), "Critic");
        assert_eq!(name("3".into()), "3");
        assert_eq!(name(ItemId::Number(1)), "Baker");
    }

    #[test]
    fn prompts_that_say_something_are_listed_by_name_unless_they_are_deleted() {
        let bench = filled();
        let silent = prompt("d", "Silent", "Says nothing.", " ", &[]);
        bench.save(&silent);
        let names = || -> Vec<String> {
            let prompts = bench.read(|reader| Prompts.prompts(reader)).unwrap();
            prompts.into_iter().map(|prompt| prompt.name).collect()
        };
        assert_eq!(names(), ["3", "Baker", "Critic"]);
        bench
            .write(|writer| writer.run("UPDATE Prompts SET deleted = 1 WHERE name = 'Baker'", &[]));
        assert_eq!(names(), ["3", "Critic"]);
        assert_eq!(bench.suggest("", 10).total, 3);
    }

    #[test]
    fn a_taken_name_is_numbered_and_stays_so() {
        let bench = filled();
        let other = prompt("elsewhere", "Baker", "Another one.", "Bake!", &[]);
        bench.save(&other);
        bench.save(&Draft { digest: "edited".to_owned(), ..other });
        let mut names: Vec<_> =
            bench.search("baker").into_iter().filter_map(|hit| hit.title).collect();
        names.sort();
        assert_eq!(names, ["Baker", "Baker (2)"]);
    }
}
