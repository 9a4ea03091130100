//! Secrets in the keyring of the system, read by the program that comes with it.
//!
//! A library for this brings half of D-Bus along; `secret-tool` and `security`
//! are where there is a keyring to read.

use std::process::{Command, Stdio};

use secrecy::{SecretString, zeroize::Zeroizing};

/// What the secrets of this program are filed under.
const SERVICE: &str = "vademecum";

/// Why a keyring did not give a secret away.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// There is no such program.
    #[error(
        "there is no keyring here that can be read ({program} is missing); use \"file:PATH\" or \
         \"encrypted:PATH\" instead"
    )]
    NoProgram {
        /// Which is missing.
        program: &'static str,
    },
    /// It has no such secret, or is closed.
    #[error(
        "the keyring has no secret of {SERVICE} for this account, or is locked, or nobody is \
         logged in whose it is; store it with `{store}`, or use \"file:PATH\" or \
         \"encrypted:PATH\" instead"
    )]
    Missing {
        /// How it is put there.
        store: String,
    },
}

/// The program that reads this system's keyring, and how it is asked.
fn reader(account: &str) -> (&'static str, Vec<&str>, String) {
    if cfg!(target_os = "macos") {
        let arguments = vec!["find-generic-password", "-s", SERVICE, "-a", account, "-w"];
        let store = format!("security add-generic-password -s {SERVICE} -a {account} -w");
        ("security", arguments, store)
    } else {
        let arguments = vec!["lookup", "service", SERVICE, "username", account];
        let store =
            format!("secret-tool store --label={SERVICE} service {SERVICE} username {account}");
        ("secret-tool", arguments, store)
    }
}

/// Reads the secret of an account.
pub(super) fn read(account: &str) -> Result<SecretString, KeyringError> {
    let (program, arguments, store) = reader(account);
    let asked = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let answer = asked.map_err(|_| KeyringError::NoProgram { program })?;
    let text = Zeroizing::new(answer.stdout);
    let text = std::str::from_utf8(&text).ok().map(|it| it.trim_end_matches(['\r', '\n']));
    match text.filter(|text| answer.status.success() && !text.is_empty()) {
        Some(secret) => Ok(secret.into()),
        None => Err(KeyringError::Missing { store }),
    }
}
