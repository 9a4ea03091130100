//! Accounts: users, keys, grants and tokens, the authentication of callers, the audit log and the key
//! of the server. Only this crate turns a credential into a principal.
//!
//! Start reading at [`Authenticator`]: it turns [`Credentials`] into a principal or an
//! [`AuthRejection`].

mod accounts;
mod api_key;
pub mod audit;
mod authenticator;
mod credentials;
mod deny_rules;
mod erasures;
mod error;
mod grant;
mod id_token;
mod key_set;
mod local;
mod login_throttle;
mod private_file;
mod rejection;
mod server_key;
mod signature;
mod token;
mod user_folders;
mod user_status;

pub use accounts::{Accounts, KeyRecord, KeyRequest, UserRecord};
pub use authenticator::Authenticator;
pub use credentials::Credentials;
pub use deny_rules::DenyRules;
pub use erasures::{ErasureWatch, PendingErasure};
pub use error::{AccountError, AuthError};
pub use grant::{GrantToken, GrantTokenKind, key_of_token};
pub use id_token::{IdTokenVerifier, LoginClaims};
pub use local::{CallerAccount, LocalToken};
pub use login_throttle::LoginThrottle;
pub use rejection::AuthRejection;
pub use server_key::ServerKey;
pub use user_folders::{UserFolders, user_of_folder};
pub use user_status::{EndedUsers, UserStatus};
