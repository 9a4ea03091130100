//! SSH login: only to a known host, only with a key.
//!
//! `ssh` decides; the messages by which it ends are explained here.
//!
//! Errors have two texts: a general message for callers; hosts, files and fingerprints for the log
//! and for commands on this machine.

use std::{io, time::Duration};

use secrecy::SecretString;
use tokio::net::TcpStream;

use super::{
    host_key::HostKey,
    known_hosts::{HostKeyVerdict, KnownHost},
    login::{Credentials, HOST_ALIAS, Login, LoginFailure, PRESENTED_KEY},
    session::SshSession,
};
use crate::{TunnelError, TunnelErrorKind};
use vademecum_core::config::{self, PassphraseSource, SecretRef};

/// Message of `ssh` when it refuses the key of the server.
const HOST_KEY_REFUSED: &str = "Host key verification failed.";

/// SSH server of a profile.
#[derive(Clone, Debug)]
pub(super) struct Bastion {
    profile: String,
    ssh: config::Ssh,
    unlock: PassphraseSource,
    known_host: KnownHost,
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
    pub(super) async fn open_session(&self, timeout: Duration) -> Result<SshSession, TunnelError> {
        match tokio::time::timeout(timeout, self.log_in(timeout)).await {
            Ok(opened) => opened,
            Err(_) => {
                Err(self.unreachable_error(&format!("no answer in {} s", timeout.as_secs_f32())))
            }
        }
    }

    async fn log_in(&self, timeout: Duration) -> Result<SshSession, TunnelError> {
        let bastion = self.clone();
        // Reading a secret may block: slow keyring or expensive decryption.
        let prepared = tokio::task::spawn_blocking(move || bastion.prepare_login()).await;
        let login = match prepared.map_err(|error| self.login_error(&error))? {
            Ok(login) => login,
            Err(error) => return Err(self.prefer_unreachable(error).await),
        };
        match login.run(timeout).await {
            Ok((child, input)) => Ok(SshSession::new(child, input, login.into_folder())),
            Err(LoginFailure::NotStarted(error)) => Err(self.start_error(&error)),
            Err(LoginFailure::Ended(errors)) => Err(self.explain_end(&login, &errors).await),
        }
    }

    /// Returns the error of a server that cannot be reached instead of the error of a secret, which
    /// matters only to a server that answers.
    async fn prefer_unreachable(&self, error: TunnelError) -> TunnelError {
        if error.kind != TunnelErrorKind::SecretNotFound {
            return error;
        }
        match TcpStream::connect((self.ssh.host.as_str(), self.ssh.port)).await {
            Ok(_) => error,
            Err(problem) => self.unreachable_error(&problem),
        }
    }

    fn prepare_login(&self) -> Result<Login, TunnelError> {
        self.check_names()?;
        let known = self.known_host.trusted_lines(HOST_ALIAS);
        let known = known.map_err(|error| self.known_hosts_error(&error))?;
        let credentials = if let Some(file) = &self.ssh.identity_file {
            // `ssh` reads the file itself. This reports it if it is missing or exposed.
            self.read_secret("identity_file", &SecretRef::File(file.clone()))?;
            let passphrase = self.ssh.passphrase.as_ref();
            let passphrase = passphrase.map(|it| self.read_secret("passphrase", it));
            Credentials::Key { file: file.clone(), passphrase: passphrase.transpose()? }
        } else {
            let missing =
                "there is no SSH agent (SSH_AUTH_SOCK is not set); set `ssh.identity_file`";
            let socket = config::ssh_agent_socket().ok_or_else(|| self.login_error(&missing))?;
            Credentials::Agent { socket }
        };
        Login::prepare(&self.ssh, &known, credentials).map_err(|error| {
            let message = "no temporary folder is available for a tunnel";
            TunnelError::new(TunnelErrorKind::Internal, message).with_detail(&error)
        })
    }

    /// Refuses names that `ssh` would not take for a host or a user, but for an option or a part of
    /// an address.
    fn check_names(&self) -> Result<(), TunnelError> {
        let (host, user) = (&self.ssh.host, &self.ssh.user);
        let in_host = |it: char| it.is_ascii_alphanumeric() || ".-_:%".contains(it);
        let is_host = host.starts_with(|it: char| it.is_ascii_alphanumeric() || it == ':');
        let is_user = !user.is_empty() && !user.starts_with('-');
        if is_host && host.chars().all(in_host) && is_user && !user.contains(char::is_control) {
            return Ok(());
        }
        let message = public_message(&self.profile, "has an invalid host or user in the settings");
        let detail = format!("{user:?} at {host:?}");
        Err(TunnelError::new(TunnelErrorKind::InvalidSettings, message).with_detail(&detail))
    }

    fn read_secret(&self, key: &str, secret: &SecretRef) -> Result<SecretString, TunnelError> {
        let setting = self.setting(key);
        secret
            .read_secret(&setting, &self.unlock)
            .map_err(|error| TunnelError::from_secret(&setting, &error))
    }

    fn setting(&self, key: &str) -> String {
        format!("profiles.{}.ssh.{key}", self.profile)
    }

    /// Returns the error of a login that ended with these messages of `ssh`.
    async fn explain_end(&self, login: &Login, errors: &str) -> TunnelError {
        if errors.lines().any(|line| line == HOST_KEY_REFUSED)
            && let Some(error) = self.host_key_error(errors)
        {
            return error;
        }
        let mut messages = errors.lines().filter(|line| !line.starts_with(PRESENTED_KEY));
        if errors.lines().any(|line| line.contains(": Permission denied (")) {
            return self.key_error(login).await;
        }
        let first = messages.next().unwrap_or("`ssh` ended without a message");
        let message = messages.fold(first.to_owned(), |all, line| format!("{all}; {line}"));
        self.unreachable_error(&message)
    }

    /// Returns the error of a login that the server rejected.
    async fn key_error(&self, login: &Login) -> TunnelError {
        if self.ssh.identity_file.is_none() {
            return self.login_error(&"no key of the SSH agent is accepted");
        }
        match login.check_key().await {
            Ok(()) => self.login_error(&"the key is not accepted"),
            Err(problem) => self.login_error(&format!(
                "the private key of `{}` cannot be opened ({problem}); set `{}` if it has a \
                 passphrase, and check its value",
                self.setting("identity_file"),
                self.setting("passphrase"),
            )),
        }
    }

    /// Returns the error of a server whose key `ssh` refused, or `None` if it cannot be explained.
    fn host_key_error(&self, errors: &str) -> Option<TunnelError> {
        let presented = errors.lines().filter_map(|line| line.strip_prefix(PRESENTED_KEY));
        let key: HostKey = presented.filter_map(|key| key.parse().ok()).next_back()?;
        let verdict = match self.known_host.check_key(&key) {
            Ok(verdict) => verdict,
            Err(error) => return Some(self.known_hosts_error(&error)),
        };
        let (name, file) = (self.known_host.entry_name(), self.known_host.file().display());
        let shown = key.fingerprint();
        let (problem, detail) = match verdict {
            HostKeyVerdict::Known => return None,
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
        Some(TunnelError::new(TunnelErrorKind::HostKeyMismatch, message).with_detail(&detail))
    }

    fn known_hosts_error(&self, error: &io::Error) -> TunnelError {
        let problem = "cannot be checked: the known hosts file is unreadable";
        let message = public_message(&self.profile, problem);
        let detail = format!("{}: {error}", self.known_host.file().display());
        TunnelError::new(TunnelErrorKind::InvalidSettings, message).with_detail(&detail)
    }

    fn start_error(&self, error: &io::Error) -> TunnelError {
        let problem = if error.kind() == io::ErrorKind::NotFound {
            "needs the program `ssh`, which is not installed here; install the client of OpenSSH \
             (on Debian: openssh-client)"
        } else {
            "needs the program `ssh`, which cannot be started"
        };
        let message = format!("the tunnel of the profile `{}` {problem}", self.profile);
        TunnelError::new(TunnelErrorKind::Unsupported, message).with_detail(error)
    }

    fn unreachable_error(&self, problem: &impl ToString) -> TunnelError {
        let message = public_message(&self.profile, "cannot be reached");
        let detail = format!("{}: {}", self.known_host.entry_name(), problem.to_string());
        TunnelError::new(TunnelErrorKind::ServerUnreachable, message).with_detail(&detail)
    }

    fn login_error(&self, problem: &impl ToString) -> TunnelError {
        let message = public_message(&self.profile, "rejected the login");
        let detail =
            format!("{}@{}: {}", self.ssh.user, self.known_host.entry_name(), problem.to_string());
        TunnelError::new(TunnelErrorKind::LoginRefused, message).with_detail(&detail)
    }
}

/// Returns the general message for callers.
fn public_message(profile: &str, problem: &str) -> String {
    format!(
        "the SSH server of the profile `{profile}` {problem}; `vademecum profile doctor {profile}` \
         shows details, on the machine of this server"
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use vademecum_core::config::Settings;
    use vademecum_testing::Sshd;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn bastion(host: &str, user: &str) -> Bastion {
        let ssh = config::Ssh {
            host: host.to_owned(),
            port: 22,
            user: user.to_owned(),
            identity_file: Some("/nowhere/key".into()),
            passphrase: None,
            known_hosts_file: "/nowhere/known_hosts".into(),
        };
        Bastion::new("shop", &ssh, &PassphraseSource::Unset)
    }

    /// Returns a login on the server by a new key with a passphrase.
    fn prepare_login_on(sshd: &Sshd, passphrase: &str) -> Login {
        sshd.known_hosts();
        let key = sshd.create_authorized_key("ed25519", passphrase, &[]);
        let file = sshd.file_path("passphrase");
        fs::write(&file, passphrase).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let text = format!(
            "[profiles.shop]\ndsn = \"postgres://a@b/c\"\n{}passphrase = \"file:{}\"\n",
            sshd.profile_settings("shop", &key),
            file.display()
        );
        let profiles = Settings::parse(&text).unwrap().profiles;
        let ssh = profiles.into_values().next().unwrap().ssh.unwrap();
        Bastion::new("shop", &ssh, &PassphraseSource::Unset).prepare_login().unwrap()
    }

    #[test]
    fn names_that_are_options_are_refused() {
        for (host, user) in [
            ("-oProxyCommand=touch /tmp/x", "ada"),
            ("", "ada"),
            ("ssh://db", "ada"),
            ("root@db", "ada"),
            ("@revoked", "ada"),
            ("db example", "ada"),
            ("db\n", "ada"),
            ("db", ""),
            ("db", "-oProxyCommand=x"),
            ("db", "ada\n"),
        ] {
            let error = bastion(host, user).prepare_login().unwrap_err();
            assert_eq!(error.kind, TunnelErrorKind::InvalidSettings, "{user}@{host}");
        }
        for host in ["db", "db-1.example", "10.0.0.1", "::1", "fe80::1%eth0"] {
            let error = bastion(host, "ada").prepare_login().unwrap_err();
            assert_eq!(error.kind, TunnelErrorKind::SecretNotFound, "{host}: {error:?}");
        }
    }

    #[test]
    fn missing_program_error_says_what_to_install() {
        let missing = bastion("db", "ada").start_error(&io::ErrorKind::NotFound.into());
        assert!(missing.message.contains("openssh-client"), "{missing:?}");
        assert_eq!(missing.kind, TunnelErrorKind::Unsupported);
    }

    #[actix::test]
    async fn ssh_ends_and_removes_folder_with_its_parent() {
        let sshd = Sshd::start();
        let login = prepare_login_on(&sshd, "open sesame");
        let (mut child, input) = login.run(TIMEOUT).await.unwrap();
        let folder = login.into_folder().keep();
        assert!(folder.join("control").exists());
        // The pipe is also closed when this process is killed.
        drop(input);
        tokio::time::timeout(TIMEOUT, child.wait()).await.unwrap().unwrap();
        let removed = async {
            while folder.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, removed).await.unwrap();
    }

    #[cfg(target_os = "linux")]
    #[actix::test]
    async fn passphrase_is_in_no_argument_variable_or_file() {
        let sshd = Sshd::start();
        let login = prepare_login_on(&sshd, "s3cr3t-marker");
        let (child, _input) = login.run(TIMEOUT).await.unwrap();
        let process = format!("/proc/{}", child.id().unwrap());
        let read = |file: String| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        let (arguments, variables) =
            (read(format!("{process}/cmdline")), read(format!("{process}/environ")));
        assert!(arguments.starts_with("ssh\0-F\0none\0"), "{arguments}");
        assert!(arguments.ends_with("\0--\x00127.0.0.1\0"), "{arguments}");
        let names = variables.split_terminator('\0').map(|it| it.split('=').next().unwrap());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE"]);
        let folder = login.into_folder();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
        let files = files.filter(|entry| entry.file_type().unwrap().is_file());
        let texts: Vec<String> = files.map(|it| fs::read_to_string(it.path()).unwrap()).collect();
        assert_eq!(texts.len(), 2, "known_hosts and askpass");
        assert!(!format!("{arguments}{variables}{texts:?}").contains("s3cr3t"));
    }
}
