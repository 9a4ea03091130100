//! Writing of one file in a folder that other programs write too.
//!
//! A file is replaced at once by a file with the new content. On Linux and macOS, the two change
//! places, and what was in the place of the file is looked at afterwards: if it is not what was
//! expected, another program has just saved the file, and the two change back. If the file was saved
//! once more in between, both saves are kept. No link below the folder is followed.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Write},
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use uuid::Uuid;
use walkdir::WalkDir;

use self::folder::OpenFolder;
use crate::atomic_write::TEMPORARY_PREFIX;

/// Maximum size of a file that is written back, in bytes. It holds the longest note.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Maximum time between the two steps of a save in place: emptying the file and writing its text.
const MAX_SAVE_TIME: Duration = Duration::from_secs(2);

/// A file below a folder. It need not exist.
#[derive(Debug)]
pub(super) struct NoteFile {
    folder: OpenFolder,
    name: OsString,
}

/// Whether the folders of a file are created if they are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingFolders {
    Keep,
    Create,
}

impl NoteFile {
    /// Opens the folder of the file `path`, which is relative to `root`. Returns `None` if a folder
    /// is missing.
    pub(super) fn locate(
        root: &Path,
        path: &Path,
        missing: MissingFolders,
    ) -> io::Result<Option<Self>> {
        let mut names = Vec::new();
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::Error::other("the path leads out of the folder"));
            };
            names.push(name);
        }
        let name = names.pop().ok_or_else(|| io::Error::other("the path names no file"))?;
        let mut folder = OpenFolder::open(root)?;
        for name in names {
            folder = match folder.open_below(name) {
                Err(error) => match (error.kind(), missing) {
                    // A link in place of the folder has other files.
                    (
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory,
                        MissingFolders::Keep,
                    ) => return Ok(None),
                    (io::ErrorKind::NotFound, MissingFolders::Create) => {
                        folder.create_below(name)?
                    }
                    _ => return Err(error),
                },
                Ok(found) => found,
            };
        }
        Ok(Some(Self { folder, name: name.to_owned() }))
    }

    /// Reads the file; `None` if it does not exist.
    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match self.folder.open_file(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        read_bounded(&file).map(Some)
    }

    /// Returns `true` if the file has no permission to be written.
    pub(super) fn is_read_only(&self) -> io::Result<bool> {
        Ok(self.folder.open_file(&self.name)?.metadata()?.permissions().readonly())
    }

    /// Creates the file. Returns `false` if a file of this name exists.
    pub(super) fn create(&self, bytes: &[u8]) -> io::Result<bool> {
        let new = TemporaryFile::write(&self.folder, bytes, None)?;
        let is_created = self.folder.rename_new(&new.name, &self.name)?;
        if is_created {
            new.keep();
            self.folder.sync()?;
        }
        Ok(is_created)
    }

    /// Replaces the content of the file. Returns `false`, and leaves the file as it is, if its
    /// content is not `expected`. A save of another program that the two exchanges of this function
    /// displace is kept in a new file beside it.
    pub(super) fn replace(&self, expected: &[u8], bytes: &[u8]) -> io::Result<bool> {
        let before = match self.folder.open_file(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        if read_bounded(&before)? != expected || is_being_saved(&before)? {
            return Ok(false);
        }
        let new = TemporaryFile::write(&self.folder, bytes, Some(&before))?;
        // It may take long until the new file is on disk.
        if self.read()?.is_none_or(|found| found != expected) {
            return Ok(false);
        }
        if self.folder.exchange(&new.name, &self.name)? {
            // The temporary name has what the file was at this moment.
            if !new.is(expected) {
                self.put_back(new, bytes)?;
                return Ok(false);
            }
        } else {
            // Without an exchange, a program that saves the file just now is not noticed.
            self.folder.rename(&new.name, &self.name)?;
            new.keep();
        }
        self.folder.sync()?;
        Ok(true)
    }

    /// Returns a file that was saved by another program and exchanged for `written` to its place.
    fn put_back(&self, saved: TemporaryFile<'_>, written: &[u8]) -> io::Result<()> {
        match self.folder.exchange(&saved.name, &self.name) {
            // The temporary file has the written text, and is removed.
            Ok(_) if saved.is(written) => return self.folder.sync(),
            // Another program has saved the file twice, and both saves are kept.
            Ok(_) => {}
            // Another program has moved what was written.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                saved.keep_beside(&self.name)?;
                return Err(error);
            }
        }
        saved.keep_beside(&self.name)
    }

    /// Moves the file to the place of `target`. Returns `false`, and leaves the file where it is, if
    /// its content is not `expected` or `target` exists.
    pub(super) fn move_to(&self, target: &Self, expected: &[u8]) -> io::Result<bool> {
        if self.read()?.is_none_or(|found| found != expected) {
            return Ok(false);
        }
        if !self.folder.move_new(&self.name, &target.folder, &target.name)? {
            return Ok(false);
        }
        if target.read()?.is_some_and(|found| found != expected) {
            // Another program saved the file just now. If it has also created the file again, both
            // are kept.
            target.folder.move_new(&target.name, &self.folder, &self.name)?;
            return Ok(false);
        }
        self.folder.sync()?;
        target.folder.sync()?;
        Ok(true)
    }
}

/// Removes temporary files that an interrupted write has left in a folder and those below it.
pub(crate) fn remove_leftovers(folder: &Path) {
    for entry in WalkDir::new(folder).into_iter().flatten() {
        let is_ours = entry.file_type().is_file()
            && entry.file_name().to_str().is_some_and(|name| {
                name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
            });
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_ours
            && age().is_some_and(|age| age >= MIN_LEFTOVER_AGE)
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::warn!(%error, "a temporary file could not be removed");
        }
    }
}

/// Age at which a temporary file belongs to no running write.
const MIN_LEFTOVER_AGE: Duration = Duration::from_mins(1);

/// End of the names of temporary files.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// A file with a temporary name, which is removed when dropped.
struct TemporaryFile<'f> {
    folder: &'f OpenFolder,
    name: OsString,
    is_kept: bool,
}

impl<'f> TemporaryFile<'f> {
    /// Writes a file with the permissions of `model`.
    fn write(folder: &'f OpenFolder, bytes: &[u8], model: Option<&File>) -> io::Result<Self> {
        let name = format!("{TEMPORARY_PREFIX}{}{TEMPORARY_SUFFIX}", Uuid::new_v4().simple());
        let mut file = folder.create_file(OsStr::new(&name))?;
        let written = Self { folder, name: name.into(), is_kept: false };
        if let Some(model) = model {
            folder::copy_permissions(model, &file)?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(written)
    }

    /// Returns `true` if the file has this content.
    fn is(&self, content: &[u8]) -> bool {
        let file = self.folder.open_file(&self.name);
        file.and_then(|file| read_bounded(&file)).is_ok_and(|found| found == content)
    }

    /// Marks that the file has its final name now.
    fn keep(mut self) {
        self.is_kept = true;
    }

    /// Gives the file the name `wanted`, or one with a number if that is taken.
    fn keep_beside(mut self, wanted: &OsStr) -> io::Result<()> {
        // Whatever fails below, the file is not removed.
        self.is_kept = true;
        let wanted = Path::new(wanted);
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.folder.rename_new(&self.name, name.as_os_str())? {
            name = numbered(wanted, number);
            number += 1;
        }
        tracing::warn!(?name, "a file was saved twice while it was written; both saves are kept");
        self.folder.sync()
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = self.folder.remove(&self.name)
        {
            tracing::warn!(%error, "a temporary file could not be removed");
        }
    }
}

/// Returns `a 2.md` for `a.md` and the number 2.
pub(super) fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|it| format!(".{}", it.to_string_lossy()));
    path.with_file_name(format!("{stem} {number}{}", extension.unwrap_or_default()))
}

/// Returns `true` for an empty file that was changed just now. A program that saves a file in place
/// empties it first, and does not notice if another file gets its name before the text is written.
fn is_being_saved(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    // A time in the future is that of another machine's clock.
    let age = SystemTime::now().duration_since(metadata.modified()?);
    Ok(metadata.len() == 0 && age.is_ok_and(|age| age < MAX_SAVE_TIME))
}

fn read_bounded(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("the file is larger than {MAX_FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Folders by their handles, so that a folder that is replaced by a link in between is not followed.
#[cfg(unix)]
mod folder {
    use std::{ffi::OsStr, fs::File, io, os::fd::OwnedFd, path::Path};

    use rustix::{
        fs::{
            AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fstat, fsync,
            linkat, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
        },
        io::Errno,
    };

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    #[derive(Debug)]
    pub(super) struct OpenFolder(OwnedFd);

    impl OpenFolder {
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
        }

        pub(super) fn open_below(&self, name: &OsStr) -> io::Result<Self> {
            match openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(folder) => Ok(Self(folder)),
                // Systems differ in the error for a link.
                Err(Errno::LOOP) => Err(Errno::NOTDIR.into()),
                Err(error) => Err(error.into()),
            }
        }

        pub(super) fn create_below(&self, name: &OsStr) -> io::Result<Self> {
            match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => self.open_below(name),
                Err(error) => Err(error.into()),
            }
        }

        pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            // A pipe without a writer would block the call.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file: File = openat(&self.0, name, flags, Mode::empty())?.into();
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            Ok(file)
        }

        pub(super) fn create_file(&self, name: &OsStr) -> io::Result<File> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
        }

        /// Renames a file, unless the new name exists.
        pub(super) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<bool> {
            self.move_new(from, self, to)
        }

        /// Moves a file, unless the new name exists.
        pub(super) fn move_new(&self, from: &OsStr, to: &Self, name: &OsStr) -> io::Result<bool> {
            match renameat_with(&self.0, from, &to.0, name, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(true),
                Err(Errno::EXIST) => Ok(false),
                Err(error) if is_unsupported(error) => {
                    // A link fails if the name exists, as the rename would have.
                    match linkat(&self.0, from, &to.0, name, AtFlags::empty()) {
                        Ok(()) => Ok(unlinkat(&self.0, from, AtFlags::empty()).map(|()| true)?),
                        Err(Errno::EXIST) => Ok(false),
                        // File systems without hard links, as on memory cards.
                        Err(_) if statat(&to.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => {
                            Ok(false)
                        }
                        Err(_) => Ok(renameat(&self.0, from, &to.0, name).map(|()| true)?),
                    }
                }
                Err(error) => Err(error.into()),
            }
        }

        pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        /// Exchanges two files. Returns `false` if the file system cannot.
        pub(super) fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<bool> {
            match renameat_with(&self.0, one, &self.0, other, RenameFlags::EXCHANGE) {
                Ok(()) => Ok(true),
                Err(error) if is_unsupported(error) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }

        pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        pub(super) fn sync(&self) -> io::Result<()> {
            Ok(fsync(&self.0)?)
        }
    }

    fn is_unsupported(error: Errno) -> bool {
        matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
    }

    /// Gives a file the permissions of another, and its owner if that is allowed.
    pub(super) fn copy_permissions(model: &File, file: &File) -> io::Result<()> {
        let (expected, found) = (fstat(model)?, fstat(file)?);
        if (expected.st_uid, expected.st_gid) != (found.st_uid, found.st_gid) {
            let (user, group) = (Uid::from_raw(expected.st_uid), Gid::from_raw(expected.st_gid));
            // Only the superuser may give files away.
            let _refused = fchown(file, Some(user), Some(group));
        }
        Ok(fchmod(file, Mode::from_raw_mode(expected.st_mode))?)
    }
}

/// Folders by their paths.
#[cfg(not(unix))]
mod folder {
    use std::{
        ffi::OsStr,
        fs::{self, File},
        io,
        path::{Path, PathBuf},
    };

    #[derive(Debug)]
    pub(super) struct OpenFolder(PathBuf);

    impl OpenFolder {
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            if !path.metadata()?.is_dir() {
                return Err(io::Error::other("it is not a folder"));
            }
            Ok(Self(path.to_owned()))
        }

        pub(super) fn open_below(&self, name: &OsStr) -> io::Result<Self> {
            let path = self.0.join(name);
            if path.symlink_metadata()?.is_symlink() {
                return Err(io::Error::other("links are not followed"));
            }
            Self::open(&path)
        }

        pub(super) fn create_below(&self, name: &OsStr) -> io::Result<Self> {
            fs::create_dir_all(self.0.join(name))?;
            self.open_below(name)
        }

        pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            let path = self.0.join(name);
            if !path.symlink_metadata()?.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            File::open(path)
        }

        pub(super) fn create_file(&self, name: &OsStr) -> io::Result<File> {
            File::create_new(self.0.join(name))
        }

        pub(super) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<bool> {
            self.move_new(from, self, to)
        }

        pub(super) fn move_new(&self, from: &OsStr, to: &Self, name: &OsStr) -> io::Result<bool> {
            let target = to.0.join(name);
            match fs::hard_link(self.0.join(from), target) {
                Ok(()) => fs::remove_file(self.0.join(from)).map(|()| true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error),
            }
        }

        pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(super) fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<bool> {
            Ok(false)
        }

        pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        pub(super) fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    pub(super) fn copy_permissions(model: &File, file: &File) -> io::Result<()> {
        file.set_permissions(model.metadata()?.permissions())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn locate(root: &Path, path: &str) -> NoteFile {
        NoteFile::locate(root, Path::new(path), MissingFolders::Create).unwrap().unwrap()
    }

    /// Names of all entries of a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn file_is_replaced_only_as_expected() {
        let root = tempfile::tempdir().unwrap();
        let file = locate(root.path(), "a/b.md");
        assert_eq!(file.read().unwrap(), None);
        assert!(!file.replace(b"", b"new").unwrap());
        assert!(file.create(b"one").unwrap() && !file.create(b"two").unwrap());
        assert!(!file.replace(b"other", b"two").unwrap());
        assert_eq!(file.read().unwrap().unwrap(), b"one");
        assert!(file.replace(b"one", b"two").unwrap());
        assert_eq!(file.read().unwrap().unwrap(), b"two");
        assert_eq!(names(&root.path().join("a")), ["b.md"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;

        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.md");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(locate(root.path(), "a.md").replace(b"one", b"two").unwrap());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[test]
    fn saves_between_two_exchanges_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let file = locate(root.path(), "a.md");
        let put_back = |found: Option<&[u8]>| {
            let saved = TemporaryFile::write(&file.folder, b"first save", None).unwrap();
            if let Some(found) = found {
                fs::write(root.path().join("a.md"), found).unwrap();
            }
            file.put_back(saved, b"written").unwrap();
            let found = names(root.path()).into_iter().map(|name| {
                let path = root.path().join(&name);
                let text = fs::read_to_string(&path).unwrap();
                fs::remove_file(path).unwrap();
                (name, text)
            });
            found.collect::<Vec<_>>()
        };
        let first = ("a.md".to_owned(), "first save".to_owned());
        assert_eq!(put_back(Some(b"written")), std::slice::from_ref(&first));
        // The file was moved.
        assert_eq!(put_back(None), std::slice::from_ref(&first));
        let second = ("a 2.md".to_owned(), "second save".to_owned());
        assert_eq!(put_back(Some(b"second save")), [second, first]);
    }

    #[test]
    fn file_that_was_emptied_just_now_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let file = locate(root.path(), "a.md");
        file.create(b"").unwrap();
        assert!(!file.replace(b"", b"new").unwrap());
        let long_ago = SystemTime::now() - 2 * MAX_SAVE_TIME;
        let emptied = File::options().write(true).open(root.path().join("a.md")).unwrap();
        emptied.set_modified(long_ago).unwrap();
        assert!(file.replace(b"", b"new").unwrap());
    }

    #[test]
    fn file_is_moved_only_as_expected() {
        let root = tempfile::tempdir().unwrap();
        let (file, target) = (locate(root.path(), "a.md"), locate(root.path(), ".trash/a.md"));
        file.create(b"one").unwrap();
        assert!(!file.move_to(&target, b"other").unwrap());
        assert!(file.move_to(&target, b"one").unwrap());
        file.create(b"two").unwrap();
        assert!(!file.move_to(&target, b"two").unwrap());
        assert_eq!(target.read().unwrap().unwrap(), b"one");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;

        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("a.md"), "secret").unwrap();
        symlink(outside.path(), root.path().join("linked")).unwrap();
        symlink(outside.path().join("a.md"), root.path().join("a.md")).unwrap();
        let below =
            |path: &str| NoteFile::locate(root.path(), Path::new(path), MissingFolders::Create);
        assert!(below("linked/a.md").is_err() && below("../a.md").is_err());
        let file = below("a.md").unwrap().unwrap();
        assert!(file.read().is_err() && file.replace(b"secret", b"x").is_err());
        assert!(!file.create(b"x").unwrap());
        assert_eq!(fs::read(outside.path().join("a.md")).unwrap(), b"secret");
    }

    #[test]
    fn leftovers_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - 2 * MIN_LEFTOVER_AGE;
        for name in [".vademecum-1.tmp", ".vademecum-x", "a.tmp"] {
            fs::write(root.path().join(name), "x").unwrap();
            let file = File::options().write(true).open(root.path().join(name)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        fs::write(root.path().join(".vademecum-2.tmp"), "a write that runs").unwrap();
        remove_leftovers(root.path());
        assert_eq!(names(root.path()), [".vademecum-2.tmp", ".vademecum-x", "a.tmp"]);
    }
}
