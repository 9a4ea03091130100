//! Connection target: a profile with its secrets resolved and its tunnel open.

use std::path::PathBuf;

use secrecy::SecretString;

use super::TlsMode;

/// Target of a database connection.
#[derive(Clone, Debug)]
pub enum ConnectionTarget {
    /// `PostgreSQL` server.
    Postgres(ServerTarget),
    /// `MySQL` or `MariaDB` server.
    MySql(ServerTarget),
    /// `SQLite` file.
    Sqlite(PathBuf),
}

/// Database on a server, with credentials.
#[derive(Clone, Debug)]
pub struct ServerTarget {
    /// Host name; the server's certificate must match it.
    pub host: String,
    /// Address to connect to instead of the host: the local end of a tunnel.
    pub tunnel_address: Option<(std::net::IpAddr, u16)>,
    /// Port of the server.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password, if any.
    pub password: Option<SecretString>,
    /// Name of the database.
    pub database: String,
    /// TLS mode.
    pub tls: TlsMode,
    /// Functions that read-only statements may call although they cannot be proved harmless, as
    /// `schema.name` or `name`.
    pub allow_functions: Vec<String>,
    /// File of trusted CA certificates; `None` means those of the system.
    pub ca_file: Option<PathBuf>,
}
