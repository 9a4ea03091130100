//! The supported database engines.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// PostgreSQL, 13 or newer.
    Postgres,
    /// MySQL 8 or MariaDB 10.5, or newer.
    MySql,
    /// A SQLite file.
    Sqlite,
}

impl Engine {
    /// Returns the name in settings and tool outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
            Self::Sqlite => "sqlite",
        }
    }

    /// Returns the default port of the server, or `None` for files.
    pub fn default_port(self) -> Option<u16> {
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
