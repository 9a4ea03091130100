//! `[archive]`: a `PostgreSQL` database that keeps the libraries of several servers.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use secrecy::SecretString;
use serde::Deserialize;

use super::{
    DatabaseLocation, DatabaseLocationError, DatabaseServer, Engine, PassphraseSource, SecretRef,
    TlsMode, database_location::resolve_location, dsn::DsnParts, environment::text_variable,
    secret::RedactedText,
};

/// The database that keeps the libraries, and how this server follows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawArchive")]
pub struct Archive {
    /// Location of the database; without one, this server keeps its own libraries.
    pub location: Option<DatabaseLocation>,
    /// Schema of the tables in the database.
    pub schema: SchemaName,
    /// Maximum number of connections for reads, and as many for writes.
    pub pool: NonZeroUsize,
    /// Time after which a write whose outcome is not known fails, in milliseconds.
    pub put_timeout_ms: NonZeroU32,
    /// Whether reads use the copies of this server while the database cannot be reached.
    pub stale_reads: bool,
    /// Maximum size of the copies of libraries that this server keeps, in GB (10⁹ bytes). Copies that
    /// are in use are kept in any case.
    pub cache_gb: NonZeroU32,
}

/// Name of a schema in `PostgreSQL`: a letter or `_`, then letters, digits and `_`, all in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SchemaName(String);

impl SchemaName {
    /// Length of the longest name that `PostgreSQL` does not shorten.
    const MAX_LENGTH: usize = 63;

    /// Returns the name as text, which needs no quotes in SQL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SchemaName {
    fn default() -> Self {
        Self("vademecum".to_owned())
    }
}

impl TryFrom<String> for SchemaName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        let begins = name.starts_with(|it: char| it.is_ascii_lowercase() || it == '_');
        if begins && name.len() <= Self::MAX_LENGTH && name.chars().all(allowed) {
            Ok(Self(name))
        } else {
            Err(format!(
                "invalid schema name: use 1 to {} lower-case letters (a-z), digits and `_`, not \
                 beginning with a digit",
                Self::MAX_LENGTH
            ))
        }
    }
}

/// `[archive]` as written in the file.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawArchive {
    url: Option<RedactedText>,
    password: Option<SecretRef>,
    tls: Option<TlsMode>,
    ca_file: Option<PathBuf>,
    allow_plaintext: bool,
    schema: SchemaName,
    pool: NonZeroUsize,
    put_timeout_ms: NonZeroU32,
    stale_reads: bool,
    cache_gb: NonZeroU32,
}

impl Default for RawArchive {
    fn default() -> Self {
        Self {
            url: None,
            password: None,
            tls: None,
            ca_file: None,
            allow_plaintext: false,
            schema: SchemaName::default(),
            pool: NonZeroUsize::MIN.saturating_add(7),
            put_timeout_ms: NonZeroU32::MIN.saturating_add(9_999),
            stale_reads: true,
            cache_gb: NonZeroU32::MIN.saturating_add(49),
        }
    }
}

impl Default for Archive {
    fn default() -> Self {
        RawArchive::default().with_location(None)
    }
}

impl RawArchive {
    fn with_location(self, location: Option<DatabaseLocation>) -> Archive {
        Archive {
            location,
            schema: self.schema,
            pool: self.pool,
            put_timeout_ms: self.put_timeout_ms,
            stale_reads: self.stale_reads,
            cache_gb: self.cache_gb,
        }
    }
}

impl TryFrom<RawArchive> for Archive {
    type Error = String;

    fn try_from(mut table: RawArchive) -> Result<Self, String> {
        let parts = DsnParts {
            engine: Some(Engine::Postgres),
            password: table.password.take(),
            tls: table.tls,
            ca_file: table.ca_file.take(),
            ..DsnParts::default()
        };
        let Some(url) = table.url.take() else {
            if parts.password.is_some() || parts.tls.is_some() || parts.ca_file.is_some() {
                return Err("`url` is missing; add url = \"postgres://USER@HOST/DATABASE\"".into());
            }
            return Ok(table.with_location(None));
        };
        let (_, location) = resolve_location(Some(url), parts, table.allow_plaintext)
            .map_err(|problem| problem.replace("`dsn`", "`url`"))?;
        Ok(table.with_location(Some(location)))
    }
}

impl Archive {
    /// Environment variable with the address of the database, for settings without one.
    pub const URL_VARIABLE: &str = "VADEMECUM_ARCHIVE_URL";
    /// Environment variable with the schema of the tables, beside the one with the address.
    pub const SCHEMA_VARIABLE: &str = "VADEMECUM_ARCHIVE_SCHEMA";

    /// Returns these settings, with the database of the environment variables if they have none.
    pub(super) fn or_environment(self) -> Result<Self, String> {
        let (None, Some(url)) = (&self.location, text_variable(Self::URL_VARIABLE)) else {
            return Ok(self);
        };
        let parts = DsnParts { engine: Some(Engine::Postgres), ..DsnParts::default() };
        let (_, location) =
            resolve_location(Some(RedactedText::from(SecretString::from(url))), parts, true)
                .map_err(|problem| problem.replace("`dsn`", Self::URL_VARIABLE))?;
        let schema = text_variable(Self::SCHEMA_VARIABLE).map(SchemaName::try_from).transpose()?;
        Ok(Self {
            location: Some(location),
            schema: schema.unwrap_or_else(|| self.schema.clone()),
            ..self
        })
    }

    /// Returns the database with its address read, if the address is a secret; `None` without a
    /// database. The password is still a reference.
    pub fn resolve_server(
        &self,
        unlock: &PassphraseSource,
    ) -> Result<Option<DatabaseServer>, DatabaseLocationError> {
        let Some(location) = &self.location else { return Ok(None) };
        match location.resolve_secret("archive", "url", Engine::Postgres, unlock)? {
            DatabaseLocation::Server(server) => Ok(Some(server)),
            DatabaseLocation::File(_) | DatabaseLocation::Secret { .. } => Ok(None),
        }
    }

    /// Returns the time after which a write whose outcome is not known fails.
    pub fn put_timeout(&self) -> Duration {
        Duration::from_millis(self.put_timeout_ms.get().into())
    }

    /// Returns the maximum size of the copies of libraries, in bytes.
    pub fn cache_bytes(&self) -> u64 {
        u64::from(self.cache_gb.get()) * 1_000_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Archive, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn address_is_a_url_or_a_secret() {
        assert_eq!(parse("").unwrap(), Archive::default());
        let archive = parse(
            "url = \"postgres://vademecum@db.example/library?sslmode=verify-full\"
             password = \"file:/etc/vademecum/archive.password\"",
        );
        let server = archive.unwrap().resolve_server(&PassphraseSource::Unset).unwrap().unwrap();
        assert_eq!(
            (server.host.as_str(), server.port, server.tls),
            ("db.example", 5432, TlsMode::VerifyFull)
        );
        let archive = parse("url = \"env:ARCHIVE_URL\"").unwrap();
        assert!(matches!(archive.location, Some(DatabaseLocation::Secret { .. })));
    }

    #[test]
    fn other_addresses_are_refused() {
        for (text, said) in [
            ("password = \"env:X\"", "`url` is missing"),
            ("url = \"mysql://a@b/c\"", "`url` is for"),
            ("url = \"postgres://a:secret@b/c\"", "plain text"),
            ("url = \"postgres://a@b\"", "`database` is missing"),
            ("address = \"x\"", "unknown field"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said) && !error.contains("secret@"), "{text}: {error}");
        }
    }
}
