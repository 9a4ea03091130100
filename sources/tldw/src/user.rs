//! Finding the users in a tldw folder and the files of their databases.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use vademecum_store::{Database, sidecar_path};

use crate::TldwError;

/// Subfolders of the given folder that may contain the folders of users.
const USER_FOLDERS: [&str; 3] = ["", "user_databases", "Databases/user_databases"];
/// Folder, name prefix and suffix of prompt databases with a salted name.
const SALTED_PROMPTS_FILE: (&str, &str, &str) = ("prompts_user_dbs", "user_prompts_v2_", ".sqlite");

/// A tldw user and the folder of the user's databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TldwUser {
    id: String,
    folder: PathBuf,
}

/// Returns the file names that a database has had in different versions, newest first.
fn database_file_names(database: Database) -> &'static [&'static str] {
    match database {
        Database::Chacha => &[
            "ChaChaNotes.db",
            "chachanotes_user_dbs/user_chacha_notes_rag.sqlite",
            "tldw_chatbook_ChaChaNotes.db",
        ],
        Database::Media => {
            &["Media_DB_v2.db", "user_media_library.sqlite", "tldw_chatbook_media_v2.db"]
        }
        Database::Prompts => {
            &["prompts_user_dbs/user_prompts_v2.sqlite", "tldw_chatbook_prompts.db"]
        }
        Database::Imports
        | Database::Index
        | Database::Collection
        | Database::Embeddings
        | Database::Server
        | Database::Audit => &[],
    }
}

impl TldwUser {
    /// Returns the name of the user's folder, which is a number for a user of the server.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the folder of the user's databases.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of a database, if it exists. Of several files left by older versions,
    /// returns the one written last.
    pub fn database_path(&self, database: Database) -> Option<PathBuf> {
        let named = database_file_names(database).iter().map(|name| self.folder.join(name));
        let salted = (database == Database::Prompts)
            .then(|| self.salted_prompts_files())
            .into_iter()
            .flatten();
        named.chain(salted).filter(|path| path.is_file()).max_by_key(|path| last_write_time(path))
    }

    fn salted_prompts_files(&self) -> Vec<PathBuf> {
        let (folder, begin, end) = SALTED_PROMPTS_FILE;
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let fits = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.starts_with(begin) && name.ends_with(end))
        };
        entries.map(|entry| entry.path()).filter(fits).collect()
    }

    fn has_databases(&self) -> bool {
        Database::ALL.into_iter().any(|database| self.database_path(database).is_some())
    }
}

/// Returns the time of the last write to a database or its write-ahead log.
fn last_write_time(path: &Path) -> Option<SystemTime> {
    let time = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    time(path).max(time(&sidecar_path(path, "-wal")))
}

/// Finds the users in a folder, ordered by id. The folder may be that of a server, its folder of
/// all users, the folder of one user, or that of a chatbook.
pub fn find_users(folder: &Path) -> Result<Vec<TldwUser>, TldwError> {
    let cannot = |source| TldwError::UnreadableFolder { path: folder.to_owned(), source };
    let folder = fs::canonicalize(folder).map_err(cannot)?;
    fs::read_dir(&folder).map_err(cannot)?;
    let own = TldwUser { id: folder_name(&folder), folder: folder.clone() };
    if own.has_databases() {
        return Ok(vec![own]);
    }
    for base in USER_FOLDERS {
        let entries = fs::read_dir(folder.join(base)).into_iter().flatten().flatten();
        let mut users: Vec<TldwUser> = entries
            .map(|entry| TldwUser { id: folder_name(&entry.path()), folder: entry.path() })
            .filter(TldwUser::has_databases)
            .collect();
        if !users.is_empty() {
            users.sort_by(|one, other| id_order(one).cmp(&id_order(other)));
            return Ok(users);
        }
    }
    Err(TldwError::NoUsers { path: folder })
}

/// Returns the user with this id, or the only user if no id is given.
pub fn find_user(folder: &Path, user_id: Option<&str>) -> Result<TldwUser, TldwError> {
    let users = find_users(folder)?;
    let known: Vec<&str> = users.iter().map(TldwUser::id).collect();
    let (path, known) = (folder.to_owned(), known.join(", "));
    match user_id {
        Some(user_id) => users
            .into_iter()
            .find(|user| user.id == user_id)
            .ok_or_else(|| TldwError::UnknownUser { user: user_id.to_owned(), path, known }),
        None => match <[TldwUser; 1]>::try_from(users) {
            Ok([user]) => Ok(user),
            Err(_) => Err(TldwError::AmbiguousUser { path, known }),
        },
    }
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn id_order(user: &TldwUser) -> (Option<u64>, &str) {
    (user.id.parse().ok(), &user.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with_files(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn user_ids(folder: &Path) -> Vec<String> {
        find_users(folder).unwrap().into_iter().map(|user| user.id).collect()
    }

    #[test]
    fn users_are_found_from_any_supported_folder() {
        let files = [
            "Databases/user_databases/10/Media_DB_v2.db",
            "Databases/user_databases/2/ChaChaNotes.db",
            "Databases/user_databases/3/outputs/note.txt",
        ];
        let server = folder_with_files(&files);
        for base in ["", "Databases/user_databases"] {
            assert_eq!(user_ids(&server.path().join(base)), ["2", "10"]);
        }
        assert_eq!(user_ids(&server.path().join("Databases/user_databases/2")), ["2"]);
        let chatbook = folder_with_files(&["tldw_chatbook_prompts.db"]);
        assert_eq!(find_users(chatbook.path()).unwrap().len(), 1);
    }

    #[test]
    fn database_is_found_under_any_known_name() {
        for (database, file) in [
            (Database::Chacha, "chachanotes_user_dbs/user_chacha_notes_rag.sqlite"),
            (Database::Chacha, "ChaChaNotes.db"),
            (Database::Media, "user_media_library.sqlite"),
            (Database::Media, "Media_DB_v2.db"),
            (Database::Prompts, "prompts_user_dbs/user_prompts_v2.sqlite"),
            (Database::Prompts, "prompts_user_dbs/user_prompts_v2_a1b2.sqlite"),
        ] {
            let folder = folder_with_files(&[&format!("1/{file}")]);
            let user = find_user(folder.path(), None).unwrap();
            assert!(user.database_path(database).unwrap().ends_with(file), "{file}");
        }
    }

    #[test]
    fn latest_written_file_is_used() {
        let folder = folder_with_files(&[
            "1/ChaChaNotes.db",
            "1/chachanotes_user_dbs/user_chacha_notes_rag.sqlite",
        ]);
        let new = fs::File::open(folder.path().join("1/ChaChaNotes.db")).unwrap();
        new.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let user = find_user(folder.path(), Some("1")).unwrap();
        assert!(
            user.database_path(Database::Chacha).unwrap().ends_with("user_chacha_notes_rag.sqlite")
        );
    }

    #[test]
    fn user_must_be_unambiguous_and_exist() {
        let folder = folder_with_files(&["1/ChaChaNotes.db", "7/ChaChaNotes.db"]);
        let error = find_user(folder.path(), None).unwrap_err().to_string();
        assert!(error.contains("1, 7") && error.contains("--user"), "{error}");
        let error = find_user(folder.path(), Some("8")).unwrap_err().to_string();
        assert!(error.contains("no user `8`") && error.contains("1, 7"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(find_users(empty.path()), Err(TldwError::NoUsers { .. })));
        assert!(matches!(
            find_users(&empty.path().join("x")),
            Err(TldwError::UnreadableFolder { .. })
        ));
    }
}
