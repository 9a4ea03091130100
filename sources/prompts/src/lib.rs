//! The prompts source: reusable prompts for language models.
//!
//! A prompt is made of fields and has a unique name. Its `loc` names the field that matched and the
//! offset in it; a full read returns an object.

#[macro_use]
extern crate vademecum_source;

mod change;
mod full_text;
mod item_table;
mod read;
mod save;

use vademecum_model::{
    ChangedItem, Draft, Filters, FtsTable, Hit, ItemId, PromptField, SaveOutcome, SourceName,
    StoredPrompt, TagChange,
};
use vademecum_search::{GetRequest, HitRequest, Item};
use vademecum_source::{ItemStatements, Source, SourceError};
use vademecum_store::{Database, Reader, Writer};

use full_text::FULL_TEXT_TABLE;
use item_table::ITEM_STATEMENTS;

/// The prompts of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prompts;

impl Source for Prompts {
    fn name(&self) -> SourceName {
        SourceName::Prompts
    }

    fn database(&self) -> Database {
        Database::Prompts
    }

    fn searched_table(&self, filters: &Filters) -> (&'static FtsTable, Vec<&'static str>) {
        (&FULL_TEXT_TABLE, filters.fields.iter().map(|field| PromptField::as_str(*field)).collect())
    }

    fn item_statements(&self) -> Option<&'static ItemStatements> {
        Some(&*ITEM_STATEMENTS)
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
        save::replace_prompt(writer, id, draft)
    }

    fn save_draft(&self, writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
        save::save_prompt(writer, draft)
    }

    fn tag_item(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        tagging: &TagChange,
    ) -> Result<ChangedItem, SourceError> {
        change::update_tags(writer, id, tagging)
    }

    fn list_prompts(&self, reader: &Reader<'_>) -> Result<Vec<StoredPrompt>, SourceError> {
        Ok(reader.query_all(sql!("prompts"), &[], |row| {
            Ok(StoredPrompt {
                name: row.get("name")?,
                details: row.get("details")?,
                system_prompt: row.get("system_prompt")?,
                user_prompt: row.get("user_prompt")?,
            })
        })?)
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{DraftBody, PromptDraft, RetrievalMode, RetrievalOptions, Timestamp};
    use vademecum_testing as testing;
    use vademecum_testing::SourceFixture;

    use super::*;

    fn prompt_draft(
        origin: &str,
        name: &str,
        details: &str,
        user: &str,
        keywords: &[&str],
    ) -> Draft {
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
            body: DraftBody::Prompt(prompt),
        }
    }

    fn sample_prompts() -> [Draft; 3] {
        [
            prompt_draft("a", "Baker", "About dough.", "Tell me how to knead.", &["kitchen"]),
            prompt_draft("b", "Critic", "Judges bread.", "Is this dough good?", &["taste"]),
            prompt_draft("c", "3", "A number for a name.", "Count the dough balls.", &["dough"]),
        ]
    }

    fn sample_bench() -> SourceFixture<Prompts> {
        SourceFixture::with_drafts(Prompts, &sample_prompts())
    }

    #[test]
    fn prompts_follow_an_archive() {
        testing::check_following(&Prompts, &sample_prompts(), "dough");
    }

    #[test]
    fn prompts_satisfy_the_source_contract() {
        testing::check_source_contract(Prompts, &sample_prompts(), "dough");
    }

    #[test]
    fn prompts_saved_together_are_written_in_one_batch() {
        testing::check_batched_index_writes(Prompts, &sample_prompts());
    }

    #[test]
    fn field_filter_limits_matching_and_snippets() {
        let bench = sample_bench();
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
    fn prompt_is_read_by_name_before_id() {
        let bench = sample_bench();
        let full =
            || RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        let name = |id: ItemId| bench.load_item(id, full()).unwrap().content["name"].clone();
        assert_eq!(name("Baker".into()), "Baker");
        assert_eq!(name("2".into()), "Critic");
        assert_eq!(name("3".into()), "3");
        assert_eq!(name(ItemId::Number(1)), "Baker");
    }

    #[test]
    fn nonempty_prompts_are_listed_commands_first() {
        let bench = sample_bench();
        let silent = prompt_draft("d", "Silent", "Says nothing.", " ", &[]);
        bench.save_draft(&silent);
        let names = || -> Vec<String> {
            let prompts = bench.read(|reader| Prompts.list_prompts(reader)).unwrap();
            prompts.into_iter().map(|prompt| prompt.name).collect()
        };
        assert_eq!(names(), ["3", "Baker", "Critic"]);
        bench.write(|writer| {
            writer.execute("UPDATE Prompts SET deleted = 1 WHERE name = 'Baker'", &[])
        });
        assert_eq!(names(), ["3", "Critic"]);
        assert_eq!(bench.suggest_items("", 10).total, 3);
        bench.save_draft(&prompt_draft("e", "Zest", "Peels.", "Peel it.", &["Command"]));
        assert_eq!(names(), ["Zest", "3", "Critic"]);
    }

    #[test]
    fn taken_name_gets_a_stable_number() {
        let bench = sample_bench();
        let other = prompt_draft("elsewhere", "Baker", "Another one.", "Bake!", &[]);
        bench.save_draft(&other);
        bench.save_draft(&Draft { digest: "edited".to_owned(), ..other });
        let mut names: Vec<_> =
            bench.search("baker").into_iter().filter_map(|hit| hit.title).collect();
        names.sort();
        assert_eq!(names, ["Baker", "Baker (2)"]);
    }
}
