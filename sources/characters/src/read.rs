//! Reading characters as hits, items and drafts.

use rusqlite::{Row, named_params};
use serde_json::{Map, Value, json};
use vademecum_model::{
    CharacterDraft, Draft, DraftBody, Hit, ItemId, RetrievalMode, SourceName, Timestamp, Uri,
};
use vademecum_search::{GetRequest, Highlighter, HitRequest, Item, ItemExcerpt, ItemFields};
use vademecum_source::{NamedField, SourceError, read_field_passage};
use vademecum_store::{Reader, StoreError};

/// Reads the image of a character.
const PICTURE_SQL: &str = "SELECT image FROM character_cards WHERE id = :id AND deleted = 0";

/// A character as it is stored.
#[expect(clippy::struct_field_names, reason = "fields are named as their columns")]
struct Character {
    id: i64,
    name: String,
    description: Option<String>,
    personality: Option<String>,
    scenario: Option<String>,
    system_prompt: Option<String>,
    post_history_instructions: Option<String>,
    first_message: Option<String>,
    message_example: Option<String>,
    creator_notes: Option<String>,
    alternate_greetings: Vec<String>,
    greetings_text: Option<String>,
    character_book: Option<String>,
    tags: Vec<String>,
    creator: Option<String>,
    character_version: Option<String>,
    extensions: Value,
    has_image: bool,
    created_at: Option<Timestamp>,
    last_modified: Option<Timestamp>,
    version: i64,
}

/// Loads the hits for ranked matches. Characters that no longer exist are left out.
pub(crate) fn load_hits(reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
    let finder = Highlighter::from(view);
    let mut hits = Vec::with_capacity(view.matches.len());
    for ranked in &view.matches {
        let Some(character) = find_character(reader, ranked.key)? else { continue };
        let shown = ItemFields::new(searchable_fields(&character)).best_excerpt(&finder, |_| true);
        let ItemExcerpt { snippet, loc, highlights, matched } = shown;
        let score = ranked.score;
        hits.push(Hit { snippet, highlights, matched, loc, score, ..character_hit(&character) });
    }
    Ok(hits)
}

/// Loads one character: all its fields in mode `full`, else a part of its text.
pub(crate) fn load_item(reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
    let missing = || SourceError::not_found("character", &get.id);
    let id = get.id.as_number().ok_or_else(missing)?;
    let character = find_character(reader, id)?.ok_or_else(missing)?;
    let meta = character_hit(&character);
    if get.retrieval.mode == RetrievalMode::Full {
        return Ok(Item::from_object(meta, character_json(&character)));
    }
    let passage =
        read_field_passage(searchable_fields(&character), &get.retrieval, &get.recent_queries)?;
    Ok(Item::from_passage(meta, passage, get.retrieval.mode))
}

/// Loads one character as a draft, with its image.
pub(crate) fn load_draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let missing = || SourceError::not_found("character", id);
    let number = id.parse().map_err(|_| missing())?;
    let character = find_character(reader, number)?.ok_or_else(missing)?;
    let image =
        reader.query_first(PICTURE_SQL, named_params! { ":id": number }, |row| row.get("image"))?;
    let draft = CharacterDraft {
        name: character.name,
        description: character.description,
        personality: character.personality,
        scenario: character.scenario,
        system_prompt: character.system_prompt,
        post_history_instructions: character.post_history_instructions,
        first_message: character.first_message,
        message_example: character.message_example,
        creator_notes: character.creator_notes,
        alternate_greetings: character.alternate_greetings,
        tags: character.tags,
        creator: character.creator,
        character_version: character.character_version,
        extensions: match character.extensions {
            Value::Object(extensions) => extensions,
            _ => Map::new(),
        },
        image: image.flatten(),
        created_at: character.created_at,
        modified_at: character.last_modified,
    };
    Ok(Draft::from_stored(id, DraftBody::Character(Box::new(draft))))
}

fn find_character(reader: &Reader<'_>, id: i64) -> Result<Option<Character>, StoreError> {
    reader.query_first(sql!("read"), named_params! { ":id": id }, character_from_row)
}

fn character_from_row(row: &Row<'_>) -> rusqlite::Result<Character> {
    Ok(Character {
        id: row.get("id")?,
        name: row.get("name")?,
        description: row.get("description")?,
        personality: row.get("personality")?,
        scenario: row.get("scenario")?,
        system_prompt: row.get("system_prompt")?,
        post_history_instructions: row.get("post_history_instructions")?,
        first_message: row.get("first_message")?,
        message_example: row.get("message_example")?,
        creator_notes: row.get("creator_notes")?,
        alternate_greetings: parse_list(row.get("alternate_greetings")?),
        greetings_text: row.get("greetings_text")?,
        character_book: row.get("character_book")?,
        tags: parse_list(row.get("tags")?),
        creator: row.get("creator")?,
        character_version: row.get("character_version")?,
        extensions: row
            .get::<_, Option<String>>("extensions")?
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or(Value::Null),
        has_image: row.get("has_image")?,
        created_at: row.get("created_at")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
    })
}

/// Parses a stored list, which is JSON text or NULL. Invalid JSON yields an empty list.
fn parse_list(stored: Option<String>) -> Vec<String> {
    stored.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Returns the searchable fields, most informative first.
fn searchable_fields(character: &Character) -> [NamedField; 12] {
    [
        ("name", Some(character.name.clone())),
        ("description", character.description.clone()),
        ("personality", character.personality.clone()),
        ("scenario", character.scenario.clone()),
        ("first_message", character.first_message.clone()),
        ("alternate_greetings", character.greetings_text.clone()),
        ("system_prompt", character.system_prompt.clone()),
        ("post_history_instructions", character.post_history_instructions.clone()),
        ("message_example", character.message_example.clone()),
        ("character_book", character.character_book.clone()),
        ("creator_notes", character.creator_notes.clone()),
        ("tags", Some(character.tags.join(", "))),
    ]
}

fn character_hit(character: &Character) -> Hit {
    let uri = Uri::item(SourceName::Characters, character.id.to_string());
    Hit {
        title: Some(character.name.clone()),
        created_at: character.created_at,
        last_modified: character.last_modified,
        version: Some(character.version),
        tags: Some(character.tags.clone()),
        ..Hit::new(uri, ItemId::Number(character.id))
    }
}

fn character_json(character: &Character) -> Value {
    json!({
        "name": character.name,
        "description": character.description,
        "personality": character.personality,
        "scenario": character.scenario,
        "system_prompt": character.system_prompt,
        "post_history_instructions": character.post_history_instructions,
        "first_message": character.first_message,
        "message_example": character.message_example,
        "creator_notes": character.creator_notes,
        "alternate_greetings": character.alternate_greetings,
        "tags": character.tags,
        "creator": character.creator,
        "character_version": character.character_version,
        "extensions": character.extensions,
        "has_image": character.has_image,
    })
}
