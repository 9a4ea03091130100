//! References to secrets. The settings name the location of a secret; the secret itself is accepted
//! only where plain text is explicitly allowed.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString, zeroize::Zeroizing};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

use super::{
    encrypted_file::{self, EncryptedFileError},
    environment,
    keyring::{self, KeyringError},
};

/// Location of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "RedactedText")]
#[schemars(with = "String")]
pub enum SecretRef {
    /// `env:NAME`: an environment variable.
    Environment(String),
    /// `file:PATH`: a file that holds only the secret and that only its owner can read.
    File(PathBuf),
    /// `keyring:ACCOUNT`: the system keyring.
    Keyring(String),
    /// `encrypted:PATH`: a file created by `vademecum profile encrypt`.
    Encrypted(PathBuf),
    /// The secret itself, where plain text is allowed.
    AllowedPlaintext(RedactedText),
    /// The secret itself, where plain text is not allowed.
    RejectedPlaintext(RedactedText),
}

/// A text of the settings that may be a secret; no message and no `Debug` output shows it.
#[derive(Clone, JsonSchema)]
#[schemars(with = "String")]
pub struct RedactedText(SecretString);

/// The passphrase of encrypted files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PassphraseSource {
    /// None; encrypted files cannot be read.
    #[default]
    Unset,
    /// The passphrase is at this location.
    Reference(SecretRef),
    /// The passphrase itself, for example typed by the user.
    Passphrase(RedactedText),
}

/// Decryption of encrypted secrets (`"encrypted:PATH"`, created by `vademecum profile encrypt
/// PATH`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// Secret with their passphrase: `"env:NAME"`, `"file:PATH"` or `"keyring:ACCOUNT"`. Without
    /// it, commands prompt for it on the terminal, and a server cannot decrypt them.
    #[schemars(example = "env:VADEMECUM_PASSPHRASE")]
    pub passphrase: Option<SecretRef>,
}

/// The reason why a secret could not be read. No message contains any part of the secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The environment variable is not set, or is not UTF-8.
    #[error("{setting} is in the environment variable {name}, which is not set")]
    VariableNotSet {
        /// Name of the setting.
        setting: String,
        /// Name of the variable.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read {setting} in {}", path.display())]
    Read {
        /// Name of the setting.
        setting: String,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Other users can read the file.
    #[error(
        "{setting} is in {path}, which other users can read; run: chmod 600 {path}",
        path = path.display()
    )]
    ExposedFile {
        /// Name of the setting.
        setting: String,
        /// Path of the file.
        path: PathBuf,
    },
    /// The location exists, but is empty.
    #[error("{setting} refers to an empty secret")]
    Empty {
        /// Name of the setting.
        setting: String,
    },
    /// The keyring does not return the secret.
    #[error("cannot read {setting}")]
    Keyring {
        /// Name of the setting.
        setting: String,
        /// Cause.
        source: KeyringError,
    },
    /// The encrypted file cannot be decrypted.
    #[error("cannot decrypt {setting} in {}", path.display())]
    Undecryptable {
        /// Name of the setting.
        setting: String,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: EncryptedFileError,
    },
    /// The file is encrypted, but no passphrase is configured.
    #[error(
        "{setting} is encrypted, but no passphrase is configured; set secrets.passphrase to \
         \"env:NAME\", \"file:PATH\" or \"keyring:ACCOUNT\""
    )]
    NoPassphrase {
        /// Name of the setting.
        setting: String,
    },
    /// The secret is plain text in the settings, where that is not allowed.
    #[error(
        "{setting} must refer to the key, as \"env:NAME\", \"file:PATH\", \
         \"keyring:ACCOUNT\" or \"encrypted:PATH\"; the key itself is not allowed in the \
         settings"
    )]
    RejectedPlaintext {
        /// Name of the setting.
        setting: String,
    },
}

impl SecretError {
    /// Returns the error with its cause, for the log.
    pub fn to_detail(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

impl From<RedactedText> for SecretRef {
    fn from(text: RedactedText) -> Self {
        match text.expose().split_once(':') {
            Some(("env", name)) if is_variable_name(name) => Self::Environment(name.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            Some(("keyring", account)) if !account.is_empty() => Self::Keyring(account.to_owned()),
            Some(("encrypted", path)) => Self::Encrypted(path.into()),
            Some(_) | None => Self::RejectedPlaintext(text),
        }
    }
}

impl From<String> for SecretRef {
    fn from(text: String) -> Self {
        RedactedText(Zeroizing::new(text).as_str().into()).into()
    }
}

/// Returns whether `name` has the form of an environment variable. Any other text may be a secret
/// and must not be shown.
fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

impl SecretRef {
    /// Allows the secret to be plain text.
    #[must_use]
    pub fn allow_plaintext(self) -> Self {
        match self {
            Self::RejectedPlaintext(text) => Self::AllowedPlaintext(text),
            elsewhere => elsewhere,
        }
    }

    /// Returns whether the secret is plain text where that is not allowed.
    pub fn is_rejected_plaintext(&self) -> bool {
        matches!(self, Self::RejectedPlaintext(_))
    }

    /// Reads the secret, without leading and trailing white space. `setting` names it in error
    /// messages.
    pub fn read_secret(
        &self,
        setting: &str,
        unlock: &PassphraseSource,
    ) -> Result<SecretString, SecretError> {
        let setting = || setting.to_owned();
        let text = match self {
            Self::Environment(name) => {
                Zeroizing::new(environment::text_variable(name).ok_or_else(|| {
                    SecretError::VariableNotSet { setting: setting(), name: name.clone() }
                })?)
            }
            Self::File(path) => read_private_file(path, &setting())?,
            Self::Keyring(account) => {
                return keyring::read_secret(account)
                    .map_err(|source| SecretError::Keyring { setting: setting(), source });
            }
            Self::Encrypted(path) => {
                let text = read_private_file(path, &setting())?;
                let passphrase = unlock.read_passphrase(&setting())?;
                return encrypted_file::decrypt_secret(&text, &passphrase).map_err(|source| {
                    SecretError::Undecryptable { setting: setting(), path: path.clone(), source }
                });
            }
            Self::AllowedPlaintext(text) => return Ok(text.0.clone()),
            Self::RejectedPlaintext(_) => {
                return Err(SecretError::RejectedPlaintext { setting: setting() });
            }
        };
        match text.trim() {
            "" => Err(SecretError::Empty { setting: setting() }),
            text => Ok(text.into()),
        }
    }
}

/// Reads a file that only its owner may read. Fails if other users can read it.
fn read_private_file(path: &Path, setting: &str) -> Result<Zeroizing<String>, SecretError> {
    let unread =
        |source| SecretError::Read { setting: setting.to_owned(), path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unread)?;
    // The permissions of the open file are checked, because the path may refer to another file by
    // now.
    if is_exposed(&file.metadata().map_err(unread)?) {
        return Err(SecretError::ExposedFile {
            setting: setting.to_owned(),
            path: path.to_owned(),
        });
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
    // On other platforms a file inherits its permissions from the folder.
    false
}

impl PassphraseSource {
    fn read_passphrase(&self, setting: &str) -> Result<SecretString, SecretError> {
        match self {
            Self::Unset => Err(SecretError::NoPassphrase { setting: setting.to_owned() }),
            // The passphrase itself cannot be in an encrypted file.
            Self::Reference(secret) => secret.read_secret("secrets.passphrase", &Self::Unset),
            Self::Passphrase(passphrase) => Ok(passphrase.0.clone()),
        }
    }
}

impl Secrets {
    /// Returns the passphrase of encrypted files.
    pub fn passphrase_source(&self) -> PassphraseSource {
        self.passphrase.clone().map_or(PassphraseSource::Unset, PassphraseSource::Reference)
    }
}

impl RedactedText {
    /// Returns the text.
    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<&str> for RedactedText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<SecretString> for RedactedText {
    fn from(text: SecretString) -> Self {
        Self(text)
    }
}

impl fmt::Debug for RedactedText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl PartialEq for RedactedText {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for RedactedText {}

impl<'de> Deserialize<'de> for RedactedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

/// Deserializes a text without repeating other values in error messages, since an unquoted password
/// of digits would be shown otherwise.
struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = RedactedText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RedactedText, E> {
        Ok(text.into())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<RedactedText, E> {
        Err(E::custom("expected a text in quotes, got a number"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<RedactedText, E> {
        Err(E::custom("expected a text in quotes, got a number"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<RedactedText, E> {
        Err(E::custom("expected a text in quotes, got a number"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_key(secret: &SecretRef) -> Result<SecretString, SecretError> {
        secret.read_secret("a.key", &PassphraseSource::Unset)
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;

        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Writes a file that only its owner can read.
    fn write_private_file(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        #[cfg(unix)]
        set_mode(path, 0o600);
    }

    #[test]
    fn secret_is_read_from_configured_location() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private_file(&path, " s3cret\n");
        let secret = SecretRef::from(format!("file:{}", path.display()));
        assert_eq!(read_key(&secret).unwrap().expose_secret(), "s3cret");
        write_private_file(&path, "\n");
        assert!(matches!(read_key(&secret), Err(SecretError::Empty { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(read_key(&secret), Err(SecretError::Read { .. })));
        let unset = read_key(&SecretRef::from("env:VADEMECUM_SURELY_NOT_SET".to_owned()));
        assert!(unset.unwrap_err().to_string().contains("VADEMECUM_SURELY_NOT_SET"));
    }

    #[cfg(unix)]
    #[test]
    fn exposed_file_is_rejected_with_fixing_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private_file(&path, "s3cret");
        for kind in ["file", "encrypted"] {
            let secret = SecretRef::from(format!("{kind}:{}", path.display()));
            for mode in [0o644, 0o640, 0o604, 0o610] {
                set_mode(&path, mode);
                let error = read_key(&secret).unwrap_err().to_string();
                assert!(error.ends_with(&format!("run: chmod 600 {}", path.display())), "{error}");
            }
        }
        for mode in [0o600, 0o400] {
            set_mode(&path, mode);
            assert!(read_key(&SecretRef::File(path.clone())).is_ok());
        }
    }

    #[test]
    fn encrypted_secret_is_decrypted_with_configured_passphrase() {
        let folder = tempfile::tempdir().unwrap();
        let (path, phrase) = (folder.path().join("sealed"), folder.path().join("phrase"));
        let sealed =
            encrypted_file::encrypt_secret(&"s3cret".into(), &"open sesame".into()).unwrap();
        write_private_file(&path, &sealed);
        write_private_file(&phrase, "open sesame\n");
        let secret = SecretRef::from(format!("encrypted:{}", path.display()));
        assert!(matches!(read_key(&secret), Err(SecretError::NoPassphrase { .. })));
        let secrets = Secrets { passphrase: Some(SecretRef::File(phrase)) };
        let opened = secret.read_secret("a.key", &secrets.passphrase_source()).unwrap();
        assert_eq!(opened.expose_secret(), "s3cret");
        // The passphrase itself cannot be in an encrypted file.
        let circle = PassphraseSource::Reference(secret.clone());
        assert!(matches!(
            secret.read_secret("a.key", &circle),
            Err(SecretError::NoPassphrase { .. })
        ));
    }

    #[test]
    fn plaintext_secret_is_rejected_and_not_repeated() {
        for text in ["sk-abc", "Bearer:sk-abc", "env:sk-abc!", ""] {
            let secret = SecretRef::from(text.to_owned());
            let error = read_key(&secret).unwrap_err();
            let output = format!("{secret:?} {error:?} {error}");
            assert!(output.contains("env:NAME") && !output.contains("sk-abc"), "{output}");
        }
        let meant = SecretRef::from("sk-abc".to_owned()).allow_plaintext();
        assert_eq!(read_key(&meant).unwrap().expose_secret(), "sk-abc");
        assert!(!format!("{meant:?}").contains("sk-abc"));
    }

    #[test]
    fn numeric_secret_is_not_repeated() {
        for value in ["4711", "-4711", "4711.5", "0x1267"] {
            let error = toml::from_str::<Secrets>(&format!("passphrase = {value}")).unwrap_err();
            assert!(error.message().contains("in quotes"), "{error}");
            assert!(!error.message().contains("4711"), "{error}");
        }
    }
}
