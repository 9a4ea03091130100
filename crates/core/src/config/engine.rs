//! The databases that are spoken to.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// `PostgreSQL`, 13 or newer.
    Postgres,
    /// `MySQL` 8 or `MariaDB` 10.5, or newer.
    MySql,
    /// A file of `SQLite`.
    Sqlite,
}

impl Engine {
    /// As it stands in the settings and in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
            Self::Sqlite => "sqlite",
        }
    }

    /// The port where its servers listen; none for files.
    pub fn port(self) -> Option<u16> {
        match self {
            Self::Postgres => Some(5_432),
            Self::MySql => Some(3_306),
            Self::Sqlite => None,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
