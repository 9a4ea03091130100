//! Prompts in a tldw database.

use rusqlite::{Connection, OptionalExtension, named_params};
use vademecum_model::{DraftBody, PromptDraft};

use crate::cell;

/// Lists the prompts with their change marks and sizes.
pub(crate) const LIST_SQL: &str = sql!("prompts");

/// Reads a prompt; `None` if it no longer exists.
pub(crate) fn read_prompt(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<DraftBody>> {
    let sql = sql!("prompt");
    let prompt = connection.prepare_cached(sql)?.query_row(named_params! { ":id": id }, |row| {
        Ok(PromptDraft {
            name: cell::text(row, "name")?.unwrap_or_default(),
            author: cell::non_blank_text(row, "author")?,
            details: cell::non_blank_text(row, "details")?,
            system_prompt: cell::non_blank_text(row, "system_prompt")?,
            user_prompt: cell::non_blank_text(row, "user_prompt")?,
            keywords: cell::text_list(row, "keywords")?,
            modified_at: cell::datetime(row, "last_modified")?,
        })
    });
    Ok(prompt.optional()?.map(DraftBody::Prompt))
}
