//! Secrets: the settings say where one is, never what it is, unless they say
//! that they do.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret as _, SecretString, zeroize::Zeroizing};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

use super::{
    keyring::{self, KeyringError},
    machine,
    sealed::{self, SealError},
};

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Unshown")]
pub enum Secret {
    /// `env:NAME`: in an environment variable.
    Environment(String),
    /// `file:PATH`: in a file that holds nothing else, and that only its owner can read.
    File(PathBuf),
    /// `keyring:ACCOUNT`: in the keyring of the system.
    Keyring(String),
    /// `encrypted:PATH`: in a file that `vademecum profile encrypt` has made.
    Encrypted(PathBuf),
    /// In the settings themselves, which say that this is meant.
    Plain(Unshown),
    /// In the settings themselves, where it is not accepted.
    Written(Unshown),
}

/// A text of the settings that no message repeats, whatever is wrong with it.
#[derive(Clone)]
pub struct Unshown(SecretString);

/// What opens encrypted files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unlock {
    /// Nothing: they stay closed.
    #[default]
    Nothing,
    /// The passphrase that is there.
    From(Secret),
    /// This passphrase.
    With(Unshown),
}

/// `[secrets]`: what opens encrypted files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// Where the passphrase of encrypted files is.
    pub passphrase: Option<Secret>,
}

/// Why a secret could not be read. None of the words are the secret's.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable is not there, or is no text.
    #[error("{setting} is in the environment variable {name}, which is not set")]
    Unset {
        /// Which setting.
        setting: String,
        /// Which variable.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read {setting} in {}", path.display())]
    Read {
        /// Which setting.
        setting: String,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others can read the file.
    #[error(
        "{setting} is in {path}, which others can read; run: chmod 600 {path}",
        path = path.display()
    )]
    Exposed {
        /// Which setting.
        setting: String,
        /// Which file.
        path: PathBuf,
    },
    /// There is nothing in the variable or the file.
    #[error("{setting} is empty where it was looked for")]
    Empty {
        /// Which setting.
        setting: String,
    },
    /// The keyring does not give it away.
    #[error("cannot read {setting}")]
    Keyring {
        /// Which setting.
        setting: String,
        /// Why.
        source: KeyringError,
    },
    /// The encrypted file does not open.
    #[error("cannot open {setting} in {}", path.display())]
    Sealed {
        /// Which setting.
        setting: String,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: SealError,
    },
    /// Nobody has said what opens the encrypted file.
    #[error(
        "{setting} is encrypted, and nothing says what opens it; set secrets.passphrase to \
         \"env:NAME\", \"file:PATH\" or \"keyring:ACCOUNT\""
    )]
    Locked {
        /// Which setting.
        setting: String,
    },
    /// The secret stands in the settings.
    #[error(
        "{setting} must say where the key is, as \"env:NAME\", \"file:PATH\", \
         \"keyring:ACCOUNT\" or \"encrypted:PATH\"; the key itself does not belong into the \
         settings"
    )]
    Written {
        /// Which setting.
        setting: String,
    },
}

impl From<Unshown> for Secret {
    fn from(text: Unshown) -> Self {
        match text.expose().split_once(':') {
            Some(("env", name)) if is_variable(name) => Self::Environment(name.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            Some(("keyring", account)) if !account.is_empty() => Self::Keyring(account.to_owned()),
            Some(("encrypted", path)) => Self::Encrypted(path.into()),
            Some(_) | None => Self::Written(text),
        }
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Unshown(Zeroizing::new(text).as_str().into()).into()
    }
}

/// Whether variables are called so. What is not may be a secret, and is not named.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

impl Secret {
    /// The same, and if it stands in the settings, that is meant.
    #[must_use]
    pub fn in_plain_text(self) -> Self {
        match self {
            Self::Written(text) => Self::Plain(text),
            elsewhere => elsewhere,
        }
    }

    /// Whether it stands in the settings where that is not accepted.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Written(_))
    }

    /// Reads it, for the setting of that name. Spaces around it do not belong to it.
    pub fn read(&self, setting: &str, unlock: &Unlock) -> Result<SecretString, SecretError> {
        let setting = || setting.to_owned();
        let text = match self {
            Self::Environment(name) => Zeroizing::new(
                machine::variable(name)
                    .ok_or_else(|| SecretError::Unset { setting: setting(), name: name.clone() })?,
            ),
            Self::File(path) => private_text(path, &setting())?,
            Self::Keyring(account) => {
                return keyring::read(account)
                    .map_err(|source| SecretError::Keyring { setting: setting(), source });
            }
            Self::Encrypted(path) => {
                let text = private_text(path, &setting())?;
                let passphrase = unlock.passphrase(&setting())?;
                return sealed::open(&text, &passphrase).map_err(|source| SecretError::Sealed {
                    setting: setting(),
                    path: path.clone(),
                    source,
                });
            }
            Self::Plain(text) => return Ok(text.0.clone()),
            Self::Written(_) => return Err(SecretError::Written { setting: setting() }),
        };
        match text.trim() {
            "" => Err(SecretError::Empty { setting: setting() }),
            text => Ok(text.into()),
        }
    }
}

/// What is in a file that nobody else can read.
fn private_text(path: &Path, setting: &str) -> Result<Zeroizing<String>, SecretError> {
    let unread =
        |source| SecretError::Read { setting: setting.to_owned(), path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unread)?;
    // Of the file that was opened: another one may have its name by now.
    if is_exposed(&file.metadata().map_err(unread)?) {
        return Err(SecretError::Exposed { setting: setting.to_owned(), path: path.to_owned() });
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(unread)?;
    Ok(text)
}

#[cfg(unix)]
fn is_exposed(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    file.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_exposed(_: &std::fs::Metadata) -> bool {
    // Who may read a file is inherited from its folder there.
    false
}

impl Unlock {
    fn passphrase(&self, setting: &str) -> Result<SecretString, SecretError> {
        match self {
            Self::Nothing => Err(SecretError::Locked { setting: setting.to_owned() }),
            // What opens files cannot be in one of them.
            Self::From(secret) => secret.read("secrets.passphrase", &Self::Nothing),
            Self::With(passphrase) => Ok(passphrase.0.clone()),
        }
    }
}

impl Secrets {
    /// What opens encrypted files.
    pub fn unlock(&self) -> Unlock {
        self.passphrase.clone().map_or(Unlock::Nothing, Unlock::From)
    }
}

impl Unshown {
    /// The text itself.
    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<&str> for Unshown {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<SecretString> for Unshown {
    fn from(text: SecretString) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Unshown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl PartialEq for Unshown {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Unshown {}

impl<'de> Deserialize<'de> for Unshown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

/// Reads a text. What is something else may be a secret all the same, such as a
/// password of digits: the usual message would repeat it.
struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Unshown;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Unshown, E> {
        Ok(text.into())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Unshown, E> {
        Err(E::custom("expected a text in quotes, got a number"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Unshown, E> {
        Err(E::custom("expected a text in quotes, got a number"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Unshown, E> {
        Err(E::custom("expected a text in quotes, got a number"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(secret: &Secret) -> Result<SecretString, SecretError> {
        secret.read("a.key", &Unlock::Nothing)
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;

        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A file that only its owner can read.
    fn private(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        #[cfg(unix)]
        set_mode(path, 0o600);
    }

    #[test]
    fn a_secret_is_read_from_where_the_settings_say_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        private(&path, " s3cret\n");
        let secret = Secret::from(format!("file:{}", path.display()));
        assert_eq!(read(&secret).unwrap().expose_secret(), "s3cret");
        private(&path, "\n");
        assert!(matches!(read(&secret), Err(SecretError::Empty { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(read(&secret), Err(SecretError::Read { .. })));
        let unset = read(&Secret::from("env:VADEMECUM_SURELY_NOT_SET".to_owned()));
        assert!(unset.unwrap_err().to_string().contains("VADEMECUM_SURELY_NOT_SET"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_command_that_helps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        private(&path, "s3cret");
        for kind in ["file", "encrypted"] {
            let secret = Secret::from(format!("{kind}:{}", path.display()));
            for mode in [0o644, 0o640, 0o604, 0o610] {
                set_mode(&path, mode);
                let said = read(&secret).unwrap_err().to_string();
                assert!(said.ends_with(&format!("run: chmod 600 {}", path.display())), "{said}");
            }
        }
        for mode in [0o600, 0o400] {
            set_mode(&path, mode);
            assert!(read(&Secret::File(path.clone())).is_ok());
        }
    }

    #[test]
    fn an_encrypted_secret_is_opened_by_the_passphrase_of_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let (path, phrase) = (folder.path().join("sealed"), folder.path().join("phrase"));
        let sealed = sealed::seal(&"s3cret".into(), &"open sesame".into()).unwrap();
        private(&path, &sealed);
        private(&phrase, "open sesame\n");
        let secret = Secret::from(format!("encrypted:{}", path.display()));
        assert!(matches!(read(&secret), Err(SecretError::Locked { .. })));
        let secrets = Secrets { passphrase: Some(Secret::File(phrase)) };
        let opened = secret.read("a.key", &secrets.unlock()).unwrap();
        assert_eq!(opened.expose_secret(), "s3cret");
        // What opens files cannot be in one of them.
        let circle = Unlock::From(secret.clone());
        assert!(matches!(secret.read("a.key", &circle), Err(SecretError::Locked { .. })));
    }

    #[test]
    fn a_secret_in_the_settings_is_refused_and_never_repeated() {
        for text in ["sk-abc", "Bearer:sk-abc", "env:sk-abc!", ""] {
            let secret = Secret::from(text.to_owned());
            let error = read(&secret).unwrap_err();
            let said = format!("{secret:?} {error:?} {error}");
            assert!(said.contains("env:NAME") && !said.contains("sk-abc"), "{said}");
        }
        let meant = Secret::from("sk-abc".to_owned()).in_plain_text();
        assert_eq!(read(&meant).unwrap().expose_secret(), "sk-abc");
        assert!(!format!("{meant:?}").contains("sk-abc"));
    }

    #[test]
    fn a_secret_that_is_no_text_is_not_repeated_either() {
        for value in ["4711", "-4711", "4711.5", "0x1267"] {
            let error = toml::from_str::<Secrets>(&format!("passphrase = {value}")).unwrap_err();
            assert!(error.message().contains("in quotes"), "{error}");
            assert!(!error.message().contains("4711"), "{error}");
        }
    }
}
