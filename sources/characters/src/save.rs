//! Inserting and updating characters from drafts.

use rusqlite::named_params;
use vademecum_model::{CharacterDraft, Draft, DraftBody, SaveOutcome, SourceName, Timestamp};
use vademecum_source::{SourceError, save_imported};
use vademecum_store::{StoreError, Writer};

use super::FULL_TEXT_TABLE;

/// Saves a character and its index entry. Names need not be unique.
pub(crate) fn save_character(
    writer: &Writer<'_>,
    draft: &Draft,
) -> Result<SaveOutcome, SourceError> {
    let DraftBody::Character(card) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a character", draft.origin)));
    };
    save_imported(writer, SourceName::Characters, draft, |item, now| {
        let before = item.and_then(|item| item.parse().ok());
        let id = write_character(writer, before, card, draft, now)?;
        index_character(writer, id)?;
        Ok(id.to_string())
    })
}

/// Replaces all fields of a character but its image.
pub(crate) fn replace_character(
    writer: &Writer<'_>,
    id: &str,
    draft: &Draft,
) -> Result<(), SourceError> {
    let (DraftBody::Character(card), Ok(number)) = (&draft.body, id.parse()) else {
        return Err(SourceError::not_found("character", id));
    };
    let number = write_character(writer, Some(number), card, draft, Timestamp::now())?;
    Ok(index_character(writer, number)?)
}

fn write_character(
    writer: &Writer<'_>,
    before: Option<i64>,
    card: &CharacterDraft,
    draft: &Draft,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let modified = card.modified_at.unwrap_or(now);
    let created = card.created_at.or(before.is_none().then_some(modified));
    let greetings = serde_json::json!(card.alternate_greetings).to_string();
    let tags = serde_json::json!(card.tags).to_string();
    let extensions = serde_json::json!(card.extensions).to_string();
    let mut fields = named_params! {
        ":name": card.name,
        ":description": card.description,
        ":personality": card.personality,
        ":scenario": card.scenario,
        ":system_prompt": card.system_prompt,
        ":image": card.image,
        ":post_history_instructions": card.post_history_instructions,
        ":first_message": card.first_message,
        ":message_example": card.message_example,
        ":creator_notes": card.creator_notes,
        ":alternate_greetings": greetings,
        ":tags": tags,
        ":creator": card.creator,
        ":character_version": card.character_version,
        ":extensions": extensions,
        ":created_at": created,
        ":last_modified": modified,
    }
    .to_vec();
    let requested_id = draft.numeric_id();
    let Some(id) = before else {
        fields.push((":wanted", &requested_id));
        return Ok(writer.insert_row(sql!("insert"), &fields)?);
    };
    fields.push((":id", &id));
    match writer.execute(sql!("update"), &fields)? {
        0 => Err(SourceError::not_found("character", id)),
        _ => Ok(id),
    }
}

/// Replaces the index entry of a character from its stored fields.
pub(crate) fn index_character(writer: &Writer<'_>, id: i64) -> Result<(), StoreError> {
    writer.index_row(&FULL_TEXT_TABLE, id, sql!("reindex"), named_params! { ":key": id })
}
