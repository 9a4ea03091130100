//! The databases there are: their file names and their tables.

/// One of the databases of a library, or the one of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Database {
    /// Notes, chats and characters.
    Chacha,
    /// Media, stored chunks, transcripts.
    Media,
    /// Prompts.
    Prompts,
    /// The files that were brought in.
    Imports,
    /// Users and the keys that were made for them. It belongs to no library.
    Server,
}

impl Database {
    /// Those that hold the knowledge of a library.
    pub const ALL: [Self; 3] = [Self::Chacha, Self::Media, Self::Prompts];

    /// Marks a file as ours (`PRAGMA application_id`): "VADE" in ASCII.
    pub(crate) const APPLICATION_ID: i32 = 0x5641_4445;

    /// The file's name inside the user's folder, or inside that of all users.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Chacha => "chacha.db",
            Self::Media => "media.db",
            Self::Prompts => "prompts.db",
            Self::Imports => "imports.db",
            Self::Server => "server.db",
        }
    }

    /// The numbered migrations, oldest first; `PRAGMA user_version` counts
    /// those that have run.
    pub(crate) fn migrations(self) -> &'static [&'static str] {
        match self {
            Self::Chacha => &[
                include_str!("../../../../schemas/sqlite/chacha/0001_core.sql"),
                include_str!("../../../../schemas/sqlite/chacha/0002_words.sql"),
                include_str!("../../../../schemas/sqlite/chacha/0003_message_metadata.sql"),
                include_str!("../../../../schemas/sqlite/chacha/0004_changed.sql"),
                include_str!("../../../../schemas/sqlite/chacha/0005_character_texts.sql"),
            ],
            Self::Media => &[
                include_str!("../../../../schemas/sqlite/media/0001_core.sql"),
                include_str!("../../../../schemas/sqlite/media/0002_words.sql"),
                include_str!("../../../../schemas/sqlite/media/0003_changed.sql"),
            ],
            Self::Prompts => &[
                include_str!("../../../../schemas/sqlite/prompts/0001_core.sql"),
                include_str!("../../../../schemas/sqlite/prompts/0002_words.sql"),
                include_str!("../../../../schemas/sqlite/prompts/0003_changed.sql"),
            ],
            Self::Imports => &[include_str!("../../../../schemas/sqlite/imports/0001_files.sql")],
            Self::Server => &[include_str!("../../../../schemas/sqlite/server/0001_accounts.sql")],
        }
    }
}
