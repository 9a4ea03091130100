//! An SSH server that leads on to what only it can reach.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};

use tempfile::TempDir;

/// Where Debian has it. `tests/servers` installs it.
const PROGRAM: &str = "/usr/sbin/sshd";

/// An `sshd` on a port of its own, with a key of its own, that lets in whoever has
/// one of its keys.
pub(crate) struct Sshd {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl Sshd {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        // Where root lets it give up its rights.
        drop(fs::create_dir_all("/run/sshd"));
        make_key(&folder.path().join("host"), "ed25519", "", &[]);
        fs::write(folder.path().join("authorized"), "").unwrap();
        let process = serve(&folder, port);
        Self { folder, port, process }
    }

    /// The port it listens at.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where a file of it is.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a key that is let in; where the private one is.
    pub(crate) fn key(&self, kind: &str, passphrase: &str, more: &[&str]) -> PathBuf {
        let name = format!("id_{kind}_{}{}", passphrase.len(), more.concat());
        let path = self.file(&name);
        make_key(&path, kind, passphrase, more);
        let public = fs::read_to_string(path.with_extension("pub")).unwrap();
        let list = self.file("authorized");
        fs::write(&list, fs::read_to_string(&list).unwrap() + &public).unwrap();
        path
    }

    /// The public key that it shows.
    pub(crate) fn host_key(&self) -> String {
        let text = fs::read_to_string(self.file("host.pub")).unwrap();
        text.split(' ').take(2).collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    /// The fingerprint of that key.
    pub(crate) fn fingerprint(&self) -> String {
        let output = Command::new("ssh-keygen").arg("-lf").arg(self.file("host.pub")).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    }

    /// A list of known hosts with this server in it.
    pub(crate) fn known_hosts(&self) -> PathBuf {
        let path = self.file("known_hosts");
        let line = format!("[127.0.0.1]:{} {}\n", self.port, self.host_key());
        fs::write(&path, line).unwrap();
        path
    }

    /// Breaks every connection, and takes new ones afterwards.
    pub(crate) fn break_connections(&mut self) {
        let listed = Command::new("pgrep").args(["-P", &self.process.id().to_string()]).output();
        self.stop();
        let children = String::from_utf8(listed.unwrap().stdout).unwrap();
        for child in children.split_whitespace() {
            Command::new("kill").args(["-9", child]).status().unwrap();
        }
        self.process = serve(&self.folder, self.port);
    }

    /// Comes back with another key.
    pub(crate) fn change_host_key(&mut self) {
        self.stop();
        for name in ["host", "host.pub"] {
            fs::remove_file(self.file(name)).unwrap();
        }
        make_key(&self.file("host"), "ed25519", "", &[]);
        self.process = serve(&self.folder, self.port);
    }

    /// `[profiles.<name>.ssh]` for a profile that comes in with this key.
    pub(crate) fn settings(&self, profile: &str, key: &std::path::Path) -> String {
        format!(
            "[profiles.{profile}.ssh]\nhost = \"127.0.0.1\"\nport = {}\nuser = \"{}\"\n\
             identity_file = \"{}\"\nknown_hosts_file = \"{}\"\n",
            self.port,
            user(),
            key.display(),
            self.file("known_hosts").display()
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

/// Who runs these tests: an `sshd` that is not root's lets in nobody else.
fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn make_key(path: &std::path::Path, kind: &str, passphrase: &str, more: &[&str]) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-a", "1", "-t", kind, "-N", passphrase, "-C", "test", "-f"])
        .arg(path)
        .args(more)
        .status()
        .unwrap_or_else(|error| panic!("ssh-keygen is needed: {error}"));
    assert!(made.success());
}

/// Starts it, and comes back when it listens.
fn serve(folder: &TempDir, port: u16) -> Child {
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
    assert!(line.starts_with("Server listening"), "sshd did not start: {line}");
    // Whoever logs must find somebody who reads.
    thread::spawn(move || drop(log.read_to_end(&mut Vec::new())));
    process
}
