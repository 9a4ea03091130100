//! Database profiles of the settings: permitted users and connection settings.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ConnectionTarget, Engine, ErrorCode, QueryCaps, ServerTarget, SqlError,
    error::secret_error,
    guard::{self, ChangeLimits, WriteStatement},
};
use vademecum_core::{
    auth::{Principal, UserId, UserIdError},
    config::{
        self, ChangeKind, DatabaseLocation, DatabaseLocationError, DatabaseServer,
        PassphraseSource, ProfileName,
    },
};
use vademecum_tunnel::Tunnel;

/// Profiles of a server, by name.
#[derive(Debug, Default)]
pub struct Profiles {
    by_name: BTreeMap<String, Arc<Profile>>,
}

/// Database profile.
#[derive(Debug)]
pub struct Profile {
    name: String,
    settings: config::Profile,
    users: BTreeSet<UserId>,
    unlock: PassphraseSource,
    tunnel: Option<Tunnel>,
}

/// Error for an invalid user name in the settings of a profile.
#[derive(Debug, thiserror::Error)]
#[error("`profiles.{profile}.users` contains an invalid user name")]
pub struct ProfileError {
    profile: String,
    source: UserIdError,
}

/// Profile in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedProfile {
    /// Name.
    pub name: String,
    /// Purpose of the database.
    pub description: String,
    /// Database engine.
    pub db: Engine,
    /// `read-only` or `read-write`.
    pub mode: &'static str,
    /// True if calls that name no database use this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// Profile details for its users, without secrets and key file paths.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownProfile {
    /// Name.
    pub name: String,
    /// Purpose of the database.
    pub description: String,
    /// Database engine.
    pub db: Engine,
    /// `read-only` or `read-write`, for this caller.
    pub mode: Option<&'static str>,
    /// Host.
    pub host: Option<String>,
    /// Port of the server.
    pub port: Option<u16>,
    /// User name.
    pub user: Option<String>,
    /// Database; for a file, its name.
    pub database: Option<String>,
    /// Whether write statements are allowed.
    pub unsafe_allow_write: bool,
    /// Kinds of statements that may change rows of `tables`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<ChangeKind>,
    /// Tables whose rows these statements may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<String>,
    /// Functions that read statements may call although they cannot be proved harmless.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_functions: Vec<String>,
    /// Whether plain-text secrets are allowed.
    pub allow_plaintext: bool,
    /// `***` if the DSN is a secret.
    pub dsn: Option<&'static str>,
    /// `***` if a password is set.
    pub password: Option<&'static str>,
    /// Host of the SSH tunnel.
    pub ssh_host: Option<String>,
    /// Port of that host.
    pub ssh_port: Option<u16>,
    /// User on SSH host.
    pub ssh_user: Option<String>,
}

/// Placeholder for a secret.
const REDACTED: &str = "***";

impl Profiles {
    /// Creates the profiles from the settings. No database is opened and no secret is read.
    pub fn new(
        settings: &BTreeMap<ProfileName, config::Profile>,
        unlock: &PassphraseSource,
    ) -> Result<Self, ProfileError> {
        let profile = |(name, settings): (&ProfileName, &config::Profile)| {
            let profile = Profile::new(name.as_str(), settings, unlock)?;
            Ok((name.as_str().to_owned(), Arc::new(profile)))
        };
        Ok(Self { by_name: settings.iter().map(profile).collect::<Result<_, _>>()? })
    }

    /// Returns the names of the profiles that `principal` may use, in order.
    pub fn visible_names(&self, principal: &Principal) -> Vec<&str> {
        self.visible_profiles(principal).map(|profile| profile.name()).collect()
    }

    /// Returns the profiles that `principal` may use, ordered by name.
    pub fn visible_profiles(&self, principal: &Principal) -> impl Iterator<Item = &Arc<Profile>> {
        self.by_name.values().filter(|profile| profile.is_visible_to(principal))
    }

    /// Returns the profile of calls that name none: the only one that `principal` may use, or the
    /// only one of these with `default = true`.
    pub fn default_profile(&self, principal: &Principal) -> Result<Arc<Profile>, SqlError> {
        let all: Vec<_> = self.visible_profiles(principal).collect();
        if let [only] = all.as_slice() {
            return Ok(Arc::clone(only));
        }
        if let Some(marked) = self.marked_default(principal)? {
            return Ok(marked);
        }
        if all.is_empty() {
            let message = "no profile is available to you on this server; add [profiles.<name>] to \
                           its settings";
            return Err(
                SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_reason("profile_not_found")
            );
        }
        let names = self.visible_names(principal).join(", ");
        let message = format!("profile is required; available profiles: {names}");
        Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_reason("profile_required"))
    }

    /// Returns the profile with `default = true` that `principal` may use, if there is one. Fails if
    /// there are several.
    pub fn marked_default(&self, principal: &Principal) -> Result<Option<Arc<Profile>>, SqlError> {
        let all = self.visible_profiles(principal);
        let marked: Vec<_> = all.filter(|profile| profile.settings.default).collect();
        match marked.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(Arc::clone(only))),
            several => {
                let names: Vec<&str> = several.iter().map(|profile| profile.name()).collect();
                let message = format!(
                    "profile is required, because several are the default; name one of {}",
                    names.join(", ")
                );
                Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message)
                    .with_reason("profile_required"))
            }
        }
    }

    /// Returns the named profile, without a check of rights.
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.by_name.get(name)
    }

    /// Returns the names of all profiles, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Returns the named profile if `principal` may use it. A forbidden profile gives the same
    /// error as a missing one.
    pub fn find_profile(
        &self,
        principal: &Principal,
        name: &str,
    ) -> Result<Arc<Profile>, SqlError> {
        if let Some(profile) = self.by_name.get(name).filter(|it| it.is_visible_to(principal)) {
            return Ok(Arc::clone(profile));
        }
        let known = match self.visible_names(principal).as_slice() {
            [] => "no profile is available to you".to_owned(),
            names => format!("available profiles: {}", names.join(", ")),
        };
        let name: String = name.chars().take(100).collect();
        let message = format!("profile does not exist: `{name}`; {known}");
        Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_reason("profile_not_found"))
    }
}

impl Profile {
    fn new(
        name: &str,
        settings: &config::Profile,
        unlock: &PassphraseSource,
    ) -> Result<Self, ProfileError> {
        let users = settings.users.iter().map(|user| user.parse()).collect::<Result<_, _>>();
        let users = users.map_err(|source| ProfileError { profile: name.to_owned(), source })?;
        let tunnel = settings
            .ssh
            .as_ref()
            .map(|ssh| Tunnel::new(name, ssh, settings.connect_timeout(), unlock));
        Ok(Self {
            name: name.to_owned(),
            settings: settings.clone(),
            users,
            unlock: unlock.clone(),
            tunnel,
        })
    }

    /// Returns true if `principal` may use the profile. The local user may use all, because that
    /// user can read the settings anyway; others must be listed.
    pub fn is_visible_to(&self, principal: &Principal) -> bool {
        principal.access().permits_databases()
            && (principal.sees_everything() || self.users.contains(principal.user()))
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description, which helps callers to choose.
    pub fn description(&self) -> &str {
        &self.settings.description
    }

    /// Returns the database engine.
    pub fn engine(&self) -> Engine {
        self.settings.engine()
    }

    /// Returns the file of the database, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.settings.location {
            DatabaseLocation::File(path) => Some(path),
            DatabaseLocation::Server(_) | DatabaseLocation::Secret { .. } => None,
        }
    }

    /// Returns the limits of one statement.
    pub fn query_caps(&self) -> QueryCaps {
        QueryCaps {
            timeout: self.settings.timeout(),
            offset: 0,
            max_rows: self.settings.max_rows.get(),
            max_bytes: self.settings.max_bytes.get(),
        }
    }

    /// Returns the maximum number of pooled connections.
    pub fn max_connections(&self) -> usize {
        self.settings.pool.get()
    }

    /// Returns the timeout for establishing a connection.
    pub fn connect_timeout(&self) -> Duration {
        self.settings.connect_timeout()
    }

    /// Returns true if the database is reached through an SSH tunnel.
    pub fn has_tunnel(&self) -> bool {
        self.tunnel.is_some()
    }

    /// Returns true if the profile permits statements that write.
    pub fn may_write(&self) -> bool {
        self.settings.unsafe_allow_write || !self.settings.allow.is_empty()
    }

    /// Checks that the text is one statement that writes, and that the profile permits it.
    pub fn check_write(&self, text: &str) -> Result<WriteStatement, SqlError> {
        let settings = &self.settings;
        if settings.allow.is_empty() {
            return guard::check_write(self.engine(), text);
        }
        let limits = ChangeLimits {
            kinds: &settings.allow,
            tables: &settings.tables,
            functions: &settings.allow_functions,
        };
        guard::check_change(self.engine(), text, limits)
    }

    /// Returns whether a statement runs as one that may write: all of a profile that permits all, and
    /// the changes of one that permits these.
    pub fn runs_as_write(&self, text: &str) -> bool {
        self.settings.unsafe_allow_write
            || (!self.settings.allow.is_empty() && guard::is_change(self.engine(), text))
    }

    /// Returns the columns of a table that may be read by key; empty if the table is not
    /// configured.
    pub fn readable_columns(&self, table: &str) -> &[String] {
        self.settings.columns.get(table).map_or(&[], Vec::as_slice)
    }

    /// Returns the entry for lists. `may_write` says whether the server lets the caller write.
    pub fn to_listed(&self, may_write: bool) -> ListedProfile {
        ListedProfile {
            name: self.name.clone(),
            description: self.settings.description.clone(),
            db: self.settings.engine(),
            mode: self.mode(may_write),
            default: self.settings.default,
        }
    }

    /// Returns `read-write` if the profile permits write statements and so does the server, else
    /// `read-only`.
    pub fn mode(&self, may_write: bool) -> &'static str {
        if may_write && self.may_write() { "read-write" } else { "read-only" }
    }

    /// Returns the details without secrets.
    pub fn to_shown(&self) -> ShownProfile {
        let settings = &self.settings;
        let mut shown = ShownProfile {
            name: self.name.clone(),
            description: settings.description.clone(),
            db: settings.engine(),
            mode: None,
            host: None,
            port: None,
            user: None,
            database: None,
            unsafe_allow_write: settings.unsafe_allow_write,
            allow: settings.allow.clone(),
            tables: settings.tables.clone(),
            allow_functions: settings.allow_functions.clone(),
            allow_plaintext: settings.allow_plaintext,
            dsn: None,
            password: None,
            ssh_host: settings.ssh.as_ref().map(|ssh| ssh.host.clone()),
            ssh_port: settings.ssh.as_ref().map(|ssh| ssh.port),
            ssh_user: settings.ssh.as_ref().map(|ssh| ssh.user.clone()),
        };
        match &settings.location {
            DatabaseLocation::File(path) => {
                shown.database = path.file_name().map(|name| name.to_string_lossy().into_owned());
            }
            DatabaseLocation::Server(server) => {
                shown.host = Some(server.host.clone());
                shown.port = Some(server.port);
                shown.user = Some(server.user.clone());
                shown.database = Some(server.database.clone());
                shown.password = server.password.as_ref().map(|_| REDACTED);
            }
            DatabaseLocation::Secret { .. } => shown.dsn = Some(REDACTED),
        }
        shown
    }

    /// Resolves the connection target: reads the secrets and opens the tunnel, if any. A target
    /// stays valid for the lifetime of the profile.
    pub async fn resolve_target(self: &Arc<Self>) -> Result<ConnectionTarget, SqlError> {
        let profile = Arc::clone(self);
        // Reading a secret may block: slow keyring or expensive decryption.
        let read = tokio::task::spawn_blocking(move || profile.resolve_secrets()).await;
        let (mut target, far) = read.map_err(|error| {
            SqlError::new(ErrorCode::XsqlInternal, "reading a secret was aborted")
                .with_detail(&error)
        })??;
        if let (Some(tunnel), Some((host, port))) = (&self.tunnel, far) {
            let near = tunnel.open_tunnel(&host, port).await?;
            if let ConnectionTarget::Postgres(server) | ConnectionTarget::MySql(server) =
                &mut target
            {
                server.tunnel_address = Some((near.ip(), near.port()));
            }
        }
        Ok(target)
    }

    /// Reopens the tunnel if it failed. Call before each use of a target; cheap while the tunnel is
    /// open.
    pub async fn ensure_tunnel(&self) -> Result<(), SqlError> {
        match &self.tunnel {
            Some(tunnel) => Ok(tunnel.ensure_session().await?),
            None => Ok(()),
        }
    }

    /// Returns the target without its tunnel, and the destination of the tunnel.
    fn resolve_secrets(&self) -> Result<(ConnectionTarget, Option<(String, u16)>), SqlError> {
        let section = format!("profiles.{}", self.name);
        let place = self.settings.location.resolve_secret(&section, "dsn", &self.unlock);
        let server = match place.map_err(|error| self.place_error(&error))? {
            DatabaseLocation::File(path) => return Ok((ConnectionTarget::Sqlite(path), None)),
            DatabaseLocation::Server(server) => server,
            DatabaseLocation::Secret { .. } => {
                let message = "the dsn secret of a profile refers to another secret";
                return Err(SqlError::new(ErrorCode::XsqlInternal, message));
            }
        };
        let far = (server.host.clone(), server.port);
        let server = self.with_password(server)?;
        let target = match self.engine() {
            Engine::Postgres => ConnectionTarget::Postgres(server),
            Engine::MySql => ConnectionTarget::MySql(server),
            Engine::Sqlite => {
                let message = "a SQLite profile names a server";
                return Err(SqlError::new(ErrorCode::XsqlInternal, message));
            }
        };
        Ok((target, Some(far)))
    }

    fn with_password(&self, server: DatabaseServer) -> Result<ServerTarget, SqlError> {
        let setting = format!("profiles.{}.password", self.name);
        let target = ServerTarget::resolve(server, &setting, &self.unlock)
            .map_err(|error| secret_error(&setting, &error))?;
        let config::Profile { allow_functions, trust, .. } = &self.settings;
        Ok(ServerTarget {
            allow_functions: allow_functions.clone(),
            trust: trust.clone(),
            ..target
        })
    }

    fn place_error(&self, error: &DatabaseLocationError) -> SqlError {
        match error {
            DatabaseLocationError::Secret(error) => {
                secret_error(&format!("profiles.{}.dsn", self.name), error)
            }
            DatabaseLocationError::Invalid { .. } => {
                SqlError::new(ErrorCode::XsqlCfgInvalid, error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::{auth::local_principal, config::Settings};

    fn parse_profiles(text: &str) -> Profiles {
        let settings = Settings::parse(text).unwrap();
        Profiles::new(&settings.profiles, &settings.secrets.passphrase_source()).unwrap()
    }

    fn local_owner() -> Principal {
        local_principal("local".parse().unwrap())
    }

    #[test]
    fn unknown_profile_error_lists_known_profiles() {
        let dsn = "dsn = \"postgres://ada@db/shop\"";
        let profiles = parse_profiles(&format!("[profiles.shop]\n{dsn}\n[profiles.attic]\n{dsn}"));
        assert_eq!(profiles.visible_names(&local_owner()), ["attic", "shop"]);
        let error = profiles.find_profile(&local_owner(), "cellar").unwrap_err();
        assert_eq!(error.reason, Some("profile_not_found"));
        assert!(error.message.contains("`cellar`") && error.message.contains("attic, shop"));
    }

    #[test]
    fn shown_profile_has_no_secret_or_path() {
        let profiles = parse_profiles(
            "[profiles.shop]\ndsn = \"postgres://ada:s3cret@db/shop\"\nallow_plaintext = true\n\
             [profiles.shop.ssh]\nhost = \"bastion\"\nuser = \"tunnel\"\n\
             identity_file = \"/keys/s3cret\"\npassphrase = \"s3cret\"\n\
             [profiles.hidden]\nengine = \"mysql\"\ndsn = \"env:S3CRET\"\n",
        );
        let shop = profiles.find_profile(&local_owner(), "shop").unwrap();
        let shown = serde_json::to_value(shop.to_shown()).unwrap();
        assert_eq!(shown["host"], "db");
        assert_eq!((&shown["password"], shown.get("dsn")), (&"***".into(), None));
        assert_eq!((&shown["ssh_host"], &shown["ssh_port"]), (&"bastion".into(), &22.into()));
        let hidden = profiles.find_profile(&local_owner(), "hidden").unwrap();
        assert_eq!(serde_json::to_value(hidden.to_shown()).unwrap()["dsn"], "***");
        let output = format!("{shown} {:?} {hidden:?}", shop.to_shown());
        assert!(!output.contains("s3cret"), "{output}");
        assert!(!format!("{shop:?}").replace("/keys/s3cret", "").contains("s3cret"));
    }

    #[test]
    fn profile_rejects_invalid_user_name() {
        let text = "[profiles.shop]\ndsn = \"postgres://a@b/c\"\nusers = [\"a/b\"]";
        let settings = Settings::parse(text).unwrap();
        let error = Profiles::new(&settings.profiles, &PassphraseSource::Unset).unwrap_err();
        assert!(error.to_string().contains("profiles.shop.users"), "{error}");
    }

    #[actix::test]
    async fn missing_secret_location_is_only_logged() {
        let profiles = parse_profiles(
            "[profiles.shop]\ndsn = \"postgres://ada@db/shop\"\npassword = \"env:SURELY_NOT_SET\"",
        );
        let shop = profiles.find_profile(&local_owner(), "shop").unwrap();
        let error = shop.resolve_target().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlSecretNotFound);
        assert!(error.message.contains("profiles.shop.password"), "{error:?}");
        assert!(!error.message.contains("SURELY_NOT_SET"), "{error:?}");
        assert!(error.detail.unwrap().contains("SURELY_NOT_SET"));
    }
}
