//! The SSH servers that are known by their keys, in the form of OpenSSH.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use russh::keys::{
    Algorithm, HashAlg, PublicKey, known_hosts::known_host_keys_path, parse_public_key_base64,
};

/// A server, and where those that are known are listed.
#[derive(Clone, Debug)]
pub(super) struct KnownHost {
    host: String,
    port: u16,
    file: PathBuf,
}

/// What the list says of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the server's.
    Known,
    /// Nothing is known of the server. This line would make it known.
    Unknown {
        /// The line to add.
        line: String,
    },
    /// The server is known by another key.
    Changed {
        /// The line with the other key, counted from one.
        line: usize,
        /// The fingerprint of the other key.
        known: String,
    },
    /// Somebody has said never to trust it again.
    Revoked {
        /// The line that says so, counted from one.
        line: usize,
    },
}

impl KnownHost {
    pub(super) fn new(host: &str, port: u16, file: &Path) -> Self {
        Self { host: host.to_owned(), port, file: file.to_owned() }
    }

    /// The server as the list calls it.
    pub(super) fn name(&self) -> String {
        match self.port {
            22 => self.host.clone(),
            port => format!("[{}]:{port}", self.host),
        }
    }

    /// The list.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The kinds of key that the server is known by: it is asked for these first, as
    /// a key of another kind would look like another server.
    pub(super) fn kinds(&self) -> Result<Vec<Algorithm>, russh::keys::Error> {
        Ok(self.keys()?.into_iter().map(|(_, key)| key.algorithm()).collect())
    }

    /// What is known of the server with this key.
    pub(super) fn judge(&self, key: &PublicKey) -> Result<Verdict, russh::keys::Error> {
        if let Some(line) = self.revoked(key)? {
            return Ok(Verdict::Revoked { line });
        }
        let keys = self.keys()?;
        if keys.iter().any(|(_, known)| known.key_data() == key.key_data()) {
            return Ok(Verdict::Known);
        }
        // Best named is the key of the same kind.
        let same_kind = keys.iter().find(|(_, known)| known.algorithm() == key.algorithm());
        if let Some((line, known)) = same_kind.or(keys.first()) {
            return Ok(Verdict::Changed { line: *line, known: fingerprint(known) });
        }
        let key = PublicKey::from(key.key_data().clone()).to_openssh()?;
        Ok(Verdict::Unknown { line: format!("{} {key}", self.name()) })
    }

    /// The keys that the server is known by, and in which line.
    fn keys(&self) -> Result<Vec<(usize, PublicKey)>, russh::keys::Error> {
        let keys = known_host_keys_path(&self.host, self.port, &self.file)?;
        let text = if keys.is_empty() { String::new() } else { self.text()? };
        // The library does not count comments.
        let lines: Vec<usize> =
            (1..).zip(text.lines()).filter(|it| !it.1.starts_with('#')).map(|it| it.0).collect();
        let line = |counted: usize| lines.get(counted - 1).copied().unwrap_or(counted);
        Ok(keys.into_iter().map(|(counted, key)| (line(counted), key)).collect())
    }

    /// The list as it is written; nothing, without one.
    fn text(&self) -> Result<String, russh::keys::Error> {
        match fs::read(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            text => Ok(String::from_utf8_lossy(&text?).into_owned()),
        }
    }

    /// The line that revokes a key, for whichever server: a key that somebody has
    /// stolen is good for none.
    fn revoked(&self, key: &PublicKey) -> Result<Option<usize>, russh::keys::Error> {
        let revokes = |line: &str| {
            let mut words = line.split_whitespace();
            let is_marked = words.next() == Some("@revoked");
            let named = words.nth(2).and_then(|it| parse_public_key_base64(it).ok());
            is_marked && named.is_some_and(|named| named.key_data() == key.key_data())
        };
        Ok(self.text()?.lines().position(revokes).map(|index| index + 1))
    }
}

/// The fingerprint of a key, as `ssh-keygen -l` shows it.
pub(super) fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const OTHER: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILIG2T/B0l0gaqj3puu510tu9N1OkQ4znY3LYuEm5zCF";

    fn key(text: &str) -> PublicKey {
        PublicKey::from_openssh(text).unwrap()
    }

    fn judge(list: &str, host: &str, port: u16, text: &str) -> Verdict {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known_hosts");
        fs::write(&file, list).unwrap();
        KnownHost::new(host, port, &file).judge(&key(text)).unwrap()
    }

    #[test]
    fn a_server_is_known_by_name_by_port_and_by_hash() {
        let hashed =
            format!("|1|O33ESRMWPVkMYIwJ1Uw+n877jTo=|nuuC5vEqXlEZ/8BXQR7m619W6Ak= {OTHER}");
        for (line, host, port, shown) in [
            (format!("db.example,10.0.0.1 {ED25519}"), "db.example", 22, ED25519),
            (format!("db.example,10.0.0.1 {ED25519}"), "10.0.0.1", 22, ED25519),
            (format!("[db.example]:2222 {ED25519} a comment"), "db.example", 2_222, ED25519),
            (hashed, "example.com", 22, OTHER),
        ] {
            let list = format!("# a comment\n{line}\n");
            assert_eq!(judge(&list, host, port, shown), Verdict::Known, "{line}");
        }
    }

    #[test]
    fn another_key_is_named_with_its_line() {
        let list = format!("# a comment\n[db]:2222 {OTHER}\n");
        let verdict = judge(&list, "db", 2_222, ED25519);
        assert_eq!(verdict, Verdict::Changed { line: 2, known: fingerprint(&key(OTHER)) });
        assert!(fingerprint(&key(OTHER)).starts_with("SHA256:"));
    }

    #[test]
    fn an_unknown_server_is_told_with_the_line_that_makes_it_known() {
        for list in ["", "# nothing\n", &format!("other {ED25519}\n[db]:22222 {ED25519}\n")] {
            let Verdict::Unknown { line } = judge(list, "db", 2_222, ED25519) else {
                panic!("{list}")
            };
            assert_eq!(line, format!("[db]:2222 {ED25519}"));
            assert_eq!(judge(&line, "db", 2_222, ED25519), Verdict::Known);
        }
        let nowhere = KnownHost::new("db", 22, Path::new("/nowhere/known_hosts"));
        assert!(matches!(nowhere.judge(&key(ED25519)).unwrap(), Verdict::Unknown { .. }));
    }

    #[test]
    fn a_revoked_key_is_good_for_nobody() {
        let list = format!("db {ED25519}\n@revoked * {ED25519}\n");
        assert_eq!(judge(&list, "db", 22, ED25519), Verdict::Revoked { line: 2 });
        let other = format!("db {ED25519}\n@revoked * {OTHER}\n");
        assert_eq!(judge(&other, "db", 22, ED25519), Verdict::Known);
    }
}
