//! The databases of the settings: who may use which, and how each is reached.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Caps, Engine, ErrorCode, Server, SqlError, Target, tunnel::Tunnel};
use vademecum_core::{
    auth::{Principal, UserId, UserIdError},
    config::{self, DatabaseServer, Place, PlaceError, ProfileName, SecretError, Unlock},
};

/// The profiles of a server.
#[derive(Debug, Default)]
pub struct Profiles {
    by_name: BTreeMap<String, Arc<Profile>>,
}

/// A database, and how it is reached.
#[derive(Debug)]
pub struct Profile {
    name: String,
    settings: config::Profile,
    users: BTreeSet<UserId>,
    unlock: Unlock,
    tunnel: Option<Tunnel>,
}

/// Why the profiles of the settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`profiles.{profile}.users` names somebody who cannot be a user")]
pub struct ProfileError {
    profile: String,
    source: UserIdError,
}

/// A profile as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it is, for those who choose.
    pub description: String,
    /// Which kind of database.
    pub db: Engine,
    /// `read-only` or `read-write`.
    pub mode: &'static str,
}

/// What may be told of a profile to whoever may use it: no secret, and no path
/// of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// What it is, for those who choose.
    pub description: String,
    /// Which kind of database.
    pub db: Engine,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The port it listens at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Who connects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The database; of a file, its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Whether statements that write are let through.
    pub unsafe_allow_write: bool,
    /// Whether secrets may stand in the settings.
    pub allow_plaintext: bool,
    /// Three stars, if a secret says where the database is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsn: Option<&'static str>,
    /// Three stars, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<&'static str>,
    /// The SSH server that the way leads through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_host: Option<String>,
    /// The port it listens at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_port: Option<u16>,
    /// Who logs in there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_user: Option<String>,
}

/// What stands where a secret is.
const HIDDEN: &str = "***";

impl Profiles {
    /// The profiles of the settings. Nothing is opened, no secret is read.
    pub fn new(
        settings: &BTreeMap<ProfileName, config::Profile>,
        unlock: &Unlock,
    ) -> Result<Self, ProfileError> {
        let profile = |(name, settings): (&ProfileName, &config::Profile)| {
            let profile = Profile::new(name.as_str(), settings, unlock)?;
            Ok((name.as_str().to_owned(), Arc::new(profile)))
        };
        Ok(Self { by_name: settings.iter().map(profile).collect::<Result<_, _>>()? })
    }

    /// The names of those that somebody may use, in order.
    pub fn names_for(&self, principal: &Principal) -> Vec<&str> {
        self.for_principal(principal).map(|profile| profile.name()).collect()
    }

    /// Those that somebody may use, in the order of their names.
    pub fn for_principal(&self, principal: &Principal) -> impl Iterator<Item = &Arc<Profile>> {
        self.by_name.values().filter(|profile| profile.is_for(principal))
    }

    /// The profile of that name, if there is one for this caller. One that is not
    /// for them is as if it was not there.
    pub fn get(&self, principal: &Principal, name: &str) -> Result<Arc<Profile>, SqlError> {
        if let Some(profile) = self.by_name.get(name).filter(|it| it.is_for(principal)) {
            return Ok(Arc::clone(profile));
        }
        let known = match self.names_for(principal).as_slice() {
            [] => "there is none for you".to_owned(),
            names => format!("there are: {}", names.join(", ")),
        };
        let name: String = name.chars().take(100).collect();
        let message = format!("profile does not exist: `{name}`; {known}");
        Err(SqlError::new(ErrorCode::XsqlCfgInvalid, message).because("profile_not_found"))
    }
}

impl Profile {
    fn new(name: &str, settings: &config::Profile, unlock: &Unlock) -> Result<Self, ProfileError> {
        let users = settings.users.iter().map(|user| user.parse()).collect::<Result<_, _>>();
        let users = users.map_err(|source| ProfileError { profile: name.to_owned(), source })?;
        let tunnel = settings
            .ssh
            .as_ref()
            .map(|ssh| Tunnel::new(name, ssh, settings.connect_timeout, unlock));
        Ok(Self {
            name: name.to_owned(),
            settings: settings.clone(),
            users,
            unlock: unlock.clone(),
            tunnel,
        })
    }

    /// Whether it may be used by somebody: whoever owns the machine can read its
    /// settings as well, all others must be named.
    fn is_for(&self, principal: &Principal) -> bool {
        principal.sees_everything() || self.users.contains(principal.user())
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, for those who choose.
    pub fn description(&self) -> &str {
        &self.settings.description
    }

    /// Which kind of database.
    pub fn engine(&self) -> Engine {
        self.settings.engine
    }

    /// How much a statement may take.
    pub fn caps(&self) -> Caps {
        Caps {
            timeout: self.settings.timeout,
            offset: 0,
            rows: self.settings.max_rows.get(),
            bytes: self.settings.max_bytes.get(),
        }
    }

    /// Connections that are kept, at most.
    pub fn pool(&self) -> usize {
        self.settings.pool.get()
    }

    /// How long connecting may take.
    pub fn connect_timeout(&self) -> Duration {
        self.settings.connect_timeout
    }

    /// Whether the way leads through an SSH server.
    pub fn has_tunnel(&self) -> bool {
        self.tunnel.is_some()
    }

    /// Whether statements that write are let through, as far as the profile says so.
    pub fn unsafe_allow_write(&self) -> bool {
        self.settings.unsafe_allow_write
    }

    /// The columns of a table that may be read by key. A table without an entry has
    /// none.
    pub fn columns(&self, table: &str) -> &[String] {
        self.settings.columns.get(table).map_or(&[], Vec::as_slice)
    }

    /// It as it is listed.
    pub fn listed(&self) -> Listed {
        Listed {
            name: self.name.clone(),
            description: self.settings.description.clone(),
            db: self.settings.engine,
            mode: if self.settings.unsafe_allow_write { "read-write" } else { "read-only" },
        }
    }

    /// What may be told of it.
    pub fn shown(&self) -> Shown {
        let settings = &self.settings;
        let mut shown = Shown {
            name: self.name.clone(),
            description: settings.description.clone(),
            db: settings.engine,
            host: None,
            port: None,
            user: None,
            database: None,
            unsafe_allow_write: settings.unsafe_allow_write,
            allow_plaintext: settings.allow_plaintext,
            dsn: None,
            password: None,
            ssh_host: settings.ssh.as_ref().map(|ssh| ssh.host.clone()),
            ssh_port: settings.ssh.as_ref().map(|ssh| ssh.port),
            ssh_user: settings.ssh.as_ref().map(|ssh| ssh.user.clone()),
        };
        match &settings.place {
            Place::File(path) => {
                shown.database = path.file_name().map(|name| name.to_string_lossy().into_owned());
            }
            Place::Server(server) => {
                shown.host = Some(server.host.clone());
                shown.port = Some(server.port);
                shown.user = Some(server.user.clone());
                shown.database = Some(server.database.clone());
                shown.password = server.password.as_ref().map(|_| HIDDEN);
            }
            Place::Secret { .. } => shown.dsn = Some(HIDDEN),
        }
        shown
    }

    /// Where the database is: secrets are read and the tunnel is opened, if there
    /// is one. A target stays good for as long as the profile does.
    pub async fn target(self: &Arc<Self>) -> Result<Target, SqlError> {
        let profile = Arc::clone(self);
        // A secret may be in a slow keyring, or sealed so that opening it takes a while.
        let read = tokio::task::spawn_blocking(move || profile.unlocked()).await;
        let (mut target, far) = read.map_err(|error| {
            SqlError::new(ErrorCode::XsqlInternal, "reading a secret was cut off")
                .with_detail(&error)
        })??;
        if let (Some(tunnel), Some((host, port))) = (&self.tunnel, far) {
            let near = tunnel.lead_to(&host, port).await?;
            if let Target::Postgres(server) | Target::MySql(server) = &mut target {
                server.through = Some((near.ip(), near.port()));
            }
        }
        Ok(target)
    }

    /// Sees to it that the way to the target is open: a tunnel that broke is opened
    /// again. To be called before each use of a target; costs nothing while it is open.
    pub async fn open_way(&self) -> Result<(), SqlError> {
        match &self.tunnel {
            Some(tunnel) => tunnel.open().await,
            None => Ok(()),
        }
    }

    /// The target without its tunnel, and what the tunnel is to lead to.
    fn unlocked(&self) -> Result<(Target, Option<(String, u16)>), SqlError> {
        let engine = self.settings.engine;
        let place = self.settings.place.revealed(&self.name, engine, &self.unlock);
        let server = match place.map_err(|error| self.misplaced(&error))? {
            Place::File(path) => return Ok((Target::Sqlite(path), None)),
            Place::Server(server) => server,
            Place::Secret { .. } => {
                let message = "the dsn of a profile is another secret";
                return Err(SqlError::new(ErrorCode::XsqlInternal, message));
            }
        };
        let far = (server.host.clone(), server.port);
        let server = self.with_password(server)?;
        let target = match engine {
            Engine::Postgres => Target::Postgres(server),
            Engine::MySql => Target::MySql(server),
            Engine::Sqlite => {
                let message = "a file of SQLite is on a server";
                return Err(SqlError::new(ErrorCode::XsqlInternal, message));
            }
        };
        Ok((target, Some(far)))
    }

    fn with_password(&self, server: DatabaseServer) -> Result<Server, SqlError> {
        let setting = format!("profiles.{}.password", self.name);
        let password = server.password.map(|secret| secret.read(&setting, &self.unlock));
        Ok(Server {
            host: server.host,
            through: None,
            port: server.port,
            user: server.user,
            password: password.transpose().map_err(|error| missing_secret(&setting, &error))?,
            database: server.database,
            tls: server.tls,
            authorities: server.ca_file,
        })
    }

    fn misplaced(&self, error: &PlaceError) -> SqlError {
        match error {
            PlaceError::Secret(error) => {
                missing_secret(&format!("profiles.{}.dsn", self.name), error)
            }
            PlaceError::Wrong { .. } => SqlError::new(ErrorCode::XsqlCfgInvalid, error.to_string()),
        }
    }
}

/// A secret that cannot be read. Where it is looked for is for the log alone.
pub(super) fn missing_secret(setting: &str, error: &SecretError) -> SqlError {
    let message = format!("the secret `{setting}` cannot be read on the server");
    let mut detail = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        detail = format!("{detail}: {cause}");
    }
    SqlError::new(ErrorCode::XsqlSecretNotFound, message).with_detail(&detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::{auth::desktop, config::Settings};

    fn profiles(text: &str) -> Profiles {
        let settings = Settings::parse(text).unwrap();
        Profiles::new(&settings.profiles, &settings.secrets.unlock()).unwrap()
    }

    fn owner() -> Principal {
        desktop("local".parse().unwrap())
    }

    #[test]
    fn a_profile_that_is_not_there_is_told_with_those_that_are() {
        let dsn = "dsn = \"postgres://ada@db/shop\"";
        let profiles = profiles(&format!("[profiles.shop]\n{dsn}\n[profiles.attic]\n{dsn}"));
        assert_eq!(profiles.names_for(&owner()), ["attic", "shop"]);
        let error = profiles.get(&owner(), "cellar").unwrap_err();
        assert_eq!(error.reason, Some("profile_not_found"));
        assert!(error.message.contains("`cellar`") && error.message.contains("attic, shop"));
    }

    #[test]
    fn what_is_shown_holds_no_secret_and_no_path() {
        let profiles = profiles(
            "[profiles.shop]\ndsn = \"postgres://ada:s3cret@db/shop\"\nallow_plaintext = true\n\
             [profiles.shop.ssh]\nhost = \"bastion\"\nuser = \"tunnel\"\n\
             identity_file = \"/keys/s3cret\"\npassphrase = \"s3cret\"\n\
             [profiles.hidden]\nengine = \"mysql\"\ndsn = \"env:S3CRET\"\n",
        );
        let shop = profiles.get(&owner(), "shop").unwrap();
        let shown = serde_json::to_value(shop.shown()).unwrap();
        assert_eq!(shown["host"], "db");
        assert_eq!((&shown["password"], shown.get("dsn")), (&"***".into(), None));
        assert_eq!((&shown["ssh_host"], &shown["ssh_port"]), (&"bastion".into(), &22.into()));
        let hidden = profiles.get(&owner(), "hidden").unwrap();
        assert_eq!(serde_json::to_value(hidden.shown()).unwrap()["dsn"], "***");
        let said = format!("{shown} {:?} {hidden:?}", shop.shown());
        assert!(!said.contains("s3cret"), "{said}");
        assert!(!format!("{shop:?}").replace("/keys/s3cret", "").contains("s3cret"));
    }

    #[test]
    fn who_is_no_user_cannot_be_named() {
        let text = "[profiles.shop]\ndsn = \"postgres://a@b/c\"\nusers = [\"a/b\"]";
        let settings = Settings::parse(text).unwrap();
        let error = Profiles::new(&settings.profiles, &Unlock::Nothing).unwrap_err();
        assert!(error.to_string().contains("profiles.shop.users"), "{error}");
    }

    #[actix::test]
    async fn a_secret_that_is_missing_is_named_and_where_it_was_is_for_the_log() {
        let profiles = profiles(
            "[profiles.shop]\ndsn = \"postgres://ada@db/shop\"\npassword = \"env:SURELY_NOT_SET\"",
        );
        let shop = profiles.get(&owner(), "shop").unwrap();
        let error = shop.target().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlSecretNotFound);
        assert!(error.message.contains("profiles.shop.password"), "{error:?}");
        assert!(!error.message.contains("SURELY_NOT_SET"), "{error:?}");
        assert!(error.detail.unwrap().contains("SURELY_NOT_SET"));
    }
}
