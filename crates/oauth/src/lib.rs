//! The authorization server (OAuth 2.1): it logs users in, asks them for consent, and gives clients
//! the tokens of a grant. It knows neither HTTP nor HTML; the transport passes requests to it and
//! renders its answers (`docs/adr/0036-authorization-server.md`).
//!
//! Start reading at [`AuthorizationServer`]. One login of a client takes this path:
//! [`AuthorizationRequest`] checks what the client asks for, [`AuthorizationServer::log_in`] finds
//! the user, [`AuthorizationServer::approve`] makes a code of the user's answer, and
//! [`AuthorizationServer::exchange`] makes tokens of the code.

mod authorization;
mod client;
mod client_lookup;
mod client_name;
mod consent;
mod endpoint;
mod error;
mod exchange;
mod grants;
mod guess_limit;
mod login;
mod login_attempt;
mod login_session;
mod metadata_document;
mod oidc;
mod parameters;
mod passkey_answer;
mod passkey_key;
mod passkeys;
mod password;
mod password_policy;
mod pending_login;
mod public_address;
mod redirect_uri;
mod registration;
mod registration_counts;
mod second_factor;
mod secret;
mod server;
mod totp;

pub use authorization::{AuthorizationError, AuthorizationQuery, AuthorizationRequest};
pub use client::{Client, ClientKind};
pub use client_name::NameWarning;
pub use consent::{ConsentAnswer, ConsentForm};
pub use endpoint::Endpoint;
pub use error::{OAuthError, ServerError};
pub use exchange::{ExchangeError, IssuedTokens, TokenForm};
pub use grants::{Grant, RegisteredClient};
pub use login::CodeLifetime;
pub use login_attempt::{LoginError, LoginOrigin};
pub use login_session::{LoginRecord, LoginSession};
pub use oidc::{OidcLogin, OidcRedirect};
pub use passkeys::{Passkey, PasskeyAnswer, PasskeyChallenge, PasskeyError, PasskeyOffer};
pub use password_policy::{NewPassword, PasswordError};
pub use pending_login::{LoginStep, PendingLogin};
pub use redirect_uri::RedirectUri;
pub use registration::RegistrationError;
pub use second_factor::{SecondFactorError, SecondFactorSetup, SecondFactorStatus};
pub use server::AuthorizationServer;
