//! Construction of the draft of a file that contains one document.

use vademecum_model::{Draft, DraftBody, MediaDraft};

use crate::{ImportError, ParsedFile, Problem, SourceFile, digest};

/// Maximum size of the text of a document with pages, which may be read in several parts, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1_024 * 1_024;

/// Version of an importer. A new version makes a new document of the same bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImporterVersion {
    /// Name and number of the version, such as `html/3`.
    pub(crate) current: &'static str,
    /// The version before, whose documents are replaced.
    pub(crate) former: Option<&'static str>,
}

impl From<&'static str> for ImporterVersion {
    fn from(current: &'static str) -> Self {
        Self { current, former: None }
    }
}

impl ImporterVersion {
    /// Returns the draft of a document, identified by the bytes that it was read from.
    pub(crate) fn draft(self, origin: String, bytes: &[u8], document: MediaDraft) -> Draft {
        let former_digest = self.former.map(|version| digest(version, [bytes]));
        let body = DraftBody::Media(MediaDraft { former_digest, ..document });
        Draft { origin, digest: digest(self.current, [bytes]), id: None, body }
    }
}

/// Returns the draft of the document that is the whole `file`. `version` is that of the importer.
/// Fails if the document has no text.
pub(crate) fn single_document(
    file: &SourceFile,
    version: impl Into<ImporterVersion>,
    document: MediaDraft,
    problems: Vec<Problem>,
) -> Result<ParsedFile, ImportError> {
    if document.content.trim().is_empty() {
        return Err(ImportError::NoText { path: file.path.clone() });
    }
    let draft = version.into().draft(file.origin(), &file.bytes, document);
    Ok(ParsedFile { drafts: vec![draft], problems, ..ParsedFile::default() })
}

/// Returns the error of a file that is damaged or not of the detected format.
pub(crate) fn unreadable_error(
    file: &SourceFile,
    format: &'static str,
    reason: &impl ToString,
) -> ImportError {
    ImportError::Unreadable { path: file.path.clone(), format, reason: reason.to_string() }
}

/// Returns the title, or the file name if the title is blank.
pub(crate) fn title_or_stem(title: Option<&str>, file: &SourceFile) -> String {
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    title.map_or_else(|| file.file_stem(), str::to_owned)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Importer;

    /// Returns the only document of a file with these bytes.
    pub(crate) fn read_document(
        importer: &dyn Importer,
        path: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> MediaDraft {
        let mut reading = importer.parse(&SourceFile::in_memory(path, bytes)).unwrap();
        assert_eq!(reading.problems, []);
        let DraftBody::Media(document) = reading.drafts.remove(0).body else {
            panic!("no document")
        };
        assert!(reading.drafts.is_empty());
        document
    }

    /// Returns the error message for a file with these bytes.
    pub(crate) fn read_error(
        importer: &dyn Importer,
        path: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> String {
        importer.parse(&SourceFile::in_memory(path, bytes)).unwrap_err().to_string()
    }
}
