//! `[archive]`: a `PostgreSQL` database that keeps the libraries of several servers.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{
    DatabaseLocation, DatabaseLocationError, DatabaseServer, Engine, PassphraseSource, SecretRef,
    TlsMode, database_location::resolve_location, dsn::DsnParts, environment::text_variable,
    secret::RedactedText, validation::deserialize_validated,
};

/// A PostgreSQL database that keeps the libraries of several servers. Every server that names it
/// serves every user, from copies that it can fetch again (docs/deploy/cluster.md). Libraries of
/// before are moved with `vademecum migrate --to archive`. Without `url`, the variable
/// `VADEMECUM_ARCHIVE_URL` counts, and `VADEMECUM_ARCHIVE_SCHEMA` beside it; without both, this
/// server keeps its own libraries.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Archive {
    /// Address: `postgres://USER@HOST:PORT/DATABASE`, with `?sslmode=verify-full&sslrootcert=PATH`
    /// for a certificate that is verified; or a reference, as for a profile.
    #[schemars(example = "postgres://vademecum@db.example/vademecum")]
    url: Option<RedactedText>,
    /// Reference to the password, as for a profile.
    #[schemars(example = "file:/etc/vademecum/archive.password")]
    password: Option<SecretRef>,
    /// Encryption of the connection, instead of `sslmode`.
    #[schemars(example = TlsMode::VerifyFull)]
    tls: Option<TlsMode>,
    /// File with the trusted certificate authorities, as PEM, instead of `sslrootcert`.
    #[schemars(example = "/etc/vademecum/ca.pem")]
    ca_file: Option<PathBuf>,
    /// Whether the password may be plain text in this file.
    allow_plaintext: bool,
    /// Location of the database, from the settings above; without one, this server keeps its own
    /// libraries.
    #[serde(skip)]
    pub location: Option<DatabaseLocation>,
    /// Schema of the tables. Several groups of servers can share a database, each with its own
    /// schema.
    pub schema: SchemaName,
    /// Maximum number of connections for reads, and as many for writes.
    pub pool: NonZeroUsize,
    /// Time after which a write whose outcome is not known fails, in milliseconds. It may be
    /// stored, and the error says so.
    pub put_timeout_ms: NonZeroU32,
    /// Whether reads use the copies of this server while the database cannot be reached. Their
    /// results have `_meta.stale`. Writes are refused then.
    pub stale_reads: bool,
    /// Maximum size of the copies of libraries on this server, in GB (10⁹ bytes). Copies in use are
    /// kept in any case.
    pub cache_gb: NonZeroU32,
}

/// Name of a schema in `PostgreSQL`: a letter or `_`, then letters, digits and `_`, all in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl Default for Archive {
    fn default() -> Self {
        Self {
            url: None,
            password: None,
            tls: None,
            ca_file: None,
            allow_plaintext: false,
            location: None,
            schema: SchemaName::default(),
            pool: NonZeroUsize::MIN.saturating_add(7),
            put_timeout_ms: NonZeroU32::MIN.saturating_add(9_999),
            stale_reads: true,
            cache_gb: NonZeroU32::MIN.saturating_add(49),
        }
    }
}

deserialize_validated!(Archive);

impl Archive {
    /// Environment variable with the address of the database, for settings without one.
    pub const URL_VARIABLE: &str = "VADEMECUM_ARCHIVE_URL";
    /// Environment variable with the schema of the tables, beside the one with the address.
    pub const SCHEMA_VARIABLE: &str = "VADEMECUM_ARCHIVE_SCHEMA";

    fn validate(mut self) -> Result<Self, String> {
        let parts = DsnParts {
            engine: Some(Engine::Postgres),
            password: self.password.take(),
            tls: self.tls.take(),
            ca_file: self.ca_file.take(),
            ..DsnParts::default()
        };
        if let Some(url) = self.url.take() {
            let location = resolve_location(Some(url), parts, self.allow_plaintext)
                .map_err(|problem| problem.replace("`dsn`", "`url`"))?;
            self.location = Some(location);
        } else if parts.password.is_some() || parts.tls.is_some() || parts.ca_file.is_some() {
            return Err("`url` is missing; add url = \"postgres://USER@HOST/DATABASE\"".into());
        }
        Ok(self)
    }

    /// Returns these settings, with the database of the environment variables if they have none.
    pub(super) fn or_environment(self) -> Result<Self, String> {
        let (None, Some(url)) = (&self.location, text_variable(Self::URL_VARIABLE)) else {
            return Ok(self);
        };
        let parts = DsnParts { engine: Some(Engine::Postgres), ..DsnParts::default() };
        let location =
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
        match location.resolve_secret("archive", "url", unlock)? {
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
        for (text, expected) in [
            ("password = \"env:X\"", "`url` is missing"),
            ("url = \"mysql://a@b/c\"", "`url` is for"),
            ("url = \"postgres://a:secret@b/c\"", "plain text"),
            ("url = \"postgres://a@b\"", "`database` is missing"),
            ("address = \"x\"", "unknown field"),
            ("location = \"x\"", "unknown field"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected) && !error.contains("secret@"), "{text}: {error}");
        }
    }
}
