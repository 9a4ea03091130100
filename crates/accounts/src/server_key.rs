//! Secret of a server: encrypts texts that it hands out, so that only it can read them back.

use std::{fmt, fs, io};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use vademecum_store::{DataFolder, SharedValue};

use super::private_file::{read_or_create, replace};

/// File name of the secret, in the data folder.
const SECRET_FILE: &str = "server.key";
const SECRET_LEN: usize = 32;
/// Kind of the shared value that contains the secret.
const SHARED_KIND: &str = "server_key";

/// Encrypts texts with AES-256-GCM so that only this server can read them. Encryption is
/// deterministic: the same text always yields the same ciphertext.
pub struct ServerKey {
    key: LessSafeKey,
    /// Derives the nonce from the text with HMAC-SHA256, so that different texts get different
    /// nonces.
    nonces: hmac::Key,
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerKey").finish_non_exhaustive()
    }
}

impl ServerKey {
    /// Loads the secret of a data folder. On first use it is generated and saved in a file that only
    /// its owner can read. Servers that follow one archive use the secret of the first of them.
    pub fn open(data: impl Into<DataFolder>) -> io::Result<Self> {
        let data = data.into();
        let folder = data.path();
        let path = folder.join(SECRET_FILE);
        let secret = read_or_create(folder, SECRET_FILE, || {
            let mut secret = vec![0; SECRET_LEN];
            getrandom::fill(&mut secret).map_err(io::Error::other)?;
            Ok(secret)
        })?;
        let secret = match data.archive() {
            None => secret,
            Some(followed) => {
                let own = SharedValue { bytes: secret, ttl: None };
                let kept = followed.archive().value_or_insert("", SHARED_KIND, b"", &own);
                kept.map_err(io::Error::other)?.bytes
            }
        };
        let damaged = || {
            let problem = format!(
                "{} is not {SECRET_LEN} bytes long: restore it, or remove it",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, problem)
        };
        if secret.len() == SECRET_LEN {
            Self::new(&secret).ok_or_else(damaged)
        } else {
            Err(damaged())
        }
    }

    /// Stores the secret of a data folder in its archive. Returns `false` if the archive has another
    /// one, which stays. A folder without a secret uses the one of the archive.
    pub fn upload(data: &DataFolder) -> io::Result<bool> {
        let path = data.path().join(SECRET_FILE);
        let Some(followed) = data.archive().filter(|_| path.exists()) else { return Ok(true) };
        let own = SharedValue { bytes: fs::read(path)?, ttl: None };
        let kept = followed.archive().value_or_insert("", SHARED_KIND, b"", &own);
        Ok(kept.map_err(io::Error::other)?.bytes == own.bytes)
    }

    /// Stores the secret of the archive in the data folder, instead of the folder's own.
    pub fn download(data: &DataFolder) -> io::Result<()> {
        let Some(followed) = data.archive() else { return Ok(()) };
        match followed.archive().value("", SHARED_KIND, b"").map_err(io::Error::other)? {
            Some(shared) => replace(data.path(), SECRET_FILE, &shared.bytes),
            None => Ok(()),
        }
    }

    fn new(secret: &[u8]) -> Option<Self> {
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let sealing = UnboundKey::new(&AES_256_GCM, hmac::sign(&root, b"seal").as_ref()).ok()?;
        let nonces = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&root, b"nonce").as_ref());
        Some(Self { key: LessSafeKey::new(sealing), nonces })
    }

    /// Encrypts a text to URL-safe base64. Returns `None` if it is too long for the cipher.
    pub fn seal(&self, text: &str) -> Option<String> {
        let tag = hmac::sign(&self.nonces, text.as_bytes());
        let mut sealed = tag.as_ref().get(..NONCE_LEN)?.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&sealed).ok()?;
        let mut body = text.as_bytes().to_vec();
        self.key.seal_in_place_append_tag(nonce, Aad::empty(), &mut body).ok()?;
        sealed.extend(body);
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Decrypts a text encrypted by this server. Returns `None` for any other input.
    pub fn open_sealed(&self, sealed: &str) -> Option<String> {
        let mut sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, body) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.key.open_in_place(nonce, Aad::empty(), body).ok()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_text_opens_on_same_server_only() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = ServerKey::open(here.path()).unwrap();
        let sealed = key.seal("notes://1").unwrap();
        assert!(!sealed.contains("notes"));
        assert_eq!(key.seal("notes://1").unwrap(), sealed, "the same looks the same");
        let again = ServerKey::open(here.path()).unwrap();
        assert_eq!(again.open_sealed(&sealed).as_deref(), Some("notes://1"));
        assert_eq!(ServerKey::open(there.path()).unwrap().open_sealed(&sealed), None);
        for forged in ["", "x", &sealed[1..], &format!("{sealed}A")] {
            assert_eq!(key.open_sealed(forged), None, "{forged}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn secret_file_is_private_to_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        ServerKey::open(folder.path()).unwrap();
        let mode = fs::metadata(folder.path().join(SECRET_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(folder.path().join(SECRET_FILE), "short").unwrap();
        assert!(ServerKey::open(folder.path()).unwrap_err().to_string().contains("32 bytes"));
    }
}
