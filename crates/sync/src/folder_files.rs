//! The files of a sync in a folder that other programs copy between machines.
//!
//! Each machine writes into a folder of its own, and never changes a file: it is written under another
//! name, synced, and renamed. Whatever else is in the folder, such as conflict copies of such programs,
//! is not used.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    SyncError,
    error::InvalidInput,
    exchange_file::{FileHeader, write_file},
    key::SyncKey,
    record::ItemRecord,
    replica::ReplicaId,
    state::FileKey,
};

/// Name of the folder in the folder of the user.
const BASE_FOLDER: &str = "vademecum-sync";
/// Beginning of the names of unfinished files.
const TEMPORARY_PREFIX: &str = ".tmp-";
/// Number of digits in the name of a file.
const DIGITS: usize = 10;
/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Maximum number of files that are listed.
const MAX_FILES: usize = 1_000_000;

/// The files of a folder.
#[derive(Debug)]
pub(crate) struct FolderFiles {
    base: PathBuf,
    extension: &'static str,
    /// Name of the key, if the files are encrypted.
    key: String,
}

/// A file in the folder.
#[derive(Clone, Debug)]
pub(crate) struct ListedFile {
    pub(crate) key: FileKey,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl FolderFiles {
    /// Returns the files in a folder of the user, which are encrypted or not.
    pub(crate) fn new(folder: &Path, is_encrypted: bool) -> Result<Self, SyncError> {
        let failed = |source| SyncError::file("cannot find", folder, source);
        let folder = folder.canonicalize().map_err(failed)?;
        if !folder.is_dir() {
            return Err(SyncError::NoFolder(folder));
        }
        let extension = if is_encrypted { "age" } else { "plain" };
        Ok(Self { base: folder.join(BASE_FOLDER), extension, key: String::new() })
    }

    /// Names the key with which files are written. Those with another one are no longer of use, so that
    /// they are written again.
    pub(crate) fn use_key(&mut self, key: Option<&SyncKey>) {
        self.key = key.map(SyncKey::name).unwrap_or_default();
    }

    /// Returns the folder with the files.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Returns the name of the folder in the rows about it.
    pub(crate) fn target(&self) -> String {
        format!("{}{}", self.target_of_folder(), self.key)
    }

    /// Returns the beginning of that name, to which a key adds its own.
    pub(crate) fn target_of_folder(&self) -> String {
        format!("{} {} ", self.extension, self.base.display())
    }

    /// Creates the folder.
    pub(crate) fn create_base(&self) -> Result<(), SyncError> {
        create_real_folder(&self.base)
    }

    /// Returns the files of a database, those of each machine in their order.
    pub(crate) fn list(&self, database: &str) -> Result<Vec<ListedFile>, SyncError> {
        let mut files = Vec::new();
        for (name, path) in entries(&self.base, fs::FileType::is_dir)? {
            let Ok(replica) = name.parse::<ReplicaId>() else { continue };
            for (name, path) in entries(&path, fs::FileType::is_file)? {
                let Some(file) = self.parse_name(&name, database) else { continue };
                // A file that is gone meanwhile is read with the next sync.
                let Ok(about) = fs::symlink_metadata(&path) else { continue };
                let key = FileKey { replica: replica.clone(), file };
                files.push(ListedFile { key, path, bytes: about.len() });
                if files.len() >= MAX_FILES {
                    return Ok(files);
                }
            }
        }
        files.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(files)
    }

    /// Returns the number in the name of a file; `None` if it is a file of another kind.
    fn parse_name(&self, name: &str, database: &str) -> Option<u64> {
        let number = name.strip_prefix(database)?.strip_prefix('-')?;
        let number = number.strip_suffix(self.extension)?.strip_suffix('.')?;
        let is_number = number.len() == DIGITS && number.bytes().all(|it| it.is_ascii_digit());
        number.parse().ok().filter(|_| is_number)
    }

    fn path(&self, header: &FileHeader) -> PathBuf {
        let name = format!("{}-{:0DIGITS$}.{}", header.database, header.file, self.extension);
        self.base.join(header.replica.as_str()).join(name)
    }

    /// Writes a file that does not exist, and returns its size.
    pub(crate) fn write<'r>(
        &self,
        key: Option<&SyncKey>,
        header: &FileHeader,
        records: impl Iterator<Item = &'r ItemRecord>,
    ) -> Result<u64, SyncError> {
        let path = self.path(header);
        let folder = self.base.join(header.replica.as_str());
        create_real_folder(&folder)?;
        let name = format!("{TEMPORARY_PREFIX}{}-{}", header.database, header.file);
        let temporary = folder.join(name);
        let failed = |source| SyncError::file("cannot write", &path, source);
        let write = || {
            fs::remove_file(&temporary).ok();
            let file = File::options().write(true).create_new(true).open(&temporary)?;
            let mut output = write_file(BufWriter::new(file), key, header, records)?;
            output.flush()?;
            let file = output.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            let bytes = file.metadata()?.len();
            if path.symlink_metadata().is_ok() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fs::rename(&temporary, &path)?;
            File::open(&folder)?.sync_all()?;
            Ok(bytes)
        };
        let written = write();
        if written.is_err() {
            fs::remove_file(&temporary).ok();
        }
        written.map_err(failed)
    }

    /// Removes the unfinished files of a machine, which was killed.
    pub(crate) fn remove_unfinished(&self, replica: &ReplicaId) -> Result<(), SyncError> {
        let folder = self.base.join(replica.as_str());
        for (name, path) in entries(&folder, fs::FileType::is_file)? {
            if name.starts_with(TEMPORARY_PREFIX) {
                fs::remove_file(path).ok();
            }
        }
        Ok(())
    }
}

impl ListedFile {
    /// Opens the file, unless it is a link or something else than a file.
    pub(crate) fn open(&self) -> Result<File, InvalidInput> {
        let mut options = File::options();
        options.read(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            // A pipe without a writer would wait for one.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let flags = i32::try_from(flags.bits()).unwrap_or_default();
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
        }
        let file = options.open(&self.path).map_err(InvalidInput::Read)?;
        let about = file.metadata().map_err(InvalidInput::Read)?;
        if !about.is_file() {
            return Err(InvalidInput::NoFile);
        }
        if about.len() > MAX_FILE_BYTES {
            return Err(InvalidInput::TooLarge);
        }
        Ok(file)
    }
}

/// Creates a folder if there is none. Fails if it is a link or a file.
fn create_real_folder(path: &Path) -> Result<(), SyncError> {
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let about = fs::symlink_metadata(path);
            let is_folder = about.is_ok_and(|about| about.is_dir());
            if is_folder { Ok(()) } else { Err(SyncError::NoFolder(path.to_owned())) }
        }
        Err(source) => Err(SyncError::file("cannot create", path, source)),
    }
}

/// Returns names and paths of the entries of one kind; none if there is no such folder. Links are no
/// entries.
fn entries(
    folder: &Path,
    is_kind: impl Fn(&fs::FileType) -> bool,
) -> Result<Vec<(String, PathBuf)>, SyncError> {
    let failed = |source| SyncError::file("cannot list", folder, source);
    match fs::symlink_metadata(folder) {
        Ok(about) if about.is_dir() => {}
        Ok(_) => return Err(SyncError::NoFolder(folder.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)?.take(MAX_FILES) {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.file_type().is_ok_and(|kind| is_kind(&kind)) {
            found.push((name, entry.path()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_are_files() {
        let folder = tempfile::tempdir().unwrap();
        let files = FolderFiles::new(folder.path(), true).unwrap();
        assert_eq!(files.parse_name("chacha-0000000012.age", "chacha"), Some(12));
        for name in [
            "chacha-0000000012.plain",
            "chacha-0000000012.sync-conflict-20260101.age",
            "chacha-12.age",
            "chacha-+000000012.age",
            "chacha-0000000012 (1).age",
            "media-0000000012.age",
            "..",
        ] {
            assert_eq!(files.parse_name(name, "chacha"), None, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let files = FolderFiles::new(folder.path(), true).unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("chacha-0000000001.age"), "x").unwrap();
        files.create_base().unwrap();
        symlink(&outside, files.base().join("0123456789abcdef")).unwrap();
        let real = files.base().join("fedcba9876543210");
        fs::create_dir(&real).unwrap();
        symlink(outside.join("chacha-0000000001.age"), real.join("chacha-0000000001.age")).unwrap();
        assert!(files.list("chacha").unwrap().is_empty());
        let header = FileHeader::new("0123456789abcdef".parse().unwrap(), "chacha", 7);
        let refused = files.write(None, &header, std::iter::empty());
        assert!(matches!(refused, Err(SyncError::NoFolder(_))));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        let link = ListedFile {
            key: FileKey { replica: "fedcba9876543210".parse().unwrap(), file: 1 },
            path: real.join("chacha-0000000001.age"),
            bytes: 1,
        };
        assert!(link.open().is_err());
        fs::remove_dir_all(files.base()).unwrap();
        symlink(&outside, files.base()).unwrap();
        assert!(matches!(files.list("chacha"), Err(SyncError::NoFolder(_))));
        assert!(matches!(files.create_base(), Err(SyncError::NoFolder(_))));
    }
}
