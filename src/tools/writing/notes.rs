//! `notes.create`, `notes.append`, `notes.update` and `notes.delete`.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{
    Body, Change, Edit, ItemId, NoteDraft, Replacement, SourceName, Written,
};

use super::{
    super::{
        Contract, Replied, Toolbox,
        input::{Positive, locate},
    },
    change::{add, change},
    input::{Content, Tags, Title},
};
use crate::actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{Call, Effect};

/// Writes a new note.
#[derive(Debug)]
pub struct NotesCreate;

/// What a new note says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesCreateInput {
    /// One line.
    title: Title,
    /// Markdown or plain text.
    content: Content,
    /// Words to find it by.
    tags: Option<Tags>,
}

impl Contract for NotesCreate {
    const NAME: &'static str = "notes.create";
    const TITLE: &'static str = "Write a note";
    const DESCRIPTION: &'static str = "Write a new note.";
    const RIGHT: Right = Right::Write;
    const EFFECT: Effect = Effect::Adds;
    type Input = NotesCreateInput;
    type Output = Written;

    async fn call(
        toolbox: &Toolbox,
        input: NotesCreateInput,
        call: &Call,
    ) -> Result<Replied<Written>, CallError> {
        let note = NoteDraft {
            title: input.title.0,
            content: input.content.0,
            tags: input.tags.unwrap_or_default().0,
            ..NoteDraft::default()
        };
        add(toolbox, call, Body::Note(note), String::new()).await
    }
}

/// Writes more into a note.
#[derive(Debug)]
pub struct NotesAppend;

/// What a note says besides.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesAppendInput {
    /// `id` or `uri`.
    note_id: String,
    /// What is added.
    content: Content,
}

impl Contract for NotesAppend {
    const NAME: &'static str = "notes.append";
    const TITLE: &'static str = "Add to a note";
    const DESCRIPTION: &'static str = "Add text at the end of a note, on a line of its own.";
    const RIGHT: Right = Right::Write;
    const EFFECT: Effect = Effect::Adds;
    type Input = NotesAppendInput;
    type Output = Written;

    async fn call(
        toolbox: &Toolbox,
        input: NotesAppendInput,
        call: &Call,
    ) -> Result<Replied<Written>, CallError> {
        if input.content.0.is_empty() {
            return Err(CallError::Invalid("content: expected some text, got none".to_owned()));
        }
        edit(toolbox, call, input.note_id, None, Edit::Append(input.content.0)).await
    }
}

/// Writes a note anew.
#[derive(Debug)]
pub struct NotesUpdate;

/// What a note becomes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesUpdateInput {
    /// `id` or `uri`.
    note_id: String,
    /// The `version` that was read.
    version: Positive,
    /// A new one.
    title: Option<Title>,
    /// The whole new text.
    content: Option<Content>,
    /// All tags that it is to have.
    tags: Option<Tags>,
}

impl Contract for NotesUpdate {
    const NAME: &'static str = "notes.update";
    const TITLE: &'static str = "Change a note";
    const DESCRIPTION: &'static str = "Replace a note's title, content or tags. Read it with \
        notes.get first: if it has another version by then, nothing is changed.";
    const RIGHT: Right = Right::Write;
    const EFFECT: Effect = Effect::Replaces;
    type Input = NotesUpdateInput;
    type Output = Written;

    async fn call(
        toolbox: &Toolbox,
        input: NotesUpdateInput,
        call: &Call,
    ) -> Result<Replied<Written>, CallError> {
        let replacement = Replacement {
            title: input.title.map(|title| title.0),
            content: input.content.map(|content| content.0),
            tags: input.tags.map(|tags| tags.0),
        };
        if replacement == Replacement::default() {
            let problem = "nothing would change: pass title, content or tags".to_owned();
            return Err(CallError::Invalid(problem));
        }
        let edited = Edit::Replace(replacement);
        edit(toolbox, call, input.note_id, Some(input.version), edited).await
    }
}

/// Deletes a note.
#[derive(Debug)]
pub struct NotesDelete;

/// Which note is deleted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesDeleteInput {
    /// `id` or `uri`.
    note_id: String,
    /// Only if it still has this `version`.
    version: Option<Positive>,
}

impl Contract for NotesDelete {
    const NAME: &'static str = "notes.delete";
    const TITLE: &'static str = "Delete a note";
    const DESCRIPTION: &'static str = "Delete a note.";
    const RIGHT: Right = Right::Write;
    const EFFECT: Effect = Effect::Replaces;
    type Input = NotesDeleteInput;
    type Output = Written;

    async fn call(
        toolbox: &Toolbox,
        input: NotesDeleteInput,
        call: &Call,
    ) -> Result<Replied<Written>, CallError> {
        edit(toolbox, call, input.note_id, input.version, Edit::Delete).await
    }
}

async fn edit(
    toolbox: &Toolbox,
    call: &Call,
    note_id: String,
    version: Option<Positive>,
    edit: Edit,
) -> Result<Replied<Written>, CallError> {
    let (id, _) = locate(SourceName::Notes, ItemId::Text(note_id))?;
    // A number beyond all versions is one that no note has.
    let version = version.map(|version| i64::try_from(version.0).unwrap_or(i64::MAX));
    change(toolbox, call, SourceName::Notes, Change::Edit { id, version, edit }).await
}
