//! Other people's databases, through one guarded door.
//!
//! [`Profiles`] say which there are and who may use them; a [`Target`] says where a
//! database is; [`guard`] says what may run there; what comes back of a statement are
//! [`Rows`]; what went wrong is a [`SqlError`].

pub mod driver;
pub mod guard;

mod error;
mod known_hosts;
mod profile;
mod rows;
mod ssh;
mod target;
mod tunnel;

pub use crate::config::{Engine, Tls};
pub use error::{ErrorCode, SqlError};
pub use profile::{Listed, Profile, ProfileError, Profiles, Shown};
pub use rows::{Caps, Column, Parameter, Rows};
pub use target::{Server, Target};
