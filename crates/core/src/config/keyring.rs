//! Reading of secrets from the system keyring, with the command-line program of the platform
//! (`secret-tool` or `security`).
//!
//! A keyring library would add D-Bus as a dependency.

use std::process::{Command, Stdio};

use secrecy::{SecretString, zeroize::Zeroizing};

/// Service name of this program's entries in the keyring.
const SERVICE: &str = "vademecum";

/// The reason why a secret could not be read from the keyring.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The command-line program is not installed.
    #[error(
        "the keyring cannot be read: {program} is not installed; use \"file:PATH\" or \
         \"encrypted:PATH\" instead"
    )]
    NoProgram {
        /// Name of the program.
        program: &'static str,
    },
    /// The keyring has no such entry, or is locked.
    #[error(
        "the keyring has no secret of {SERVICE} for this account, or is locked, or its user is not \
         logged in; store it with `{store}`, or use \"file:PATH\" or \
         \"encrypted:PATH\" instead"
    )]
    Missing {
        /// Command that stores the secret.
        store: String,
    },
}

/// Returns the program that reads the keyring, its arguments, and the command that stores a secret.
fn reader_command(account: &str) -> (&'static str, Vec<&str>, String) {
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
pub(super) fn read_secret(account: &str) -> Result<SecretString, KeyringError> {
    let (program, arguments, store) = reader_command(account);
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let answer = output.map_err(|_| KeyringError::NoProgram { program })?;
    let text = Zeroizing::new(answer.stdout);
    let text = std::str::from_utf8(&text).ok().map(|it| it.trim_end_matches(['\r', '\n']));
    match text.filter(|text| answer.status.success() && !text.is_empty()) {
        Some(secret) => Ok(secret.into()),
        None => Err(KeyringError::Missing { store }),
    }
}
