//! The authenticated caller: user, rights, access tags and restrictions.
//!
//! Only `vademecum-accounts` creates a [`Principal`] from a credential; tool arguments never do.

mod access_rules;
mod key_id;
mod principal;
mod right;
mod tag;
mod user_id;

pub use access_rules::{AccessRules, KeyScope, KeyScopeError};
pub use key_id::{KeyId, KeyIdError};
pub use principal::{Principal, local_principal};
pub use right::{Right, RightError, Rights};
pub use tag::{AccessTag, AccessTags, TagError};
pub use user_id::{UserId, UserIdError};
