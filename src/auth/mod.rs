//! Who calls. Only this room makes a [`Principal`], and only from a
//! credential, never from what a tool is told.

mod principal;

pub use principal::{Principal, UserId, UserIdError, desktop};
