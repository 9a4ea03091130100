//! What a backup says of itself: which files it has, and how they must look.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vademecum_kit::{
    model::{SourceName, Timestamp},
    store::{Database, Store},
};

use vademecum_core::auth::UserId;

/// The file in a backup that describes it.
pub(super) const MANIFEST: &str = "manifest.json";
/// The form of a backup. One that is newer is refused.
const FORMAT: u32 = 1;
/// How much of a file is read at once, in bytes.
const PIECE: usize = 64 * 1_024;
/// Longest manifest that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1_024 * 1_024;

/// What a backup says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    vademecum_backup: u32,
    program: String,
    made_at: Timestamp,
    /// Its databases.
    pub(super) files: Vec<Copied>,
    /// How many items each user has in each source.
    pub(super) items: BTreeMap<String, BTreeMap<SourceName, usize>>,
}

/// A database in a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Copied {
    /// Whose it is; nobody's for that of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    file: String,
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// That of a backup that is made now, and is empty yet.
    pub(super) fn new() -> Self {
        Self {
            vademecum_backup: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: Timestamp::now(),
            files: Vec::new(),
            items: BTreeMap::new(),
        }
    }

    /// Reads that of a backup.
    pub(super) fn read(backup: &Path) -> Result<Self> {
        let path = backup.join(MANIFEST);
        let mut text = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text))
            .with_context(|| format!("{} is no backup", backup.display()))?;
        let manifest: Self = serde_json::from_slice(&text)
            .with_context(|| format!("cannot understand {}", path.display()))?;
        if manifest.vademecum_backup > FORMAT {
            bail!("{} was made by a newer program; use that", backup.display());
        }
        for file in &manifest.files {
            file.database()?;
        }
        Ok(manifest)
    }
}

impl Copied {
    /// Describes the file of a database that was just written.
    pub(super) fn describe(user: Option<&UserId>, store: &Store) -> Result<Self> {
        let file = store.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (bytes, sha256) = pour(store.path(), &mut std::io::sink())?;
        Ok(Self { user: user.map(ToString::to_string), file, bytes, sha256 })
    }

    /// Copies it into `folder`, and fails if it is not as it was described.
    pub(super) fn copy(&self, backup: &Path, folder: &Path) -> Result<()> {
        let (from, to) = (self.path(backup), self.path(folder));
        let failed = || format!("cannot write {}", to.display());
        let mut file = File::create_new(&to).with_context(failed)?;
        let (bytes, sha256) = pour(&from, &mut file)?;
        file.sync_all().with_context(failed)?;
        if bytes != self.bytes || sha256 != self.sha256 {
            bail!("{} is damaged: it is not what was backed up", from.display());
        }
        Ok(())
    }

    /// Where it is in a backup, or below the folder that knowledge is kept in.
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        self.folder(folder).join(&self.file)
    }

    /// The folder that it is in.
    pub(super) fn folder(&self, folder: &Path) -> PathBuf {
        match &self.user {
            Some(user) => folder.join("users").join(user),
            None => folder.to_owned(),
        }
    }

    /// Which database it is; refuses names that are none's, for they could lead
    /// anywhere.
    pub(super) fn database(&self) -> Result<Database> {
        let possible = match &self.user {
            Some(user) => {
                user.parse::<UserId>().context("the backup is of nobody")?;
                &Database::ALL[..]
            }
            None => &[Database::Server],
        };
        let found = possible.iter().copied().find(|it| it.file_name() == self.file);
        found.with_context(|| format!("`{}` in the backup is no database of ours", self.file))
    }
}

/// Reads a file to its end into another; its length and its fingerprint.
fn pour(from: &Path, to: &mut impl Write) -> Result<(u64, String)> {
    let failed = || format!("cannot read {}", from.display());
    let mut file = File::open(from).with_context(failed)?;
    let mut piece = vec![0; PIECE];
    let (mut length, mut hash) = (0, Sha256::new());
    loop {
        let read = file.read(&mut piece).with_context(failed)?;
        let part = piece.get(..read).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        hash.update(part);
        to.write_all(part).with_context(|| format!("cannot copy {}", from.display()))?;
        length += part.len() as u64;
    }
    let hex = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing into a string cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    });
    Ok((length, hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let refused = |user: Option<&str>, file: &str| {
            let user = user.map(str::to_owned);
            let file = Copied { user, file: file.to_owned(), bytes: 0, sha256: String::new() };
            file.database().is_err()
        };
        assert!(!refused(Some("ada"), "chacha.db") && !refused(None, "server.db"));
        for (user, file) in [
            (Some("ada"), "../chacha.db"),
            (Some("../ada"), "chacha.db"),
            (Some("ada"), "server.db"),
            (None, "chacha.db"),
            (None, "/etc/passwd"),
        ] {
            assert!(refused(user, file), "{user:?} {file}");
        }
    }
}
