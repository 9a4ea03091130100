//! `notes.create`, `notes.append`, `notes.update` and `notes.delete`.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{RequestContext, ToolEffect};
use vademecum_model::{Change, DraftBody, Edit, FieldReplacement, ItemId, NoteDraft, SourceName};

use super::{
    super::{
        Tool, ToolResult, ToolServices,
        input::{PositiveNumber, resolve_item_id},
        safe_text,
    },
    change::{WrittenItem, add_item, apply_change},
    input::{Content, Tags, Title},
};

/// Creates a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesCreate {
    /// One line.
    title: Title,
    /// Markdown or plain text.
    content: Content,
    /// Words to find it by.
    tags: Option<Tags>,
}

impl Tool for NotesCreate {
    const NAME: &'static str = "notes.create";
    const TITLE: &'static str = "Write a note";
    const DESCRIPTION: &'static str = "Write a new note.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let note = NoteDraft {
            title: self.title.0,
            content: self.content.0,
            tags: self.tags.unwrap_or_default().0,
            ..NoteDraft::default()
        };
        add_item(services, call, Self::NAME, DraftBody::Note(note), String::new()).await
    }
}

/// Appends text to a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesAppend {
    /// `id` or `uri`.
    note_id: String,
    /// Text to add.
    content: Content,
}

impl Tool for NotesAppend {
    const NAME: &'static str = "notes.append";
    const TITLE: &'static str = "Add to a note";
    const DESCRIPTION: &'static str = "Add text at the end of a note, on a line of its own.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        if self.content.0.is_empty() {
            return Err(CallError::Invalid("content: expected some text, got none".to_owned()));
        }
        edit_note(services, call, Self::NAME, self.note_id, None, Edit::Append(self.content.0))
            .await
    }
}

/// Replaces parts of a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesUpdate {
    /// `id` or `uri`.
    note_id: String,
    /// The `version` that was read.
    version: PositiveNumber,
    /// New title.
    title: Option<Title>,
    /// New full text.
    content: Option<Content>,
    /// New list of tags.
    tags: Option<Tags>,
}

impl Tool for NotesUpdate {
    const NAME: &'static str = "notes.update";
    const TITLE: &'static str = "Change a note";
    const DESCRIPTION: &'static str = "Replace a note's title, content or tags. Read it with \
        notes.get first: if it has another version by then, nothing is changed.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Replaces;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let replacement = FieldReplacement {
            title: self.title.map(|title| title.0),
            content: self.content.map(|content| content.0),
            tags: self.tags.map(|tags| tags.0),
        };
        if replacement == FieldReplacement::default() {
            let problem = "nothing would change: pass title, content or tags".to_owned();
            return Err(CallError::Invalid(problem));
        }
        let edited = Edit::Replace(replacement);
        edit_note(services, call, Self::NAME, self.note_id, Some(self.version), edited).await
    }
}

/// Deletes a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesDelete {
    /// `id` or `uri`.
    note_id: String,
    /// Only if it still has this `version`.
    version: Option<PositiveNumber>,
}

impl Tool for NotesDelete {
    const NAME: &'static str = "notes.delete";
    const TITLE: &'static str = "Delete a note";
    const DESCRIPTION: &'static str = "Delete a note.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Replaces;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        edit_note(services, call, Self::NAME, self.note_id, self.version, Edit::Delete).await
    }
}

async fn edit_note(
    services: &ToolServices,
    call: &RequestContext,
    tool: &str,
    note_id: String,
    version: Option<PositiveNumber>,
    edit: Edit,
) -> ToolResult<WrittenItem> {
    let (id, _) = resolve_item_id(SourceName::Notes, ItemId::Text(note_id))?;
    // A number above the range of versions matches no version.
    let version = version.map(|version| i64::try_from(version.0).unwrap_or(i64::MAX));
    let edit = restore_links(services, call, &id, edit).await?;
    let change = Change::Edit { id, version, edit };
    apply_change(services, call, tool, SourceName::Notes, change).await
}

/// Returns an edit that keeps the links of lines that the agent writes back as it was shown them.
async fn restore_links(
    services: &ToolServices,
    call: &RequestContext,
    id: &ItemId,
    edit: Edit,
) -> Result<Edit, CallError> {
    let Edit::Replace(FieldReplacement { content: Some(new), title, tags }) = edit else {
        return Ok(edit);
    };
    let library = services.registry.library(&call.principal);
    let notes = library.source(SourceName::Notes).filter(|_| services.cleans_text);
    let stored = match notes {
        Some(notes) => notes.load_draft(id, services.deadline(call)).await?.body,
        None => DraftBody::Note(NoteDraft::default()),
    };
    let restored = match stored {
        DraftBody::Note(note) => safe_text::restore_text(&note.content, new),
        _ => new,
    };
    Ok(Edit::Replace(FieldReplacement { content: Some(restored), title, tags }))
}
