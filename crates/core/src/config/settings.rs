//! The root of the settings, and reading them from a file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    Archive, Audit, Auth, AuthMode, Collection, ConfigError, Deny, Embeddings, FollowedFolder,
    Import, InvalidSetting, Journal, Limits, ListenAddress, Log, Mcp, Profile, ProfileName,
    PublicUrl, Quotas, Secrets, Server, Sessions, Skills, Sqlite, Storage, Telemetry, Tools,
    Transport, profiles::deserialize_profiles, setting_keys::explain_unknown,
};

/// All settings of Vademecum with their default values. None is required. The first of these files
/// is read: the one that `--config` names, `config.toml` in the data folder, and `config.toml` in
/// the platform's folder for settings (`~/.config/vademecum` on Linux). Command-line options take
/// precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the type of each section has its documentation")]
pub struct Settings {
    pub server: Server,
    pub mcp: Mcp,
    pub tools: Tools,
    pub auth: Auth,
    pub deny: Vec<Deny>,
    pub storage: Storage,
    pub archive: Archive,
    pub limits: Limits,
    pub import: Import,
    pub sqlite: Sqlite,
    pub quotas: Quotas,
    #[serde(alias = "session")]
    pub sessions: Sessions,
    pub log: Log,
    pub skills: Skills,
    pub journal: Journal,
    pub audit: Audit,
    pub telemetry: Telemetry,
    pub embeddings: Embeddings,
    pub folders: Vec<FollowedFolder>,
    #[schemars(example = json!({
        "name": "docs", "folders": null, "owner": null, "access_tags": null, "url": null,
        "chunking": null, "embedding": null
    }))]
    #[schemars(example = json!({
        "name": "posts", "profile": null, "table": null, "pk_column": null, "where": null,
        "doc_map": null, "cursor": null
    }))]
    pub collections: Vec<Collection>,
    pub secrets: Secrets,
    #[serde(deserialize_with = "deserialize_profiles")]
    #[schemars(example = json!({ "shop": {} }))]
    pub profiles: BTreeMap<ProfileName, Profile>,
    /// File that the settings were loaded from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

impl Settings {
    /// Parses the settings from TOML.
    pub fn parse(text: &str) -> Result<Self, InvalidSetting> {
        let deserializer = toml::Deserializer::parse(text)
            .map_err(|error| InvalidSetting::from_toml(text, String::new(), &error))?;
        let mut settings: Self =
            serde_path_to_error::deserialize(deserializer).map_err(|error| {
                let key = Some(error.path().to_string()).filter(|path| path != ".");
                InvalidSetting::from_toml(text, key.unwrap_or_default(), error.inner())
                    .explained(explain_unknown)
            })?;
        settings.embeddings.unlock = settings.secrets.passphrase_source();
        Ok(settings)
    }

    /// Sets the address that tokens are issued for, if this server issues any, to that of its MCP
    /// endpoint. Fails if the settings of the authorization server contradict each other.
    pub fn with_oauth_resource(mut self) -> Result<Self, ConfigError> {
        if self.auth.oidc.is_some() && !(self.auth.oauth && self.auth.mode == AuthMode::Multi) {
            return Err(ConfigError::OidcWithoutOAuth);
        }
        if !self.auth.oauth {
            return Ok(self);
        }
        let resource = self.server.public_url.as_ref().and_then(PublicUrl::resource);
        let resource = resource.ok_or(ConfigError::NoPublicUrl)?;
        match self.auth.resource {
            Some(other) if other != resource => {
                Err(ConfigError::OtherResource(other.to_string(), resource.to_string()))
            }
            Some(_) | None => {
                self.auth.resource = Some(resource);
                Ok(self)
            }
        }
    }

    /// Returns the address to listen on. Fails in single-user mode unless it is a loopback address.
    pub fn listen_address(&self) -> Result<&ListenAddress, ConfigError> {
        match self.auth.mode {
            AuthMode::Single => self.server.local_address(),
            AuthMode::Multi => Ok(&self.server.listen),
        }
    }

    /// Returns the transport of `vademecum mcp`. Fails if MCP is disabled, or for HTTP in
    /// single-user mode, because any process on this machine could connect.
    pub fn mcp_transport(&self) -> Result<Transport, ConfigError> {
        self.check_mcp_enabled()?;
        match (self.mcp.transport, self.auth.mode) {
            (Transport::StreamableHttp, AuthMode::Single) => Err(ConfigError::UnauthenticatedHttp),
            (transport, AuthMode::Single | AuthMode::Multi) => Ok(transport),
        }
    }

    /// Returns a digest of what the settings permit and show. Two programs of one version with the same
    /// digest answer a caller alike; the address, the log and the place of the data do not count.
    pub fn digest(&self) -> String {
        let mut settings = Self { file: None, log: Log::default(), ..self.clone() };
        settings.server.listen = ListenAddress::default();
        settings.storage.data = None;
        if let Ok(resolved) = settings.clone().with_oauth_resource() {
            settings = resolved;
        }
        // This text hides secrets, which are those of the same file.
        let text = format!("{} {settings:?}", env!("CARGO_PKG_VERSION"));
        URL_SAFE_NO_PAD.encode(Sha256::digest(text))
    }

    /// Fails if MCP is disabled.
    pub fn check_mcp_enabled(&self) -> Result<(), ConfigError> {
        if self.mcp.enabled { Ok(()) } else { Err(ConfigError::McpDisabled) }
    }

    /// Loads the settings from `file`, or returns the defaults without one.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::load_file(file)?.with_environment()
    }

    /// Takes the archive of the environment variables if the settings name none.
    fn with_environment(self) -> Result<Self, ConfigError> {
        let archive = self.archive.or_environment().map_err(ConfigError::Environment)?;
        Ok(Self { archive, ..self })
    }

    fn load_file(file: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = file else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let settings = Self::parse(&text)
            .map_err(|source| ConfigError::Parse { path: path.to_owned(), source })?;
        Ok(Self { file: Some(path.to_owned()), ..settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_what_callers_see() {
        let digest = |text: &str| Settings::parse(text).unwrap().digest();
        let default = digest("");
        for same in
            ["server.listen = \"127.0.0.1:1\"", "log.level = \"debug\"", "storage.data = \"a\""]
        {
            assert_eq!(digest(same), default, "{same}");
        }
        for other in [
            "tools.write = true",
            "storage.user = \"ada\"",
            "[[deny]]\nsources = [\"chats\"]",
            "storage.tldw = \"/srv\"",
        ] {
            assert_ne!(digest(other), default, "{other}");
        }
    }

    #[test]
    fn example_equals_defaults() {
        let example = include_str!("../../../../config.example.toml");
        assert_eq!(toml::from_str::<Settings>(example).unwrap(), Settings::default());
    }

    #[test]
    fn example_names_every_setting() {
        let example = include_str!("../../../../config.example.toml");
        let debug = format!("{:#?}", Settings::default());
        let known = debug.lines().filter(|line| !line.ends_with('{'));
        let known = known.filter_map(|line| Some(line.trim().split_once(": ")?.0));
        let sections = ["jwt", "oidc", "deny", "collections", "custom", "profiles"];
        let internal = ["file", "location", "unlock"];
        for name in known.filter(|name| !sections.contains(name) && !internal.contains(name)) {
            // A setting without a default is a comment in the example.
            let written =
                |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} ="));
            assert!(example.lines().any(written), "{name}");
        }
    }

    #[test]
    fn jwt_example_names_every_setting_with_default() {
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
        let rest = [
            "jwks_pause_seconds",
            "audiences",
            "leeway_seconds",
            "user_claim",
            "tags_claim",
            "allowed_subjects",
            "allowed_groups",
            "groups_claim",
        ];
        assert_eq!(written.len(), needed.len() + rest.len() + ["key_file", "jwks_file"].len());
        assert_eq!(only(&[&needed[..], &rest].concat()).unwrap(), only(&needed).unwrap());
    }

    #[test]
    fn oidc_example_names_every_setting_with_default() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [auth.oidc]\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let written = section.lines().filter_map(|line| {
            let line = line.strip_prefix("# ")?;
            line.contains(" = ").then_some(line)
        });
        let written: Vec<&str> =
            written.filter(|line| !line.starts_with("client_secret_file")).collect();
        let parse = |lines: &[&str]| toml::from_str::<crate::config::Oidc>(&lines.join("\n"));
        let is_needed = |line: &&&str| line.starts_with("issuer") || line.starts_with("client_id");
        let needed: Vec<&str> = written.iter().filter(is_needed).copied().collect();
        assert_eq!((written.len(), needed.len()), (9, 2), "{written:?}");
        assert_eq!(parse(&written).unwrap(), parse(&needed).unwrap());
    }

    #[test]
    fn oauth_resource_is_mcp_endpoint_of_public_url() {
        let parse = |text: &str| Settings::parse(text).unwrap().with_oauth_resource();
        let url = "server.public_url = \"https://knowledge.example\"\n";
        let settings = parse(&format!("{url}auth.oauth = true")).unwrap();
        assert_eq!(settings.auth.resource.unwrap().as_str(), "https://knowledge.example/mcp");
        assert!(parse(url).unwrap().auth.resource.is_none());
        assert!(matches!(parse("auth.oauth = true"), Err(ConfigError::NoPublicUrl)));
        let other = "auth.resource = \"https://other.example/mcp\"";
        let other = parse(&format!("{url}auth.oauth = true\n{other}"));
        assert!(matches!(other, Err(ConfigError::OtherResource(_, _))));
        let oidc = "[auth.oidc]\nissuer = \"https://id.example\"\nclient_id = \"it\"";
        assert!(matches!(parse(oidc), Err(ConfigError::OidcWithoutOAuth)));
    }

    #[cfg(unix)]
    #[test]
    fn collection_example_parses() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [[collections]]\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
        let written: Vec<&str> = lines.filter(|line| line.contains(" = ")).collect();
        let text = format!("[[collections]]\n{}", written.join("\n"));
        let settings: Settings = toml::from_str(&text).unwrap();
        let [collection] = &settings.collections[..] else { panic!("one collection") };
        assert_eq!(collection.chunking, Some(crate::config::Chunking::default()));
        assert_eq!(collection.embedding, crate::config::EmbeddingOptions::default());
        assert_eq!((collection.folders().len(), written.len()), (2, 7));
    }

    #[test]
    fn custom_tool_example_names_settings() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [tools.custom.orders_of_customer]\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
        let is_written = |line: &&str| line.starts_with('[') || line.split(' ').nth(1) == Some("=");
        let written: Vec<&str> = lines.filter(is_written).collect();
        let text = format!("[tools.custom.orders]\n{}", written.join("\n"));
        let text = text.replace("orders_of_customer", "orders");
        let settings = Settings::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (_, tool) = settings.tools.custom.first_key_value().unwrap();
        assert_eq!((tool.parameters.len(), written.len()), (3, 24));
        assert!(tool.read_only && tool.destructive && tool.max_rows.is_some());
    }

    #[test]
    fn deny_example_names_every_setting() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# [[deny]]\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
        let written: Vec<&str> = lines.filter(|line| line.contains(" = ")).collect();
        let settings = Settings::parse(&format!("[[deny]]\n{}", written.join("\n"))).unwrap();
        assert_eq!((settings.deny.len(), written.len()), (1, 7));
    }

    #[test]
    fn table_collection_example_names_every_setting() {
        let example = include_str!("../../../../config.example.toml");
        let (_, section) = example.split_once("# name = \"posts\"\n").unwrap();
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter_map(|line| line.strip_prefix("# "));
        let written: Vec<&str> = lines.filter(|line| line.contains(" = ")).collect();
        let text = format!("[[collections]]\nname = \"posts\"\n{}", written.join("\n"));
        let settings = Settings::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let table = settings.collections[0].table().unwrap();
        assert_eq!((table.find_problem(), written.len()), (None, 9));
        assert!(table.condition.is_some() && table.cursor.is_some());
    }

    #[test]
    fn http_transport_requires_authentication() {
        let transport = |text: &str| toml::from_str::<Settings>(text).unwrap().mcp_transport();
        assert_eq!(transport("").unwrap(), Transport::Stdio);
        let http = "mcp.transport = \"streamable_http\"\n";
        assert!(matches!(transport(http), Err(ConfigError::UnauthenticatedHttp)));
        let many = transport(&format!("{http}auth.mode = \"multi\""));
        assert_eq!(many.unwrap(), Transport::StreamableHttp);
        assert!(matches!(transport("mcp.enabled = false"), Err(ConfigError::McpDisabled)));
    }

    #[cfg(unix)]
    #[test]
    fn profile_example_names_every_setting_with_default() {
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
        // A database is located by a DSN, by separate fields or by a path.
        let parts = ["engine", "host", "port", "user", "database"];
        let whole = read(&["dsn", "path", "databases"], &[]);
        assert_eq!(whole, read(&[&parts[..], &["path", "databases"]].concat(), &[]));
        let limits = ["timeout_ms", "connect_timeout_ms", "max_rows", "max_bytes", "pool", "tls"];
        let doubtful = ["unsafe_allow_write", "default", "allow_plaintext", "users"];
        let defaults = [&["dsn", "path", "databases"][..], &limits, &doubtful].concat();
        assert_eq!(whole, read(&defaults, &["port", "known_hosts_file"]));
        assert_eq!((shop.len(), ssh.len()), (26, 6));
    }

    #[test]
    fn network_address_requires_authentication() {
        let settings = |mode: &str| {
            let text = format!("server.listen = \"0.0.0.0:7744\"\nauth.mode = \"{mode}\"");
            toml::from_str::<Settings>(&text).unwrap()
        };
        assert!(matches!(
            settings("single").listen_address(),
            Err(ConfigError::UnauthenticatedNetwork(_))
        ));
        let multi = settings("multi");
        assert_eq!(multi.listen_address().unwrap().to_string(), "0.0.0.0:7744");
    }

    #[test]
    fn unknown_setting_is_rejected_by_name() {
        let error = Settings::parse("[server]\nlissen = 1").unwrap_err().to_string();
        assert!(error.contains("`lissen`; did you mean `listen`?"), "{error}");
        let elsewhere = Settings::parse("[server]\ndata = \"a\"").unwrap_err().to_string();
        assert!(elsewhere.contains("did you mean `storage.data`?"), "{elsewhere}");
        let far = Settings::parse("[server]\nqqq = 1").unwrap_err().to_string();
        assert!(far.contains("expected one of"), "{far}");
        assert!(error.starts_with("line 2, column 1:"), "{error}");
    }
}
