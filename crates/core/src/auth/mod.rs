//! Who calls. Only this room makes a [`Principal`], and only from a
//! credential, never from what a tool is told.
//!
//! [`Authenticator`] is where to start reading: [`Credentials`] in, a principal
//! or a [`Refusal`] out.

mod accounts;
mod api_key;
mod attempts;
mod authenticator;
mod credentials;
mod error;
mod key_set;
mod principal;
mod refusal;
mod right;
mod server_key;
mod signature;
mod tag;
mod token;

pub use accounts::{Accounts, KeyRecord, KeyRequest, UserRecord};
pub use api_key::KeyId;
pub use authenticator::Authenticator;
pub use credentials::Credentials;
pub use error::{AccountError, AuthError};
pub use principal::{Principal, UserId, UserIdError, desktop};
pub use refusal::Refusal;
pub use right::{Right, RightError, Rights};
pub use server_key::ServerKey;
pub use tag::{AccessTag, AccessTags, TagError};
