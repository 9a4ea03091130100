//! Construction of the draft of a file that contains one note.

use vademecum_model::{Draft, DraftBody, NoteDraft};

use crate::{SourceFile, digest};

/// Returns the draft of a note. The file and the names of the note determine its digest.
pub(super) fn note_draft(version: &str, file: &SourceFile, note: NoteDraft) -> Draft {
    let (names, folders) = (note.names.join("\n"), note.folders.join("\n"));
    let parts =
        [file.bytes.as_slice(), note.title.as_bytes(), names.as_bytes(), folders.as_bytes()];
    let digest = digest(version, parts);
    Draft { origin: file.origin(), digest, id: None, body: DraftBody::Note(note) }
}
