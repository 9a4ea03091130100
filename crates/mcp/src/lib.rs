//! The Model Context Protocol, free of any transport.
//!
//! Bytes come in through [`Service::handle`] and go out as a [`Reply`]; what
//! the product offers stands behind [`Offer`], which knows neither transport
//! nor revision. Read `service` first, then `methods`; what differs from one
//! revision to the next is in `revision`.

mod about;
mod admission;
mod brief;
mod call;
mod capability;
mod catalog;
mod client;
mod completion;
mod content;
mod defaults;
mod error;
mod jsonrpc;
mod link;
mod live;
mod methods;
mod model;
mod near;
mod observed;
mod page;
mod prompt;
mod rates;
mod refuse;
mod reply;
mod resource;
mod revision;
mod scope;
mod service;
mod session;
mod state;
mod subscription;

pub use admission::{Capacity, Held, Weight};
pub use call::{Call, Input};
pub use capability::Capabilities;
pub use catalog::{Catalog, Effect, Entry, Listing, NameStyle, NotDisabled, Schemas, Toolset};
pub use client::Client;
pub use completion::{Completion, MOST_COMPLETIONS, Reference, Typed, Unfinished};
pub use content::{Block, Body, Contents};
pub use defaults::{Defaults, DefaultsError, Shape};
pub use error::{Failure, InputRequired, Kind};
pub use link::{Level, Link, Progress};
pub use model::{Answer, Offer};
pub use near::{hint, nearest, plain};
pub use observed::Observer;
pub use prompt::{Messages, Prompt, PromptArgument, PromptArguments, PromptMessage, Role};
pub use rates::Rates;
pub use reply::{Reply, Status};
pub use resource::{Resource, Template};
pub use revision::{Mirror, Revision};
pub use scope::Scope;
pub use service::{Options, Peer, Service};
pub use session::{SessionId, Sessions};
