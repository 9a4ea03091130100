//! Other people's databases, through one guarded door.
//!
//! A [`Target`] says where a database is; what comes back of a statement are
//! [`Rows`]; what went wrong is a [`SqlError`]. What may run is said by [`guard`].

pub mod driver;
pub mod guard;

mod error;
mod rows;
mod target;

pub use crate::config::{Engine, Tls};
pub use error::{ErrorCode, SqlError};
pub use rows::{Caps, Column, Parameter, Rows};
pub use target::{Server, Target};
