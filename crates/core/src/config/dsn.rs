//! Parsing of data source names (DSN) in the common formats.
//!
//! No error message repeats any part of a DSN, because what looks like a host may be half of a
//! password.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use super::{Engine, SecretRef, TlsMode};

/// Connection parameters of a database, as far as they are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DsnParts {
    /// Database engine.
    pub engine: Option<Engine>,
    /// Host name of the server.
    pub host: Option<String>,
    /// Port of the server.
    pub port: Option<u16>,
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub password: Option<SecretRef>,
    /// Name of the database on the server.
    pub database: Option<String>,
    /// Path of a database file.
    pub path: Option<PathBuf>,
    /// Encryption of the connection.
    pub tls: Option<TlsMode>,
    /// File with the certificate authorities to trust.
    pub ca_file: Option<PathBuf>,
}

/// Ignored parameters: they affect neither the location nor the authentication, and are common in
/// DSNs of other programs.
const IGNORED_PARAMETERS: [&str; 19] = [
    "application_name",
    "cache",
    "charset",
    "clientFoundRows",
    "collation",
    "columnsWithAlias",
    "connect_timeout",
    "interpolateParams",
    "loc",
    "maxAllowedPacket",
    "mode",
    "multiStatements",
    "parseTime",
    "pool_max_conns",
    "readTimeout",
    "rejectReadOnly",
    "target_session_attrs",
    "timeout",
    "writeTimeout",
];

const FORMS: &str = "write it as postgres://USER@HOST:PORT/DATABASE, \
                     mysql://USER@HOST:PORT/DATABASE, USER@tcp(HOST:PORT)/DATABASE or, for \
                     SQLite, as a path or file: URI";

impl DsnParts {
    /// Parses a DSN. `engine` selects the format if the DSN does not name its engine.
    pub fn parse(engine: Option<Engine>, text: &str) -> Result<Self, String> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        let parts = match (scheme, engine) {
            (Some("postgres" | "postgresql"), _) => parse_server_url(Engine::Postgres, text),
            (Some("mysql" | "mariadb"), _) => parse_server_url(Engine::MySql, text),
            (_, None | Some(Engine::MySql)) if text.contains(")/") && text.contains('(') => {
                parse_go_dsn(text)
            }
            (_, None) if looks_like_file(text) => parse_file_dsn(text),
            (_, Some(Engine::Sqlite)) => parse_file_dsn(text),
            _ => Err(format!("`dsn` cannot be read: {FORMS}")),
        }?;
        match (engine, parts.engine) {
            (Some(engine), Some(read)) if engine != read => {
                Err(format!("`dsn` is for {read}, but `engine` is {engine}; change one of them"))
            }
            _ => Ok(parts),
        }
    }
}

fn looks_like_file(text: &str) -> bool {
    ["file:", "sqlite:", "/", "~/"].iter().any(|begin| text.starts_with(begin))
        || Path::new(text).is_absolute()
}

/// Parses `postgres://…` and `mysql://…`.
fn parse_server_url(engine: Engine, text: &str) -> Result<DsnParts, String> {
    // Messages of the URL parser do not quote the input.
    let url = Url::parse(text).map_err(|error| {
        format!(
            "`dsn` cannot be read: {error}; {FORMS}, with %40 for @ and the like in names and \
             passwords"
        )
    })?;
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(String::from).map_err(|_| "`dsn` contains bytes that are not UTF-8".to_owned())
    };
    let some = |text: &str| match text {
        "" => Ok(None),
        text => decoded(text).map(Some),
    };
    let host = url.host_str().map(|host| host.trim_start_matches('[').trim_end_matches(']'));
    let mut parts = DsnParts {
        engine: Some(engine),
        host: some(host.unwrap_or_default())?,
        port: url.port(),
        user: some(url.username())?,
        password: some(url.password().unwrap_or_default())?.as_deref().map(plaintext_secret),
        database: some(url.path().trim_start_matches('/'))?,
        ..DsnParts::default()
    };
    for (name, value) in url.query_pairs() {
        parts.set_parameter(&name, &value)?;
    }
    Ok(parts)
}

/// Parses `user:password@tcp(host:port)/database`, the format of the Go driver for `MySQL`.
fn parse_go_dsn(text: &str) -> Result<DsnParts, String> {
    let unreadable = || format!("`dsn` cannot be read: {FORMS}");
    let (place, rest) = text.rsplit_once(")/").ok_or_else(unreadable)?;
    let (before, address) = place.rsplit_once('(').ok_or_else(unreadable)?;
    let (login, net) = before.rsplit_once('@').unwrap_or(("", before));
    if net != "tcp" {
        return Err("`dsn` must say tcp(HOST:PORT): other networks are not supported".to_owned());
    }
    let (user, password) =
        login.split_once(':').map_or((login, None), |(user, it)| (user, Some(it)));
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !address.ends_with(']') => {
            let port = port.parse().map_err(|_| "`dsn` has an invalid port".to_owned())?;
            (host, Some(port))
        }
        Some(_) | None => (address, None),
    };
    let (database, query) = rest.split_once('?').unwrap_or((rest, ""));
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let mut parts = DsnParts {
        engine: Some(Engine::MySql),
        host: some(host.trim_start_matches('[').trim_end_matches(']')),
        port,
        user: some(user),
        password: password.filter(|it| !it.is_empty()).map(plaintext_secret),
        database: some(database),
        ..DsnParts::default()
    };
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        parts.set_parameter(&name, &value)?;
    }
    Ok(parts)
}

/// Parses a path, `file:…` or `sqlite:…`.
fn parse_file_dsn(text: &str) -> Result<DsnParts, String> {
    let uri = text.strip_prefix("file:").or_else(|| text.strip_prefix("sqlite:"));
    let mut parts = DsnParts { engine: Some(Engine::Sqlite), ..DsnParts::default() };
    let Some(uri) = uri else {
        parts.path = Some(text.into());
        return Ok(parts);
    };
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let path = match path.strip_prefix("//") {
        // Text between the second and the third slash names a host; only `localhost` is accepted.
        Some(path) => path.strip_prefix("localhost").unwrap_or(path),
        None => path,
    };
    let path = percent_decode_str(path).decode_utf8();
    let path = path.map_err(|_| "`dsn` contains bytes that are not UTF-8".to_owned())?;
    parts.path = Some(path.into_owned().into());
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        parts.set_parameter(&name, &value)?;
    }
    Ok(parts)
}

/// Wraps a password as plain text. The caller checks later whether plain text is allowed.
fn plaintext_secret(text: &str) -> SecretRef {
    SecretRef::RejectedPlaintext(text.into())
}

impl DsnParts {
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "sslmode" | "ssl-mode" | "sslMode" | "tls" => self.tls = Some(parse_tls_mode(value)?),
            "sslrootcert" | "ssl-ca" => self.ca_file = Some(value.into()),
            "host" if self.host.is_none() => self.host = Some(value.to_owned()),
            "port" if self.port.is_none() => {
                let port = value.parse();
                self.port = Some(port.map_err(|_| "`dsn` has an invalid port".to_owned())?);
            }
            name if IGNORED_PARAMETERS.contains(&name) => {}
            _ => {
                // The name is not repeated, because it may be part of a password that contains `?`
                // or `&`.
                let problem = "`dsn` has an unknown parameter; remove it, and \
                               write ? and & in passwords as %3F and %26";
                return Err(problem.to_owned());
            }
        }
        Ok(())
    }
}

/// Parses an encryption mode of `PostgreSQL`, `MySQL` or the Go driver.
fn parse_tls_mode(mode: &str) -> Result<TlsMode, String> {
    match mode.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" | "false" => Ok(TlsMode::Disable),
        "allow" | "prefer" | "preferred" => Ok(TlsMode::Prefer),
        "require" | "required" | "skip-verify" => Ok(TlsMode::Require),
        "verify-full" | "verify-identity" | "true" => Ok(TlsMode::VerifyFull),
        _ => Err("`dsn` has an unknown encryption mode; use disable, prefer, \
                  require or verify-full"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_dsn(text: &str) -> DsnParts {
        DsnParts::parse(None, text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn format_location(parts: &DsnParts) -> String {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        let port = parts.port.map(|port| port.to_string()).unwrap_or_default();
        format!("{}@{}:{port}/{}", text(&parts.user), text(&parts.host), text(&parts.database))
    }

    fn plaintext_password(parts: &DsnParts) -> Option<String> {
        match parts.password.as_ref()? {
            SecretRef::RejectedPlaintext(text) => Some(text.expose().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn common_dsn_formats_are_parsed() {
        use Engine::{MySql, Postgres};
        for (text, engine, says, secret) in [
            ("postgres://ada:pw@db:5433/shop", Postgres, "ada@db:5433/shop", Some("pw")),
            ("postgresql://ada@[::1]/shop", Postgres, "ada@::1:/shop", None),
            ("postgres://a%40b:p%23%3F@db/s%20t", Postgres, "a@b@db:/s t", Some("p#?")),
            ("postgres:///shop?host=/run/pg&port=5", Postgres, "@/run/pg:5/shop", None),
            ("mysql://root:pw@db/shop", MySql, "root@db:/shop", Some("pw")),
            ("ada:p@s:s@tcp(db:3307)/shop", MySql, "ada@db:3307/shop", Some("p@s:s")),
            (
                "ada:p)/w@tcp([::1]:3306)/shop?parseTime=true",
                MySql,
                "ada@::1:3306/shop",
                Some("p)/w"),
            ),
            ("ada@tcp(db)/shop", MySql, "ada@db:/shop", None),
        ] {
            let parts = parse_dsn(text);
            assert_eq!(
                (parts.engine, format_location(&parts)),
                (Some(engine), says.to_owned()),
                "{text}"
            );
            assert_eq!(plaintext_password(&parts).as_deref(), secret, "{text}");
        }
    }

    #[test]
    fn file_dsn_is_path_or_uri() {
        for text in [
            "/srv/a b.db",
            "file:/srv/a%20b.db",
            "file:///srv/a%20b.db?mode=ro",
            "sqlite:///srv/a b.db",
        ] {
            let parts = parse_dsn(text);
            assert_eq!(parts.path, Some("/srv/a b.db".into()), "{text}");
            assert_eq!(parts.engine, Some(Engine::Sqlite), "{text}");
        }
        let relative = DsnParts::parse(Some(Engine::Sqlite), "shop.db").unwrap();
        assert_eq!(relative.path, Some("shop.db".into()));
    }

    #[test]
    fn tls_mode_accepts_names_of_every_engine() {
        for (parameter, tls) in [
            ("sslmode=disable", TlsMode::Disable),
            ("sslmode=prefer", TlsMode::Prefer),
            ("ssl-mode=REQUIRED", TlsMode::Require),
            ("tls=skip-verify", TlsMode::Require),
            ("tls=true", TlsMode::VerifyFull),
            ("ssl-mode=VERIFY_IDENTITY", TlsMode::VerifyFull),
        ] {
            assert_eq!(
                parse_dsn(&format!("mysql://a@b/c?{parameter}")).tls,
                Some(tls),
                "{parameter}"
            );
        }
        let parts = parse_dsn("postgres://a@b/c?sslmode=verify-full&sslrootcert=/ca.pem");
        assert_eq!((parts.tls, parts.ca_file), (Some(TlsMode::VerifyFull), Some("/ca.pem".into())));
    }

    #[test]
    fn invalid_dsn_is_rejected_and_not_repeated() {
        for text in [
            "s3cret",
            "host=db user=ada password=s3cret",
            "postgres://ada:s3cret/@db:x/shop",
            "postgres://ada@db/shop?password=s3cret",
            "postgres://ada@db/shop?s3cret=1",
            "postgres://ada@db/shop?sslmode=s3cret",
            "ada:s3cret@unix(/run/s3cret)/shop",
            "ada@tcp(db:s3cret)/shop",
            "oracle://ada:s3cret@db/shop",
        ] {
            for engine in [None, Some(Engine::Postgres)] {
                let error = DsnParts::parse(engine, text).unwrap_err();
                assert!(error.contains("`dsn`") && !error.contains("s3cret"), "{text}: {error}");
            }
        }
        let other = DsnParts::parse(Some(Engine::MySql), "postgres://a@b/c").unwrap_err();
        assert!(other.contains("postgres") && other.contains("mysql"), "{other}");
    }
}
