//! Characters as tldw keeps them: lists and extensions are JSON in a text.

use rusqlite::{Connection, OptionalExtension, Row, named_params, types::ValueRef};
use vademecum_kit::model::{Body, CharacterDraft};

use crate::cell;

/// The characters that are there.
pub(crate) const LIST: &str = include_str!("../sql/characters.sql");

/// Reads a character, if it is still there.
pub(crate) fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<Body>> {
    let mut statement = connection.prepare_cached(include_str!("../sql/character.sql"))?;
    let card = statement.query_row(named_params! { ":id": id }, card);
    Ok(card.optional()?.map(|card| Body::Character(Box::new(card))))
}

fn card(row: &Row<'_>) -> rusqlite::Result<CharacterDraft> {
    Ok(CharacterDraft {
        name: cell::text(row, "name")?.unwrap_or_default(),
        description: cell::some_text(row, "description")?,
        personality: cell::some_text(row, "personality")?,
        scenario: cell::some_text(row, "scenario")?,
        system_prompt: cell::some_text(row, "system_prompt")?,
        post_history_instructions: cell::some_text(row, "post_history_instructions")?,
        first_message: cell::some_text(row, "first_message")?,
        message_example: cell::some_text(row, "message_example")?,
        creator_notes: cell::some_text(row, "creator_notes")?,
        alternate_greetings: cell::list(row, "alternate_greetings")?,
        tags: cell::list(row, "tags")?,
        creator: cell::some_text(row, "creator")?,
        character_version: cell::some_text(row, "character_version")?,
        extensions: cell::json(row, "extensions")?.unwrap_or_default(),
        image: match row.get_ref("image")? {
            ValueRef::Blob(bytes) => Some(bytes.to_owned()),
            _ => None,
        },
        created_at: cell::moment(row, "created_at")?,
        modified_at: cell::moment(row, "last_modified")?,
    })
}
