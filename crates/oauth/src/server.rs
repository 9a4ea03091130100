//! The authorization server and its metadata.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vademecum_accounts::{Accounts, LoginThrottle, ServerKey};
use vademecum_core::{
    auth::{Right, UserId},
    config::{Auth, AuthMode, PublicUrl},
};
use vademecum_model::Deadline;
use vademecum_store::{DataFolder, Database, Durability, Reader, Store, StoreError, Writer};

use super::{
    Endpoint, OidcLogin, ServerError, error::store_error, guess_limit::GuessLimit,
    metadata_document::MetadataDocuments, password::PasswordHasher,
    registration_counts::RegistrationCounts,
};

/// Maximum duration of one read of the account database.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Authorization server. Its methods read and write the account database and block, unless they are
/// asynchronous.
#[derive(Debug)]
pub struct AuthorizationServer {
    pub(crate) store: Store,
    pub(crate) accounts: Accounts,
    pub(crate) public_url: PublicUrl,
    /// Address of the MCP endpoint, for which tokens are issued.
    pub(crate) resource: String,
    /// The user of a server for one user, who logs in without a password.
    pub(crate) single_user: Option<UserId>,
    pub(crate) throttle: LoginThrottle,
    pub(crate) guesses: GuessLimit,
    /// Encrypts the marks of browsers and the secrets of second factors; none on a server without
    /// passwords.
    pub(crate) server_key: Option<ServerKey>,
    /// Beginning of the times in logins that wait for a code.
    pub(crate) started: Instant,
    pub(crate) passwords: PasswordHasher,
    pub(crate) documents: MetadataDocuments,
    pub(crate) registrations: RegistrationCounts,
    oidc: Option<Arc<OidcLogin>>,
}

impl AuthorizationServer {
    /// Creates the server of a data folder; `user` is the user of a server for one user. No database
    /// is opened. Fails if the secret of the server, or that of the outside provider, cannot be read.
    pub fn open(
        settings: &Auth,
        public_url: &PublicUrl,
        data: impl Into<DataFolder>,
        user: &UserId,
    ) -> io::Result<Self> {
        let data = data.into();
        let oidc = match &settings.oidc {
            Some(oidc) => {
                Some(Arc::new(OidcLogin::open(oidc, public_url, ServerKey::open(&data)?)?))
            }
            None => None,
        };
        Ok(Self {
            store: data.server_store(Database::Server),
            accounts: Accounts::new(&data),
            public_url: public_url.clone(),
            resource: public_url.join("/mcp"),
            single_user: match settings.mode {
                AuthMode::Single => Some(user.clone()),
                AuthMode::Multi => None,
            },
            throttle: LoginThrottle::new(settings.free_attempts),
            guesses: GuessLimit::default(),
            started: Instant::now(),
            server_key: match settings.mode {
                AuthMode::Single => None,
                AuthMode::Multi => Some(ServerKey::open(&data)?),
            },
            passwords: PasswordHasher::default(),
            documents: MetadataDocuments::new(settings.client_documents),
            registrations: RegistrationCounts::default(),
            oidc,
        })
    }

    /// Returns the address of the server, which is also the issuer of its tokens.
    pub fn public_url(&self) -> &PublicUrl {
        &self.public_url
    }

    /// Returns true if users have passwords; the user of a server for one user has none.
    pub fn has_passwords(&self) -> bool {
        self.single_user.is_none()
    }

    /// Returns the login through the outside provider, if there is one.
    pub fn oidc(&self) -> Option<&Arc<OidcLogin>> {
        self.oidc.as_ref()
    }

    /// Returns the metadata of the server (RFC 8414).
    pub fn metadata(&self) -> Value {
        let address = |endpoint: Endpoint| self.public_url.join(endpoint.path());
        json!({
            "issuer": self.public_url.as_str(),
            "authorization_endpoint": address(Endpoint::Authorize),
            "token_endpoint": address(Endpoint::Token),
            "registration_endpoint": address(Endpoint::Register),
            "revocation_endpoint": address(Endpoint::Revoke),
            "scopes_supported": Right::ALL.map(Right::as_str),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": self.documents.are_fetched(),
        })
    }

    /// Reads the account database, for up to 5 s.
    pub(crate) fn read<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, ServerError> {
        self.store.read(Deadline::after(READ_TIMEOUT), work).map_err(store_error(action))
    }

    /// Writes the account database in one transaction.
    pub(crate) fn write<T>(
        &self,
        action: &'static str,
        work: impl FnMut(&Writer<'_>) -> Result<T, StoreError>,
    ) -> Result<T, ServerError> {
        self.store.write(Durability::Full, work).map_err(store_error(action))
    }
}
