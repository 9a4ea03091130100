//! One login on an SSH server by the system's `ssh`.
//!
//! `ssh` runs in a private folder, with an empty environment and without its own configuration
//! files, so that only the settings of the profile decide. It has all paths relative to that folder:
//! none has to be quoted, and none leads to another key or list of hosts.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, Command},
};
use vademecum_core::config;

/// Name of every server for `ssh`, by which it finds the host keys.
pub(super) const HOST_ALIAS: &str = "tunnel";
/// Beginning of the lines with the host keys that the server presented.
pub(super) const PRESENTED_KEY: &str = "presented host key: ";
/// Files in the folder of the login.
const KNOWN_HOSTS: &str = "known_hosts";
const IDENTITY: &str = "identity";
const ASKPASS: &str = "askpass";
/// Program that `ssh` runs to learn the passphrase: the first line of the standard input that it
/// has from `ssh`. So the passphrase is in no argument, no environment and no file.
const ASKPASS_SCRIPT: &str = "#!/bin/sh\nexec head -n 1\n";
/// Line that `ssh` prints once it is logged in.
const READY: &str = "ready";
/// Maximum size of the error messages of `ssh`, in bytes.
const MAX_ERROR_BYTES: u64 = 16 * 1_024;

/// Options of `ssh`.
const OPTIONS: [&str; 21] = [
    // Only a known host.
    "StrictHostKeyChecking=yes",
    "UserKnownHostsFile=known_hosts",
    "GlobalKnownHostsFile=/dev/null",
    "HostKeyAlias=tunnel",
    "HostKeyAlgorithms=-*-cert-v01@openssh.com",
    "CheckHostIP=no",
    "UpdateHostKeys=no",
    "VerifyHostKeyDNS=no",
    // Adds no host, but prints the key that is about to be checked, for the error message.
    "KnownHostsCommand=/bin/sh -c \"echo presented host key: %t %K >&2\"",
    // Only with a key.
    "PreferredAuthentications=publickey",
    "NumberOfPasswordPrompts=1",
    "PKCS11Provider=none",
    // Connections are requested through the socket.
    "ControlMaster=yes",
    "ControlPath=control",
    "ControlPersist=no",
    "ServerAliveInterval=30",
    "ServerAliveCountMax=3",
    "ForwardAgent=no",
    "LogLevel=ERROR",
    "PermitLocalCommand=yes",
    // Runs once `ssh` is logged in. Standard input ends with this program, however it ends. The
    // session of `ssh` is then closed, and the folder removed.
    "LocalCommand=exec 3<&0; { cat <&3; ssh -F none -S control -O exit tunnel; \
     rm -f askpass control identity known_hosts; rmdir \"$PWD\"; } >/dev/null 2>&1 & echo ready",
];

/// A login, prepared in a folder of its own.
#[derive(Debug)]
pub(super) struct Login {
    server: config::Ssh,
    credentials: Credentials,
    folder: TempDir,
}

/// Keys of a login.
#[derive(Debug)]
pub(super) enum Credentials {
    /// A private key in a file.
    Key {
        /// Path of the file.
        file: PathBuf,
        /// Passphrase of the key, if it is encrypted.
        passphrase: Option<SecretString>,
    },
    /// The keys of an SSH agent.
    Agent {
        /// Socket of the agent.
        socket: PathBuf,
    },
}

/// Failed login.
#[derive(Debug)]
pub(super) enum LoginFailure {
    /// `ssh` could not be started.
    NotStarted(io::Error),
    /// `ssh` ended with these messages.
    Ended(String),
}

impl Login {
    /// Creates the folder of a login, with the lines of its `known_hosts` file.
    pub(super) fn prepare(
        server: &config::Ssh,
        known_hosts: &[String],
        credentials: Credentials,
    ) -> io::Result<Self> {
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new()
            .prefix("vademecum-ssh-")
            .permissions(private.clone())
            .tempdir()?;
        fs::write(folder.path().join(KNOWN_HOSTS), known_hosts.join("\n"))?;
        if let Credentials::Key { file, passphrase } = &credentials {
            symlink(file, folder.path().join(IDENTITY))?;
            if passphrase.is_some() {
                let askpass = folder.path().join(ASKPASS);
                fs::write(&askpass, ASKPASS_SCRIPT)?;
                fs::set_permissions(&askpass, private)?;
            }
        }
        Ok(Self { server: server.clone(), credentials, folder })
    }

    /// Logs in. The caller limits the time; `timeout` ends a `ssh` that the caller left alone.
    pub(super) async fn run(&self, timeout: Duration) -> Result<(Child, ChildStdin), LoginFailure> {
        let mut child = self.ssh_command(timeout).spawn().map_err(LoginFailure::NotStarted)?;
        let (Some(mut input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(LoginFailure::NotStarted(io::Error::other("the process has no pipes")));
        };
        let errors = tokio::spawn(read_errors(errors));
        // If `ssh` has already ended, its messages say why.
        self.send_passphrase(&mut input).await.ok();
        let mut line = String::new();
        let read = BufReader::new(output.take(MAX_ERROR_BYTES)).read_line(&mut line).await;
        if read.is_ok() && line.trim_end() == READY {
            return Ok((child, input));
        }
        drop(child);
        Err(LoginFailure::Ended(errors.await.unwrap_or_default()))
    }

    /// Returns the folder, in which a running `ssh` has its socket.
    pub(super) fn into_folder(self) -> TempDir {
        self.folder
    }

    /// Opens the private key without a server. Returns the problem if that fails.
    pub(super) async fn check_key(&self) -> Result<(), String> {
        let mut command = self.command("ssh-keygen");
        command.args(["-y", "-f", IDENTITY]).stdout(Stdio::null());
        if !self.has_passphrase() {
            // Otherwise it would be asked for on the terminal.
            command.args(["-P", ""]);
        }
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        if let Some(mut input) = child.stdin.take() {
            self.send_passphrase(&mut input).await.ok();
        }
        let done = child.wait_with_output().await.map_err(|error| error.to_string())?;
        if done.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
    }

    async fn send_passphrase(&self, input: &mut ChildStdin) -> io::Result<()> {
        if let Credentials::Key { passphrase: Some(passphrase), .. } = &self.credentials {
            input.write_all(passphrase.expose_secret().as_bytes()).await?;
            input.write_all(b"\n").await?;
        }
        Ok(())
    }

    fn has_passphrase(&self) -> bool {
        matches!(&self.credentials, Credentials::Key { passphrase: Some(_), .. })
    }

    fn ssh_command(&self, timeout: Duration) -> Command {
        let mut command = self.command("ssh");
        command.args(["-F", "none", "-N", "-T", "-a", "-x"]);
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.arg("-o").arg(format!("ConnectTimeout={}", timeout.as_secs() + 1));
        // In batch mode, `ssh` asks for no passphrase.
        let batch_mode = if self.has_passphrase() { "no" } else { "yes" };
        command.arg("-o").arg(format!("BatchMode={batch_mode}"));
        match &self.credentials {
            Credentials::Key { .. } => {
                command.args(["-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]);
                command.args(["-i", IDENTITY])
            }
            Credentials::Agent { .. } => command.args(["-o", "IdentityFile=none"]),
        };
        command.args(["-l", &self.server.user, "-p", &self.server.port.to_string()]);
        command.args(["--", &self.server.host]);
        command
    }

    /// Returns the command of a program of OpenSSH in the folder of the login. It does not share the
    /// terminal: Ctrl-C ends the server, which still answers running calls.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folders) = config::program_folders() {
            command.env("PATH", folders);
        }
        if self.has_passphrase() {
            command.env("SSH_ASKPASS", format!("./{ASKPASS}")).env("SSH_ASKPASS_REQUIRE", "force");
        }
        if let Credentials::Agent { socket } = &self.credentials {
            command.env("SSH_AUTH_SOCK", socket);
        }
        command
    }
}

/// Returns the beginning of the messages of `ssh` when it ends. Reads them all, so that `ssh` never
/// waits for a full pipe.
async fn read_errors(mut errors: ChildStderr) -> String {
    let mut kept = Vec::new();
    let read = (&mut errors).take(MAX_ERROR_BYTES).read_to_end(&mut kept).await;
    let rest = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
    let complete = read.is_ok() && rest.is_ok_and(|more| more == 0);
    let text = String::from_utf8_lossy(&kept).into_owned();
    tracing::debug!(errors = %text, complete, "`ssh` ended");
    text
}
