//! A library with a search that never ends unless it is cancelled.

use rusqlite::Connection;

use super::{Library, Server};

/// SQL that replaces the prompts by an infinite view; no row has a requested id.
const ENDLESS_PROMPTS_SQL: &str = "
    PRAGMA foreign_keys = 0;
    DROP TABLE Prompts;
    CREATE VIEW Prompts AS
    WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number)
    SELECT
        -n AS id, '' AS name, '' AS author, '' AS details, '' AS system_prompt,
        '' AS user_prompt, '' AS last_modified, 1 AS version, 0 AS deleted
    FROM number;";

impl Library {
    /// Creates a library with a pebble in each source. Reading the matching prompt never ends; the
    /// other four sources answer.
    pub(crate) fn with_endless_prompts() -> Self {
        let library = Self::with_item_per_source("Beach", "A pebble.");
        let file = library.data_folder().join("users/local/prompts.db");
        #[expect(
            clippy::disallowed_methods,
            reason = "the test changes the database behind the program's back"
        )]
        let connection = Connection::open(file).unwrap();
        connection.execute_batch(ENDLESS_PROMPTS_SQL).unwrap();
        library
    }

    /// Serves the library with a source timeout of one hour.
    pub(crate) fn serve_with_long_timeout(&self) -> Server {
        self.serve_with_settings(LONG_TIMEOUT_SETTINGS)
    }

    /// Writes a settings file with a source timeout of one hour, and returns its path.
    pub(crate) fn write_long_timeout_settings(&self) -> String {
        self.write_file("patient.toml", LONG_TIMEOUT_SETTINGS).to_str().unwrap().to_owned()
    }
}

/// Settings with a source timeout of one hour.
const LONG_TIMEOUT_SETTINGS: &str = "[limits]\nsource_ms = 3600000";
