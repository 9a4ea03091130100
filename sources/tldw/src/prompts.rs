//! Prompts as tldw keeps them.

use rusqlite::{Connection, OptionalExtension, named_params};
use vademecum_kit::model::{Body, PromptDraft};

use crate::cell;

/// The prompts that are there.
pub(crate) const LIST: &str = include_str!("../sql/prompts.sql");

/// Reads a prompt, if it is still there.
pub(crate) fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<Body>> {
    let sql = include_str!("../sql/prompt.sql");
    let prompt = connection.prepare_cached(sql)?.query_row(named_params! { ":id": id }, |row| {
        Ok(PromptDraft {
            name: cell::text(row, "name")?.unwrap_or_default(),
            author: cell::some_text(row, "author")?,
            details: cell::some_text(row, "details")?,
            system_prompt: cell::some_text(row, "system_prompt")?,
            user_prompt: cell::some_text(row, "user_prompt")?,
            keywords: cell::list(row, "keywords")?,
            modified_at: cell::moment(row, "last_modified")?,
        })
    });
    Ok(prompt.optional()?.map(Body::Prompt))
}
