//! The data folder of an evaluation: a temporary one, or a persistent one for a single collection.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use vademecum_eval::JudgedCollection;
use vademecum_import::digest;

/// Name of the marker file with the fingerprint of the collection.
const MARKER_FILE: &str = "eval.collection";

/// Data folder of an evaluation.
#[derive(Debug)]
pub(super) enum EvalFolder {
    /// Removed when dropped.
    Temporary(TempDir),
    /// Kept for later runs.
    Persistent(PathBuf),
}

impl EvalFolder {
    /// Opens the named folder, or creates a temporary one. Fails if the named folder is not empty
    /// and not of this collection.
    pub(super) fn open(named: Option<&Path>, collection: &JudgedCollection) -> Result<Self> {
        let Some(path) = named else {
            return Ok(Self::Temporary(
                tempfile::Builder::new().prefix("vademecum-eval-").tempdir()?,
            ));
        };
        claim_folder(path, &fingerprint(collection))?;
        Ok(Self::Persistent(path.to_owned()))
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Persistent(path) => path,
        }
    }
}

/// Writes the marker into an empty folder; accepts a folder with the same marker.
fn claim_folder(folder: &Path, fingerprint: &str) -> Result<()> {
    let unusable = || format!("cannot use {}", folder.display());
    let mark = folder.join(MARKER_FILE);
    match fs::read_to_string(&mark) {
        Ok(known) if known.trim() == fingerprint => return Ok(()),
        Ok(_) => bail!(
            "{} contains another collection; use a new or an empty folder with --data",
            folder.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(unusable),
    }
    fs::create_dir_all(folder).with_context(unusable)?;
    if fs::read_dir(folder).with_context(unusable)?.next().is_some() {
        bail!(
            "{} contains other files; use a new or an empty folder with --data",
            folder.display()
        );
    }
    fs::write(&mark, format!("{fingerprint}\n")).with_context(unusable)
}

/// Returns a digest of the documents. Queries are not part of it, so they may change.
fn fingerprint(collection: &JudgedCollection) -> String {
    let mut parts: Vec<Cow<'_, str>> = Vec::new();
    for document in &collection.documents {
        parts.extend([&document.id, &document.title, &document.text].map(Cow::from));
        if let Some(place) = &document.message {
            parts.extend([&place.conversation, &place.sender].map(Cow::from));
            parts.push(place.turn.map(|turn| turn.to_string()).unwrap_or_default().into());
        }
    }
    digest("collection/1", parts.iter().map(|part| part.as_bytes()))
}

/// Returns a digest of the documents, the queries and the judgements.
pub(super) fn judgement_fingerprint(collection: &JudgedCollection) -> String {
    let mut parts: Vec<Cow<'_, str>> = vec![fingerprint(collection).into()];
    for query in &collection.queries {
        parts.extend([&query.id, &query.text].map(Cow::from));
        let grades: BTreeMap<_, _> = query.grades.iter().collect();
        parts.push(grades.len().to_string().into());
        for (document, grade) in grades {
            parts.extend([Cow::from(document), grade.to_string().into()]);
        }
    }
    digest("judged/1", parts.iter().map(|part| part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_accepts_one_collection_only() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("new/one");
        claim_folder(&folder, "a").unwrap();
        fs::write(folder.join("library"), "").unwrap();
        claim_folder(&folder, "a").unwrap();
        let error = claim_folder(&folder, "b").unwrap_err().to_string();
        assert!(error.contains("new/one contains another collection"), "{error}");
        let error = claim_folder(outside.path(), "a").unwrap_err().to_string();
        assert!(error.contains("contains other files"), "{error}");
        assert!(!outside.path().join(MARKER_FILE).exists());
    }
}
