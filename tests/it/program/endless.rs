//! A library in which work never ends, unless it is stopped.

use rusqlite::Connection;

use super::{Library, Server};

/// Rows without end, none of which is one that is asked for.
const ENDLESS: &str = "
    PRAGMA foreign_keys = 0;
    DROP TABLE Prompts;
    CREATE VIEW Prompts AS
    WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number)
    SELECT
        -n AS id, '' AS name, '' AS author, '' AS details, '' AS system_prompt,
        '' AS user_prompt, '' AS last_modified, 1 AS version, 0 AS deleted
    FROM number;";

impl Library {
    /// A library with a pebble in each source. Whoever looks at the prompt looks
    /// for it without end. It is the last source that is asked.
    pub(crate) fn endless() -> Self {
        let library = Self::with("Beach", "A pebble.");
        let file = library.data().join("users/local/prompts.db");
        #[expect(clippy::disallowed_methods, reason = "a test makes a file that nobody else makes")]
        let connection = Connection::open(file).unwrap();
        connection.execute_batch(ENDLESS).unwrap();
        library
    }

    /// Serves it for as long as anybody waits.
    pub(crate) fn serve_patiently(&self) -> Server {
        self.serve_set(PATIENT)
    }

    /// The file of settings with which anything may take an hour.
    pub(crate) fn patient_settings(&self) -> String {
        self.write("patient.toml", PATIENT).to_str().unwrap().to_owned()
    }
}

/// Nothing is stopped because it takes long.
const PATIENT: &str = "[limits]\nsource_ms = 3600000";
