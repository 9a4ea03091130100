//! The Model Context Protocol, free of any transport.
//!
//! Bytes come in through [`Service::handle`] and go out as a [`Reply`]; what
//! the product offers stands behind [`Offer`], which knows neither transport
//! nor revision. Read `service` first.

mod catalog;
mod defaults;
mod error;
mod jsonrpc;
mod model;
mod rates;
mod resource;
mod revision;
mod scope;
mod service;
mod session;

pub use catalog::{Catalog, Entry, Listing, NameStyle, Schemas, Toolset};
pub use defaults::{Defaults, DefaultsError, Shape};
pub use error::Failure;
pub use model::{Answer, Call, Offer};
pub use rates::Rates;
pub use resource::{Contents, Resource, Template};
pub use revision::Revision;
pub use scope::Scope;
pub use service::{Options, Peer, Reply, Service, Status};
pub use session::{Client, SessionId, Sessions};
