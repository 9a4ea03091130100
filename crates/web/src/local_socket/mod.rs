//! The local socket of a server: a Unix socket in its data folder by which the programs of its account
//! reach it, without knowing its address.
//!
//! A program that can open the socket can read the data folder, and a server proves by the place of
//! the socket, and by its account, that it is the one of that folder. A program says first which settings it has
//! read; a server with other settings refuses it, so that no program gets by way of the server what
//! its own settings deny.

mod client;
mod greeting;
#[cfg(unix)]
mod server;

pub use client::{LocalConnection, connect_local_server};
pub use greeting::{Greeting, LocalServerError};
#[cfg(unix)]
pub(crate) use server::LocalService;
#[cfg(unix)]
pub use server::LocalSocket;

/// The local socket of a data folder; this system has none.
#[cfg(not(unix))]
pub type LocalSocket = std::convert::Infallible;
