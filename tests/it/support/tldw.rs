//! A tldw directory, created with tldw's own SQL from `fixtures/tldw`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// The tldw program and version that created a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TldwVariant {
    /// The server of June 2025.
    LegacyServer,
    /// A recent server, with salted names of prompt files.
    Server,
    /// `tldw_chatbook`.
    Chatbook,
}

/// A tldw directory in a temporary folder.
pub(crate) struct TldwDirectory {
    folder: TempDir,
    variant: TldwVariant,
}

impl TldwVariant {
    /// All variants.
    pub(crate) const ALL: [Self; 3] = [Self::LegacyServer, Self::Server, Self::Chatbook];

    /// Returns the database files of a user: relative path and the SQL that creates each.
    fn database_files(self) -> [(&'static str, Vec<&'static str>); 3] {
        let chacha = include_str!("../fixtures/tldw/chacha.sql");
        let media = include_str!("../fixtures/tldw/media.sql");
        let prompts = include_str!("../fixtures/tldw/prompts.sql");
        let chacha_server = include_str!("../fixtures/tldw/chacha_server.sql");
        let media_server = include_str!("../fixtures/tldw/media_server.sql");
        let chacha_chatbook = include_str!("../fixtures/tldw/chacha_chatbook.sql");
        match self {
            Self::LegacyServer => [
                ("chachanotes_user_dbs/user_chacha_notes_rag.sqlite", vec![chacha]),
                ("user_media_library.sqlite", vec![media]),
                ("prompts_user_dbs/user_prompts_v2.sqlite", vec![prompts]),
            ],
            Self::Server => [
                ("ChaChaNotes.db", vec![chacha, chacha_server]),
                ("Media_DB_v2.db", vec![media, media_server]),
                ("prompts_user_dbs/user_prompts_v2_5a17.sqlite", vec![prompts]),
            ],
            Self::Chatbook => [
                ("tldw_chatbook_ChaChaNotes.db", vec![chacha, chacha_chatbook]),
                ("tldw_chatbook_media_v2.db", vec![media]),
                ("tldw_chatbook_prompts.db", vec![prompts]),
            ],
        }
    }
}

impl TldwDirectory {
    /// Creates a directory for these users; a chatbook has exactly one.
    pub(crate) fn new(generation: TldwVariant, users: &[&str]) -> Self {
        let tldw = Self { folder: tempfile::tempdir().unwrap(), variant: generation };
        for user in users {
            for (name, statements) in generation.database_files() {
                let path = tldw.user_folder(user).join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let connection = open_wal_database(&path);
                for sql in statements {
                    connection.execute_batch(sql).unwrap();
                }
            }
        }
        tldw
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the directory as text, for a command line.
    pub(crate) fn path_str(&self) -> &str {
        self.path().to_str().unwrap()
    }

    fn user_folder(&self, user: &str) -> PathBuf {
        match self.variant {
            TldwVariant::LegacyServer | TldwVariant::Server => self.path().join(user),
            TldwVariant::Chatbook => self.path().to_owned(),
        }
    }

    /// Returns the path of a user's database: 0 is notes and chats, 1 is media, 2 is prompts.
    pub(crate) fn database_path(&self, user: &str, number: usize) -> PathBuf {
        self.user_folder(user).join(self.variant.database_files()[number].0)
    }

    /// Opens a user's database as a running tldw does: changes stay in the write-ahead log until
    /// the connection is dropped.
    pub(crate) fn open_database(&self, user: &str, number: usize) -> Connection {
        open_wal_database(&self.database_path(user, number))
    }

    /// Executes SQL and closes the database, as a tldw that was stopped.
    pub(crate) fn execute_sql(&self, user: &str, number: usize, sql: &str) {
        self.open_database(user, number).execute_batch(sql).unwrap();
    }
}

fn open_wal_database(path: &Path) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    connection.execute_batch("PRAGMA journal_mode = wal; PRAGMA synchronous = normal;").unwrap();
    connection
}
