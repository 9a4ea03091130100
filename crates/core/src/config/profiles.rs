//! `[profiles.<name>]`: connections to databases, and the users who may query them.
//!
//! Profiles are validated when the settings are read, as far as that is possible without
//! connecting.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use super::{
    Engine, PassphraseSource, SecretRef, TlsMode, dsn::DsnParts, environment, secret::RedactedText,
};

/// Name of a profile, as in the settings and in tool calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ProfileName(String);

/// A database connection with its limits and permissions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawProfile")]
pub struct Profile {
    /// Description for users and models that choose a profile.
    pub description: String,
    /// Database engine.
    pub engine: Engine,
    /// Location of the database.
    pub location: DatabaseLocation,
    /// SSH server through which the database is reached.
    pub ssh: Option<Ssh>,
    /// Maximum duration of a statement.
    pub timeout: Duration,
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// Maximum number of rows in a result.
    pub max_rows: NonZeroUsize,
    /// Maximum size of a result, in bytes.
    pub max_bytes: NonZeroUsize,
    /// Maximum number of pooled connections.
    pub pool: NonZeroUsize,
    /// Whether statements that write are allowed.
    pub unsafe_allow_write: bool,
    /// Whether calls that name no profile use this one.
    pub default: bool,
    /// Whether secrets may be written into the settings themselves.
    pub allow_plaintext: bool,
    /// Functions that read-only statements may call although they cannot be proved harmless, as
    /// `schema.name` or `name`.
    pub allow_functions: Vec<String>,
    /// Users who may use the profile, in addition to the owner of the server.
    pub users: Vec<String>,
    /// Columns that may be read by key, by table.
    pub columns: BTreeMap<String, Vec<String>>,
}

/// Location of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// A local file.
    File(PathBuf),
    /// A database server.
    Server(DatabaseServer),
    /// A DSN in a secret, which is read when the database is first used.
    Secret {
        /// Reference to the DSN.
        dsn: SecretRef,
        /// Parameters that are given in the settings.
        parts: Box<DsnParts>,
    },
}

/// A database on a server, with the credentials to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseServer {
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

/// An SSH server through which a database is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    /// Host name of the server.
    pub host: String,
    /// Port of the server.
    #[serde(default = "Ssh::port")]
    pub port: u16,
    /// User name.
    pub user: String,
    /// File with the private key; without one, the keys of the SSH agent are used.
    #[serde(default)]
    pub identity_file: Option<PathBuf>,
    /// Passphrase of the private key.
    #[serde(default)]
    pub passphrase: Option<SecretRef>,
    /// File with the known host keys.
    #[serde(default = "Ssh::known_hosts")]
    pub known_hosts_file: PathBuf,
}

/// `[profiles.<name>]` as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    #[serde(default)]
    description: String,
    engine: Option<Engine>,
    dsn: Option<RedactedText>,
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    password: Option<SecretRef>,
    database: Option<String>,
    path: Option<PathBuf>,
    tls: Option<TlsMode>,
    ca_file: Option<PathBuf>,
    ssh: Option<Ssh>,
    #[serde(default = "RawProfile::timeout_ms")]
    timeout_ms: NonZeroU32,
    #[serde(default = "RawProfile::connect_timeout_ms")]
    connect_timeout_ms: NonZeroU32,
    #[serde(default = "RawProfile::max_rows")]
    max_rows: NonZeroUsize,
    #[serde(default = "RawProfile::max_bytes")]
    max_bytes: NonZeroUsize,
    #[serde(default = "RawProfile::pool")]
    pool: NonZeroUsize,
    #[serde(default)]
    unsafe_allow_write: bool,
    #[serde(default)]
    allow_functions: Vec<String>,
    #[serde(default)]
    default: bool,
    #[serde(default)]
    allow_plaintext: bool,
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    columns: BTreeMap<String, Vec<String>>,
}

impl ProfileName {
    const MAX_LENGTH: usize = 64;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProfileName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let allowed = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        let begins = name.starts_with(|it: char| it.is_ascii_alphanumeric());
        if begins && name.len() <= Self::MAX_LENGTH && name.chars().all(allowed) {
            Ok(Self(name))
        } else {
            Err(format!(
                "invalid profile name: use 1 to {} letters (a-z, A-Z), digits, `.`, `-` \
                 and `_`, beginning with a letter or a digit",
                Self::MAX_LENGTH
            ))
        }
    }
}

impl Ssh {
    fn port() -> u16 {
        22
    }

    fn known_hosts() -> PathBuf {
        "~/.ssh/known_hosts".into()
    }

    /// Makes paths absolute and checks the passphrase. Fails if it is plain text without
    /// `allow_plaintext`.
    fn validate(self, allow_plaintext: bool) -> Result<Self, String> {
        Ok(Self {
            identity_file: self
                .identity_file
                .map(|it| absolute_path("ssh.identity_file", &it))
                .transpose()?,
            known_hosts_file: absolute_path("ssh.known_hosts_file", &self.known_hosts_file)?,
            passphrase: self
                .passphrase
                .map(|it| check_plaintext("ssh.passphrase", it, allow_plaintext))
                .transpose()?,
            ..self
        })
    }
}

impl RawProfile {
    fn timeout_ms() -> NonZeroU32 {
        NonZeroU32::MIN.saturating_add(29_999)
    }

    fn connect_timeout_ms() -> NonZeroU32 {
        NonZeroU32::MIN.saturating_add(9_999)
    }

    fn max_rows() -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(999)
    }

    fn max_bytes() -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(999_999)
    }

    fn pool() -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(7)
    }

    /// Takes the connection parameters that are given next to the DSN.
    fn take_parts(&mut self) -> DsnParts {
        DsnParts {
            engine: self.engine,
            host: self.host.take(),
            port: self.port,
            user: self.user.take(),
            password: self.password.take(),
            database: self.database.take(),
            path: self.path.take(),
            tls: self.tls,
            ca_file: self.ca_file.take(),
        }
    }
}

/// Returns the engine and the location of a database. Fails if they are incomplete or
/// contradictory. `parts` are given next to the DSN.
pub(super) fn resolve_location(
    dsn: Option<RedactedText>,
    mut parts: DsnParts,
    allow_plaintext: bool,
) -> Result<(Engine, DatabaseLocation), String> {
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
                return Ok((engine, DatabaseLocation::Secret { dsn, parts }));
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
    Ok((engine, parts.check_password(allow_plaintext)?.into_location(engine)?))
}

impl DsnParts {
    /// Merges the parameters of the DSN. Fails if one is given twice.
    pub(super) fn merge(self, other: Self) -> Result<Self, String> {
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
    pub(super) fn into_location(self, engine: Engine) -> Result<DatabaseLocation, String> {
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
            if let Some((key, _)) = server.iter().find(|(_, said)| *said) {
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

impl TryFrom<RawProfile> for Profile {
    type Error = String;

    fn try_from(mut table: RawProfile) -> Result<Self, String> {
        let parts = table.take_parts();
        let (engine, place) = resolve_location(table.dsn.take(), parts, table.allow_plaintext)?;
        let ssh = table.ssh.map(|it| it.validate(table.allow_plaintext)).transpose()?;
        if ssh.is_some() && matches!(place, DatabaseLocation::File(_)) {
            return Err("`ssh` does not apply to sqlite, which has no server; remove it".to_owned());
        }
        let milliseconds = |it: NonZeroU32| Duration::from_millis(it.get().into());
        Ok(Self {
            description: table.description,
            engine,
            location: place,
            ssh,
            timeout: milliseconds(table.timeout_ms),
            connect_timeout: milliseconds(table.connect_timeout_ms),
            max_rows: table.max_rows,
            max_bytes: table.max_bytes,
            pool: table.pool,
            unsafe_allow_write: table.unsafe_allow_write,
            allow_functions: table.allow_functions,
            default: table.default,
            allow_plaintext: table.allow_plaintext,
            users: table.users,
            columns: table.columns,
        })
    }
}

impl Profile {
    /// Returns the secrets that the profile refers to.
    fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        let (dsn, password) = match &self.location {
            DatabaseLocation::File(_) => (None, None),
            DatabaseLocation::Server(server) => (None, server.password.as_ref()),
            DatabaseLocation::Secret { dsn, parts } => (Some(dsn), parts.password.as_ref()),
        };
        let passphrase = self.ssh.as_ref().and_then(|ssh| ssh.passphrase.as_ref());
        [dsn, password, passphrase].into_iter().flatten()
    }

    /// Returns whether the passphrase of `[secrets]` is needed to use the profile.
    pub fn needs_passphrase(&self) -> bool {
        self.secrets().any(|secret| matches!(secret, SecretRef::Encrypted(_)))
    }

    /// Returns whether a secret of the profile is plain text in the settings.
    pub fn has_plaintext_secret(&self) -> bool {
        self.secrets().any(|secret| matches!(secret, SecretRef::AllowedPlaintext(_)))
    }
}

impl DatabaseLocation {
    /// Returns the location with a secret DSN read and parsed. Errors name the section of the
    /// settings and its key.
    pub fn resolve_secret(
        &self,
        section: &str,
        key: &str,
        engine: Engine,
        unlock: &PassphraseSource,
    ) -> Result<Self, DatabaseLocationError> {
        let Self::Secret { dsn, parts } = self else { return Ok(self.clone()) };
        let text = dsn.read_secret(&format!("{section}.{key}"), unlock)?;
        let text = RedactedText::from(text);
        let read = DsnParts::parse(Some(engine), text.expose());
        let read = read.and_then(|read| parts.as_ref().clone().merge(read.check_password(true)?));
        let whole = read.and_then(|parts| parts.into_location(engine));
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
    Secret(#[from] super::SecretError),
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
fn check_plaintext(
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
fn absolute_path(key: &str, path: &Path) -> Result<PathBuf, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn parse_profile(text: &str) -> Result<Profile, String> {
        let settings = Settings::parse(&format!("[profiles.shop]\n{text}"));
        let mut settings = settings.map_err(|error| error.to_string())?;
        Ok(settings.profiles.pop_first().unwrap().1)
    }

    fn parse_server(text: &str) -> DatabaseServer {
        match parse_profile(text).unwrap_or_else(|error| panic!("{text}: {error}")).location {
            DatabaseLocation::Server(server) => server,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_and_dsn_give_equal_profiles() {
        let parts = "engine = \"postgres\"\nhost = \"db\"\nport = 5433\nuser = \"ada\"\n\
                     database = \"shop\"\ntls = \"require\"\npassword = \"env:PW\"";
        let dsn = "dsn = \"postgres://ada@db:5433/shop?sslmode=require\"\npassword = \"env:PW\"";
        assert_eq!(parse_profile(parts).unwrap(), parse_profile(dsn).unwrap());
    }

    #[test]
    fn omitted_settings_have_safe_defaults() {
        let read = parse_profile("dsn = \"mysql://ada@db/shop\"").unwrap();
        assert_eq!((read.engine, read.unsafe_allow_write), (Engine::MySql, false));
        assert!(!read.allow_plaintext && read.users.is_empty() && read.ssh.is_none());
        assert_eq!((read.max_rows.get(), read.max_bytes.get()), (1_000, 1_000_000));
        assert_eq!(read.timeout, Duration::from_secs(30));
        let server = parse_server("dsn = \"mysql://ada@db/shop\"");
        assert_eq!((server.port, server.tls), (3_306, TlsMode::Prefer));
    }

    #[test]
    fn plaintext_password_must_be_allowed() {
        for text in [
            "dsn = \"postgres://ada:s3cret@db/shop\"",
            "dsn = \"ada:s3cret@tcp(db:1)/shop\"",
            "dsn = \"mysql://ada@db/shop\"\npassword = \"s3cret\"",
            "dsn = \"mysql://ada@db/shop\"\npassword = \"s3cret:\"",
        ] {
            let error = parse_profile(text).unwrap_err();
            assert!(error.contains("allow_plaintext") && !error.contains("s3cret"), "{error}");
            assert!(error.contains("profiles.shop") && error.contains("`password`"), "{error}");
            let meant = parse_server(&format!("{text}\nallow_plaintext = true"));
            assert!(matches!(meant.password, Some(SecretRef::AllowedPlaintext(_))), "{text}");
            assert!(!format!("{meant:?}").contains("s3cret"), "{meant:?}");
        }
        let ssh = "dsn = \"mysql://ada@db/shop\"\n[profiles.shop.ssh]\nhost = \"h\"\nuser = \"u\"\n\
                   passphrase = \"s3cret\"";
        assert!(parse_profile(ssh).unwrap_err().contains("`ssh.passphrase`"));
    }

    #[test]
    fn errors_name_profile_key_and_remedy() {
        for (text, says) in [
            ("", ["`engine`", "set engine ="]),
            ("engine = \"postgres\"", ["`user`", "add user ="]),
            ("engine = \"postgres\"\nuser = \"a\"", ["`database`", "add database ="]),
            ("engine = \"sqlite\"", ["`path`", "add path ="]),
            ("engine = \"sqlite\"\npath = \"shop.db\"", ["`path`", "write the full path"]),
            ("path = \"/a.db\"\nengine = \"sqlite\"\nport = 1", ["`port`", "remove it"]),
            (
                "dsn = \"/a.db\"\n[profiles.shop.ssh]\nhost = \"h\"\nuser = \"u\"",
                ["`ssh`", "remove it"],
            ),
            ("dsn = \"mysql://a@b/c\"\npath = \"/a\"", ["`path`", "remove it"]),
            ("dsn = \"mysql://a@b/c\"\nhost = \"b\"", ["`host`", "remove one of them"]),
            ("dsn = \"mysql://a@b/c\"\nengine = \"postgres\"", ["`engine`", "change one"]),
            ("dsn = \"env:DATABASE_URL\"", ["`engine`", "set engine ="]),
            ("dsn = \"mysql://a@b/c\"\nport = 99999", ["profiles.shop.port", "99999"]),
            ("dsn = \"mysql://a@b/c\"\nmax_rows = 0", ["profiles.shop.max_rows", "nonzero"]),
            ("dsn = \"mysql://a@b/c\"\ntls = \"yes\"", ["profiles.shop.tls", "verify-full"]),
            ("dsn = \"mysql://a@b/c\"\ncolor = 1", ["profiles.shop", "unknown field `color`"]),
        ] {
            let error = parse_profile(text).unwrap_err();
            assert!(error.contains("profiles.shop") && error.contains("line "), "{error}");
            assert!(says.iter().all(|part| error.contains(part)), "{says:?}: {error}");
        }
        let named = Settings::parse("[profiles.\"a b\"]").unwrap_err().to_string();
        assert!(named.contains("invalid profile name"), "{named}");
    }

    #[test]
    fn errors_show_no_line_of_settings() {
        for text in [
            "pasword = \"s3cret\"",
            "password = \"s3cret",
            "password = s3cret",
            "password = [\"s3cret\"]",
            "engine = 1\npassword = \"s3cret\"",
            "password = \"s3cret\"\npassword = \"s3cret\"",
            "dsn = 5\nport = \"x\" # s3cret",
        ] {
            let error = parse_profile(text).unwrap_err();
            assert!(!error.contains("s3cret") && error.contains("line "), "{error}");
        }
    }

    #[test]
    fn dsn_may_be_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dsn");
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;

                let mode = std::fs::Permissions::from_mode(0o600);
                std::fs::set_permissions(&path, mode).unwrap();
            }
        };
        let text =
            format!("engine = \"postgres\"\ntls = \"require\"\ndsn = 'file:{}'", path.display());
        let read = parse_profile(&text).unwrap();
        let reveal = || {
            read.location.resolve_secret(
                "profiles.shop",
                "dsn",
                read.engine,
                &PassphraseSource::Unset,
            )
        };
        write("postgres://ada:s3cret@db/shop\n");
        let DatabaseLocation::Server(server) = reveal().unwrap() else { panic!("a server") };
        assert_eq!((server.host.as_str(), server.tls), ("db", TlsMode::Require));
        assert!(matches!(server.password, Some(SecretRef::AllowedPlaintext(_))));
        write("mysql://ada:s3cret@db/shop");
        let error = reveal().unwrap_err().to_string();
        assert!(error.contains("profiles.shop") && !error.contains("s3cret"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn sqlite_file_is_located_by_path_or_uri() {
        for text in [
            "dsn = \"/srv/a.db\"",
            "engine = \"sqlite\"\ndsn = \"file:/srv/a.db?mode=ro\"",
            "dsn = \"file:///srv/a.db\"",
            "engine = \"sqlite\"\npath = \"/srv/a.db\"",
        ] {
            assert_eq!(
                parse_profile(text).unwrap().location,
                DatabaseLocation::File("/srv/a.db".into()),
                "{text}"
            );
        }
    }
}
