//! The three databases of a library: their file names and their tables.

/// One of the three databases that hold a user's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Database {
    /// Notes, chats and characters.
    Chacha,
    /// Media, stored chunks, transcripts.
    Media,
    /// Prompts.
    Prompts,
}

impl Database {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chacha, Self::Media, Self::Prompts];

    /// Marks a file as ours (`PRAGMA application_id`): "VADE" in ASCII.
    pub(crate) const APPLICATION_ID: i32 = 0x5641_4445;

    /// The file's name inside the user's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Chacha => "chacha.db",
            Self::Media => "media.db",
            Self::Prompts => "prompts.db",
        }
    }

    /// The numbered migrations, oldest first; `PRAGMA user_version` counts
    /// those that have run.
    pub(crate) fn migrations(self) -> &'static [&'static str] {
        match self {
            Self::Chacha => &[
                include_str!("../../../../schemas/sqlite/chacha/0001_core.sql"),
                include_str!("../../../../schemas/sqlite/chacha/0002_words.sql"),
            ],
            Self::Media => &[
                include_str!("../../../../schemas/sqlite/media/0001_core.sql"),
                include_str!("../../../../schemas/sqlite/media/0002_words.sql"),
            ],
            Self::Prompts => &[
                include_str!("../../../../schemas/sqlite/prompts/0001_core.sql"),
                include_str!("../../../../schemas/sqlite/prompts/0002_words.sql"),
            ],
        }
    }
}
