//! An SSH server for tests of tunnels to databases.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support reports a failure by panicking"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use tempfile::TempDir;

/// Path of `sshd` on Debian, where `tests/servers` installs it.
const PROGRAM: &str = "/usr/sbin/sshd";

/// An `sshd` process with its own port and host key. It accepts the keys that the test creates.
#[derive(Debug)]
pub struct Sshd {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl Sshd {
    /// Starts an `sshd` on a free port.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As root, `sshd` requires this folder for privilege separation.
        drop(fs::create_dir_all("/run/sshd"));
        generate_key(&folder.path().join("host"), "ed25519", "", &[]);
        fs::write(folder.path().join("authorized"), "").unwrap();
        // Another process may take a free port before `sshd` does.
        let started = (0..10).find_map(|_| {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            Some((port, spawn_sshd(&folder, port)?))
        });
        let (port, process) = started.unwrap();
        Self { folder, port, process }
    }

    /// Returns the port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path of a file in its folder.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates an authorized key and returns the path of the private key.
    pub fn create_authorized_key(&self, kind: &str, passphrase: &str, more: &[&str]) -> PathBuf {
        let name = format!("id_{kind}_{}{}", passphrase.len(), more.concat());
        let path = self.file_path(&name);
        generate_key(&path, kind, passphrase, more);
        let public = fs::read_to_string(path.with_extension("pub")).unwrap();
        let list = self.file_path("authorized");
        fs::write(&list, fs::read_to_string(&list).unwrap() + &public).unwrap();
        path
    }

    /// Returns the public host key.
    pub fn host_key(&self) -> String {
        let text = fs::read_to_string(self.file_path("host.pub")).unwrap();
        text.split(' ').take(2).collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    /// Returns the fingerprint of the host key.
    pub fn fingerprint(&self) -> String {
        let output = Command::new("ssh-keygen").arg("-lf").arg(self.file_path("host.pub")).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    }

    /// Writes a `known_hosts` file with this server and returns its path.
    pub fn known_hosts(&self) -> PathBuf {
        let path = self.file_path("known_hosts");
        let line = format!("[127.0.0.1]:{} {}\n", self.port, self.host_key());
        fs::write(&path, line).unwrap();
        path
    }

    /// Kills all connections and restarts the server.
    pub fn break_connections(&mut self) {
        let listed = Command::new("pgrep").args(["-P", &self.process.id().to_string()]).output();
        self.stop();
        let children = String::from_utf8(listed.unwrap().stdout).unwrap();
        for child in children.split_whitespace() {
            Command::new("kill").args(["-9", child]).status().unwrap();
        }
        self.process = spawn_sshd(&self.folder, self.port).unwrap();
    }

    /// Restarts the server with a different host key.
    pub fn change_host_key(&mut self) {
        self.stop();
        for name in ["host", "host.pub"] {
            fs::remove_file(self.file_path(name)).unwrap();
        }
        generate_key(&self.file_path("host"), "ed25519", "", &[]);
        self.process = spawn_sshd(&self.folder, self.port).unwrap();
    }

    /// Returns the settings `[profiles.<name>.ssh]` for a profile that connects with this key.
    pub fn profile_settings(&self, profile: &str, key: &Path) -> String {
        format!(
            "[profiles.{profile}.ssh]\nhost = \"127.0.0.1\"\nport = {}\nuser = \"{}\"\n\
             identity_file = \"{}\"\nknown_hosts_file = \"{}\"\n",
            self.port,
            current_user(),
            key.display(),
            self.file_path("known_hosts").display()
        )
    }

    fn stop(&mut self) {
        drop(self.process.kill());
        self.process.wait().unwrap();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the current user. An `sshd` without root rights accepts no other user.
fn current_user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn generate_key(path: &Path, kind: &str, passphrase: &str, more: &[&str]) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-a", "1", "-t", kind, "-N", passphrase, "-C", "test", "-f"])
        .arg(path)
        .args(more)
        .status()
        .unwrap_or_else(|error| panic!("ssh-keygen is needed: {error}"));
    assert!(made.success());
}

/// Starts `sshd` and returns when it listens. Returns `None` if the port is taken.
fn spawn_sshd(folder: &TempDir, port: u16) -> Option<Child> {
    let at = folder.path().display();
    let config = folder.path().join("sshd_config");
    let text = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {at}/host\nPidFile none\nUsePAM no\n\
         AuthorizedKeysFile {at}/authorized\nStrictModes no\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"
    );
    fs::write(&config, text).unwrap();
    let mut process = Command::new(PROGRAM)
        .args(["-D", "-e", "-f"])
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{PROGRAM} is needed (tests/servers): {error}"));
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    if line.contains("Address already in use") {
        process.wait().unwrap();
        return None;
    }
    assert!(line.starts_with("Server listening"), "sshd did not start: {line}");
    // Reads the log continuously, so that `sshd` never blocks on a full pipe.
    thread::spawn(move || drop(log.read_to_end(&mut Vec::new())));
    Some(process)
}
