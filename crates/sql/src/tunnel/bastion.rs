//! SSH login: only to a known host, only with a key.
//!
//! Errors have two texts: a general message for callers; hosts, files and fingerprints for the log
//! and for commands on this machine.

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

use super::known_hosts::{HostKeyVerdict, KnownHost, key_fingerprint};
use crate::{ErrorCode, SqlError, profile::secret_error};
use vademecum_core::config::{self, PassphraseSource, SecretRef};

/// Interval of keep-alive messages on an idle connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Number of unanswered keep-alive messages after which the connection is closed.
const MAX_MISSED_KEEPALIVES: usize = 3;

/// Session on an SSH server.
pub(super) type SshSession = Handle<HostKeyVerifier>;

/// SSH server of a profile.
#[derive(Debug)]
pub(super) struct Bastion {
    profile: String,
    ssh: config::Ssh,
    unlock: PassphraseSource,
    known_host: KnownHost,
}

/// Error during login.
#[derive(Debug)]
pub(super) enum LoginError {
    /// Login rejected by either side, with its final error.
    Rejected(SqlError),
    /// Failure of the connection.
    Transport(russh::Error),
}

/// Verifies the host key of a server.
#[derive(Debug)]
pub(super) struct HostKeyVerifier {
    profile: String,
    known_host: KnownHost,
}

impl From<russh::Error> for LoginError {
    fn from(error: russh::Error) -> Self {
        Self::Transport(error)
    }
}

impl From<SqlError> for LoginError {
    fn from(error: SqlError) -> Self {
        Self::Rejected(error)
    }
}

impl Bastion {
    pub(super) fn new(profile: &str, ssh: &config::Ssh, unlock: &PassphraseSource) -> Self {
        Self {
            profile: profile.to_owned(),
            known_host: KnownHost::new(&ssh.host, ssh.port, &ssh.known_hosts_file),
            ssh: ssh.clone(),
            unlock: unlock.clone(),
        }
    }

    /// Connects and logs in within `timeout`.
    pub(super) async fn open_session(&self, timeout: Duration) -> Result<SshSession, SqlError> {
        match tokio::time::timeout(timeout, self.log_in()).await {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(LoginError::Rejected(error))) => Err(error),
            Ok(Err(LoginError::Transport(error))) => Err(self.unreachable_error(&error)),
            Err(_) => {
                Err(self.unreachable_error(&format!("no answer in {} s", timeout.as_secs_f32())))
            }
        }
    }

    async fn log_in(&self) -> Result<SshSession, LoginError> {
        let (host, port) = (self.ssh.host.as_str(), self.ssh.port);
        let stream =
            TcpStream::connect((host, port)).await.map_err(|it| self.unreachable_error(&it))?;
        stream.set_nodelay(true).map_err(russh::Error::from)?;
        let config = client::Config {
            preferred: self.preferred_algorithms()?,
            keepalive_interval: Some(KEEPALIVE_INTERVAL),
            keepalive_max: MAX_MISSED_KEEPALIVES,
            ..client::Config::default()
        };
        let server_state =
            HostKeyVerifier { profile: self.profile.clone(), known_host: self.known_host.clone() };
        let mut session = client::connect_stream(Arc::new(config), stream, server_state).await?;
        let is_in = match &self.ssh.identity_file {
            Some(file) => {
                self.authenticate_with_key(&mut session, SecretRef::File(file.clone())).await?
            }
            None => self.authenticate_with_agent(&mut session).await?,
        };
        if is_in { Ok(session) } else { Err(self.login_error(&"the key is not accepted").into()) }
    }

    /// Returns the algorithm preferences, with the key types known for this host first.
    fn preferred_algorithms(&self) -> Result<Preferred, SqlError> {
        let known = self
            .known_host
            .known_algorithms()
            .map_err(|error| known_hosts_error(&self.profile, &self.known_host, &error))?;
        let mut key = Preferred::DEFAULT.key.into_owned();
        key.sort_by_key(|kind| !known.iter().any(|known| is_same_key_type(known, kind)));
        Ok(Preferred { key: Cow::Owned(key), ..Preferred::DEFAULT })
    }

    async fn authenticate_with_key(
        &self,
        session: &mut SshSession,
        file: SecretRef,
    ) -> Result<bool, LoginError> {
        let key = Arc::new(self.load_private_key(file).await?);
        let hash = if key.algorithm().is_rsa() {
            session.best_supported_rsa_hash().await?.flatten()
        } else {
            None
        };
        let key = PrivateKeyWithHashAlg::new(key, hash);
        Ok(session.authenticate_publickey(&self.ssh.user, key).await?.success())
    }

    /// Loads the private key on a blocking thread, because decrypting it is slow by design.
    async fn load_private_key(&self, file: SecretRef) -> Result<PrivateKey, SqlError> {
        let setting = |key: &str| format!("profiles.{}.ssh.{key}", self.profile);
        let (identity, words) = (setting("identity_file"), setting("passphrase"));
        let (passphrase, unlock) = (self.ssh.passphrase.clone(), self.unlock.clone());
        let read = tokio::task::spawn_blocking(move || {
            let text =
                file.read_secret(&identity, &unlock).map_err(|it| secret_error(&identity, &it))?;
            let passphrase = passphrase.map(|it| it.read_secret(&words, &unlock)).transpose();
            let passphrase = passphrase.map_err(|it| secret_error(&words, &it))?;
            let passphrase = passphrase.as_ref().map(SecretString::expose_secret);
            Ok(decode_secret_key(text.expose_secret(), passphrase).map_err(|it| it.to_string()))
        });
        let key = read.await.map_err(|error| self.login_error(&error))??;
        key.map_err(|problem| {
            self.login_error(&format!(
                "the private key of `{}` cannot be opened ({problem}); set `{}` if it has a \
                 passphrase, and check its value",
                setting("identity_file"),
                setting("passphrase"),
            ))
        })
    }

    /// Tries the keys of the agent one after the other.
    #[cfg(unix)]
    async fn authenticate_with_agent(&self, session: &mut SshSession) -> Result<bool, LoginError> {
        use russh::keys::agent::{AgentIdentity, client::AgentClient};

        let missing = "there is no SSH agent (SSH_AUTH_SOCK is not set); set `ssh.identity_file`";
        let socket = config::ssh_agent_socket().ok_or_else(|| self.login_error(&missing))?;
        let agent = AgentClient::connect_uds(socket).await;
        let mut agent = agent.map_err(|error| self.login_error(&error))?;
        let keys = agent.request_identities().await.map_err(|error| self.login_error(&error))?;
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
    async fn authenticate_with_agent(&self, _: &mut SshSession) -> Result<bool, LoginError> {
        let problem = "SSH agents are supported on Unix only; set `ssh.identity_file`";
        Err(self.not_let_in(&problem).into())
    }

    fn unreachable_error(&self, problem: &impl ToString) -> SqlError {
        let message = public_message(&self.profile, "cannot be reached");
        let detail = format!("{}: {}", self.known_host.entry_name(), problem.to_string());
        SqlError::new(ErrorCode::XsqlSshDialFailed, message).with_detail(&detail)
    }

    fn login_error(&self, problem: &impl ToString) -> SqlError {
        let message = public_message(&self.profile, "rejected the login");
        let detail =
            format!("{}@{}: {}", self.ssh.user, self.known_host.entry_name(), problem.to_string());
        SqlError::new(ErrorCode::XsqlSshAuthFailed, message).with_detail(&detail)
    }
}

impl Handler for HostKeyVerifier {
    type Error = LoginError;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, LoginError> {
        match shown {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                self.verify_host_key(key)?;
                Ok(true)
            }
            // Certificates are not requested.
            PublicKeyOrCertificate::Certificate(_) => Ok(false),
        }
    }
}

impl HostKeyVerifier {
    /// Accepts the host key only if it is the known one.
    fn verify_host_key(&self, key: &PublicKey) -> Result<(), SqlError> {
        let verdict = self.known_host.check_key(key);
        let verdict =
            verdict.map_err(|error| known_hosts_error(&self.profile, &self.known_host, &error))?;
        let (name, file) = (self.known_host.entry_name(), self.known_host.file().display());
        let shown = key_fingerprint(key);
        let (problem, detail) = match verdict {
            HostKeyVerdict::Known => return Ok(()),
            HostKeyVerdict::Unknown { line } => (
                "is not a known host",
                format!(
                    "{name} presented the key {shown}; if its operator confirms this key, \
                     add this line to {file}: {line}"
                ),
            ),
            HostKeyVerdict::Changed { line, known } => (
                "has a different host key than before: this may be an attack",
                format!(
                    "{name} is known by {known} (line {line} of {file}) and presented {shown}; only if \
                     its operator confirms the new key, remove line {line} and add the \
                     new key"
                ),
            ),
            HostKeyVerdict::Revoked { line } => (
                "presented a revoked key",
                format!("{name} presented {shown}, which line {line} of {file} revokes"),
            ),
        };
        let message = public_message(&self.profile, problem);
        Err(SqlError::new(ErrorCode::XsqlSshHostkeyMismatch, message).with_detail(&detail))
    }
}

/// Returns the general message for callers.
fn public_message(profile: &str, problem: &str) -> String {
    format!(
        "the SSH server of the profile `{profile}` {problem}; `vademecum profile doctor {profile}` \
         shows details, on the machine of this server"
    )
}

fn known_hosts_error(profile: &str, known: &KnownHost, error: &russh::keys::Error) -> SqlError {
    let message = public_message(profile, "cannot be checked: the known hosts file is unreadable");
    let detail = format!("{}: {error}", known.file().display());
    SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_detail(&detail)
}

/// Returns true if two keys have the same type; the hash of an RSA signature is not part of the key
/// type.
fn is_same_key_type(one: &Algorithm, other: &Algorithm) -> bool {
    matches!((one, other), (Algorithm::Rsa { .. }, Algorithm::Rsa { .. })) || one == other
}
