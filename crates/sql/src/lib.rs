//! Other people's databases, through one guarded door.
//!
//! [`Profiles`] say which there are and who may use them, [`Databases`] opens them;
//! a [`Target`] says where a database is. What may run is said by [`guard`]; what
//! comes back of a statement are [`Rows`]; what went wrong is a [`SqlError`]. What there
//! is to ask about say [`schema`] and [`keys`], how it is asked [`plan`].

pub mod driver;
pub mod guard;
pub mod keys;
pub mod plan;
pub mod schema;

mod databases;
mod error;
mod known_hosts;
mod name;
mod profile;
mod record;
mod rows;
mod ssh;
mod system;
mod target;
mod tunnel;

pub use databases::{Connection, Databases};
pub use error::{ErrorCode, SqlError};
pub use name::quoted;
pub use profile::{
    Listed as ListedProfile, Profile, ProfileError, Profiles, Shown as ShownProfile,
};
pub use record::Record;
pub use rows::{Caps, Column, Parameter, Rows};
pub use system::System;
pub use target::{Server, Target};
pub use vademecum_core::config::{Engine, Tls};
