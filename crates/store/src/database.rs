//! Kinds of databases: file names and migrations.

/// The tables of the journal, the same in each database with items.
const JOURNAL_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/journal.sql");
/// The tables of links, the same in each database with items.
const LINKS_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/links.sql");
/// The tables of links in fewer bytes, the same in each database with items.
const LINKS_BY_KEY_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/links_by_key.sql");
/// The properties and tasks of notes, the same in each database with items.
const PROPERTIES_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/properties.sql");
/// The tables about the agents that wrote items, the same in each database with items.
const PROVENANCE_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/provenance.sql");
/// The state of the items at the last sync with other machines, the same in each database with items.
const SYNC_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/sync.sql");
/// The state of a file that follows an archive, the same in each database that can.
const ARCHIVE_SCHEMA: &str = include_str!("../../../schemas/sqlite/shared/archive.sql");

/// The migrations of notes, chats and characters.
const CHACHA_MIGRATIONS: &[&str] = &[
    include_str!("../../../schemas/sqlite/chacha/0001_core.sql"),
    include_str!("../../../schemas/sqlite/chacha/0002_words.sql"),
    include_str!("../../../schemas/sqlite/chacha/0003_message_metadata.sql"),
    include_str!("../../../schemas/sqlite/chacha/0004_changed.sql"),
    include_str!("../../../schemas/sqlite/chacha/0005_character_texts.sql"),
    include_str!("../../../schemas/sqlite/chacha/0006_portable_view.sql"),
    include_str!("../../../schemas/sqlite/chacha/0007_fts_versions.sql"),
    include_str!("../../../schemas/sqlite/chacha/0008_fts_version_3.sql"),
    include_str!("../../../schemas/sqlite/chacha/0009_note_names.sql"),
    include_str!("../../../schemas/sqlite/chacha/0010_chat_passages.sql"),
    JOURNAL_SCHEMA,
    include_str!("../../../schemas/sqlite/chacha/0012_list_indexes.sql"),
    LINKS_SCHEMA,
    ARCHIVE_SCHEMA,
    PROVENANCE_SCHEMA,
    include_str!("../../../schemas/sqlite/chacha/0016_row_digests.sql"),
    include_str!("../../../schemas/sqlite/chacha/0017_access_keys.sql"),
    LINKS_BY_KEY_SCHEMA,
    include_str!("../../../schemas/sqlite/chacha/0019_link_digests.sql"),
    include_str!("../../../schemas/sqlite/chacha/0020_sessions.sql"),
    PROPERTIES_SCHEMA,
    SYNC_SCHEMA,
];

/// A database of a library, or of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Database {
    /// Notes, chats and characters.
    Chacha,
    /// Media, stored chunks and transcripts.
    Media,
    /// Prompts and their keywords.
    Prompts,
    /// Imported files.
    Imports,
    /// Chunks and vectors of the user's own sources.
    Index,
    /// Documents from external sources. There may be several, each with a name.
    Collection,
    /// Cached text vectors. Belongs to no library.
    Embeddings,
    /// Users and their API keys. Belongs to no library.
    Server,
    /// Calls, failed logins and administrative commands. Belongs to no library.
    Audit,
}

impl Database {
    /// The databases that store the content of a library.
    pub const ALL: [Self; 3] = [Self::Chacha, Self::Media, Self::Prompts];

    /// The databases of a library that are not derived from others.
    pub const LIBRARY: [Self; 4] = [Self::Chacha, Self::Media, Self::Prompts, Self::Imports];

    /// `PRAGMA application_id` of Vademecum databases: "VADE" in ASCII.
    pub(crate) const APPLICATION_ID: i32 = 0x5641_4445;

    /// Returns the file name within the user's folder or the common data folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Chacha => "chacha.db",
            Self::Media => "media.db",
            Self::Prompts => "prompts.db",
            Self::Imports => "imports.db",
            Self::Index => "index.db",
            Self::Collection => "collection.db",
            Self::Embeddings => "embeddings.db",
            Self::Server => "server.db",
            Self::Audit => "audit.db",
        }
    }

    /// Returns whether files of this kind may follow an archive.
    pub fn can_follow(self) -> bool {
        self.migrations().contains(&ARCHIVE_SCHEMA)
    }

    /// Returns the number of migrations, which is the schema of the rows in an archive.
    pub fn schema(self) -> u32 {
        u32::try_from(self.migrations().len()).unwrap_or(u32::MAX)
    }

    /// Returns the migrations, oldest first. `PRAGMA user_version` is the number of migrations that
    /// have run.
    pub fn migrations(self) -> &'static [&'static str] {
        match self {
            Self::Chacha => CHACHA_MIGRATIONS,
            Self::Media => &[
                include_str!("../../../schemas/sqlite/media/0001_core.sql"),
                include_str!("../../../schemas/sqlite/media/0002_words.sql"),
                include_str!("../../../schemas/sqlite/media/0003_changed.sql"),
                include_str!("../../../schemas/sqlite/media/0004_fts_versions.sql"),
                include_str!("../../../schemas/sqlite/media/0005_fts_version_3.sql"),
                include_str!("../../../schemas/sqlite/media/0006_created_at.sql"),
                JOURNAL_SCHEMA,
                include_str!("../../../schemas/sqlite/media/0008_list_indexes.sql"),
                LINKS_SCHEMA,
                ARCHIVE_SCHEMA,
                PROVENANCE_SCHEMA,
                include_str!("../../../schemas/sqlite/media/0012_row_digests.sql"),
                include_str!("../../../schemas/sqlite/media/0013_access_keys.sql"),
                include_str!("../../../schemas/sqlite/media/0014_chunk_ranges.sql"),
                LINKS_BY_KEY_SCHEMA,
                include_str!("../../../schemas/sqlite/media/0016_link_digests.sql"),
                include_str!("../../../schemas/sqlite/media/0017_file_names.sql"),
                PROPERTIES_SCHEMA,
                SYNC_SCHEMA,
            ],
            Self::Prompts => &[
                include_str!("../../../schemas/sqlite/prompts/0001_core.sql"),
                include_str!("../../../schemas/sqlite/prompts/0002_words.sql"),
                include_str!("../../../schemas/sqlite/prompts/0003_changed.sql"),
                include_str!("../../../schemas/sqlite/prompts/0004_fts_versions.sql"),
                include_str!("../../../schemas/sqlite/prompts/0005_fts_version_3.sql"),
                JOURNAL_SCHEMA,
                include_str!("../../../schemas/sqlite/prompts/0007_list_indexes.sql"),
                LINKS_SCHEMA,
                ARCHIVE_SCHEMA,
                PROVENANCE_SCHEMA,
                include_str!("../../../schemas/sqlite/prompts/0011_row_digests.sql"),
                include_str!("../../../schemas/sqlite/prompts/0012_access_keys.sql"),
                LINKS_BY_KEY_SCHEMA,
                include_str!("../../../schemas/sqlite/prompts/0014_link_digests.sql"),
                PROPERTIES_SCHEMA,
                SYNC_SCHEMA,
            ],
            Self::Imports => &[
                include_str!("../../../schemas/sqlite/imports/0001_files.sql"),
                include_str!("../../../schemas/sqlite/imports/0002_two_way_folders.sql"),
                ARCHIVE_SCHEMA,
                include_str!("../../../schemas/sqlite/imports/0004_files_without_items.sql"),
                include_str!("../../../schemas/sqlite/imports/0005_partial_documents.sql"),
            ],
            Self::Index | Self::Collection => &[
                include_str!("../../../schemas/sqlite/collection/0001_core.sql"),
                include_str!("../../../schemas/sqlite/collection/0002_shared_texts.sql"),
                include_str!("../../../schemas/sqlite/collection/0003_fts_versions.sql"),
                include_str!("../../../schemas/sqlite/collection/0004_fts_version_3.sql"),
                ARCHIVE_SCHEMA,
            ],
            Self::Embeddings => {
                &[include_str!("../../../schemas/sqlite/embeddings/0001_vectors.sql")]
            }
            Self::Server => &[
                include_str!("../../../schemas/sqlite/server/0001_accounts.sql"),
                include_str!("../../../schemas/sqlite/server/0002_collections.sql"),
                include_str!("../../../schemas/sqlite/server/0003_tenants.sql"),
                include_str!("../../../schemas/sqlite/server/0004_oauth.sql"),
                ARCHIVE_SCHEMA,
                include_str!("../../../schemas/sqlite/server/0006_second_factors.sql"),
                include_str!("../../../schemas/sqlite/server/0007_passkeys.sql"),
                include_str!("../../../schemas/sqlite/server/0008_erasures.sql"),
            ],
            Self::Audit => {
                &[include_str!("../../../schemas/sqlite/audit/0001_entries.sql"), ARCHIVE_SCHEMA]
            }
        }
    }

    /// Returns the names and definitions of the full-text tables that are created otherwise than by
    /// the migrations: in new files at once, in others when the table is filled again. They have the
    /// columns of the migrations in another order.
    pub(crate) fn fts_definitions(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Chacha => &[
                ("note_fts", include_str!("../../../schemas/sqlite/full_text/note_fts.sql")),
                ("chat_fts", include_str!("../../../schemas/sqlite/full_text/chat_fts.sql")),
            ],
            Self::Media => {
                &[("media_fts", include_str!("../../../schemas/sqlite/full_text/media_fts.sql"))]
            }
            _ => &[],
        }
    }
}
