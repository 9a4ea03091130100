//! A database of each engine, with the same in all three.

use std::path::PathBuf;

use super::{Fresh, Library, said};

/// The profiles of the three databases.
pub(crate) const PROFILES: [&str; 3] = ["lite", "maria", "pg"];

/// A database of each engine, and a library whose settings know them.
pub(crate) struct Trio {
    /// The library.
    pub(crate) library: Library,
    postgres: Fresh,
    maria: Fresh,
}

impl Trio {
    /// Databases with this in them. Statements end with `;` and a line break, and have names in
    /// backticks.
    pub(crate) fn with(statements: &str) -> Self {
        let trio =
            Self { library: Library::new(), postgres: Fresh::postgres(), maria: Fresh::mariadb() };
        trio.library.write("lite.sqlite", "");
        trio.run(statements);
        trio
    }

    /// Runs statements on all three.
    pub(crate) fn run(&self, statements: &str) {
        for profile in PROFILES {
            self.run_on(profile, statements);
        }
    }

    /// Runs statements on one of them.
    pub(crate) fn run_on(&self, profile: &str, statements: &str) {
        for statement in statements.split(";\n").filter(|it| !it.trim().is_empty()) {
            match profile {
                "pg" => self.postgres.run(&statement.replace('`', "\"")),
                "maria" => self.maria.run(statement),
                _ => self.lite().execute_batch(statement).unwrap(),
            }
        }
    }

    /// How many rows a query counts in one of them.
    pub(crate) fn count(&self, profile: &str, query: &str) -> i64 {
        match profile {
            "pg" => self.postgres.ask(&query.replace('`', "\"")).parse().unwrap(),
            "maria" => self.maria.ask(query).parse().unwrap(),
            _ => self.lite().query_row(query, [], |row| row.get(0)).unwrap(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "it is somebody else's file")]
    fn lite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.library.file("lite.sqlite")).unwrap()
    }

    /// Settings of the three profiles, with more for each.
    pub(crate) fn profiles(&self, more: &str) -> String {
        let server = |variable: &str, database: &Fresh| {
            let address = said(variable);
            let (start, _) = address.rsplit_once('/').unwrap();
            format!("dsn = \"{start}/{}\"\nallow_plaintext = true", database.name())
        };
        format!(
            "[profiles.pg]\n{}\n{more}[profiles.maria]\n{}\n{more}\
             [profiles.lite]\nengine = \"sqlite\"\npath = \"{}\"\n{more}",
            server("VADEMECUM_POSTGRES", &self.postgres),
            server("VADEMECUM_MARIADB", &self.maria),
            self.library.file("lite.sqlite").display(),
        )
    }

    /// Writes settings: the three profiles, and what else they say.
    pub(crate) fn settings(&self, more: &str) -> PathBuf {
        let text = format!("{more}\n{}", self.profiles(""));
        self.library.write("settings.toml", text)
    }
}
