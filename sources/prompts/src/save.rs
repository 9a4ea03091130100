//! Inserting and updating prompts from drafts.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_model::{Draft, DraftBody, PromptDraft, SaveOutcome, SourceName, Timestamp};
use vademecum_source::{SourceError, save_imported};
use vademecum_store::{StoreError, Writer};

use super::FULL_TEXT_TABLE;
use crate::item_table::KEYWORD_TABLES;

/// Finds the prompt with this name, even if it is deleted.
const NAMED_SQL: &str = "SELECT id FROM Prompts WHERE name = :name";

/// Saves a prompt, its keywords and its index entry.
///
/// Names are unique: a prompt of another origin whose name is taken is stored under the next free
/// numbered name, such as `Name (2)`.
pub(crate) fn save_prompt(writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
    let DraftBody::Prompt(prompt) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a prompt", draft.origin)));
    };
    save_imported(writer, SourceName::Prompts, draft, |item, now| {
        let before = item.and_then(|item| item.parse().ok());
        Ok(write_and_index(writer, before, prompt, draft, now)?.to_string())
    })
}

/// Replaces all fields of a prompt.
pub(crate) fn replace_prompt(
    writer: &Writer<'_>,
    id: &str,
    draft: &Draft,
) -> Result<(), SourceError> {
    let (DraftBody::Prompt(prompt), Ok(number)) = (&draft.body, id.parse()) else {
        return Err(SourceError::not_found("prompt", id));
    };
    write_and_index(writer, Some(number), prompt, draft, Timestamp::now())?;
    Ok(())
}

/// Inserts or replaces a prompt, its keywords and its index entry. Returns its identifier.
fn write_and_index(
    writer: &Writer<'_>,
    before: Option<i64>,
    prompt: &PromptDraft,
    draft: &Draft,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let name = find_free_name(writer, &prompt.name, before)?;
    let id = write_prompt(writer, before, &name, prompt, draft, now)?;
    replace_keywords_and_index(writer, id, &name, prompt, now)?;
    Ok(id)
}

/// Returns `name`, or its first numbered form that no other prompt has. `own` is the prompt being
/// saved.
fn find_free_name(writer: &Writer<'_>, name: &str, own: Option<i64>) -> Result<String, StoreError> {
    let mut candidate = name.to_owned();
    for number in 2.. {
        let owner = writer.query_first(NAMED_SQL, named_params! { ":name": candidate }, |row| {
            row.get::<_, i64>("id")
        })?;
        if owner.is_none() || owner == own {
            break;
        }
        candidate = format!("{name} ({number})");
    }
    Ok(candidate)
}

fn write_prompt(
    writer: &Writer<'_>,
    before: Option<i64>,
    name: &str,
    prompt: &PromptDraft,
    draft: &Draft,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let modified = prompt.modified_at.unwrap_or(now);
    let (uuid, requested_id) = (Uuid::new_v4().to_string(), draft.numeric_id());
    let mut fields = named_params! {
        ":name": name,
        ":author": prompt.author,
        ":details": prompt.details,
        ":system_prompt": prompt.system_prompt,
        ":user_prompt": prompt.user_prompt,
        ":last_modified": modified,
    }
    .to_vec();
    let Some(id) = before else {
        fields.extend([(":uuid", &uuid as _), (":wanted", &requested_id as _)]);
        return Ok(writer.insert_row(sql!("insert"), &fields)?);
    };
    fields.push((":id", &id));
    match writer.execute(sql!("update"), &fields)? {
        0 => Err(SourceError::not_found("prompt", id)),
        _ => Ok(id),
    }
}

/// Replaces the keywords and the index entry.
fn replace_keywords_and_index(
    writer: &Writer<'_>,
    id: i64,
    name: &str,
    prompt: &PromptDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    KEYWORD_TABLES.replace_keywords(writer, &id, &prompt.keywords, now)?;
    writer.index_row(
        &FULL_TEXT_TABLE,
        id,
        sql!("index"),
        named_params! {
            ":id": id,
            ":name": name,
            ":details": prompt.details,
            ":system_prompt": prompt.system_prompt,
            ":user_prompt": prompt.user_prompt,
            ":author": prompt.author,
            ":keywords": prompt.keywords.join(" "),
        },
    )?;
    Ok(())
}
