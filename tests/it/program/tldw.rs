//! A tldw directory, written as tldw writes it: its own SQL is in `fixtures/tldw`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// Who wrote a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The server of June 2025.
    First,
    /// A server of today, with salted names of prompt files.
    Server,
    /// `tldw_chatbook`.
    Chatbook,
}

/// A tldw directory in a temporary folder.
pub(crate) struct Tldw {
    folder: TempDir,
    generation: Generation,
}

impl Generation {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::First, Self::Server, Self::Chatbook];

    /// The files of a user: name, and what is executed to write it.
    fn files(self) -> [(&'static str, Vec<&'static str>); 3] {
        let chacha = include_str!("../fixtures/tldw/chacha.sql");
        let media = include_str!("../fixtures/tldw/media.sql");
        let prompts = include_str!("../fixtures/tldw/prompts.sql");
        let chacha_server = include_str!("../fixtures/tldw/chacha_server.sql");
        let media_server = include_str!("../fixtures/tldw/media_server.sql");
        let chacha_chatbook = include_str!("../fixtures/tldw/chacha_chatbook.sql");
        match self {
            Self::First => [
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

impl Tldw {
    /// A directory of these users; a chatbook has only one.
    pub(crate) fn new(generation: Generation, users: &[&str]) -> Self {
        let tldw = Self { folder: tempfile::tempdir().unwrap(), generation };
        for user in users {
            for (name, statements) in generation.files() {
                let path = tldw.user(user).join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let connection = open(&path);
                for sql in statements {
                    connection.execute_batch(sql).unwrap();
                }
            }
        }
        tldw
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The directory, as it is said on a command line.
    pub(crate) fn name(&self) -> &str {
        self.path().to_str().unwrap()
    }

    fn user(&self, user: &str) -> PathBuf {
        match self.generation {
            Generation::First | Generation::Server => self.path().join(user),
            Generation::Chatbook => self.path().to_owned(),
        }
    }

    /// A file of a user: that of notes and chats (0), of media (1), of prompts (2).
    pub(crate) fn file(&self, user: &str, number: usize) -> PathBuf {
        self.user(user).join(self.generation.files()[number].0)
    }

    /// Opens a file of a user as tldw does that is running: what is written stays in
    /// the log until this is dropped.
    pub(crate) fn running(&self, user: &str, number: usize) -> Connection {
        open(&self.file(user, number))
    }

    /// Writes as a tldw does that is started and stopped.
    pub(crate) fn write(&self, user: &str, number: usize, sql: &str) {
        self.running(user, number).execute_batch(sql).unwrap();
    }
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    connection.execute_batch("PRAGMA journal_mode = wal; PRAGMA synchronous = normal;").unwrap();
    connection
}
