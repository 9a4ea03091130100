//! Locations of databases: a file, a server, or a secret with the address.

use std::path::{Path, PathBuf};

use super::{
    Engine, PassphraseSource, SecretError, SecretRef, TlsMode, dsn::DsnParts, environment,
    secret::RedactedText,
};

/// Location of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// A local file.
    File(PathBuf),
    /// A database server.
    Server(DatabaseServer),
    /// A DSN in a secret, which is read when the database is first used.
    Secret {
        /// Database engine.
        engine: Engine,
        /// Reference to the DSN.
        dsn: SecretRef,
        /// Parameters that are given in the settings.
        parts: Box<DsnParts>,
    },
}

/// A database on a server, with the credentials to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseServer {
    /// Database engine.
    pub engine: Engine,
    /// Host name of the server.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password.
    pub password: Option<SecretRef>,
    /// Name of the database.
    pub database: String,
    /// Encryption of the connection.
    pub tls: TlsMode,
    /// File with the certificate authorities to trust.
    pub ca_file: Option<PathBuf>,
}

impl DatabaseLocation {
    /// Returns the database engine.
    pub fn engine(&self) -> Engine {
        match self {
            Self::File(_) => Engine::Sqlite,
            Self::Server(server) => server.engine,
            Self::Secret { engine, .. } => *engine,
        }
    }

    /// Returns the location with a secret DSN read and parsed. Errors name the section of the
    /// settings and its key.
    pub fn resolve_secret(
        &self,
        section: &str,
        key: &str,
        unlock: &PassphraseSource,
    ) -> Result<Self, DatabaseLocationError> {
        let Self::Secret { engine, dsn, parts } = self else { return Ok(self.clone()) };
        let text = dsn.read_secret(&format!("{section}.{key}"), unlock)?;
        let text = RedactedText::from(text);
        let read = DsnParts::parse(Some(*engine), text.expose());
        let read = read.and_then(|read| parts.as_ref().clone().merge(read.check_password(true)?));
        let whole = read.and_then(|parts| parts.into_location(*engine));
        whole.map_err(|problem| DatabaseLocationError::Invalid {
            section: section.to_owned(),
            problem: problem.replace("`dsn`", &format!("`{key}`")),
        })
    }
}

/// The reason why a secret DSN gives no location.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseLocationError {
    /// The secret cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The DSN is invalid or incomplete.
    #[error("{section}: {problem}")]
    Invalid {
        /// Section of the settings.
        section: String,
        /// Description of the defect, without any part of the secret.
        problem: String,
    },
}

/// Returns the secret if it is not plain text, or if plain text is allowed.
pub(super) fn check_plaintext(
    key: &str,
    secret: SecretRef,
    allow_plaintext: bool,
) -> Result<SecretRef, String> {
    match secret {
        secret if allow_plaintext => Ok(secret.allow_plaintext()),
        secret if secret.is_rejected_plaintext() => Err(format!(
            "`{key}` is plain text in the settings; refer to it instead, as \
             \"env:NAME\", \"file:PATH\", \"keyring:ACCOUNT\" or \"encrypted:PATH\", or set \
             allow_plaintext = true"
        )),
        secret => Ok(secret),
    }
}

/// Returns an absolute path, with `~` replaced by the home folder. Fails for relative paths.
pub(super) fn absolute_path(key: &str, path: &Path) -> Result<PathBuf, String> {
    let path = match path.strip_prefix("~") {
        Ok(rest) => environment::home_folder().map(|home| home.join(rest)).ok_or_else(|| {
            format!("`{key}` begins with ~, but this user has no home folder; write the full path")
        })?,
        Err(_) => path.to_owned(),
    };
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(format!("`{key}` is not an absolute path; write the full path"))
    }
}

/// Returns the location of a database. Fails if the parameters are incomplete or contradictory.
/// `parts` are given next to the DSN.
pub(super) fn resolve_location(
    dsn: Option<RedactedText>,
    mut parts: DsnParts,
    allow_plaintext: bool,
) -> Result<DatabaseLocation, String> {
    if let Some(dsn) = dsn {
        match (SecretRef::from(dsn.clone()), parts.engine) {
            // For SQLite, `file:` begins a URI, not a secret reference.
            (SecretRef::RejectedPlaintext(_) | SecretRef::File(_), None | Some(Engine::Sqlite))
            | (SecretRef::RejectedPlaintext(_), _) => {
                let engine = parts.engine;
                parts = parts.merge(DsnParts::parse(engine, dsn.expose())?)?;
            }
            (dsn, Some(engine)) => {
                let parts = Box::new(parts.check_password(allow_plaintext)?);
                return Ok(DatabaseLocation::Secret { engine, dsn, parts });
            }
            (_, None) => {
                let problem = "`engine` is missing, and `dsn` is a secret; set \
                               engine = \"postgres\" or \"mysql\"";
                return Err(problem.to_owned());
            }
        }
    }
    let engine = parts.engine.ok_or(
        "`engine` is missing; set engine = \"postgres\", \"mysql\" or \"sqlite\"".to_owned(),
    )?;
    parts.check_password(allow_plaintext)?.into_location(engine)
}

impl DsnParts {
    /// Merges the parameters of the DSN. Fails if one is given twice.
    fn merge(self, other: Self) -> Result<Self, String> {
        fn one<T>(key: &str, one: Option<T>, other: Option<T>) -> Result<Option<T>, String> {
            match (one, other) {
                (Some(_), Some(_)) => Err(format!("`{key}` is also in `dsn`; remove one of them")),
                (one, other) => Ok(one.or(other)),
            }
        }
        Ok(Self {
            engine: self.engine.or(other.engine),
            host: one("host", self.host, other.host)?,
            port: one("port", self.port, other.port)?,
            user: one("user", self.user, other.user)?,
            password: one("password", self.password, other.password)?,
            database: one("database", self.database, other.database)?,
            path: one("path", self.path, other.path)?,
            tls: one("tls", self.tls, other.tls)?,
            ca_file: one("ca_file", self.ca_file, other.ca_file)?,
        })
    }

    /// Checks the password. Fails if it is plain text without `allow_plaintext`.
    fn check_password(self, allow_plaintext: bool) -> Result<Self, String> {
        let password = self.password.map(|it| check_plaintext("password", it, allow_plaintext));
        Ok(Self { password: password.transpose()?, ..self })
    }

    /// Converts the parameters to a location. Fails if a required one is missing or one does not
    /// apply to the engine.
    fn into_location(self, engine: Engine) -> Result<DatabaseLocation, String> {
        let missing = |key: &str| {
            format!("`{key}` is missing; add {key} = \"…\", or a `dsn` that contains it")
        };
        let Some(port) = engine.default_port() else {
            let server = [
                ("host", self.host.is_some()),
                ("port", self.port.is_some()),
                ("user", self.user.is_some()),
                ("password", self.password.is_some()),
                ("database", self.database.is_some()),
                ("tls", self.tls.is_some()),
                ("ca_file", self.ca_file.is_some()),
            ];
            if let Some((key, _)) = server.iter().find(|(_, is_given)| *is_given) {
                return Err(format!(
                    "`{key}` does not apply to {engine}, which has no server; remove it"
                ));
            }
            return Ok(DatabaseLocation::File(absolute_path(
                "path",
                &self.path.ok_or_else(|| missing("path"))?,
            )?));
        };
        if self.path.is_some() {
            return Err(format!("`path` applies to sqlite, not to {engine}; remove it"));
        }
        Ok(DatabaseLocation::Server(DatabaseServer {
            engine,
            host: self.host.unwrap_or_else(|| "localhost".to_owned()),
            port: self.port.unwrap_or(port),
            user: self.user.ok_or_else(|| missing("user"))?,
            password: self.password,
            database: self.database.ok_or_else(|| missing("database"))?,
            tls: self.tls.unwrap_or_default(),
            ca_file: self.ca_file.map(|it| absolute_path("ca_file", &it)).transpose()?,
        }))
    }
}
