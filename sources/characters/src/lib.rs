//! Characters: cards that say who somebody is and how they talk.
//!
//! A character is made of fields. Its `loc` names the field that matched and
//! the place in it; read in full, it is an object with all of them. What is
//! indexed and shown of each is one text, made in `character_texts`
//! (`schemas/sqlite/chacha`): lists and the lorebook are joined there.

mod change;
mod read;
mod remove;
mod save;

use rusqlite::Row;
use vademecum_kit::{
    model::{
        Ask, Draft, Field, Filters, Get, Hit, Holdings, Item, ItemId, Ranking, Saved, SourceName,
        Stamped, Suggestions, Tagging, Uri, View, Written,
    },
    retrieve::{self, Ids, Plan, rank},
    source::{Source, SourceError},
    store::{Column, Database, Derived, Reader, Table, Writer},
};

/// The characters of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Characters;

/// The full-text table, and how much a word counts in each of its columns.
const TABLE: Table = Table {
    name: "character_fts",
    columns: &[
        Column { name: "name", field: Field::Title, weight: 2.0 },
        Column { name: "tags", field: Field::Tags, weight: 2.0 },
        Column { name: "description", field: Field::Description, weight: 1.0 },
        Column { name: "personality", field: Field::Personality, weight: 1.0 },
        Column { name: "scenario", field: Field::Scenario, weight: 1.0 },
        Column { name: "first_message", field: Field::FirstMessage, weight: 1.0 },
        Column { name: "alternate_greetings", field: Field::AlternateGreetings, weight: 1.0 },
        Column { name: "system_prompt", field: Field::SystemPrompt, weight: 1.0 },
        Column {
            name: "post_history_instructions",
            field: Field::PostHistoryInstructions,
            weight: 1.0,
        },
        Column { name: "message_example", field: Field::MessageExample, weight: 1.0 },
        Column { name: "character_book", field: Field::CharacterBook, weight: 1.0 },
        Column { name: "creator_notes", field: Field::CreatorNotes, weight: 1.0 },
    ],
    state: include_str!("../sql/state.sql"),
    postings: include_str!("../sql/postings.sql"),
    lengths: include_str!("../sql/lengths.sql"),
    words: include_str!("../sql/words.sql"),
};

impl Source for Characters {
    fn name(&self) -> SourceName {
        SourceName::Characters
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

    fn contents(&self, reader: &Reader<'_>) -> Result<Vec<Stamped>, SourceError> {
        Ok(reader.contents(include_str!("../sql/contents.sql"))?)
    }

    fn holdings(&self, reader: &Reader<'_>) -> Result<Holdings, SourceError> {
        Ok(reader.holdings(include_str!("../sql/holdings.sql"))?)
    }
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    Ok(Uri::item(SourceName::Characters, row.get::<_, i64>("id")?.to_string()))
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Body, CharacterDraft, Mode, RetrievalOptions, Timestamp};
    use vademecum_testing::{self as testing, Bench};

    use super::*;

    fn card(name: &str, description: &str, tags: &[&str]) -> Draft {
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
            body: Body::Character(Box::new(card)),
        }
    }

    fn cast() -> [Draft; 3] {
        [
            card("Mara", "A baker who loves dough.", &["kitchen", "calm"]),
            card("Theo", "Sells dough to bakers.", &["market"]),
            card("Dough", "A talking dough.", &["kitchen", "odd"]),
        ]
    }

    #[test]
    fn characters_keep_the_promises_of_a_source() {
        testing::check(Characters, &cast(), "dough");
    }

    #[test]
    fn a_character_is_found_by_its_tags() {
        let bench = Bench::filled(Characters, &cast());
        assert_eq!((bench.search("kitchen, market").len(), bench.search("odd").len()), (3, 1));
    }

    #[test]
    fn a_hit_names_the_field_that_matched() {
        let bench = Bench::filled(Characters, &cast());
        let loc = bench.search("loves")[0].loc.clone().unwrap();
        assert_eq!((loc.field.as_deref(), loc.approx_offset), (Some("description"), Some(12)));
    }

    #[test]
    fn a_character_is_read_with_all_its_fields() {
        let bench = Bench::filled(Characters, &cast());
        let full = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        let item = bench.get(1, full).unwrap();
        assert_eq!(item.content["first_message"], "I am Mara.");
        assert_eq!(item.content["tags"][1], "calm");
    }

    /// A card whose lists and lorebook say something.
    fn hidden(lorebook: serde_json::Value) -> Draft {
        let mut draft = card("Orla", "Keeps a light.", &[]);
        let Body::Character(orla) = &mut draft.body else { panic!("a character") };
        orla.alternate_greetings = vec!["Hello.".to_owned(), "The ferry is late.".to_owned()];
        orla.post_history_instructions = Some("Never mention the kraken.".to_owned());
        orla.extensions.insert("character_book".to_owned(), lorebook);
        draft
    }

    #[test]
    fn what_a_card_keeps_for_later_is_found_where_it_stands() {
        let entry = serde_json::json!({ "name": "Reef", "comment": "", "keys": ["shoal", 1],
            "secondary_keys": ["rocks"], "content": "Ships founder on the corals.", "enabled": false });
        for entries in [serde_json::json!([entry]), serde_json::json!({ "0": entry })] {
            let book = serde_json::json!({ "entries": entries });
            let bench = Bench::filled(Characters, &[hidden(book)]);
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
                let (mode, loc) = (Some(Mode::Chunk), Some(loc));
                let there = RetrievalOptions { mode, loc, ..RetrievalOptions::default() };
                let item = bench.get(1, there).unwrap();
                let text = item.content.as_str().unwrap().to_lowercase();
                assert_eq!(text.find(word), Some(at), "{word}: {text}");
            }
            assert_eq!(bench.search("character_book:corals lorebook:shoal").len(), 1);
            assert_eq!(bench.search("description:corals").len(), 0);
        }
    }

    #[test]
    fn a_lorebook_of_another_shape_costs_nothing_but_itself() {
        let odd = [
            serde_json::json!(null),
            serde_json::json!("corals"),
            serde_json::json!({ "entries": "corals" }),
            serde_json::json!({ "entries": [[], "corals", { "keys": "shoal", "content": 5 }] }),
            serde_json::json!({ "entries": { "a": { "keys": { "b": "shoal" }, "content": ["x"] } } }),
        ];
        for book in odd {
            let bench = Bench::filled(Characters, &[hidden(book.clone())]);
            assert_eq!(bench.search("kraken").len(), 1, "{book}");
        }
    }

    #[test]
    fn what_a_card_does_not_say_any_more_is_not_found_any_more() {
        let book = |word: &str| {
            let draft = hidden(serde_json::json!({ "entries": [{ "content": word }] }));
            Draft { digest: word.to_owned(), ..draft }
        };
        let bench = Bench::filled(Characters, &[book("corals")]);
        bench.save(&book("sandbank"));
        assert_eq!((bench.search("corals").len(), bench.search("sandbank").len()), (0, 1));
    }

    #[test]
    fn two_cards_may_have_the_same_name() {
        let bench = Bench::new(Characters);
        bench.save(&cast()[0]);
        let twin = Draft { origin: "file:/other.json".to_owned(), ..cast()[0].clone() };
        bench.save(&twin);
        assert_eq!(bench.search("mara").len(), 2);
    }
}
