//! `[profiles.<name>]`: connections to databases, and the users who may query them.
//!
//! Profiles are validated when the settings are read, as far as that is possible without
//! connecting.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::json;

use super::{
    ChangeKind, DatabaseLocation, Engine, SecretRef, TlsMode, TrustPattern,
    database_location::{absolute_path, check_plaintext, resolve_location},
    dsn::DsnParts,
    secret::RedactedText,
    validation::deserialize_validated,
};

/// Name of a profile, as in the settings and in tool calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct ProfileName(String);

/// Profile of an external database, read-only by default: one section for each. Secrets are
/// referenced, never written here: `"env:NAME"` (an environment variable), `"file:PATH"` (a file
/// that only its owner can read: chmod 600), `"keyring:ACCOUNT"` (the system's keyring, service
/// vademecum) or `"encrypted:PATH"` (see `[secrets]`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", default = "Profile::unlocated", deny_unknown_fields)]
pub struct Profile {
    /// Description for users and models that choose a profile.
    #[schemars(example = "orders and customers")]
    pub description: String,
    /// Database engine. Optional if `dsn` starts with it.
    #[schemars(example = Engine::Postgres)]
    engine: Option<Engine>,
    /// Connection string, instead of `host` to `ca_file`: `postgres://USER@HOST:PORT/DATABASE`,
    /// `mysql://USER@HOST:PORT/DATABASE`, `USER@tcp(HOST:PORT)/DATABASE`, or for SQLite a path or a
    /// `file:` URI. The whole string may also be a secret, such as `"env:DATABASE_URL"`.
    #[schemars(example = "postgres://reader@db.example:5432/shop")]
    dsn: Option<RedactedText>,
    /// Host name of the server. Default: localhost.
    #[schemars(example = "db.example")]
    host: Option<String>,
    /// Port of the server. Default: 5432 (postgres) or 3306 (mysql).
    #[schemars(example = 5_432)]
    port: Option<u16>,
    /// Database user. It should be a role with read privileges only.
    #[schemars(example = &"reader")]
    user: Option<String>,
    /// Reference to the password.
    #[schemars(example = "file:/etc/vademecum/shop.password")]
    password: Option<SecretRef>,
    /// Database on the server.
    #[schemars(example = &"shop")]
    database: Option<String>,
    /// Several databases on the server, instead of `database`: each is a profile of its own, named
    /// after this one and the database, such as `shop.orders`, with its own connections. `default`
    /// applies to the first.
    #[schemars(example = ["orders", "stock"])]
    databases: Vec<String>,
    /// Absolute path of a SQLite database.
    #[schemars(example = "/srv/shop.db")]
    path: Option<PathBuf>,
    /// Encryption of the connection. Default: `"prefer"`.
    #[schemars(example = TlsMode::Prefer)]
    tls: Option<TlsMode>,
    /// File with the trusted certificate authorities, as PEM. Default: those of the system.
    #[schemars(example = "/etc/ssl/shop-ca.pem")]
    ca_file: Option<PathBuf>,
    /// Location of the database, from the settings above.
    #[serde(skip)]
    pub location: DatabaseLocation,
    /// Timeout of a statement, in milliseconds. For a read of an SQLite file it is CPU time, so that a
    /// busy machine does not end it, and the time to wait for a lock.
    pub timeout_ms: NonZeroU32,
    /// Timeout of connecting, in milliseconds.
    pub connect_timeout_ms: NonZeroU32,
    /// Maximum number of rows of a result.
    pub max_rows: NonZeroUsize,
    /// Maximum size of a result, in bytes.
    pub max_bytes: NonZeroUsize,
    /// Maximum number of pooled connections to a server. One of four (one of two or three) is kept
    /// for short statements.
    pub pool: NonZeroUsize,
    /// Whether write statements are allowed, if the server allows them as well.
    pub unsafe_allow_write: bool,
    /// Kinds of statements that change rows of `tables`, if the server allows writing as well, instead
    /// of `unsafe_allow_write`: `"insert"`, `"update"` and `"delete"`. Such a statement names no other
    /// table and calls only functions that are known to be harmless, or in `allow_functions`. Triggers,
    /// defaults and constraints of these tables run with the rights of the database user.
    #[schemars(example = ["insert", "update"])]
    pub allow: Vec<ChangeKind>,
    /// Tables that `allow` applies to, as statements write them: in PostgreSQL with their schema.
    #[schemars(example = ["public.orders"])]
    pub tables: Vec<String>,
    /// Functions that read statements may call although it cannot be proved that they only read, as
    /// `schema.name` or `name`. For a foreign table, the handler of its wrapper. For MySQL, also
    /// views of which the user may not read the definition.
    #[schemars(example = ["public.is_email", "postgres_fdw_handler"])]
    pub allow_functions: Vec<String>,
    /// Functions that read statements may call although it cannot be proved that they only read:
    /// those of an extension, or those whose `name` or `schema.name` matches, with `*` for any
    /// characters. They count only if they are not VOLATILE, and if no role but superusers and the
    /// owner of the database can create or replace them. PostgreSQL only.
    #[schemars(example = ["app.*", "st_*", "extension:postgis"])]
    pub trust: Vec<TrustPattern>,
    /// Whether calls that name no profile use this one, unless it is the only one of the caller
    /// anyway.
    pub default: bool,
    /// Whether secrets of this profile may be written here in plain text, readable by everyone who
    /// can read this file.
    pub allow_plaintext: bool,
    /// Users who may use the profile: query it, sync collections from it and fetch from its tables.
    /// In multi-user mode all others are denied; the single user of a single-user server,
    /// and commands on this machine, can always use it.
    pub users: Vec<String>,
    /// Columns that `rag.fetch_from_source` may read, by table. Without an entry, no columns of
    /// that table.
    #[schemars(example = json!({ "public.orders": ["id", "title", "body"] }))]
    pub columns: BTreeMap<String, Vec<String>>,
    /// SSH server through which the database is reached.
    pub ssh: Option<Ssh>,
}

/// SSH server to tunnel the connection through; `host` and `port` above are as seen from it. Its
/// host key must be in `known_hosts_file`: an unknown or changed key is rejected.
/// Tunnels are run by the program ssh of OpenSSH 8.5 or newer, without its configuration files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    /// Host name of the SSH server.
    #[schemars(example = "bastion.example")]
    pub host: String,
    /// Port of the SSH server.
    #[serde(default = "Ssh::port")]
    pub port: u16,
    /// User name at the SSH server.
    #[schemars(example = &"tunnel")]
    pub user: String,
    /// Private key. Default: the keys of the SSH agent.
    #[schemars(example = "~/.ssh/id_ed25519")]
    pub identity_file: Option<PathBuf>,
    /// Secret with the passphrase of the private key.
    #[schemars(example = "keyring:tunnel")]
    pub passphrase: Option<SecretRef>,
    /// Known host keys, in the format of OpenSSH.
    #[serde(default = "Ssh::known_hosts")]
    pub known_hosts_file: PathBuf,
}

deserialize_validated!(Profile);

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

/// Reads the profiles, with one for each database of a profile that has several.
pub(super) fn deserialize_profiles<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<BTreeMap<ProfileName, Profile>, D::Error> {
    let mut profiles = BTreeMap::new();
    for (name, profile) in BTreeMap::<ProfileName, Profile>::deserialize(reader)? {
        for (name, profile) in profile.into_databases(name).map_err(D::Error::custom)? {
            let key = name.clone();
            if profiles.insert(name, profile).is_some() {
                return Err(D::Error::custom(format!(
                    "there are two profiles `{}`; rename one, or remove it from `databases`",
                    key.0
                )));
            }
        }
    }
    Ok(profiles)
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

impl Profile {
    /// Returns a profile with the default limits, and without a location until
    /// [`Profile::validate`] sets it.
    fn unlocated() -> Self {
        Self {
            description: String::new(),
            engine: None,
            dsn: None,
            host: None,
            port: None,
            user: None,
            password: None,
            database: None,
            databases: Vec::new(),
            path: None,
            tls: None,
            ca_file: None,
            location: DatabaseLocation::File(PathBuf::new()),
            timeout_ms: NonZeroU32::MIN.saturating_add(29_999),
            connect_timeout_ms: NonZeroU32::MIN.saturating_add(9_999),
            max_rows: NonZeroUsize::MIN.saturating_add(999),
            max_bytes: NonZeroUsize::MIN.saturating_add(999_999),
            pool: NonZeroUsize::MIN.saturating_add(7),
            unsafe_allow_write: false,
            allow: Vec::new(),
            tables: Vec::new(),
            allow_functions: Vec::new(),
            trust: Vec::new(),
            default: false,
            allow_plaintext: false,
            users: Vec::new(),
            columns: BTreeMap::new(),
            ssh: None,
        }
    }

    fn validate(mut self) -> Result<Self, String> {
        if let Some(first) = self.databases.first() {
            if self.database.is_some() {
                return Err("`database` and `databases` exclude each other; remove one".to_owned());
            }
            self.database = self.dsn.is_none().then(|| first.clone());
        }
        let parts = DsnParts {
            engine: self.engine.take(),
            host: self.host.take(),
            port: self.port.take(),
            user: self.user.take(),
            password: self.password.take(),
            database: self.database.take(),
            path: self.path.take(),
            tls: self.tls.take(),
            ca_file: self.ca_file.take(),
        };
        self.location = resolve_location(self.dsn.take(), parts, self.allow_plaintext)?;
        self.ssh = self.ssh.map(|it| it.validate(self.allow_plaintext)).transpose()?;
        if self.ssh.is_some() && matches!(self.location, DatabaseLocation::File(_)) {
            return Err("`ssh` does not apply to sqlite, which has no server; remove it".to_owned());
        }
        self.check_databases()?;
        self.check_changes()?;
        Ok(self)
    }

    /// Checks `databases`.
    fn check_databases(&self) -> Result<(), String> {
        let is_server = matches!(self.location, DatabaseLocation::Server(_));
        if !self.databases.is_empty() && !is_server {
            return Err(
                "`databases` needs a server in these settings, as `host` or in `dsn`; for a \
                        file or a secret `dsn`, write one profile for each database"
                    .to_owned(),
            );
        }
        let is_name = |name: &String| {
            !name.is_empty()
                && name.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it))
        };
        match self.databases.iter().find(|name| !is_name(name)) {
            Some(name) => Err(format!(
                "`{name}` in `databases` does not consist of letters (a-z, A-Z), digits, `_` and `-`; \
                 write a profile with `database` for it"
            )),
            None => Ok(()),
        }
    }

    /// Returns the profiles of the databases of this profile; only this one if it names no others.
    fn into_databases(self, name: ProfileName) -> Result<Vec<(ProfileName, Self)>, String> {
        if self.databases.is_empty() {
            return Ok(vec![(name, self)]);
        }
        let mut profiles = Vec::with_capacity(self.databases.len());
        for (at, database) in self.databases.iter().enumerate() {
            let mut profile = Self { databases: Vec::new(), ..self.clone() };
            if let DatabaseLocation::Server(server) = &mut profile.location {
                server.database.clone_from(database);
            }
            profile.default &= at == 0;
            profiles.push((ProfileName::try_from(format!("{}.{database}", name.0))?, profile));
        }
        Ok(profiles)
    }

    /// Checks `allow` and `tables`.
    fn check_changes(&self) -> Result<(), String> {
        if self.allow.is_empty() != self.tables.is_empty() {
            return Err("`allow` and `tables` belong together; add the other one".to_owned());
        }
        if self.unsafe_allow_write && !self.allow.is_empty() {
            return Err(
                "`unsafe_allow_write` permits more than `allow`; remove one of them".to_owned()
            );
        }
        let schemas = match self.engine() {
            Engine::Postgres => 1..=1,
            Engine::MySql | Engine::Sqlite => 0..=1,
        };
        for table in &self.tables {
            let parts: Vec<&str> = table.split('.').collect();
            let is_name = |part: &&str| {
                !part.is_empty() && part.chars().all(|sign| sign.is_alphanumeric() || sign == '_')
            };
            if !parts.iter().all(is_name) || !schemas.contains(&(parts.len() - 1)) {
                return Err(format!(
                    "`{table}` in `tables` is not a table such as public.orders; write its name of \
                     letters, digits and `_`, in PostgreSQL after its schema"
                ));
            }
        }
        Ok(())
    }

    /// Returns the database engine.
    pub fn engine(&self) -> Engine {
        self.location.engine()
    }

    /// Returns the maximum duration of a statement.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.get().into())
    }

    /// Returns the maximum time to connect.
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms.get().into())
    }

    /// Returns the secrets that the profile refers to.
    fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        let (dsn, password) = match &self.location {
            DatabaseLocation::File(_) => (None, None),
            DatabaseLocation::Server(server) => (None, server.password.as_ref()),
            DatabaseLocation::Secret { dsn, parts, .. } => (Some(dsn), parts.password.as_ref()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DatabaseServer, PassphraseSource, Settings};

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
        assert_eq!((read.engine(), read.unsafe_allow_write), (Engine::MySql, false));
        assert!(!read.allow_plaintext && read.users.is_empty() && read.ssh.is_none());
        assert_eq!((read.max_rows.get(), read.max_bytes.get()), (1_000, 1_000_000));
        assert_eq!(read.timeout(), Duration::from_secs(30));
        let server = parse_server("dsn = \"mysql://ada@db/shop\"");
        assert_eq!((server.port, server.tls), (3_306, TlsMode::Prefer));
    }

    #[test]
    fn profile_of_several_databases_is_one_for_each() {
        let parse = |text: &str| {
            let shared = "default = true\nusers = [\"bob\"]";
            Settings::parse(&format!("[profiles.shop]\n{shared}\n{text}"))
        };
        for text in [
            "engine = \"postgres\"\nuser = \"ada\"\ndatabases = [\"orders\", \"stock-2\"]",
            "dsn = \"postgres://ada@localhost/x\"\ndatabases = [\"orders\", \"stock-2\"]",
        ] {
            let profiles = parse(text).unwrap().profiles;
            let found: Vec<_> = profiles
                .iter()
                .map(|(name, profile)| match &profile.location {
                    DatabaseLocation::Server(server) => {
                        (name.as_str(), server.database.as_str(), profile.default)
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(
                found,
                [("shop.orders", "orders", true), ("shop.stock-2", "stock-2", false)]
            );
            assert!(profiles.values().all(|profile| profile.users == ["bob"]));
        }
        let two = "engine = \"mysql\"\nuser = \"a\"\ndatabases = [\"a\"]\n[profiles.\"shop.a\"]\ndsn = \"/a.db\"";
        let twice = "engine = \"mysql\"\nuser = \"a\"\ndatabases = [\"a\", \"a\"]";
        for text in [two, twice] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.contains("two profiles `shop.a`") && error.contains("profiles"),
                "{error}"
            );
        }
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
            (
                "dsn = \"postgres://a@b/c\"\nallow = [\"insert\"]\ntables = [\"orders\"]",
                ["`orders`", "after its schema"],
            ),
            ("dsn = \"mysql://a@b/c\"\nallow = [\"insert\"]", ["`tables`", "add the other one"]),
            (
                "dsn = \"mysql://a@b/c\"\nallow = [\"create\"]\ntables = [\"t\"]",
                ["profiles.shop.allow", "`insert`, `update`, `delete`"],
            ),
            (
                "dsn = \"/a.db\"\nallow = [\"delete\"]\ntables = [\"t; x\"]",
                ["`t; x`", "letters, digits"],
            ),
            (
                "dsn = \"/a.db\"\nunsafe_allow_write = true\nallow = [\"delete\"]\ntables = [\"t\"]",
                ["`unsafe_allow_write`", "remove one of them"],
            ),
            (
                "engine = \"mysql\"\nuser = \"a\"\ndatabase = \"a\"\ndatabases = [\"b\"]",
                ["`databases`", "remove one"],
            ),
            ("dsn = \"/a.db\"\ndatabases = [\"b\"]", ["`databases`", "one profile for each"]),
            ("dsn = \"mysql://a@b/c\"\ndatabases = [\"b c\"]", ["`b c`", "write a profile"]),
            ("dsn = \"mysql://a@b/c\"\nport = 99999", ["profiles.shop.port", "99999"]),
            ("dsn = \"mysql://a@b/c\"\nmax_rows = 0", ["profiles.shop.max_rows", "nonzero"]),
            ("dsn = \"mysql://a@b/c\"\ntls = \"yes\"", ["profiles.shop.tls", "verify-full"]),
            ("dsn = \"mysql://a@b/c\"\ncolor = 1", ["profiles.shop", "unknown field `color`"]),
            ("dsn = \"/a.db\"\nlocation = \"/b.db\"", ["profiles.shop", "field `location`"]),
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
        let reveal =
            || read.location.resolve_secret("profiles.shop", "dsn", &PassphraseSource::Unset);
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
