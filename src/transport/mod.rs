//! Sockets and pipes: bytes in, messages through the protocol, bytes out.

mod accept;
mod connection;
mod credentials;
mod door;
mod fragments;
mod guard;
mod http;
mod monitoring;
mod query;
mod request_id;
mod routes;
mod stdio;
mod stop;
mod stream;
mod talk;
mod well_known;
mod ws;

pub use connection::Connections;
pub use door::Door;
pub use routes::serve;
pub use stdio::serve_stdio;
