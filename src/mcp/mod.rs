//! The Model Context Protocol, free of any transport.
//!
//! Bytes come in through [`Service::handle`] and go out as a [`Reply`]; what
//! the product offers stands behind [`Offer`], which knows neither transport
//! nor revision. Read `service` first.

mod brief;
mod catalog;
mod client;
mod defaults;
mod error;
mod jsonrpc;
mod model;
mod near;
mod resource;
mod revision;
mod scope;
mod service;
mod session;

pub use catalog::{Catalog, Entry, Listing, NameStyle, Schemas, Toolset, UnknownTool};
pub use client::Client;
pub use defaults::{Defaults, DefaultsError, Shape};
pub use error::Failure;
pub use model::{Answer, Call, Offer};
pub(crate) use near::{nearest, plain};
pub use resource::{Contents, Resource, Template};
pub use revision::Revision;
pub use scope::Scope;
pub use service::{Options, Peer, Reply, Service, Status};
pub use session::{SessionId, Sessions};
