//! Products, which have different catalogs even where the engine is the same.

use vademecum_sql::{Engine, ProfileConnection, SqlError};

/// Product of a database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProduct {
    /// `PostgreSQL`.
    Postgres,
    /// `MySQL`.
    MySql,
    /// `MariaDB`.
    MariaDb,
    /// `SQLite`.
    Sqlite,
}

impl ServerProduct {
    /// Determines the product; the version of a `MySQL` server tells it from `MariaDB`.
    pub async fn detect(connection: &ProfileConnection) -> Result<Self, SqlError> {
        Ok(match connection.engine() {
            Engine::Postgres => Self::Postgres,
            Engine::Sqlite => Self::Sqlite,
            Engine::MySql if connection.server_version().await?.contains("MariaDB") => {
                Self::MariaDb
            }
            Engine::MySql => Self::MySql,
        })
    }

    /// Returns the engine, whose rules the statements follow.
    pub fn engine(self) -> Engine {
        match self {
            Self::Postgres => Engine::Postgres,
            Self::MySql | Self::MariaDb => Engine::MySql,
            Self::Sqlite => Engine::Sqlite,
        }
    }

    /// Returns the name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
            Self::Sqlite => "SQLite",
        }
    }
}
