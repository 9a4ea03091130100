//! Secrets: the settings say where one is, never what it is.

use std::{fs, path::PathBuf};

use secrecy::{SecretString, zeroize::Zeroizing};
use serde::Deserialize;

use super::machine;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Secret {
    /// `env:NAME`: in an environment variable.
    Environment(String),
    /// `file:PATH`: in a file that holds nothing else.
    File(PathBuf),
    /// In the settings themselves, where it is not accepted. What was written is
    /// not kept, so that no message can repeat it.
    Written,
}

/// Why a secret could not be read. None of the words are the secret's.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable is not there, or is no text.
    #[error("{setting} is in the environment variable {name}, which is not set")]
    Unset {
        /// Which setting.
        setting: &'static str,
        /// Which variable.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read {setting} in {}", path.display())]
    Read {
        /// Which setting.
        setting: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing in the variable or the file.
    #[error("{setting} is empty where it was looked for")]
    Empty {
        /// Which setting.
        setting: &'static str,
    },
    /// The secret stands in the settings.
    #[error(
        "{setting} must say where the key is, as \"env:NAME\" or \"file:PATH\"; the key itself \
         does not belong into the settings"
    )]
    Written {
        /// Which setting.
        setting: &'static str,
    },
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        let text = Zeroizing::new(text);
        match text.split_once(':') {
            Some(("env", name)) => Self::Environment(name.to_owned()),
            Some(("file", path)) => Self::File(path.into()),
            Some(_) | None => Self::Written,
        }
    }
}

impl Secret {
    /// Reads it, for the setting of that name. Spaces around it do not belong to it.
    pub fn read(&self, setting: &'static str) -> Result<SecretString, SecretError> {
        let text =
            Zeroizing::new(match self {
                Self::Environment(name) => machine::variable(name)
                    .ok_or_else(|| SecretError::Unset { setting, name: name.clone() })?,
                Self::File(path) => fs::read_to_string(path)
                    .map_err(|source| SecretError::Read { setting, path: path.clone(), source })?,
                Self::Written => return Err(SecretError::Written { setting }),
            });
        match text.trim() {
            "" => Err(SecretError::Empty { setting }),
            text => Ok(text.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_secret_is_read_from_where_the_settings_say_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, " s3cret\n").unwrap();
        let secret = Secret::from(format!("file:{}", path.display()));
        assert_eq!(secret.read("a.key").unwrap().expose_secret(), "s3cret");
        fs::write(&path, "\n").unwrap();
        assert!(matches!(secret.read("a.key"), Err(SecretError::Empty { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(secret.read("a.key"), Err(SecretError::Read { .. })));
        let unset = Secret::from("env:VADEMECUM_SURELY_NOT_SET".to_owned()).read("a.key");
        assert!(unset.unwrap_err().to_string().contains("VADEMECUM_SURELY_NOT_SET"));
    }

    #[test]
    fn a_secret_in_the_settings_is_refused_and_never_repeated() {
        for text in ["sk-abc", "Bearer:sk-abc", ""] {
            let secret = Secret::from(text.to_owned());
            let error = secret.read("a.key").unwrap_err();
            let said = format!("{secret:?} {error:?} {error}");
            assert!(said.contains("env:NAME") && !said.contains("sk-abc"), "{said}");
        }
    }
}
