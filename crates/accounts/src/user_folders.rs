//! Folders of the libraries: two users never share one, also on a disk that ignores letter case.
//!
//! The folder of a user without capital letters is named like the user. For all others it is the
//! name in small letters, `~`, and the positions of the capitals as a hexadecimal number: `ADA` is
//! in `ada~7`. User names contain no `~`, so the names never collide. A folder from before is kept:
//! it is recorded with the account, or has exactly the name of its user.

use std::{fs, io, path::PathBuf};

use vademecum_core::auth::UserId;
use vademecum_store::DataFolder;

use super::{AccountError, Accounts};

/// Separator between the name and the positions of the capitals.
const CAPITALS_MARK: char = '~';

/// Folders of all libraries of a data folder.
#[derive(Debug)]
pub struct UserFolders {
    folder: PathBuf,
    accounts: Accounts,
}

impl UserFolders {
    /// Returns the folders of the libraries of a data folder. Opens no file.
    pub fn new(data: impl Into<DataFolder>) -> Self {
        let data = data.into();
        Self { folder: data.path().join("users"), accounts: Accounts::new(&data) }
    }

    /// Returns the folder of a user's library, which need not exist. Reads the account and the list
    /// of folders; if these cannot be read, the folder follows from the name.
    pub fn path(&self, user: &UserId) -> PathBuf {
        let recorded = self.recorded_folder(user).unwrap_or_else(|error| {
            tracing::warn!(user.id = %user, %error, "the folder of the library was not looked up");
            None
        });
        self.folder.join(recorded.unwrap_or_else(|| self.choose(user)))
    }

    /// Returns the name of the folder of a user for whom none is recorded.
    pub(super) fn choose(&self, user: &UserId) -> String {
        choose_folder(user, &self.names())
    }

    /// Returns the folder that is recorded with the account. Creates no database.
    fn recorded_folder(&self, user: &UserId) -> Result<Option<String>, AccountError> {
        if !self.accounts.store.may_have_rows() {
            return Ok(None);
        }
        Ok(self.accounts.find_user(user)?.and_then(|status| status.folder))
    }

    /// Returns the users who have a folder, or databases in the archive, sorted. Fails if they cannot
    /// be listed.
    pub fn list_users(&self) -> io::Result<Vec<UserId>> {
        let mut users = self.list_folders()?;
        if let Some(followed) = self.accounts.data.archive() {
            let archived = followed.archive().users().map_err(io::Error::other)?;
            users.extend(archived.iter().filter_map(|user| user.parse().ok()));
            users.sort();
            users.dedup();
        }
        Ok(users)
    }

    fn list_folders(&self) -> io::Result<Vec<UserId>> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let mut users = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            users.extend(user_of_folder(&entry?.file_name().to_string_lossy()));
        }
        users.sort();
        Ok(users)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Returns the folder of a user for whom none is recorded, given the folders that exist.
fn choose_folder(user: &UserId, existing: &[String]) -> String {
    let (name, encoded) = (user.as_str(), encode(user));
    let exists = |folder: &str| existing.iter().any(|it| it == folder);
    let marked = if encoded == name { format!("{name}{CAPITALS_MARK}0") } else { encoded.clone() };
    if exists(&marked) {
        return marked;
    }
    if exists(name) {
        return name.to_owned();
    }
    // A folder from before that differs in case belongs to another user.
    let has_variant = existing.iter().any(|it| it.eq_ignore_ascii_case(&encoded));
    if has_variant { marked } else { encoded }
}

/// Returns the name of a new folder.
fn encode(user: &UserId) -> String {
    let name = user.as_str();
    let is_capital = |letter: char| u128::from(letter.is_ascii_uppercase());
    // A user name has at most 64 characters.
    let capitals = name.chars().rev().fold(0_u128, |bits, letter| bits << 1 | is_capital(letter));
    match capitals {
        0 => name.to_owned(),
        bits => format!("{}{CAPITALS_MARK}{bits:x}", name.to_ascii_lowercase()),
    }
}

/// Returns the user of a folder; `None` if it is not the folder of a library.
pub fn user_of_folder(folder: &str) -> Option<UserId> {
    let Some((name, bits)) = folder.split_once(CAPITALS_MARK) else { return folder.parse().ok() };
    let capitals = u128::from_str_radix(bits, 16).ok()?;
    let restore = |(place, letter): (usize, char)| match capitals >> place & 1 {
        1 => letter.to_ascii_uppercase(),
        _ => letter,
    };
    (name.len() <= 64)
        .then(|| name.chars().enumerate().map(restore).collect::<String>())?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    #[test]
    fn folder_names_differ_on_every_disk() {
        let names = ["ada", "ADA", "Ada", "aDa", "adA", "a-d-a", "x@Y.example", "A1"];
        let mut folders: Vec<String> =
            names.iter().map(|name| choose_folder(&user(name), &[]).to_ascii_lowercase()).collect();
        for (name, folder) in names.iter().zip(&folders) {
            assert_eq!(user_of_folder(folder), Some(user(name)), "{folder}");
        }
        folders.sort();
        folders.dedup();
        assert_eq!(folders.len(), names.len());
        assert_eq!(choose_folder(&user("ADA"), &[]), "ada~7");
        let longest = "A".repeat(64);
        assert_eq!(user_of_folder(&choose_folder(&user(&longest), &[])), Some(user(&longest)));
        for other in ["", "..", "ada~", "ada~x", "a/b~1", "ada~7~1", ".~1"] {
            assert_eq!(user_of_folder(other), None, "{other}");
        }
    }

    #[test]
    fn folder_from_before_stays_with_its_user() {
        let existing = ["ADA".to_owned(), "eve".to_owned()];
        assert_eq!(choose_folder(&user("ADA"), &existing), "ADA");
        assert_eq!(choose_folder(&user("eve"), &existing), "eve");
        assert_eq!(choose_folder(&user("EVE"), &existing), "eve~7");
        // On a disk that ignores case, `ada` would be the folder of `ADA`.
        assert_eq!(choose_folder(&user("ada"), &existing), "ada~0");
        assert_eq!(user_of_folder("ada~0"), Some(user("ada")));
        let later = ["ada~0".to_owned()];
        assert_eq!(choose_folder(&user("ada"), &later), "ada~0");
    }

    #[test]
    fn recorded_folder_takes_precedence() {
        let data = tempfile::tempdir().unwrap();
        let folders = UserFolders::new(data.path());
        assert_eq!(folders.path(&user("Ada")), data.path().join("users/ada~1"));
        assert!(data.path().read_dir().unwrap().next().is_none(), "nothing is created");
        Accounts::new(data.path()).add_user(&user("Ada")).unwrap();
        fs::create_dir_all(data.path().join("users/Ada")).unwrap();
        assert_eq!(folders.path(&user("Ada")), data.path().join("users/ada~1"));
        assert_eq!(folders.path(&user("ADA")), data.path().join("users/ada~7"));
        assert_eq!(folders.list_users().unwrap(), [user("Ada")]);
    }
}
