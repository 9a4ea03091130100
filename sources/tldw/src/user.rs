//! Whose databases are in a folder, and which files they are.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use vademecum_kit::store::{Database, beside};

use crate::TldwError;

/// Where a folder that was named may keep its users.
const BASES: [&str; 3] = ["", "user_databases", "Databases/user_databases"];
/// A file of prompts whose name is salted begins and ends so.
const SALTED: (&str, &str, &str) = ("prompts_user_dbs", "user_prompts_v2_", ".sqlite");

/// One user of tldw, and the folder of their databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    id: String,
    folder: PathBuf,
}

/// The names that a database has had, the newest first.
fn names(database: Database) -> &'static [&'static str] {
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
        | Database::Server => &[],
    }
}

impl User {
    /// The name of the user's folder: a number, for a user of the server.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder of the user's databases.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where one of the user's databases is, if there is one. Of several, which
    /// were left behind by older programs, it is the one that was written last.
    pub fn file(&self, database: Database) -> Option<PathBuf> {
        let named = names(database).iter().map(|name| self.folder.join(name));
        let salted = (database == Database::Prompts).then(|| self.salted()).into_iter().flatten();
        named.chain(salted).filter(|path| path.is_file()).max_by_key(|path| written(path))
    }

    fn salted(&self) -> Vec<PathBuf> {
        let (folder, begin, end) = SALTED;
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let fits = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.starts_with(begin) && name.ends_with(end))
        };
        entries.map(|entry| entry.path()).filter(fits).collect()
    }

    fn has_files(&self) -> bool {
        Database::ALL.into_iter().any(|database| self.file(database).is_some())
    }
}

/// When a database was written last, its log included.
fn written(path: &Path) -> Option<SystemTime> {
    let time = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    time(path).max(time(&beside(path, "-wal")))
}

/// The users whose databases are in a folder, by their ids: that of all users of
/// a server, that of one of them, that of a server itself, or that of a chatbook.
pub fn users(folder: &Path) -> Result<Vec<User>, TldwError> {
    let cannot = |source| TldwError::Folder { path: folder.to_owned(), source };
    let folder = fs::canonicalize(folder).map_err(cannot)?;
    fs::read_dir(&folder).map_err(cannot)?;
    let own = User { id: name(&folder), folder: folder.clone() };
    if own.has_files() {
        return Ok(vec![own]);
    }
    for base in BASES {
        let entries = fs::read_dir(folder.join(base)).into_iter().flatten().flatten();
        let mut users: Vec<User> = entries
            .map(|entry| User { id: name(&entry.path()), folder: entry.path() })
            .filter(User::has_files)
            .collect();
        if !users.is_empty() {
            users.sort_by(|one, other| by_number(one).cmp(&by_number(other)));
            return Ok(users);
        }
    }
    Err(TldwError::NoUsers { path: folder })
}

/// The user of that id; without one, the only user that there is.
pub fn the_user(folder: &Path, wanted: Option<&str>) -> Result<User, TldwError> {
    let users = users(folder)?;
    let known: Vec<&str> = users.iter().map(User::id).collect();
    let (path, known) = (folder.to_owned(), known.join(", "));
    match wanted {
        Some(wanted) => users
            .into_iter()
            .find(|user| user.id == wanted)
            .ok_or_else(|| TldwError::NoSuchUser { user: wanted.to_owned(), path, known }),
        None => match <[User; 1]>::try_from(users) {
            Ok([user]) => Ok(user),
            Err(_) => Err(TldwError::WhichUser { path, known }),
        },
    }
}

fn name(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn by_number(user: &User) -> (Option<u64>, &str) {
    (user.id.parse().ok(), &user.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn ids(folder: &Path) -> Vec<String> {
        users(folder).unwrap().into_iter().map(|user| user.id).collect()
    }

    #[test]
    fn users_are_found_from_each_folder_that_may_be_named() {
        let files = [
            "Databases/user_databases/10/Media_DB_v2.db",
            "Databases/user_databases/2/ChaChaNotes.db",
            "Databases/user_databases/3/outputs/note.txt",
        ];
        let server = folder(&files);
        for base in ["", "Databases/user_databases"] {
            assert_eq!(ids(&server.path().join(base)), ["2", "10"]);
        }
        assert_eq!(ids(&server.path().join("Databases/user_databases/2")), ["2"]);
        let chatbook = folder(&["tldw_chatbook_prompts.db"]);
        assert_eq!(users(chatbook.path()).unwrap().len(), 1);
    }

    #[test]
    fn every_generation_names_its_files_differently() {
        for (database, file) in [
            (Database::Chacha, "chachanotes_user_dbs/user_chacha_notes_rag.sqlite"),
            (Database::Chacha, "ChaChaNotes.db"),
            (Database::Media, "user_media_library.sqlite"),
            (Database::Media, "Media_DB_v2.db"),
            (Database::Prompts, "prompts_user_dbs/user_prompts_v2.sqlite"),
            (Database::Prompts, "prompts_user_dbs/user_prompts_v2_a1b2.sqlite"),
        ] {
            let folder = folder(&[&format!("1/{file}")]);
            let user = the_user(folder.path(), None).unwrap();
            assert!(user.file(database).unwrap().ends_with(file), "{file}");
        }
    }

    #[test]
    fn of_several_files_the_one_that_was_written_last_counts() {
        let folder =
            folder(&["1/ChaChaNotes.db", "1/chachanotes_user_dbs/user_chacha_notes_rag.sqlite"]);
        let new = fs::File::open(folder.path().join("1/ChaChaNotes.db")).unwrap();
        new.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let user = the_user(folder.path(), Some("1")).unwrap();
        assert!(user.file(Database::Chacha).unwrap().ends_with("user_chacha_notes_rag.sqlite"));
    }

    #[test]
    fn who_is_meant_must_be_clear_and_there() {
        let folder = folder(&["1/ChaChaNotes.db", "7/ChaChaNotes.db"]);
        let error = the_user(folder.path(), None).unwrap_err().to_string();
        assert!(error.contains("1, 7") && error.contains("--user"), "{error}");
        let error = the_user(folder.path(), Some("8")).unwrap_err().to_string();
        assert!(error.contains("no user `8`") && error.contains("1, 7"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(users(empty.path()), Err(TldwError::NoUsers { .. })));
        assert!(matches!(users(&empty.path().join("x")), Err(TldwError::Folder { .. })));
    }
}
