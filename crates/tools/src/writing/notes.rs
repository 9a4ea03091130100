//! `notes.create`, `notes.append`, `notes.update` and `notes.delete`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use vademecum_actors::{CallError, error_chain};
use vademecum_core::auth::Right;
use vademecum_import::{InsertPlace, insert_text, replace_parts, set_properties};
use vademecum_mcp::{RequestContext, ToolEffect};
use vademecum_model::{
    Change, DraftBody, Edit, FieldReplacement, ItemId, NoteDraft, NoteRewrite, SourceName,
};

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

/// Appends text to a note, or inserts it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesAppend {
    /// `id` or `uri`.
    note_id: Option<String>,
    /// Text to add.
    content: Content,
    /// Where: end (default), start, a heading as in `## Log` (end of its section), or a ^block (after it). Or
    /// without `note_id`: `daily note`, or `daily note ## Log`.
    #[schemars(
        description = "Where: end (default), start, a heading as in `## Log` (end of its section), or a ^block (after it). Without note_id: `daily note`, also with a heading."
    )]
    at: Option<String>,
    /// Only if it still has this `version`.
    version: Option<PositiveNumber>,
}

impl Tool for NotesAppend {
    const NAME: &'static str = "notes.append";
    const TITLE: &'static str = "Add to a note";
    const DESCRIPTION: &'static str = "Add text to a note, on a line of its own: at the end, or where \
        `at` says.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let text = self.content.0;
        if text.is_empty() {
            return Err(CallError::Invalid("content: expected some text, got none".to_owned()));
        }
        let in_daily_note = self.at.as_deref().and_then(strip_daily_note);
        let place = match in_daily_note.or(self.at.as_deref()) {
            None => Ok(InsertPlace::End),
            Some("") if in_daily_note.is_some() => Ok(InsertPlace::End),
            Some(at) => InsertPlace::parse(at),
        };
        let place = place.map_err(|reason| CallError::Invalid(format!("at: {reason}")))?;
        let note_id = match (self.note_id, in_daily_note) {
            (Some(note_id), None) => note_id,
            (None, Some(_)) if self.version.is_none() => {
                return append_to_daily_note(services, call, place, text).await;
            }
            (_, Some(_)) => {
                let problem = "note_id, version: leave them out, as `at` names the daily note";
                return Err(CallError::Invalid(problem.to_owned()));
            }
            (None, None) => {
                let problem = "note_id: is missing; pass it, or `daily note` as `at`";
                return Err(CallError::Invalid(problem.to_owned()));
            }
        };
        let edit = match place {
            InsertPlace::End => Edit::Append(text),
            place => {
                let path = note_path(services, call, &note_id).await?;
                Edit::Rewrite(NoteRewrite::new(move |note| {
                    let content = insert_text(path.as_deref(), &note.content, &place, &text)?;
                    Ok(FieldReplacement { content: Some(content), ..FieldReplacement::default() })
                }))
            }
        };
        edit_note(services, call, Self::NAME, note_id, self.version, edit).await
    }
}

/// Returns what follows the words `daily note`, if a place begins with them.
fn strip_daily_note(at: &str) -> Option<&str> {
    const DAILY_NOTE: &str = "daily note";
    let at = at.trim();
    let words = at.get(..DAILY_NOTE.len())?;
    let rest = at.get(DAILY_NOTE.len()..)?;
    let is_end = rest.is_empty() || rest.starts_with([' ', '#', '^']);
    (words.eq_ignore_ascii_case(DAILY_NOTE) && is_end).then(|| rest.trim())
}

/// Adds a text to the daily note of today.
async fn append_to_daily_note(
    services: &ToolServices,
    call: &RequestContext,
    place: InsertPlace,
    text: String,
) -> ToolResult<WrittenItem> {
    let user = call.principal.user();
    let _turn = services.folders.lock_daily_note(user).await;
    let library = services.registry.library(&call.principal);
    let change = services.folders.change_of_daily_note(user, &library, place, text).await;
    let change = change.map_err(|error| CallError::Invalid(error_chain(&error)))?;
    apply_change(services, call, NotesAppend::NAME, SourceName::Notes, change).await
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
    /// Instead of `content`: parts of the text to replace.
    #[schemars(length(max = MAX_PARTS))]
    replace: Option<Vec<ReplacedPart>>,
    /// New list of tags.
    tags: Option<Tags>,
    /// Other properties of the front matter to set; null removes one.
    properties: Option<Map<String, Value>>,
}

/// A part of a text and the text in its place.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplacedPart {
    /// Text that the note has exactly once.
    old: Content,
    /// New text.
    new: Content,
}

/// Maximum number of parts that a call replaces, and of properties that it sets.
const MAX_PARTS: usize = 50;

impl NotesUpdate {
    /// Returns the edit. `path` is the file of the note, if it has one.
    fn into_edit(self, path: Option<PathBuf>, cleans_text: bool) -> Result<Edit, CallError> {
        let invalid = |problem: &str| Err(CallError::Invalid(problem.to_owned()));
        let parts = self.replace.unwrap_or_default().into_iter().map(|it| (it.old.0, it.new.0));
        let parts: Vec<(String, String)> = parts.collect();
        let properties = self.properties.unwrap_or_default();
        if parts.len() > MAX_PARTS || properties.len() > MAX_PARTS {
            return invalid("expected at most 50 parts to replace and 50 properties");
        }
        if self.content.is_some() && !parts.is_empty() {
            return invalid("pass content or replace, not both");
        }
        let is_field = |name: &String| ["title", "tags"].contains(&name.to_lowercase().as_str());
        if properties.keys().any(is_field) {
            return invalid("properties: pass title and tags as arguments of their own");
        }
        let fields = FieldReplacement {
            title: self.title.map(|title| title.0),
            content: self.content.map(|content| content.0),
            tags: self.tags.map(|tags| tags.0),
        };
        if parts.is_empty() && properties.is_empty() {
            if fields == FieldReplacement::default() {
                return invalid(
                    "nothing would change: pass title, content, replace, tags or properties",
                );
            }
            return Ok(Edit::Replace(fields));
        }
        Ok(Edit::Rewrite(NoteRewrite::new(move |note| {
            let mut text = match &fields.content {
                Some(new) => restore_text(&note.content, new.clone(), cleans_text),
                None => note.content.clone(),
            };
            if !parts.is_empty() {
                let shown = if cleans_text { safe_text::clean_text(&text) } else { (&text).into() };
                let new = replace_parts(&shown, &parts)?;
                text = restore_text(&text, new, cleans_text);
            }
            let content = Some(set_properties(path.as_deref(), &text, &properties)?);
            Ok(FieldReplacement { content, ..fields.clone() })
        })))
    }
}

impl Tool for NotesUpdate {
    const NAME: &'static str = "notes.update";
    const TITLE: &'static str = "Change a note";
    const DESCRIPTION: &'static str = "Replace a note's title, tags, properties, content, or parts of \
        it. Read it with notes.get first: if it has another version by then, nothing is changed.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Replaces;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let path = note_path(services, call, &self.note_id).await?;
        let (note, version) = (self.note_id.clone(), self.version);
        let edit = self.into_edit(path, services.cleans_text)?;
        edit_note(services, call, Self::NAME, note, Some(version), edit).await
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
    let edit = restore_links(services, edit);
    let change = Change::Edit { id, version, edit };
    apply_change(services, call, tool, SourceName::Notes, change).await
}

/// Returns an edit that keeps the links of lines that the agent writes back as it was shown them.
fn restore_links(services: &ToolServices, edit: Edit) -> Edit {
    match edit {
        Edit::Replace(FieldReplacement { content: Some(new), title, tags })
            if services.cleans_text =>
        {
            Edit::Rewrite(NoteRewrite::new(move |note| {
                let content = Some(safe_text::restore_text(&note.content, new.clone()));
                Ok(FieldReplacement { content, title: title.clone(), tags: tags.clone() })
            }))
        }
        edit => edit,
    }
}

fn restore_text(stored: &str, new: String, cleans_text: bool) -> String {
    if cleans_text { safe_text::restore_text(stored, new) } else { new }
}

/// Returns the file of a note in a two-way folder.
async fn note_path(
    services: &ToolServices,
    call: &RequestContext,
    note_id: &str,
) -> Result<Option<PathBuf>, CallError> {
    let (id, _) = resolve_item_id(SourceName::Notes, ItemId::Text(note_id.to_owned()))?;
    let user = call.principal.user();
    let library = services.registry.whole_library(user);
    Ok(services.folders.note_path(user, &library, id.to_string()).await?)
}
