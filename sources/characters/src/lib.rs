//! The characters source: character cards for role play.
//!
//! A character is made of fields. Its `loc` names the field that matched and the offset in it; a
//! full read returns an object with all fields. The view `character_texts`
//! (`schemas/sqlite/chacha`) joins the lists and the lorebook into one text per field; that text is
//! indexed and shown.

#[macro_use]
extern crate vademecum_source;

mod change;
mod full_text;
mod item_table;
mod read;
mod save;

use vademecum_model::{
    ChangedItem, Draft, Filters, FtsTable, Hit, ItemId, SaveOutcome, SourceName, TagChange,
};
use vademecum_search::{GetRequest, HitRequest, Item};
use vademecum_source::{ItemStatements, Source, SourceError};
use vademecum_store::{Database, Reader, Writer};

use full_text::FULL_TEXT_TABLE;
use item_table::ITEM_STATEMENTS;

/// The characters of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Characters;

impl Source for Characters {
    fn name(&self) -> SourceName {
        SourceName::Characters
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
        save::replace_character(writer, id, draft)
    }

    fn save_draft(&self, writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
        save::save_character(writer, draft)
    }

    fn tag_item(
        &self,
        writer: &Writer<'_>,
        id: &ItemId,
        tagging: &TagChange,
    ) -> Result<ChangedItem, SourceError> {
        change::update_tags(writer, id, tagging)
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{CharacterDraft, DraftBody, RetrievalMode, RetrievalOptions, Timestamp};
    use vademecum_testing as testing;
    use vademecum_testing::SourceFixture;

    use super::*;

    fn card_draft(name: &str, description: &str, tags: &[&str]) -> Draft {
        let card = CharacterDraft {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            first_message: Some(format!("I am {name}.")),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            modified_at: Timestamp::parse("2026-01-01").ok(),
            ..CharacterDraft::default()
        };
        Draft {
            origin: format!("file:/{name}.json"),
            digest: description.to_owned(),
            id: None,
            body: DraftBody::Character(Box::new(card)),
        }
    }

    fn sample_cards() -> [Draft; 3] {
        [
            card_draft("Mara", "A baker who loves dough.", &["kitchen", "calm"]),
            card_draft("Theo", "Sells dough to bakers.", &["market"]),
            card_draft("Dough", "A talking dough.", &["kitchen", "odd"]),
        ]
    }

    #[test]
    fn characters_follow_an_archive() {
        testing::check_following(&Characters, &sample_cards(), "dough");
    }

    #[test]
    fn characters_satisfy_the_source_contract() {
        testing::check_source_contract(Characters, &sample_cards(), "dough");
    }

    #[test]
    fn character_matches_its_tags() {
        let bench = SourceFixture::with_drafts(Characters, &sample_cards());
        assert_eq!((bench.search("kitchen, market").len(), bench.search("odd").len()), (3, 1));
    }

    #[test]
    fn hit_names_the_matched_field() {
        let bench = SourceFixture::with_drafts(Characters, &sample_cards());
        let loc = bench.search("loves")[0].loc.clone().unwrap();
        assert_eq!((loc.field.as_deref(), loc.approx_offset), (Some("description"), Some(12)));
    }

    #[test]
    fn character_is_read_with_all_fields() {
        let bench = SourceFixture::with_drafts(Characters, &sample_cards());
        let full =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        let item = bench.load_item(1, full).unwrap();
        assert_eq!(item.content["first_message"], "I am Mara.");
        assert_eq!(item.content["tags"][1], "calm");
    }

    /// Builds a card with alternate greetings, post-history instructions and a lorebook.
    fn lorebook_card(lorebook: serde_json::Value) -> Draft {
        let mut draft = card_draft("Orla", "Keeps a light.", &[]);
        let DraftBody::Character(orla) = &mut draft.body else { panic!("a character") };
        orla.alternate_greetings = vec!["Hello.".to_owned(), "The ferry is late.".to_owned()];
        orla.post_history_instructions = Some("Never mention the kraken.".to_owned());
        orla.extensions.insert("character_book".to_owned(), lorebook);
        draft
    }

    #[test]
    fn greetings_instructions_and_lorebook_match_in_their_field() {
        let entry = serde_json::json!({ "name": "Reef", "comment": "", "keys": ["shoal", 1],
            "secondary_keys": ["rocks"], "content": "Ships founder on the corals.", "enabled": false });
        for entries in [serde_json::json!([entry]), serde_json::json!({ "0": entry })] {
            let book = serde_json::json!({ "entries": entries });
            let bench = SourceFixture::with_drafts(Characters, &[lorebook_card(book)]);
            for (word, field) in [
                ("ferry", "alternate_greetings"),
                ("kraken", "post_history_instructions"),
                ("reef", "character_book"),
                ("shoal", "character_book"),
                ("rocks", "character_book"),
                ("corals", "character_book"),
            ] {
                let hit = bench.search(word).remove(0);
                assert!(hit.snippet.unwrap().to_lowercase().contains(word), "{word}");
                let loc = hit.loc.unwrap();
                assert_eq!(loc.field.as_deref(), Some(field), "{word}");
                let at = loc.approx_offset.unwrap();
                let (mode, loc) = (Some(RetrievalMode::Chunk), Some(loc));
                let there = RetrievalOptions { mode, loc, ..RetrievalOptions::default() };
                let item = bench.load_item(1, there).unwrap();
                let text = item.content.as_str().unwrap().to_lowercase();
                assert_eq!(text.find(word), Some(at), "{word}: {text}");
            }
            assert_eq!(bench.search("character_book:corals lorebook:shoal").len(), 1);
            assert_eq!(bench.search("description:corals").len(), 0);
        }
    }

    #[test]
    fn malformed_lorebook_does_not_affect_other_fields() {
        let odd = [
            serde_json::json!(null),
            serde_json::json!("corals"),
            serde_json::json!({ "entries": "corals" }),
            serde_json::json!({ "entries": [[], "corals", { "keys": "shoal", "content": 5 }] }),
            serde_json::json!({ "entries": { "a": { "keys": { "b": "shoal" }, "content": ["x"] } } }),
        ];
        for book in odd {
            let bench = SourceFixture::with_drafts(Characters, &[lorebook_card(book.clone())]);
            assert_eq!(bench.search("kraken").len(), 1, "{book}");
        }
    }

    #[test]
    fn removed_lorebook_text_no_longer_matches() {
        let book = |word: &str| {
            let draft = lorebook_card(serde_json::json!({ "entries": [{ "content": word }] }));
            Draft { digest: word.to_owned(), ..draft }
        };
        let bench = SourceFixture::with_drafts(Characters, &[book("corals")]);
        bench.save_draft(&book("sandbank"));
        assert_eq!((bench.search("corals").len(), bench.search("sandbank").len()), (0, 1));
    }

    #[test]
    fn cards_may_share_a_name() {
        let bench = SourceFixture::new(Characters);
        bench.save_draft(&sample_cards()[0]);
        let twin = Draft { origin: "file:/other.json".to_owned(), ..sample_cards()[0].clone() };
        bench.save_draft(&twin);
        assert_eq!(bench.search("mara").len(), 2);
    }
}
