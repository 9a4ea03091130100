//! Authentication and authorization of callers. Only this module creates a [`Principal`], and only
//! from a credential, never from tool arguments.
//!
//! Start reading at [`Authenticator`]: it turns [`Credentials`] into a principal or an
//! [`AuthRejection`].

mod access_rules;
mod accounts;
mod api_key;
mod authenticator;
mod credentials;
mod error;
mod grant;
mod id_token;
mod key_set;
mod local;
mod login_throttle;
mod principal;
mod private_file;
mod rejection;
mod right;
mod server_key;
mod signature;
mod tag;
mod token;
mod user_folders;
mod user_status;

pub use access_rules::{AccessRules, DenyRules, KeyScope, KeyScopeError};
pub use accounts::{Accounts, KeyRecord, KeyRequest, UserRecord};
pub use api_key::KeyId;
pub use authenticator::Authenticator;
pub use credentials::Credentials;
pub use error::{AccountError, AuthError};
pub use grant::{GrantToken, GrantTokenKind};
pub use id_token::{IdTokenVerifier, LoginClaims};
pub use local::{CallerAccount, LocalToken};
pub use login_throttle::LoginThrottle;
pub use principal::{Principal, UserId, UserIdError, local_principal};
pub use rejection::AuthRejection;
pub use right::{Right, RightError, Rights};
pub use server_key::ServerKey;
pub use tag::{AccessTag, AccessTags, TagError};
pub use user_folders::{UserFolders, user_of_folder};
pub use user_status::{EndedUsers, UserStatus};
