//! `[profiles.<name>]`: databases of other people, and who may ask them what.
//!
//! A profile is checked when the settings are read: one that is there can be used,
//! as far as settings alone can tell.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use super::{Engine, Secret, Tls, Unlock, dsn::Parts, machine, secret::Unshown};

/// What a profile is called: what callers say, and the settings' key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ProfileName(String);

/// A database, how it is reached, and who may use it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Table")]
pub struct Profile {
    /// What it is, for those who choose.
    pub description: String,
    /// Which kind of database.
    pub engine: Engine,
    /// Where it is.
    pub place: Place,
    /// The SSH server that the way leads through.
    pub ssh: Option<Ssh>,
    /// How long a statement may run.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Rows of an answer, at most.
    pub max_rows: NonZeroUsize,
    /// Bytes of an answer, at most.
    pub max_bytes: NonZeroUsize,
    /// Connections that are kept, at most.
    pub pool: NonZeroUsize,
    /// Whether statements that write are let through.
    pub unsafe_allow_write: bool,
    /// Whether secrets may stand in the settings themselves.
    pub allow_plaintext: bool,
    /// The users who may use it, besides whoever owns this machine.
    pub users: Vec<String>,
    /// The columns that may be read by key, by table.
    pub columns: BTreeMap<String, Vec<String>>,
}

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// On a server.
    Server(DatabaseServer),
    /// A secret says where, all of it or what is missing.
    Secret {
        /// Where the name of the data source is.
        dsn: Secret,
        /// What the settings say besides.
        parts: Box<Parts>,
    },
}

/// A server, and a database on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseServer {
    /// The server.
    pub host: String,
    /// The port it listens at.
    pub port: u16,
    /// Who connects.
    pub user: String,
    /// How they prove it.
    pub password: Option<Secret>,
    /// Which database.
    pub database: String,
    /// Whether the connection is encrypted.
    pub tls: Tls,
    /// The authorities that certificates are checked by.
    pub ca_file: Option<PathBuf>,
}

/// An SSH server that the way to a database leads through.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    /// The server.
    pub host: String,
    /// The port it listens at.
    #[serde(default = "Ssh::port")]
    pub port: u16,
    /// Who logs in.
    pub user: String,
    /// The private key that proves it; without one, the keys of the agent.
    #[serde(default)]
    pub identity_file: Option<PathBuf>,
    /// What opens the private key.
    #[serde(default)]
    pub passphrase: Option<Secret>,
    /// The file of the servers that are known by their keys.
    #[serde(default = "Ssh::known_hosts")]
    pub known_hosts_file: PathBuf,
}

/// `[profiles.<name>]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    description: String,
    engine: Option<Engine>,
    dsn: Option<Unshown>,
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    password: Option<Secret>,
    database: Option<String>,
    path: Option<PathBuf>,
    tls: Option<Tls>,
    ca_file: Option<PathBuf>,
    ssh: Option<Ssh>,
    #[serde(default = "Table::timeout_ms")]
    timeout_ms: NonZeroU32,
    #[serde(default = "Table::connect_timeout_ms")]
    connect_timeout_ms: NonZeroU32,
    #[serde(default = "Table::max_rows")]
    max_rows: NonZeroUsize,
    #[serde(default = "Table::max_bytes")]
    max_bytes: NonZeroUsize,
    #[serde(default = "Table::pool")]
    pool: NonZeroUsize,
    #[serde(default)]
    unsafe_allow_write: bool,
    #[serde(default)]
    allow_plaintext: bool,
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    columns: BTreeMap<String, Vec<String>>,
}

impl ProfileName {
    const LONGEST: usize = 64;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProfileName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let allowed = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        let begins = name.starts_with(|it: char| it.is_ascii_alphanumeric());
        if begins && name.len() <= Self::LONGEST && name.chars().all(allowed) {
            Ok(Self(name))
        } else {
            Err(format!(
                "a profile cannot be called so: use 1 to {} letters (a-z, A-Z), digits, `.`, `-` \
                 and `_`, beginning with a letter or a digit",
                Self::LONGEST
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

    /// The same, with paths that are whole and a passphrase that may be where it is.
    fn checked(self, allow_plaintext: bool) -> Result<Self, String> {
        Ok(Self {
            identity_file: self
                .identity_file
                .map(|it| whole("ssh.identity_file", &it))
                .transpose()?,
            known_hosts_file: whole("ssh.known_hosts_file", &self.known_hosts_file)?,
            passphrase: self
                .passphrase
                .map(|it| placed("ssh.passphrase", it, allow_plaintext))
                .transpose()?,
            ..self
        })
    }
}

impl Table {
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

    /// What is said beside the name of the data source.
    fn parts(&mut self) -> Parts {
        Parts {
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

    /// The kind of database, and where it is.
    fn place(&mut self) -> Result<(Engine, Place), String> {
        let (mut parts, allow_plaintext) = (self.parts(), self.allow_plaintext);
        if let Some(dsn) = self.dsn.take() {
            match (Secret::from(dsn.clone()), parts.engine) {
                // Of SQLite, `file:` is a URI.
                (Secret::Written(_) | Secret::File(_), None | Some(Engine::Sqlite))
                | (Secret::Written(_), _) => {
                    parts = parts.and(Parts::parse(self.engine, dsn.expose())?)?;
                }
                (dsn, Some(engine)) => {
                    let parts = Box::new(parts.placed(allow_plaintext)?);
                    return Ok((engine, Place::Secret { dsn, parts }));
                }
                (_, None) => {
                    let problem = "`engine` is missing, and `dsn` is in another place; say \
                                   engine = \"postgres\" or \"mysql\"";
                    return Err(problem.to_owned());
                }
            }
        }
        let engine = parts.engine.ok_or(
            "`engine` is missing; say engine = \"postgres\", \"mysql\" or \"sqlite\"".to_owned(),
        )?;
        Ok((engine, parts.placed(allow_plaintext)?.complete(engine)?))
    }
}

impl Parts {
    /// What both say together. Nothing may be said twice.
    pub(super) fn and(self, other: Self) -> Result<Self, String> {
        fn one<T>(key: &str, one: Option<T>, other: Option<T>) -> Result<Option<T>, String> {
            match (one, other) {
                (Some(_), Some(_)) => Err(format!("`{key}` is in `dsn` too; say it once")),
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

    /// The same, if the password may be where it is.
    fn placed(self, allow_plaintext: bool) -> Result<Self, String> {
        let password = self.password.map(|it| placed("password", it, allow_plaintext));
        Ok(Self { password: password.transpose()?, ..self })
    }

    /// Where a database of that kind is, if all of it was said.
    pub(super) fn complete(self, engine: Engine) -> Result<Place, String> {
        let missing =
            |key: &str| format!("`{key}` is missing; add {key} = \"…\", or a `dsn` that says it");
        let Some(port) = engine.port() else {
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
                return Err(format!("`{key}` is for servers, and {engine} has none; take it out"));
            }
            return Ok(Place::File(whole("path", &self.path.ok_or_else(|| missing("path"))?)?));
        };
        if self.path.is_some() {
            return Err(format!("`path` is for sqlite, not for {engine}; take it out"));
        }
        Ok(Place::Server(DatabaseServer {
            host: self.host.unwrap_or_else(|| "localhost".to_owned()),
            port: self.port.unwrap_or(port),
            user: self.user.ok_or_else(|| missing("user"))?,
            password: self.password,
            database: self.database.ok_or_else(|| missing("database"))?,
            tls: self.tls.unwrap_or_default(),
            ca_file: self.ca_file.map(|it| whole("ca_file", &it)).transpose()?,
        }))
    }
}

impl TryFrom<Table> for Profile {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let (engine, place) = table.place()?;
        let ssh = table.ssh.map(|it| it.checked(table.allow_plaintext)).transpose()?;
        if ssh.is_some() && matches!(place, Place::File(_)) {
            return Err("`ssh` leads to servers, and sqlite has none; take it out".to_owned());
        }
        let milliseconds = |it: NonZeroU32| Duration::from_millis(it.get().into());
        Ok(Self {
            description: table.description,
            engine,
            place,
            ssh,
            timeout: milliseconds(table.timeout_ms),
            connect_timeout: milliseconds(table.connect_timeout_ms),
            max_rows: table.max_rows,
            max_bytes: table.max_bytes,
            pool: table.pool,
            unsafe_allow_write: table.unsafe_allow_write,
            allow_plaintext: table.allow_plaintext,
            users: table.users,
            columns: table.columns,
        })
    }
}

impl Profile {
    /// The secrets that the settings name for it.
    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let (dsn, password) = match &self.place {
            Place::File(_) => (None, None),
            Place::Server(server) => (None, server.password.as_ref()),
            Place::Secret { dsn, parts } => (Some(dsn), parts.password.as_ref()),
        };
        let passphrase = self.ssh.as_ref().and_then(|ssh| ssh.passphrase.as_ref());
        [dsn, password, passphrase].into_iter().flatten()
    }

    /// Whether a passphrase is needed to use it.
    pub fn is_encrypted(&self) -> bool {
        self.secrets().any(|secret| matches!(secret, Secret::Encrypted(_)))
    }

    /// Whether a secret of it stands in the settings.
    pub fn has_plain_text(&self) -> bool {
        self.secrets().any(|secret| matches!(secret, Secret::Plain(_)))
    }
}

impl Place {
    /// Where the database is, with the secret that says so read; the error says
    /// which profile it is of.
    pub fn revealed(
        &self,
        profile: &str,
        engine: Engine,
        unlock: &Unlock,
    ) -> Result<Self, PlaceError> {
        let Self::Secret { dsn, parts } = self else { return Ok(self.clone()) };
        let text = dsn.read(&format!("profiles.{profile}.dsn"), unlock)?;
        let text = Unshown::from(text);
        let read = Parts::parse(Some(engine), text.expose());
        let read = read.and_then(|read| parts.as_ref().clone().and(read.placed(true)?));
        let whole = read.and_then(|parts| parts.complete(engine));
        whole.map_err(|problem| PlaceError::Wrong { profile: profile.to_owned(), problem })
    }
}

/// Why a secret does not say where a database is.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It cannot be read.
    #[error(transparent)]
    Secret(#[from] super::SecretError),
    /// It says something else.
    #[error("profiles.{profile}: {problem}")]
    Wrong {
        /// Of which profile.
        profile: String,
        /// What is wrong. None of the words are the secret's.
        problem: String,
    },
}

/// A secret that may be where it is.
fn placed(key: &str, secret: Secret, allow_plaintext: bool) -> Result<Secret, String> {
    match secret {
        secret if allow_plaintext => Ok(secret.in_plain_text()),
        secret if secret.is_written() => Err(format!(
            "`{key}` stands in the settings in plain text; say where it is instead, as \
             \"env:NAME\", \"file:PATH\", \"keyring:ACCOUNT\" or \"encrypted:PATH\", or set \
             allow_plaintext = true"
        )),
        secret => Ok(secret),
    }
}

/// A path that means the same wherever the program was started.
fn whole(key: &str, path: &Path) -> Result<PathBuf, String> {
    let path = match path.strip_prefix("~") {
        Ok(rest) => machine::home().map(|home| home.join(rest)).ok_or_else(|| {
            format!("`{key}` begins with ~, and this user has no home; write the whole path")
        })?,
        Err(_) => path.to_owned(),
    };
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(format!("`{key}` is not an absolute path; write the whole path"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn profile(text: &str) -> Result<Profile, String> {
        let settings = Settings::parse(&format!("[profiles.shop]\n{text}"));
        let mut settings = settings.map_err(|error| error.to_string())?;
        Ok(settings.profiles.pop_first().unwrap().1)
    }

    fn server(text: &str) -> DatabaseServer {
        match profile(text).unwrap_or_else(|error| panic!("{text}: {error}")).place {
            Place::Server(server) => server,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_and_a_dsn_say_the_same() {
        let parts = "engine = \"postgres\"\nhost = \"db\"\nport = 5433\nuser = \"ada\"\n\
                     database = \"shop\"\ntls = \"require\"\npassword = \"env:PW\"";
        let dsn = "dsn = \"postgres://ada@db:5433/shop?sslmode=require\"\npassword = \"env:PW\"";
        assert_eq!(profile(parts).unwrap(), profile(dsn).unwrap());
    }

    #[test]
    fn what_is_not_said_is_safe() {
        let read = profile("dsn = \"mysql://ada@db/shop\"").unwrap();
        assert_eq!((read.engine, read.unsafe_allow_write), (Engine::MySql, false));
        assert!(!read.allow_plaintext && read.users.is_empty() && read.ssh.is_none());
        assert_eq!((read.max_rows.get(), read.max_bytes.get()), (1_000, 1_000_000));
        assert_eq!(read.timeout, Duration::from_secs(30));
        let server = server("dsn = \"mysql://ada@db/shop\"");
        assert_eq!((server.port, server.tls), (3_306, Tls::Prefer));
    }

    #[test]
    fn a_password_in_plain_text_must_be_meant() {
        for text in [
            "dsn = \"postgres://ada:s3cret@db/shop\"",
            "dsn = \"ada:s3cret@tcp(db:1)/shop\"",
            "dsn = \"mysql://ada@db/shop\"\npassword = \"s3cret\"",
            "dsn = \"mysql://ada@db/shop\"\npassword = \"s3cret:\"",
        ] {
            let error = profile(text).unwrap_err();
            assert!(error.contains("allow_plaintext") && !error.contains("s3cret"), "{error}");
            assert!(error.contains("profiles.shop") && error.contains("`password`"), "{error}");
            let meant = server(&format!("{text}\nallow_plaintext = true"));
            assert!(matches!(meant.password, Some(Secret::Plain(_))), "{text}");
            assert!(!format!("{meant:?}").contains("s3cret"), "{meant:?}");
        }
        let ssh = "dsn = \"mysql://ada@db/shop\"\n[profiles.shop.ssh]\nhost = \"h\"\nuser = \"u\"\n\
                   passphrase = \"s3cret\"";
        assert!(profile(ssh).unwrap_err().contains("`ssh.passphrase`"));
    }

    #[test]
    fn what_is_wrong_is_said_with_profile_key_and_remedy() {
        for (text, says) in [
            ("", ["`engine`", "say engine ="]),
            ("engine = \"postgres\"", ["`user`", "add user ="]),
            ("engine = \"postgres\"\nuser = \"a\"", ["`database`", "add database ="]),
            ("engine = \"sqlite\"", ["`path`", "add path ="]),
            ("engine = \"sqlite\"\npath = \"shop.db\"", ["`path`", "write the whole path"]),
            ("path = \"/a.db\"\nengine = \"sqlite\"\nport = 1", ["`port`", "take it out"]),
            (
                "dsn = \"/a.db\"\n[profiles.shop.ssh]\nhost = \"h\"\nuser = \"u\"",
                ["`ssh`", "take it out"],
            ),
            ("dsn = \"mysql://a@b/c\"\npath = \"/a\"", ["`path`", "take it out"]),
            ("dsn = \"mysql://a@b/c\"\nhost = \"b\"", ["`host`", "say it once"]),
            ("dsn = \"mysql://a@b/c\"\nengine = \"postgres\"", ["`engine`", "change one"]),
            ("dsn = \"env:DATABASE_URL\"", ["`engine`", "say engine ="]),
            ("dsn = \"mysql://a@b/c\"\nport = 99999", ["profiles.shop.port", "99999"]),
            ("dsn = \"mysql://a@b/c\"\nmax_rows = 0", ["profiles.shop.max_rows", "nonzero"]),
            ("dsn = \"mysql://a@b/c\"\ntls = \"yes\"", ["profiles.shop.tls", "verify-full"]),
            ("dsn = \"mysql://a@b/c\"\ncolor = 1", ["profiles.shop", "unknown field `color`"]),
        ] {
            let error = profile(text).unwrap_err();
            assert!(error.contains("profiles.shop") && error.contains("line "), "{error}");
            assert!(says.iter().all(|part| error.contains(part)), "{says:?}: {error}");
        }
        let named = Settings::parse("[profiles.\"a b\"]").unwrap_err().to_string();
        assert!(named.contains("cannot be called so"), "{named}");
    }

    #[test]
    fn no_complaint_shows_a_line_of_the_settings() {
        for text in [
            "pasword = \"s3cret\"",
            "password = \"s3cret",
            "password = s3cret",
            "password = [\"s3cret\"]",
            "engine = 1\npassword = \"s3cret\"",
            "password = \"s3cret\"\npassword = \"s3cret\"",
            "dsn = 5\nport = \"x\" # s3cret",
        ] {
            let error = profile(text).unwrap_err();
            assert!(!error.contains("s3cret") && error.contains("line "), "{error}");
        }
    }

    #[test]
    fn a_dsn_may_be_a_secret_as_a_whole() {
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
        let read = profile(&text).unwrap();
        let reveal = || read.place.revealed("shop", read.engine, &Unlock::Nothing);
        write("postgres://ada:s3cret@db/shop\n");
        let Place::Server(server) = reveal().unwrap() else { panic!("a server") };
        assert_eq!((server.host.as_str(), server.tls), ("db", Tls::Require));
        assert!(matches!(server.password, Some(Secret::Plain(_))));
        write("mysql://ada:s3cret@db/shop");
        let error = reveal().unwrap_err().to_string();
        assert!(error.contains("profiles.shop") && !error.contains("s3cret"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_sqlite_is_named_by_path_or_uri() {
        for text in [
            "dsn = \"/srv/a.db\"",
            "engine = \"sqlite\"\ndsn = \"file:/srv/a.db?mode=ro\"",
            "dsn = \"file:///srv/a.db\"",
            "engine = \"sqlite\"\npath = \"/srv/a.db\"",
        ] {
            assert_eq!(profile(text).unwrap().place, Place::File("/srv/a.db".into()), "{text}");
        }
    }
}
