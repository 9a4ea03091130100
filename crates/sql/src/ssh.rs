//! Logging in to an SSH server: only to one that is known, only with a key.
//!
//! What goes wrong is said twice: in general to callers, and with hosts, files and
//! fingerprints to the log and to commands on this machine.

use std::{borrow::Cow, sync::Arc, time::Duration};

use russh::{
    Preferred,
    client::{self, AuthResult, Handle, Handler},
    keys::{
        Algorithm, PrivateKey, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate,
        decode_secret_key,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::TcpStream;

use super::{
    ErrorCode, SqlError,
    known_hosts::{KnownHost, Verdict, fingerprint},
    profile::missing_secret,
};
use vademecum_core::config::{self, Secret, Unlock};

/// How often a server that says nothing is asked whether it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How often it may give no answer.
const PATIENCE: usize = 3;

/// A session on an SSH server.
pub(super) type Session = Handle<Door>;

/// An SSH server, as a profile names it.
#[derive(Debug)]
pub(super) struct Bastion {
    profile: String,
    ssh: config::Ssh,
    unlock: Unlock,
    known: KnownHost,
}

/// Why there is no session.
#[derive(Debug)]
pub(super) enum Refusal {
    /// We do not go in, or are not let in.
    Said(SqlError),
    /// Something is wrong with the connection.
    Broken(russh::Error),
}

/// Looks whether a server is the one that is known.
#[derive(Debug)]
pub(super) struct Door {
    profile: String,
    known: KnownHost,
}

impl From<russh::Error> for Refusal {
    fn from(error: russh::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Self {
        Self::Said(error)
    }
}

impl Bastion {
    pub(super) fn new(profile: &str, ssh: &config::Ssh, unlock: &Unlock) -> Self {
        Self {
            profile: profile.to_owned(),
            known: KnownHost::new(&ssh.host, ssh.port, &ssh.known_hosts_file),
            ssh: ssh.clone(),
            unlock: unlock.clone(),
        }
    }

    /// Connects and logs in, within that time.
    pub(super) async fn session(&self, timeout: Duration) -> Result<Session, SqlError> {
        match tokio::time::timeout(timeout, self.log_in()).await {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(Refusal::Said(error))) => Err(error),
            Ok(Err(Refusal::Broken(error))) => Err(self.not_reached(&error)),
            Err(_) => Err(self.not_reached(&format!("no answer in {} s", timeout.as_secs_f32()))),
        }
    }

    async fn log_in(&self) -> Result<Session, Refusal> {
        let (host, port) = (self.ssh.host.as_str(), self.ssh.port);
        let stream = TcpStream::connect((host, port)).await.map_err(|it| self.not_reached(&it))?;
        stream.set_nodelay(true).map_err(russh::Error::from)?;
        let config = client::Config {
            preferred: self.preferred()?,
            keepalive_interval: Some(KEEP_ALIVE),
            keepalive_max: PATIENCE,
            ..client::Config::default()
        };
        let door = Door { profile: self.profile.clone(), known: self.known.clone() };
        let mut session = client::connect_stream(Arc::new(config), stream, door).await?;
        let is_in = match &self.ssh.identity_file {
            Some(file) => self.show_key(&mut session, Secret::File(file.clone())).await?,
            None => self.show_agent(&mut session).await?,
        };
        if is_in { Ok(session) } else { Err(self.not_let_in(&"the key is not accepted").into()) }
    }

    /// What is asked for: first of all, the kind of key that the server is known by.
    fn preferred(&self) -> Result<Preferred, SqlError> {
        let known =
            self.known.kinds().map_err(|error| unreadable(&self.profile, &self.known, &error))?;
        let mut key = Preferred::DEFAULT.key.into_owned();
        key.sort_by_key(|kind| !known.iter().any(|known| is_same_kind(known, kind)));
        Ok(Preferred { key: Cow::Owned(key), ..Preferred::DEFAULT })
    }

    async fn show_key(&self, session: &mut Session, file: Secret) -> Result<bool, Refusal> {
        let key = Arc::new(self.private_key(file).await?);
        let hash = if key.algorithm().is_rsa() {
            session.best_supported_rsa_hash().await?.flatten()
        } else {
            None
        };
        let key = PrivateKeyWithHashAlg::new(key, hash);
        Ok(session.authenticate_publickey(&self.ssh.user, key).await?.success())
    }

    /// Reads the private key. What opens it takes its time on purpose.
    async fn private_key(&self, file: Secret) -> Result<PrivateKey, SqlError> {
        let setting = |key: &str| format!("profiles.{}.ssh.{key}", self.profile);
        let (identity, words) = (setting("identity_file"), setting("passphrase"));
        let (passphrase, unlock) = (self.ssh.passphrase.clone(), self.unlock.clone());
        let read = tokio::task::spawn_blocking(move || {
            let text =
                file.read(&identity, &unlock).map_err(|it| missing_secret(&identity, &it))?;
            let passphrase = passphrase.map(|it| it.read(&words, &unlock)).transpose();
            let passphrase = passphrase.map_err(|it| missing_secret(&words, &it))?;
            let passphrase = passphrase.as_ref().map(SecretString::expose_secret);
            Ok(decode_secret_key(text.expose_secret(), passphrase).map_err(|it| it.to_string()))
        });
        let key = read.await.map_err(|error| self.not_let_in(&error))??;
        key.map_err(|problem| {
            self.not_let_in(&format!(
                "the private key of `{}` cannot be opened ({problem}); set `{}` if it has a \
                 passphrase, and to the right one",
                setting("identity_file"),
                setting("passphrase"),
            ))
        })
    }

    /// Shows the keys of the agent, one after the other.
    #[cfg(unix)]
    async fn show_agent(&self, session: &mut Session) -> Result<bool, Refusal> {
        use russh::keys::agent::{AgentIdentity, client::AgentClient};

        let missing = "there is no SSH agent (SSH_AUTH_SOCK is not set); set `ssh.identity_file`";
        let socket = config::ssh_agent().ok_or_else(|| self.not_let_in(&missing))?;
        let agent = AgentClient::connect_uds(socket).await;
        let mut agent = agent.map_err(|error| self.not_let_in(&error))?;
        let keys = agent.request_identities().await.map_err(|error| self.not_let_in(&error))?;
        for key in keys {
            let AgentIdentity::PublicKey { key, .. } = key else { continue };
            let hash = if key.algorithm().is_rsa() {
                session.best_supported_rsa_hash().await?.flatten()
            } else {
                None
            };
            let user = &self.ssh.user;
            let shown = session.authenticate_publickey_with(user, key, hash, &mut agent).await;
            if matches!(shown, Ok(AuthResult::Success)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[cfg(not(unix))]
    async fn show_agent(&self, _: &mut Session) -> Result<bool, Refusal> {
        let problem = "agents are asked on Unix only; set `ssh.identity_file`";
        Err(self.not_let_in(&problem).into())
    }

    fn not_reached(&self, problem: &impl ToString) -> SqlError {
        let message = general(&self.profile, "cannot be reached");
        let detail = format!("{}: {}", self.known.name(), problem.to_string());
        SqlError::new(ErrorCode::XsqlSshDialFailed, message).with_detail(&detail)
    }

    fn not_let_in(&self, problem: &impl ToString) -> SqlError {
        let message = general(&self.profile, "does not let this server in");
        let detail = format!("{}@{}: {}", self.ssh.user, self.known.name(), problem.to_string());
        SqlError::new(ErrorCode::XsqlSshAuthFailed, message).with_detail(&detail)
    }
}

impl Handler for Door {
    type Error = Refusal;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Refusal> {
        match shown {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                self.admit(key)?;
                Ok(true)
            }
            // Certificates are not asked for.
            PublicKeyOrCertificate::Certificate(_) => Ok(false),
        }
    }
}

impl Door {
    /// Goes in only to the server that is known.
    fn admit(&self, key: &PublicKey) -> Result<(), SqlError> {
        let verdict = self.known.judge(key);
        let verdict = verdict.map_err(|error| unreadable(&self.profile, &self.known, &error))?;
        let (name, file) = (self.known.name(), self.known.file().display());
        let shown = fingerprint(key);
        let (problem, detail) = match verdict {
            Verdict::Known => return Ok(()),
            Verdict::Unknown { line } => (
                "is not known",
                format!(
                    "{name} shows the key {shown}; if whoever runs it says that this is its key, \
                     add to {file} the line: {line}"
                ),
            ),
            Verdict::Changed { line, known } => (
                "is another than it was: somebody may be in between",
                format!(
                    "{name} is known by {known} (line {line} of {file}) and shows {shown}; only if \
                     whoever runs it says that it has a new key, remove line {line} and add the \
                     new key"
                ),
            ),
            Verdict::Revoked { line } => (
                "shows a key that must not be trusted",
                format!("{name} shows {shown}, which line {line} of {file} revokes"),
            ),
        };
        let message = general(&self.profile, problem);
        Err(SqlError::new(ErrorCode::XsqlSshHostkeyMismatch, message).with_detail(&detail))
    }
}

/// What callers are told.
fn general(profile: &str, problem: &str) -> String {
    format!(
        "the SSH server of the profile `{profile}` {problem}; `vademecum profile doctor {profile}` \
         says more, on the machine of this server"
    )
}

fn unreadable(profile: &str, known: &KnownHost, error: &russh::keys::Error) -> SqlError {
    let message = general(profile, "cannot be looked up in the list of known hosts");
    let detail = format!("{}: {error}", known.file().display());
    SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_detail(&detail)
}

/// Whether two keys are of one kind. How an RSA key signs is no matter of the key.
fn is_same_kind(one: &Algorithm, other: &Algorithm) -> bool {
    matches!((one, other), (Algorithm::Rsa { .. }, Algorithm::Rsa { .. })) || one == other
}
