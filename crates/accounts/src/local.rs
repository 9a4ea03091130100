//! Authentication in single-user mode: the account of the operating system that runs the server.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use vademecum_core::config::LocalAccess;

use super::{AuthRejection, Credentials, private_file::read_or_create};

/// File name of the token, in the data folder.
const TOKEN_FILE: &str = "local.token";
/// Length of the token, in random bytes.
const TOKEN_BYTES: usize = 32;

/// Account of the operating system that opened a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallerAccount {
    /// The account that runs this server.
    Own,
    /// Another account.
    Other,
    /// The system does not tell.
    #[default]
    Unknown,
}

/// Token that proves read access to the data folder. It is kept in a file with mode 0600.
#[derive(Clone, Debug)]
pub struct LocalToken(SecretString);

impl PartialEq for LocalToken {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for LocalToken {}

impl LocalToken {
    /// Reads the token in the data folder, and creates it on first use.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let text = read_or_create(folder, TOKEN_FILE, || {
            let mut bytes = [0; TOKEN_BYTES];
            getrandom::fill(&mut bytes).map_err(io::Error::other)?;
            Ok(URL_SAFE_NO_PAD.encode(bytes).into_bytes())
        })?;
        let text = String::from_utf8(text).unwrap_or_default();
        let text = text.trim();
        if text.len() < TOKEN_BYTES {
            let problem = format!(
                "{} holds no token: remove it, and a new one is created",
                folder.join(TOKEN_FILE).display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(Self(text.into()))
    }

    /// Returns the token as text, for the settings of a client.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    fn matches(&self, other: &SecretString) -> bool {
        self.expose().as_bytes().ct_eq(other.expose_secret().as_bytes()).into()
    }
}

/// Authentication of the callers of a server for a single user.
#[derive(Debug)]
pub(super) struct LocalAuth {
    access: LocalAccess,
    /// The data folder.
    folder: PathBuf,
    /// The token, once a caller needed it.
    token: Mutex<Option<LocalToken>>,
}

impl LocalAuth {
    pub(super) fn new(access: LocalAccess, folder: &Path) -> Self {
        Self { access, folder: folder.to_owned(), token: Mutex::default() }
    }

    /// Returns the token, and creates it on first use.
    fn token(&self) -> Result<LocalToken, AuthRejection> {
        let mut kept = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &*kept {
            return Ok(token.clone());
        }
        match LocalToken::open(&self.folder) {
            Ok(token) => Ok(kept.insert(token).clone()),
            Err(error) => {
                tracing::error!(%error, "cannot prepare the token for callers on this machine");
                Err(AuthRejection::Unavailable)
            }
        }
    }

    /// Returns true if callers are recognised by the account that opened their connection.
    pub(super) fn recognises_accounts(&self) -> bool {
        self.access == LocalAccess::Account
    }

    /// Returns true if this account needs no token.
    pub(super) fn accepts_account(&self, account: CallerAccount) -> bool {
        match self.access {
            LocalAccess::Open => true,
            LocalAccess::Account => account == CallerAccount::Own,
            LocalAccess::Token => false,
        }
    }

    /// Fails unless the caller has the account of this server or its token.
    pub(super) fn check(&self, credentials: &Credentials) -> Result<(), AuthRejection> {
        let has_token =
            |own: &LocalToken| credentials.token.as_ref().is_some_and(|it| own.matches(it));
        if self.accepts_account(credentials.account) || has_token(&self.token()?) {
            return Ok(());
        }
        match (self.access, credentials.account) {
            (LocalAccess::Account, CallerAccount::Other) => Err(AuthRejection::OtherAccount),
            _ => Err(AuthRejection::NoLocalToken),
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::fs;

    use super::*;

    fn is_accepted(
        access: LocalAccess,
        account: CallerAccount,
        token: Option<&str>,
        folder: &Path,
    ) -> bool {
        let auth = LocalAuth::new(access, folder);
        let token = token.map(Into::into);
        auth.check(&Credentials { token, account, ..Credentials::default() }).is_ok()
    }

    #[test]
    fn caller_needs_own_account_or_token() {
        use CallerAccount::{Other, Own, Unknown};
        use LocalAccess::{Account, Open, Token};

        let folder = tempfile::tempdir().unwrap();
        let token = LocalToken::open(folder.path()).unwrap();
        assert_eq!(LocalToken::open(folder.path()).unwrap(), token);
        let accepted = |access, account, token| is_accepted(access, account, token, folder.path());
        for account in [Own, Other, Unknown] {
            assert!(accepted(Open, account, None));
            assert!(!accepted(Token, account, None));
            assert_eq!(accepted(Account, account, None), account == Own);
            assert_eq!(accepted(Account, account, Some("wrong")), account == Own);
            assert!(accepted(Token, account, Some(token.expose())));
            assert!(accepted(Account, account, Some(token.expose())));
        }
    }

    #[cfg(unix)]
    #[test]
    fn token_file_is_private_to_owner() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        LocalToken::open(folder.path()).unwrap();
        let path = folder.path().join(TOKEN_FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(LocalToken::open(folder.path()).unwrap_err().to_string().contains("no token"));
    }
}
