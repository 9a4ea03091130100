//! Opening of files below a folder without following links.

use std::{
    fs::{self, File},
    io::{self, Seek as _},
    path::{Path, PathBuf},
};

use vademecum_model::Timestamp;

use crate::{FileStamp, ImportError};

/// Maximum size of a file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// An open regular file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Absolute path. Links above `root` are resolved; there are none below it.
    pub(crate) path: PathBuf,
    /// Folder named by the user in which the file was found, if any; absolute, with links resolved.
    pub(crate) root: Option<PathBuf>,
    pub(crate) file: File,
    /// Size and modification time of the open file.
    pub(crate) stamp: FileStamp,
    /// Modification time, if the file system reports it.
    pub(crate) modified: Option<Timestamp>,
}

impl OpenFile {
    /// Opens a regular file for reading. With a `root`, `path` must be below it, and no part of the
    /// path below it may be a link. Without one, the links in `path` are resolved first, because
    /// the user named it.
    pub(crate) fn open(path: &Path, root: Option<&Path>) -> Result<Self, ImportError> {
        let failed = |cause| ImportError::Open { path: path.to_owned(), cause };
        let (path, root, file) = if let Some(folder) = root {
            let outside = || failed(io::Error::other("the file is not in the folder"));
            let inside = path.strip_prefix(folder).map_err(|_| outside())?;
            let folder = fs::canonicalize(folder).map_err(failed)?;
            let file = open_below(&folder, inside).map_err(failed)?;
            (folder.join(inside), Some(folder), file)
        } else {
            let path = fs::canonicalize(path).map_err(failed)?;
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(ImportError::NotAFile { path });
            };
            let file = open_below(folder, Path::new(name)).map_err(failed)?;
            (path, None, file)
        };
        // The checks are made on the open file: another file may have the same path by now.
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(ImportError::NotAFile { path });
        }
        let modified = found.modified().ok().map(Timestamp::from);
        Ok(Self { path, root, file, stamp: FileStamp::from_metadata(&found), modified })
    }

    /// Returns the same open file once more, at its beginning. Both share the position.
    pub(crate) fn reopen(&self) -> io::Result<Self> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let (path, root) = (self.path.clone(), self.root.clone());
        Ok(Self { path, root, file, stamp: self.stamp, modified: self.modified })
    }
}

/// Opens `path`, which is relative to `folder`, for reading. Fails if any part of it is a link.
#[cfg(unix)]
fn open_below(folder: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open, openat};

    let as_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A pipe without a writer would block the call.
    let as_file = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut opened = open(folder, as_folder, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let std::path::Component::Normal(name) = part else {
            return Err(io::Error::other("the path leads out of the folder"));
        };
        let flags = if parts.peek().is_some() { as_folder } else { as_file };
        opened =
            openat(&opened, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| {
                match error {
                    rustix::io::Errno::LOOP => io::Error::other("links are not followed"),
                    error => error.into(),
                }
            })?;
    }
    Ok(opened.into())
}

/// Opens `path`, which is relative to `folder`, for reading. Fails if any part of it is a link.
#[cfg(not(unix))]
fn open_below(folder: &Path, path: &Path) -> io::Result<File> {
    let mut opened = folder.to_owned();
    for part in path.components() {
        opened.push(part);
        if fs::symlink_metadata(&opened)?.is_symlink() {
            return Err(io::Error::other("links are not followed"));
        }
    }
    File::open(opened)
}

/// Returns `true` if the name of a file has one of `extensions`; case is ignored.
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|found| extensions.iter().any(|known| known.eq_ignore_ascii_case(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_outside_of_folder_is_refused() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = outside.path().join("secret.md");
        fs::write(&secret, "text").unwrap();
        let error = OpenFile::open(&secret, Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("not in the folder"), "{error}");
        let up = folder.path().join("..").join(outside.path().file_name().unwrap());
        assert!(OpenFile::open(&up.join("secret.md"), Some(folder.path())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn link_below_folder_is_never_opened() {
        use std::os::unix::fs::symlink;

        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.md"), "text").unwrap();
        symlink(outside.path(), folder.path().join("linked")).unwrap();
        symlink(outside.path().join("secret.md"), folder.path().join("linked.md")).unwrap();
        for path in ["linked/secret.md", "linked.md"] {
            let path = folder.path().join(path);
            assert!(OpenFile::open(&path, Some(folder.path())).is_err(), "{path:?}");
            assert!(OpenFile::open(&path, None).is_ok(), "{path:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn pipe_is_refused_without_waiting() {
        use rustix::fs::{CWD, Mode, mkfifoat};

        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.md");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let error = OpenFile::open(&pipe, Some(folder.path())).unwrap_err();
        assert!(matches!(error, ImportError::NotAFile { .. }), "{error}");
    }
}
