//! Connection target: a profile with its secrets resolved and its tunnel open.

use std::path::PathBuf;

use secrecy::SecretString;
use vademecum_core::config::{DatabaseServer, PassphraseSource, SecretError, TrustPattern};

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
    /// Port of the server, also if a tunnel leads to it.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password, if any.
    pub password: Option<SecretString>,
    /// Name of the database.
    pub database: String,
    /// Encryption of the connection, and the verification of the server.
    pub tls: TlsMode,
    /// Functions that read-only statements may call although they cannot be proved harmless, as
    /// `schema.name` or `name`.
    pub allow_functions: Vec<String>,
    /// Functions that read-only statements may call because the profile trusts who can create them.
    pub trust: Vec<TrustPattern>,
    /// File of trusted CA certificates; `None` means those of the system.
    pub ca_file: Option<PathBuf>,
}

impl ServerTarget {
    /// Returns the target of a server in the settings, and reads its password. `setting` names the
    /// password in errors. Functions are allowed by profiles only.
    pub fn resolve(
        server: DatabaseServer,
        setting: &str,
        unlock: &PassphraseSource,
    ) -> Result<Self, SecretError> {
        let password = server.password.map(|secret| secret.read_secret(setting, unlock));
        Ok(Self {
            host: server.host,
            tunnel_address: None,
            port: server.port,
            user: server.user,
            password: password.transpose()?,
            database: server.database,
            tls: server.tls,
            ca_file: server.ca_file,
            allow_functions: Vec::new(),
            trust: Vec::new(),
        })
    }

    /// Returns the settings of the `PostgreSQL` driver.
    #[cfg(feature = "postgres")]
    pub fn postgres_config(&self) -> tokio_postgres::Config {
        use secrecy::ExposeSecret as _;
        use tokio_postgres::config::SslMode;

        let mut config = tokio_postgres::Config::new();
        config.host(&self.host).user(&self.user).dbname(&self.database);
        match self.tunnel_address {
            Some((address, port)) => config.hostaddr(address).port(port),
            None => config.port(self.port),
        };
        if let Some(password) = &self.password {
            config.password(password.expose_secret());
        }
        config.ssl_mode(match self.tls {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyFull => SslMode::Require,
        });
        config
    }
}
