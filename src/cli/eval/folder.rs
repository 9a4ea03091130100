//! The folder a collection is imported into: a temporary one, or one that is
//! kept and holds this collection and nothing else.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::collection::Collection;
use vademecum_import::digest;

/// The file that says which collection a folder was made for.
const MARK: &str = "eval.collection";

/// Where a collection is imported.
#[derive(Debug)]
pub(super) enum Folder {
    /// Removed when it is dropped.
    Temporary(TempDir),
    /// Stays.
    Kept(PathBuf),
}

impl Folder {
    /// The folder that was named, if it may be used, or else a temporary one.
    pub(super) fn take(named: Option<&Path>, collection: &Collection) -> Result<Self> {
        let Some(path) = named else {
            return Ok(Self::Temporary(
                tempfile::Builder::new().prefix("vademecum-eval-").tempdir()?,
            ));
        };
        claim(path, &fingerprint(collection))?;
        Ok(Self::Kept(path.to_owned()))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

/// Marks an empty folder, and accepts one that has this mark already.
fn claim(folder: &Path, fingerprint: &str) -> Result<()> {
    let unusable = || format!("cannot use {}", folder.display());
    let mark = folder.join(MARK);
    match fs::read_to_string(&mark) {
        Ok(known) if known.trim() == fingerprint => return Ok(()),
        Ok(_) => bail!(
            "{} holds another collection; name a new or an empty folder with --data",
            folder.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(unusable),
    }
    fs::create_dir_all(folder).with_context(unusable)?;
    if fs::read_dir(folder).with_context(unusable)?.next().is_some() {
        bail!(
            "{} holds something else than this collection; name a new or an empty folder with --data",
            folder.display()
        );
    }
    fs::write(&mark, format!("{fingerprint}\n")).with_context(unusable)
}

/// Tells collections apart by their documents. The questions may change.
fn fingerprint(collection: &Collection) -> String {
    let parts = collection.documents.iter();
    digest("collection/1", parts.flat_map(|it| [&it.id, &it.title, &it.text].map(String::as_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_for_one_collection_only() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("new/one");
        claim(&folder, "a").unwrap();
        fs::write(folder.join("library"), "").unwrap();
        claim(&folder, "a").unwrap();
        let error = claim(&folder, "b").unwrap_err().to_string();
        assert!(error.contains("new/one holds another collection"), "{error}");
        let error = claim(outside.path(), "a").unwrap_err().to_string();
        assert!(error.contains("holds something else"), "{error}");
        assert!(!outside.path().join(MARK).exists());
    }
}
