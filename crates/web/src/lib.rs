//! Transports: HTTP, WebSocket and standard input/output. They pass messages to the protocol
//! service and send its replies.

mod accept;
mod caller_account;
mod client_stream;
mod connection;
mod connection_limits;
mod connection_loop;
mod counted_reply;
mod credentials;
mod event_stream;
mod fragments;
mod http;
mod listener;
mod local_socket;
mod message_reader;
mod monitoring;
mod oauth;
mod origin_check;
mod pages;
mod query;
mod refused_message;
mod request_body;
mod request_id;
mod routes;
mod server_state;
mod shutdown;
mod stdio;
pub mod templates;
mod websocket;
mod well_known;
mod wire_names;

pub use connection::ConnectionCount;
pub use listener::Listener;
pub use local_socket::{
    Greeting, LocalConnection, LocalServerError, LocalSocket, connect_local_server,
};
pub use pages::PageServices;
pub use routes::serve;
pub use server_state::ServerState;
pub use stdio::{InputLine, read_message_line, serve_stdio};
