//! Access to external databases, checked by the guard.
//!
//! [`Profiles`] lists the databases and their permitted users, [`Databases`] opens them; a
//! [`ConnectionTarget`] says where a database is. [`guard`] decides which statements may run; a
//! statement returns [`Rows`] or a [`SqlError`]. [`schema`], [`schema_objects`] and [`keys`] read
//! the catalog, [`plan`] explains queries, [`custom`] binds the statements of the settings.

#![cfg_attr(
    not(all(feature = "mysql", feature = "postgres")),
    allow(dead_code, reason = "what only a driver that is left out uses")
)]

pub mod custom;
pub mod driver;
pub mod guard;
pub mod keys;
pub mod plan;
pub mod schema;
pub mod schema_objects;

mod catalog_row;
mod counted;
mod database_system;
mod databases;
mod error;
mod identifier;
mod lanes;
mod profile;
mod rows;
mod target;

pub use catalog_row::CatalogRow;
pub use database_system::DatabaseSystem;
pub use databases::{Databases, ProfileConnection};
#[cfg(feature = "postgres")]
pub use driver::tls_client_config;
pub use error::{ErrorCode, SqlError};
pub use identifier::quote_identifier;
pub use profile::{ListedProfile, Profile, ProfileError, Profiles, ShownProfile};
pub use rows::{Column, Parameter, QueryCaps, Rows};
pub use target::{ConnectionTarget, ServerTarget};
pub use vademecum_core::config::{Engine, TlsMode};
