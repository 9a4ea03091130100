//! Known SSH hosts and their keys, in the format of OpenSSH.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use russh::keys::{
    Algorithm, HashAlg, PublicKey, known_hosts::known_host_keys_path, parse_public_key_base64,
};

/// SSH host and the `known_hosts` file to check it against.
#[derive(Clone, Debug)]
pub(super) struct KnownHost {
    host: String,
    port: u16,
    file: PathBuf,
}

/// Result of checking a host key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostKeyVerdict {
    /// The key is known for the host.
    Known,
    /// No key is known for the host.
    Unknown {
        /// Line to add in order to trust the key.
        line: String,
    },
    /// The host is known with a different key.
    Changed {
        /// Line number of the known key, starting at 1.
        line: usize,
        /// Fingerprint of the known key.
        known: String,
    },
    /// The key is revoked.
    Revoked {
        /// Line number of the revocation, starting at 1.
        line: usize,
    },
}

impl KnownHost {
    pub(super) fn new(host: &str, port: u16, file: &Path) -> Self {
        Self { host: host.to_owned(), port, file: file.to_owned() }
    }

    /// Returns the host as written in the file: `host`, or `[host]:port` for ports other than 22.
    pub(super) fn entry_name(&self) -> String {
        match self.port {
            22 => self.host.clone(),
            port => format!("[{}]:{port}", self.host),
        }
    }

    /// Returns the path of the file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the algorithms of the known keys. The client requests these first, because a key of
    /// another type would look like a changed host.
    pub(super) fn known_algorithms(&self) -> Result<Vec<Algorithm>, russh::keys::Error> {
        Ok(self.known_keys()?.into_iter().map(|(_, key)| key.algorithm()).collect())
    }

    /// Checks a host key against the file.
    pub(super) fn check_key(&self, key: &PublicKey) -> Result<HostKeyVerdict, russh::keys::Error> {
        if let Some(line) = self.find_revocation(key)? {
            return Ok(HostKeyVerdict::Revoked { line });
        }
        let keys = self.known_keys()?;
        if keys.iter().any(|(_, known)| known.key_data() == key.key_data()) {
            return Ok(HostKeyVerdict::Known);
        }
        // Prefer the known key of the same type.
        let same_kind = keys.iter().find(|(_, known)| known.algorithm() == key.algorithm());
        if let Some((line, known)) = same_kind.or(keys.first()) {
            return Ok(HostKeyVerdict::Changed { line: *line, known: key_fingerprint(known) });
        }
        let key = PublicKey::from(key.key_data().clone()).to_openssh()?;
        Ok(HostKeyVerdict::Unknown { line: format!("{} {key}", self.entry_name()) })
    }

    /// Returns the known keys of the host with their line numbers.
    fn known_keys(&self) -> Result<Vec<(usize, PublicKey)>, russh::keys::Error> {
        let keys = known_host_keys_path(&self.host, self.port, &self.file)?;
        let text = if keys.is_empty() { String::new() } else { self.read_file()? };
        // `russh` does not count comment lines.
        let lines: Vec<usize> =
            (1..).zip(text.lines()).filter(|it| !it.1.starts_with('#')).map(|it| it.0).collect();
        let line = |counted: usize| lines.get(counted - 1).copied().unwrap_or(counted);
        Ok(keys.into_iter().map(|(counted, key)| (line(counted), key)).collect())
    }

    /// Returns the text of the file; empty if the file does not exist.
    fn read_file(&self) -> Result<String, russh::keys::Error> {
        match fs::read(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            text => Ok(String::from_utf8_lossy(&text?).into_owned()),
        }
    }

    /// Returns the line number that revokes a key. Host patterns are ignored: a stolen key is not
    /// trusted for any host.
    fn find_revocation(&self, key: &PublicKey) -> Result<Option<usize>, russh::keys::Error> {
        let revokes = |line: &str| {
            let mut words = line.split_whitespace();
            let is_marked = words.next() == Some("@revoked");
            let named = words.nth(2).and_then(|it| parse_public_key_base64(it).ok());
            is_marked && named.is_some_and(|named| named.key_data() == key.key_data())
        };
        Ok(self.read_file()?.lines().position(revokes).map(|index| index + 1))
    }
}

/// Returns the SHA-256 fingerprint of a key, in the format of `ssh-keygen -l`.
pub(super) fn key_fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const OTHER: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILIG2T/B0l0gaqj3puu510tu9N1OkQ4znY3LYuEm5zCF";

    fn parse_key(text: &str) -> PublicKey {
        PublicKey::from_openssh(text).unwrap()
    }

    fn check_key_in(list: &str, host: &str, port: u16, text: &str) -> HostKeyVerdict {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known_hosts");
        fs::write(&file, list).unwrap();
        KnownHost::new(host, port, &file).check_key(&parse_key(text)).unwrap()
    }

    #[test]
    fn host_matches_by_name_port_and_hash() {
        let hashed =
            format!("|1|O33ESRMWPVkMYIwJ1Uw+n877jTo=|nuuC5vEqXlEZ/8BXQR7m619W6Ak= {OTHER}");
        for (line, host, port, shown) in [
            (format!("db.example,10.0.0.1 {ED25519}"), "db.example", 22, ED25519),
            (format!("db.example,10.0.0.1 {ED25519}"), "10.0.0.1", 22, ED25519),
            (format!("[db.example]:2222 {ED25519} a comment"), "db.example", 2_222, ED25519),
            (hashed, "example.com", 22, OTHER),
        ] {
            let list = format!("# a comment\n{line}\n");
            assert_eq!(check_key_in(&list, host, port, shown), HostKeyVerdict::Known, "{line}");
        }
    }

    #[test]
    fn changed_key_is_reported_with_line() {
        let list = format!("# a comment\n[db]:2222 {OTHER}\n");
        let verdict = check_key_in(&list, "db", 2_222, ED25519);
        assert_eq!(
            verdict,
            HostKeyVerdict::Changed { line: 2, known: key_fingerprint(&parse_key(OTHER)) }
        );
        assert!(key_fingerprint(&parse_key(OTHER)).starts_with("SHA256:"));
    }

    #[test]
    fn unknown_host_is_reported_with_line_to_add() {
        for list in ["", "# nothing\n", &format!("other {ED25519}\n[db]:22222 {ED25519}\n")] {
            let HostKeyVerdict::Unknown { line } = check_key_in(list, "db", 2_222, ED25519) else {
                panic!("{list}")
            };
            assert_eq!(line, format!("[db]:2222 {ED25519}"));
            assert_eq!(check_key_in(&line, "db", 2_222, ED25519), HostKeyVerdict::Known);
        }
        let nowhere = KnownHost::new("db", 22, Path::new("/nowhere/known_hosts"));
        assert!(matches!(
            nowhere.check_key(&parse_key(ED25519)).unwrap(),
            HostKeyVerdict::Unknown { .. }
        ));
    }

    #[test]
    fn revoked_key_is_rejected_for_any_host() {
        let list = format!("db {ED25519}\n@revoked * {ED25519}\n");
        assert_eq!(check_key_in(&list, "db", 22, ED25519), HostKeyVerdict::Revoked { line: 2 });
        let other = format!("db {ED25519}\n@revoked * {OTHER}\n");
        assert_eq!(check_key_in(&other, "db", 22, ED25519), HostKeyVerdict::Known);
    }
}
