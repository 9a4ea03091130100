//! What a file of one document becomes.

use vademecum_kit::model::{Body, Draft, MediaDraft};

use crate::{ImportError, Problem, Reading, SourceFile, digest::digest};

/// The document that is all of `file`, for an importer of this `version`. One
/// without a word in it is of no use.
pub(super) fn whole(
    file: &SourceFile,
    version: &str,
    document: MediaDraft,
    problems: Vec<Problem>,
) -> Result<Reading, ImportError> {
    if document.content.trim().is_empty() {
        return Err(ImportError::Empty { path: file.path.clone() });
    }
    let draft = Draft {
        origin: file.origin(),
        digest: digest(version, [file.bytes.as_slice()]),
        id: None,
        body: Body::Media(document),
    };
    Ok(Reading { drafts: vec![draft], problems })
}

/// Why a file is not what it seems to be.
pub(super) fn unreadable(
    file: &SourceFile,
    format: &'static str,
    reason: &impl ToString,
) -> ImportError {
    ImportError::Unreadable { path: file.path.clone(), format, reason: reason.to_string() }
}

/// A title, unless there is nothing in it.
pub(super) fn titled(title: Option<&str>, file: &SourceFile) -> String {
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    title.map_or_else(|| file.stem(), str::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Importer;

    /// The only document of a file with these bytes.
    pub(in crate::media) fn read(
        importer: &dyn Importer,
        path: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> MediaDraft {
        let mut reading = importer.read(&SourceFile::example(path, bytes)).unwrap();
        assert_eq!(reading.problems, []);
        let Body::Media(document) = reading.drafts.remove(0).body else { panic!("no document") };
        assert!(reading.drafts.is_empty());
        document
    }

    /// Why a file with these bytes cannot be read.
    pub(in crate::media) fn refused(
        importer: &dyn Importer,
        path: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> String {
        importer.read(&SourceFile::example(path, bytes)).unwrap_err().to_string()
    }
}
