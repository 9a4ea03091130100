//! Characters in a tldw database. Lists and extensions are stored as JSON text.

use rusqlite::{Connection, OptionalExtension, Row, named_params, types::ValueRef};
use vademecum_model::{CharacterDraft, DraftBody};

use crate::cell;

/// Lists the characters with their change marks and sizes.
pub(crate) const LIST_SQL: &str = sql!("characters");

/// Reads a character; `None` if it no longer exists.
pub(crate) fn read_character(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<DraftBody>> {
    let mut statement = connection.prepare_cached(sql!("character"))?;
    let card = statement.query_row(named_params! { ":id": id }, character_from_row);
    Ok(card.optional()?.map(|card| DraftBody::Character(Box::new(card))))
}

fn character_from_row(row: &Row<'_>) -> rusqlite::Result<CharacterDraft> {
    Ok(CharacterDraft {
        name: cell::text(row, "name")?.unwrap_or_default(),
        description: cell::non_blank_text(row, "description")?,
        personality: cell::non_blank_text(row, "personality")?,
        scenario: cell::non_blank_text(row, "scenario")?,
        system_prompt: cell::non_blank_text(row, "system_prompt")?,
        post_history_instructions: cell::non_blank_text(row, "post_history_instructions")?,
        first_message: cell::non_blank_text(row, "first_message")?,
        message_example: cell::non_blank_text(row, "message_example")?,
        creator_notes: cell::non_blank_text(row, "creator_notes")?,
        alternate_greetings: cell::text_list(row, "alternate_greetings")?,
        tags: cell::text_list(row, "tags")?,
        creator: cell::non_blank_text(row, "creator")?,
        character_version: cell::non_blank_text(row, "character_version")?,
        extensions: cell::json(row, "extensions")?.unwrap_or_default(),
        image: match row.get_ref("image")? {
            ValueRef::Blob(bytes) => Some(bytes.to_owned()),
            _ => None,
        },
        created_at: cell::datetime(row, "created_at")?,
        modified_at: cell::datetime(row, "last_modified")?,
    })
}
