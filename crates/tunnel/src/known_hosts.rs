//! Known SSH hosts and their keys, in the format of OpenSSH.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::host_key::HostKey;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;

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
    /// The key is trusted for the host.
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
    /// A line of the file revokes the key.
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

    /// Returns the trusted keys of the host as lines of a `known_hosts` file, in which the host is
    /// named `alias`.
    pub(super) fn trusted_lines(&self, alias: &str) -> io::Result<Vec<String>> {
        let text = self.read_file()?;
        let trusted = self.known_keys(&text)?.into_iter().map(|(_, key)| key);
        let trusted = trusted.filter(|key| find_revocation(&text, key).is_none());
        Ok(trusted.map(|key| format!("{alias} {key}")).collect())
    }

    /// Checks a host key against the file.
    pub(super) fn check_key(&self, key: &HostKey) -> io::Result<HostKeyVerdict> {
        let text = self.read_file()?;
        if let Some(line) = find_revocation(&text, key) {
            return Ok(HostKeyVerdict::Revoked { line });
        }
        let keys = self.known_keys(&text)?;
        if keys.iter().any(|(_, known)| known == key) {
            return Ok(HostKeyVerdict::Known);
        }
        // Prefer the known key of the same type.
        let same_type = keys.iter().find(|(_, known)| known.algorithm() == key.algorithm());
        if let Some((line, known)) = same_type.or(keys.first()) {
            return Ok(HostKeyVerdict::Changed { line: *line, known: known.fingerprint() });
        }
        Ok(HostKeyVerdict::Unknown { line: format!("{} {key}", self.entry_name()) })
    }

    /// Returns the known keys of the host with their line numbers. Fails if one is no key.
    fn known_keys(&self, text: &str) -> io::Result<Vec<(usize, HostKey)>> {
        let name = self.entry_name();
        let key = |(number, line): (usize, &str)| {
            let mut words = line.split_whitespace();
            // Lines with a marker, such as `@revoked`, and comments name no host.
            let is_named = words.next().is_some_and(|hosts| names_host(hosts, &name));
            let key = is_named.then(|| HostKey::parse_base64(words.nth(1).unwrap_or_default()))?;
            let invalid = || io::Error::other(format!("line {number} is invalid"));
            Some(key.ok_or_else(invalid).map(|key| (number, key)))
        };
        (1..).zip(text.lines()).filter_map(key).collect()
    }

    /// Returns the text of the file; empty if the file does not exist.
    fn read_file(&self) -> io::Result<String> {
        match fs::read(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            text => Ok(String::from_utf8_lossy(&text?).into_owned()),
        }
    }
}

/// Returns the line number that revokes a key. Host patterns are ignored: a stolen key is not
/// trusted for any host.
fn find_revocation(text: &str, key: &HostKey) -> Option<usize> {
    let revokes = |line: &str| {
        let mut words = line.split_whitespace();
        let is_marked = words.next() == Some("@revoked");
        is_marked && words.nth(2).and_then(HostKey::parse_base64).as_ref() == Some(key)
    };
    text.lines().position(revokes).map(|index| index + 1)
}

/// Returns true if a list of hosts contains the name, in clear or hashed.
fn names_host(hosts: &str, name: &str) -> bool {
    hosts.split(',').any(|host| match host.strip_prefix("|1|") {
        Some(hashed) => is_hash_of(hashed, name).unwrap_or_default(),
        None => host == name,
    })
}

/// Returns true if `hashed`, a salt and a hash, belongs to the name; `None` if it is invalid.
fn is_hash_of(hashed: &str, name: &str) -> Option<bool> {
    let (salt, hash) = hashed.split_once('|')?;
    let (salt, hash) = (STANDARD.decode(salt).ok()?, STANDARD.decode(hash).ok()?);
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &salt);
    Some(hmac::verify(&key, name.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const OTHER: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILIG2T/B0l0gaqj3puu510tu9N1OkQ4znY3LYuEm5zCF";

    fn parse_key(text: &str) -> HostKey {
        text.parse().unwrap()
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
            HostKeyVerdict::Changed { line: 2, known: parse_key(OTHER).fingerprint() }
        );
        assert!(parse_key(OTHER).fingerprint().starts_with("SHA256:"));
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

    #[test]
    fn trusted_lines_leave_out_revoked_and_foreign_keys() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known_hosts");
        let list = format!("db,* {ED25519} comment\nother {OTHER}\n@cert-authority db {OTHER}\n");
        fs::write(&file, &list).unwrap();
        let known = KnownHost::new("db", 22, &file);
        assert_eq!(known.trusted_lines("tunnel").unwrap(), [format!("tunnel {ED25519}")]);
        fs::write(&file, format!("{list}@revoked elsewhere {ED25519}\n")).unwrap();
        assert_eq!(known.trusted_lines("tunnel").unwrap(), [""; 0]);
    }

    #[test]
    fn invalid_key_of_host_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known_hosts");
        fs::write(&file, "other broken\ndb ssh-ed25519 AAAA\n").unwrap();
        let error = KnownHost::new("db", 22, &file).check_key(&parse_key(OTHER)).unwrap_err();
        assert_eq!(error.to_string(), "line 2 is invalid");
    }
}
