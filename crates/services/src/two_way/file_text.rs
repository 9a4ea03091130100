//! Changes of notes that have a file in a two-way folder: their text says the new title and tags in the
//! same step, as the file will. So a change is one version, and undoing it restores the file exactly.

use std::path::{Path, PathBuf};

use vademecum_actors::Library;
use vademecum_core::auth::UserId;
use vademecum_import::{appended_text, edit_note_text};
use vademecum_model::{Change, Edit, FieldReplacement, NoteDraft, NoteRewrite, SourceName};
use vademecum_source::SourceError;

use super::{folders::FollowedFolders, write_back::is_written_type};

impl FollowedFolders {
    /// Returns a change of a note as its file takes it. Other changes are returned as they are.
    pub async fn prepare_change(
        &self,
        user: &UserId,
        library: &Library,
        change: Change,
    ) -> Result<Change, SourceError> {
        let id = match &change {
            Change::Tag { id, .. } | Change::Edit { id, .. } => id.to_string(),
            Change::Add(_) | Change::Restore { .. } => return Ok(change),
        };
        let path = self.note_path(user, library, id).await?;
        Ok(match path.filter(|path| is_written_type(path)) {
            Some(path) => with_file_text(change, path),
            None => change,
        })
    }

    /// Returns the file of a note in a two-way folder.
    pub async fn note_path(
        &self,
        user: &UserId,
        library: &Library,
        id: String,
    ) -> Result<Option<PathBuf>, SourceError> {
        let folders = self.read_two_way_folders(user, library).await?;
        if folders.is_empty() {
            return Ok(None);
        }
        let Some(notes) = library.source(SourceName::Notes) else { return Ok(None) };
        let origins = notes.item_origins(id).await?;
        let paths = origins.iter().filter_map(|origin| origin.strip_prefix("file:"));
        let mut paths = paths.map(Path::new);
        let found = paths.find(|path| folders.iter().any(|folder| path.starts_with(&folder.path)));
        Ok(found.map(Path::to_owned))
    }
}

fn with_file_text(change: Change, path: PathBuf) -> Change {
    match change {
        Change::Tag { id, mut tagging } => {
            let tags = tagging.clone();
            tagging.text = Some(NoteRewrite::new(move |note| {
                let tags = tags.apply_to(&note.tags);
                Ok(say_in_text(&path, note, FieldReplacement { tags, ..Default::default() }))
            }));
            Change::Tag { id, tagging }
        }
        Change::Edit { id, version, edit } => {
            let edit = match edit {
                Edit::Append(text) => Edit::Append(appended_text(&path, &text).into_owned()),
                Edit::Replace(fields) => Edit::Rewrite(NoteRewrite::new(move |note| {
                    Ok(say_in_text(&path, note, fields.clone()))
                })),
                Edit::Rewrite(rewrite) => Edit::Rewrite(NoteRewrite::new(move |note| {
                    Ok(say_in_text(&path, note, rewrite.compute(note)?))
                })),
                Edit::Delete => Edit::Delete,
            };
            Change::Edit { id, version, edit }
        }
        Change::Add(_) | Change::Restore { .. } => change,
    }
}

/// Returns new fields of a note with the text that says them.
fn say_in_text(path: &Path, note: &NoteDraft, fields: FieldReplacement) -> FieldReplacement {
    if fields.title.is_none() && fields.tags.is_none() {
        return fields;
    }
    let after = NoteDraft {
        title: fields.title.clone().unwrap_or_else(|| note.title.clone()),
        content: fields.content.clone().unwrap_or_else(|| note.content.clone()),
        tags: fields.tags.clone().unwrap_or_else(|| note.tags.clone()),
        ..NoteDraft::default()
    };
    let text = edit_note_text(path, note, &after);
    let content = if text == note.content { fields.content } else { Some(text) };
    FieldReplacement { content, ..fields }
}
