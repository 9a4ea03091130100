//! One database on each of `PostgreSQL`, `MariaDB` and `SQLite`, with identical content.

use std::path::PathBuf;

use super::{Library, TestDatabase, require_env};

/// Names of the three profiles.
pub(crate) const PROFILES: [&str; 3] = ["lite", "maria", "pg"];

/// One database per engine, and a library whose settings have a profile for each.
pub(crate) struct AllEngines {
    /// The library.
    pub(crate) library: Library,
    postgres: TestDatabase,
    maria: TestDatabase,
}

impl AllEngines {
    /// Creates the databases and executes `statements` on each. Statements end with `;` and a line
    /// break, and quote names with backticks.
    pub(crate) fn with_statements(statements: &str) -> Self {
        let trio = Self {
            library: Library::new(),
            postgres: TestDatabase::postgres(),
            maria: TestDatabase::mariadb(),
        };
        trio.library.write_file("lite.sqlite", "");
        trio.execute(statements);
        trio
    }

    /// Executes statements on all three databases.
    pub(crate) fn execute(&self, statements: &str) {
        for profile in PROFILES {
            self.execute_on(profile, statements);
        }
    }

    /// Executes statements on the database of one profile.
    pub(crate) fn execute_on(&self, profile: &str, statements: &str) {
        for statement in statements.split(";\n").filter(|it| !it.trim().is_empty()) {
            match profile {
                "pg" => self.postgres.execute(&statement.replace('`', "\"")),
                "maria" => self.maria.execute(statement),
                _ => self.open_sqlite().execute_batch(statement).unwrap(),
            }
        }
    }

    /// Returns the integer result of a counting query on the database of one profile.
    pub(crate) fn query_count(&self, profile: &str, query: &str) -> i64 {
        match profile {
            "pg" => self.postgres.query_value(&query.replace('`', "\"")).parse().unwrap(),
            "maria" => self.maria.query_value(query).parse().unwrap(),
            _ => self.open_sqlite().query_row(query, [], |row| row.get(0)).unwrap(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the file belongs to another program")]
    fn open_sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.library.file_path("lite.sqlite")).unwrap()
    }

    /// Returns the settings of the three profiles, with `more` appended to each.
    pub(crate) fn profile_settings(&self, more: &str) -> String {
        let server = |variable: &str, database: &TestDatabase| {
            let address = require_env(variable);
            let (start, _) = address.rsplit_once('/').unwrap();
            format!("dsn = \"{start}/{}\"\nallow_plaintext = true", database.name())
        };
        format!(
            "[profiles.pg]\n{}\n{more}[profiles.maria]\n{}\n{more}\
             [profiles.lite]\nengine = \"sqlite\"\npath = \"{}\"\n{more}",
            server("VADEMECUM_POSTGRES", &self.postgres),
            server("VADEMECUM_MARIADB", &self.maria),
            self.library.file_path("lite.sqlite").display(),
        )
    }

    /// Writes a settings file with `more` and the three profiles, and returns its path.
    pub(crate) fn write_settings(&self, more: &str) -> PathBuf {
        let text = format!("{more}\n{}", self.profile_settings(""));
        self.library.write_file("settings.toml", text)
    }
}
