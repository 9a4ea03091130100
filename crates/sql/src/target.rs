//! Where a database is: a profile whose secrets are read and whose tunnel is open.

use std::path::PathBuf;

use secrecy::SecretString;

use super::Tls;

/// A database.
#[derive(Clone, Debug)]
pub enum Target {
    /// `PostgreSQL`, on a server.
    Postgres(Server),
    /// `MySQL` or `MariaDB`, on a server.
    MySql(Server),
    /// A file of `SQLite`.
    Sqlite(PathBuf),
}

/// A server, and a database on it.
#[derive(Clone, Debug)]
pub struct Server {
    /// What it is called; its certificate must be for this.
    pub host: String,
    /// Where to connect to, if that is elsewhere: the near end of a tunnel.
    pub through: Option<(std::net::IpAddr, u16)>,
    /// The port it listens at.
    pub port: u16,
    /// Who connects.
    pub user: String,
    /// How they prove it.
    pub password: Option<SecretString>,
    /// Which database.
    pub database: String,
    /// Whether the connection is encrypted.
    pub tls: Tls,
    /// The authorities that certificates are checked by; the system's, without.
    pub authorities: Option<PathBuf>,
}
