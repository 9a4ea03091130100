//! The sections of the settings, and where they are read from.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    Auth, Collection, Embeddings, Limits, Log, Mcp, Mode, Profile, ProfileName, Secrets, Server,
    Sessions, Storage, Telemetry, Tools, Transport,
};

/// Every setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where clients connect.
    pub server: Server,
    /// Whether the protocol is spoken, and over what by `vademecum mcp`.
    pub mcp: Mcp,
    /// Who may come in.
    pub auth: Auth,
    /// Which tools there are.
    pub tools: Tools,
    /// Where knowledge is kept.
    pub storage: Storage,
    /// What one call may cost.
    pub limits: Limits,
    /// What is remembered of a conversation.
    pub sessions: Sessions,
    /// What is logged, and how.
    pub log: Log,
    /// Whom the server tells what it does.
    pub telemetry: Telemetry,
    /// What makes vectors of texts.
    pub embeddings: Embeddings,
    /// Documents that come from elsewhere.
    pub collections: Vec<Collection>,
    /// What opens encrypted secrets.
    pub secrets: Secrets,
    /// Databases of other people.
    pub profiles: BTreeMap<ProfileName, Profile>,
}

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the settings in {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("the settings in {} are not right", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        source: WrongSetting,
    },
    /// There is no folder for data on this machine.
    #[error("this machine has no folder for application data; name one with --data")]
    NoDataFolder,
    /// The server would be open to the network without a key.
    #[error(
        "{0} can be reached from other machines, and a server for a single user asks nobody \
         for a key; listen on 127.0.0.1 or [::1], or set auth.mode to \"multi\""
    )]
    Exposed(std::net::SocketAddr),
    /// Nobody is to be served.
    #[error("mcp.enabled is false in the settings, so no client is served; set it to true")]
    Disabled,
    /// A server over HTTP would ask nobody for a key.
    #[error(
        "mcp.transport is \"streamable_http\", and a server for a single user asks nobody for a \
         key; set auth.mode to \"multi\", or mcp.transport to \"stdio\""
    )]
    Unasked,
}

/// What is wrong in the settings, and where. The line itself is not shown: there
/// may be a password in it.
#[derive(Debug)]
pub struct WrongSetting {
    line: usize,
    column: usize,
    key: String,
    message: String,
}

impl WrongSetting {
    fn of(text: &str, key: String, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let line = before.matches('\n').count() + 1;
        Self { line, column, key, message: error.message().trim_end().to_owned() }
    }
}

impl fmt::Display for WrongSetting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, key, message } = self;
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        write!(out, "line {line}, column {column}: {key}{message}")
    }
}

impl std::error::Error for WrongSetting {}

impl Settings {
    /// Reads settings.
    pub fn parse(text: &str) -> Result<Self, WrongSetting> {
        let deserializer = toml::Deserializer::parse(text)
            .map_err(|error| WrongSetting::of(text, String::new(), &error))?;
        let mut settings: Self =
            serde_path_to_error::deserialize(deserializer).map_err(|error| {
                let key = Some(error.path().to_string()).filter(|path| path != ".");
                WrongSetting::of(text, key.unwrap_or_default(), error.inner())
            })?;
        settings.embeddings.unlock = settings.secrets.unlock();
        Ok(settings)
    }

    /// The address to listen on, if those who can reach it may.
    pub fn listen(&self) -> Result<std::net::SocketAddr, ConfigError> {
        match self.auth.mode {
            Mode::Single => self.server.loopback(),
            Mode::Multi => Ok(self.server.listen),
        }
    }

    /// What `vademecum mcp` serves over, if it may. Over HTTP everybody on this machine
    /// can knock, so they are asked who they are.
    pub fn transport(&self) -> Result<Transport, ConfigError> {
        self.serving()?;
        match (self.mcp.transport, self.auth.mode) {
            (Transport::StreamableHttp, Mode::Single) => Err(ConfigError::Unasked),
            (transport, Mode::Single | Mode::Multi) => Ok(transport),
        }
    }

    /// Whether clients are served at all.
    pub fn serving(&self) -> Result<(), ConfigError> {
        if self.mcp.enabled { Ok(()) } else { Err(ConfigError::Disabled) }
    }

    /// Reads the settings in a file; without one, the defaults.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = file else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|source| ConfigError::Parse { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_default_written_out() {
        let example = include_str!("../../../../config.example.toml");
        assert_eq!(toml::from_str::<Settings>(example).unwrap(), Settings::default());
    }

    #[test]
    fn the_example_names_every_setting() {
        let example = include_str!("../../../../config.example.toml");
        let debug = format!("{:#?}", Settings::default());
        let known = debug.lines().filter(|line| !line.ends_with('{'));
        let known = known.filter_map(|line| Some(line.trim().split_once(": ")?.0));
        for name in
            known.filter(|name| !["jwt", "collections", "profiles", "unlock"].contains(name))
        {
            // One without a value of its own stands in a comment.
            let written =
                |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} ="));
            assert!(example.lines().any(written), "{name}");
        }
    }

    #[test]
    fn the_example_of_tokens_names_every_setting_at_its_default() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [auth.jwt]\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let written = section.lines().filter_map(|line| {
            let line = line.strip_prefix("# ")?;
            line.contains(" = ").then_some(line)
        });
        let written: Vec<&str> = written.filter(|line| !line.ends_with('.')).collect();
        let only = |names: &[&str]| {
            let lines =
                written.iter().filter(|line| names.contains(&line.split(' ').next().unwrap()));
            toml::from_str::<crate::config::Jwt>(&lines.copied().collect::<Vec<_>>().join("\n"))
        };
        let needed = ["algorithms", "issuer", "jwks_url"];
        let rest =
            ["jwks_pause_seconds", "audiences", "leeway_seconds", "user_claim", "tags_claim"];
        assert_eq!(written.len(), needed.len() + rest.len() + ["key_file", "jwks_file"].len());
        assert_eq!(only(&[&needed[..], &rest].concat()).unwrap(), only(&needed).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn the_example_of_collections_is_one() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [[collections]]\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
        let written: Vec<&str> = lines.filter(|line| line.contains(" = ")).collect();
        let text = format!("[[collections]]\n{}", written.join("\n"));
        let settings: Settings = toml::from_str(&text).unwrap();
        let [collection] = &settings.collections[..] else { panic!("one collection") };
        assert_eq!(collection.chunking, Some(crate::config::Chunking::default()));
        assert_eq!(collection.embedding, crate::config::Embedding::default());
        assert_eq!((collection.folders.len(), written.len()), (2, 6));
    }

    #[test]
    fn the_example_of_a_collection_of_a_table_names_every_setting_of_one() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# name = \"posts\"\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
        let written: Vec<&str> = lines.filter(|line| line.contains(" = ")).collect();
        let text = format!("[[collections]]\nname = \"posts\"\n{}", written.join("\n"));
        let settings = Settings::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let table = settings.collections[0].table.clone().unwrap();
        assert_eq!((table.problem(), written.len()), (None, 9));
        assert!(table.condition.is_some() && table.cursor.is_some());
    }

    #[test]
    fn over_http_only_a_server_that_asks_takes_the_place_of_a_pipe() {
        let transport = |text: &str| toml::from_str::<Settings>(text).unwrap().transport();
        assert_eq!(transport("").unwrap(), Transport::Stdio);
        let http = "mcp.transport = \"streamable_http\"\n";
        assert!(matches!(transport(http), Err(ConfigError::Unasked)));
        let many = transport(&format!("{http}auth.mode = \"multi\""));
        assert_eq!(many.unwrap(), Transport::StreamableHttp);
        assert!(matches!(transport("mcp.enabled = false"), Err(ConfigError::Disabled)));
    }

    #[cfg(unix)]
    #[test]
    fn the_example_of_profiles_names_every_setting_at_its_default() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [profiles.shop]\n").unwrap();
        let (shop, ssh) = section.split_once("# [profiles.shop.ssh]\n").unwrap();
        let written = |section: &'static str| -> Vec<&str> {
            let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
            lines.filter(|line| line.split(' ').nth(1) == Some("=")).collect()
        };
        let (shop, ssh) = (written(shop), written(ssh));
        let read = |not: &[&str], not_of_ssh: &[&str]| {
            let without = |lines: &[&'static str], not: &[&str]| {
                let named = |line: &&&str| !not.contains(&line.split(' ').next().unwrap());
                lines.iter().filter(named).copied().collect::<Vec<_>>().join("\n")
            };
            let (shop, ssh) = (without(&shop, not), without(&ssh, not_of_ssh));
            let text = format!("[profiles.shop]\n{shop}\n[profiles.shop.ssh]\n{ssh}");
            Settings::parse(&text).unwrap_or_else(|error| panic!("{error}")).profiles
        };
        // Where a database is is said in one line, in parts, or by a path.
        let parts = ["engine", "host", "port", "user", "database"];
        let whole = read(&["dsn", "path"], &[]);
        assert_eq!(whole, read(&[&parts[..], &["path"]].concat(), &[]));
        let limits = ["timeout_ms", "connect_timeout_ms", "max_rows", "max_bytes", "pool", "tls"];
        let doubtful = ["unsafe_allow_write", "allow_plaintext", "users"];
        let defaults = [&["dsn", "path"][..], &limits, &doubtful].concat();
        assert_eq!(whole, read(&defaults, &["port", "known_hosts_file"]));
        assert_eq!((shop.len(), ssh.len()), (20, 6));
    }

    #[test]
    fn only_a_server_that_asks_may_be_reached_from_other_machines() {
        let settings = |mode: &str| {
            let text = format!("server.listen = \"0.0.0.0:7744\"\nauth.mode = \"{mode}\"");
            toml::from_str::<Settings>(&text).unwrap()
        };
        assert!(matches!(settings("single").listen(), Err(ConfigError::Exposed(_))));
        assert_eq!(settings("multi").listen().unwrap().port(), 7_744);
    }

    #[test]
    fn an_unknown_setting_is_refused_by_name() {
        let error = Settings::parse("[server]\nlissen = 1").unwrap_err().to_string();
        assert!(error.contains("server") && error.contains("`lissen`"), "{error}");
        assert!(error.starts_with("line 2, column 1:"), "{error}");
    }
}
