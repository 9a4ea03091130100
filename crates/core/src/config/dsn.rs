//! Data source names: a database in one line, in the forms that are in use.
//!
//! No message repeats any of it: what looks like a host may be half of a password.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use super::{Engine, Secret, Tls};

/// What says where a database is; each as far as somebody said so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Which kind it is.
    pub engine: Option<Engine>,
    /// The server.
    pub host: Option<String>,
    /// The port it listens at.
    pub port: Option<u16>,
    /// Who connects.
    pub user: Option<String>,
    /// How they prove it.
    pub password: Option<Secret>,
    /// Which database on the server.
    pub database: Option<String>,
    /// The file of a database.
    pub path: Option<PathBuf>,
    /// Whether the connection is encrypted.
    pub tls: Option<Tls>,
    /// The authorities that certificates are checked by.
    pub ca_file: Option<PathBuf>,
}

/// Parameters that say nothing of where a database is and who connects how. They
/// are common in names that were made for other programs, and do nothing here.
const IDLE: [&str; 19] = [
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

impl Parts {
    /// Reads a name. `engine` says how to read one that does not say it itself.
    pub fn parse(engine: Option<Engine>, text: &str) -> Result<Self, String> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        let parts = match (scheme, engine) {
            (Some("postgres" | "postgresql"), _) => server(Engine::Postgres, text),
            (Some("mysql" | "mariadb"), _) => server(Engine::MySql, text),
            (_, None | Some(Engine::MySql)) if text.contains(")/") && text.contains('(') => {
                go(text)
            }
            (_, None) if looks_like_a_file(text) => file(text),
            (_, Some(Engine::Sqlite)) => file(text),
            _ => Err(format!("`dsn` cannot be read: {FORMS}")),
        }?;
        match (engine, parts.engine) {
            (Some(said), Some(read)) if said != read => {
                Err(format!("`dsn` is one of {read}, and `engine` says {said}: change one of them"))
            }
            _ => Ok(parts),
        }
    }
}

fn looks_like_a_file(text: &str) -> bool {
    ["file:", "sqlite:", "/", "~/"].iter().any(|begin| text.starts_with(begin))
        || Path::new(text).is_absolute()
}

/// `postgres://…` and `mysql://…`.
fn server(engine: Engine, text: &str) -> Result<Parts, String> {
    // An error of the parser says what is wrong, and none of what was written.
    let url = Url::parse(text).map_err(|error| {
        format!(
            "`dsn` cannot be read: {error}; {FORMS}, with %40 for @ and the like in names and \
             passwords"
        )
    })?;
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(String::from).map_err(|_| "`dsn` has bytes in it that are no UTF-8".to_owned())
    };
    let some = |text: &str| match text {
        "" => Ok(None),
        text => decoded(text).map(Some),
    };
    let host = url.host_str().map(|host| host.trim_start_matches('[').trim_end_matches(']'));
    let mut parts = Parts {
        engine: Some(engine),
        host: some(host.unwrap_or_default())?,
        port: url.port(),
        user: some(url.username())?,
        password: some(url.password().unwrap_or_default())?.as_deref().map(plain),
        database: some(url.path().trim_start_matches('/'))?,
        ..Parts::default()
    };
    for (name, value) in url.query_pairs() {
        parts.parameter(&name, &value)?;
    }
    Ok(parts)
}

/// `user:password@tcp(host:port)/database`, as programs in Go write it.
fn go(text: &str) -> Result<Parts, String> {
    let unreadable = || format!("`dsn` cannot be read: {FORMS}");
    let (place, rest) = text.rsplit_once(")/").ok_or_else(unreadable)?;
    let (before, address) = place.rsplit_once('(').ok_or_else(unreadable)?;
    let (login, net) = before.rsplit_once('@').unwrap_or(("", before));
    if net != "tcp" {
        return Err("`dsn` must say tcp(HOST:PORT): nothing else can be reached".to_owned());
    }
    let (user, password) =
        login.split_once(':').map_or((login, None), |(user, it)| (user, Some(it)));
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !address.ends_with(']') => {
            let port = port.parse().map_err(|_| "`dsn` has a port that is none".to_owned())?;
            (host, Some(port))
        }
        Some(_) | None => (address, None),
    };
    let (database, query) = rest.split_once('?').unwrap_or((rest, ""));
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let mut parts = Parts {
        engine: Some(Engine::MySql),
        host: some(host.trim_start_matches('[').trim_end_matches(']')),
        port,
        user: some(user),
        password: password.filter(|it| !it.is_empty()).map(plain),
        database: some(database),
        ..Parts::default()
    };
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        parts.parameter(&name, &value)?;
    }
    Ok(parts)
}

/// A path, `file:…` or `sqlite:…`.
fn file(text: &str) -> Result<Parts, String> {
    let uri = text.strip_prefix("file:").or_else(|| text.strip_prefix("sqlite:"));
    let mut parts = Parts { engine: Some(Engine::Sqlite), ..Parts::default() };
    let Some(uri) = uri else {
        parts.path = Some(text.into());
        return Ok(parts);
    };
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let path = match path.strip_prefix("//") {
        // What stands between two and three slashes would be another machine.
        Some(path) => path.strip_prefix("localhost").unwrap_or(path),
        None => path,
    };
    let path = percent_decode_str(path).decode_utf8();
    let path = path.map_err(|_| "`dsn` has bytes in it that are no UTF-8".to_owned())?;
    parts.path = Some(path.into_owned().into());
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        parts.parameter(&name, &value)?;
    }
    Ok(parts)
}

/// Where it comes from decides later whether it may stand there.
fn plain(text: &str) -> Secret {
    Secret::Written(text.into())
}

impl Parts {
    fn parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "sslmode" | "ssl-mode" | "sslMode" | "tls" => self.tls = Some(tls(value)?),
            "sslrootcert" | "ssl-ca" => self.ca_file = Some(value.into()),
            "host" if self.host.is_none() => self.host = Some(value.to_owned()),
            "port" if self.port.is_none() => {
                let port = value.parse();
                self.port = Some(port.map_err(|_| "`dsn` has a port that is none".to_owned())?);
            }
            name if IDLE.contains(&name) => {}
            _ => {
                // Its name may be a part of a password with `?` or `&` in it.
                let problem = "`dsn` has a parameter that is not known here; take it out, and \
                               write ? and & in passwords as %3F and %26";
                return Err(problem.to_owned());
            }
        }
        Ok(())
    }
}

/// A mode in the words of `PostgreSQL`, `MySQL` and Go.
fn tls(mode: &str) -> Result<Tls, String> {
    match mode.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" | "false" => Ok(Tls::Disable),
        "allow" | "prefer" | "preferred" => Ok(Tls::Prefer),
        "require" | "required" | "skip-verify" => Ok(Tls::Require),
        "verify-full" | "verify-identity" | "true" => Ok(Tls::VerifyFull),
        _ => Err("`dsn` has a mode of encryption that is not known here; use disable, prefer, \
                  require or verify-full"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Parts {
        Parts::parse(None, text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn place(parts: &Parts) -> String {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        let port = parts.port.map(|port| port.to_string()).unwrap_or_default();
        format!("{}@{}:{port}/{}", text(&parts.user), text(&parts.host), text(&parts.database))
    }

    fn password(parts: &Parts) -> Option<String> {
        match parts.password.as_ref()? {
            Secret::Written(text) => Some(text.expose().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_forms_in_use_are_read() {
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
            let parts = read(text);
            assert_eq!((parts.engine, place(&parts)), (Some(engine), says.to_owned()), "{text}");
            assert_eq!(password(&parts).as_deref(), secret, "{text}");
        }
    }

    #[test]
    fn a_file_is_a_path_or_an_uri() {
        for text in [
            "/srv/a b.db",
            "file:/srv/a%20b.db",
            "file:///srv/a%20b.db?mode=ro",
            "sqlite:///srv/a b.db",
        ] {
            let parts = read(text);
            assert_eq!(parts.path, Some("/srv/a b.db".into()), "{text}");
            assert_eq!(parts.engine, Some(Engine::Sqlite), "{text}");
        }
        let relative = Parts::parse(Some(Engine::Sqlite), "shop.db").unwrap();
        assert_eq!(relative.path, Some("shop.db".into()));
    }

    #[test]
    fn encryption_is_read_in_the_words_of_every_engine() {
        for (parameter, tls) in [
            ("sslmode=disable", Tls::Disable),
            ("sslmode=prefer", Tls::Prefer),
            ("ssl-mode=REQUIRED", Tls::Require),
            ("tls=skip-verify", Tls::Require),
            ("tls=true", Tls::VerifyFull),
            ("ssl-mode=VERIFY_IDENTITY", Tls::VerifyFull),
        ] {
            assert_eq!(read(&format!("mysql://a@b/c?{parameter}")).tls, Some(tls), "{parameter}");
        }
        let parts = read("postgres://a@b/c?sslmode=verify-full&sslrootcert=/ca.pem");
        assert_eq!((parts.tls, parts.ca_file), (Some(Tls::VerifyFull), Some("/ca.pem".into())));
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_never_repeated() {
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
                let error = Parts::parse(engine, text).unwrap_err();
                assert!(error.contains("`dsn`") && !error.contains("s3cret"), "{text}: {error}");
            }
        }
        let other = Parts::parse(Some(Engine::MySql), "postgres://a@b/c").unwrap_err();
        assert!(other.contains("postgres") && other.contains("mysql"), "{other}");
    }
}
