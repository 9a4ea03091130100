//! One request: its peer, its context, its observation and its reply.

mod audit_trail;
pub(crate) mod method_context;
mod peer;
mod reply;
pub(crate) mod request_context;
pub(crate) mod request_metrics;
pub(crate) mod signed_state;

pub use audit_trail::{ItemTrail, PeerConnection, ShownItem};
pub use peer::Peer;
pub use reply::Reply;
pub use request_context::{Input, RequestContext};
pub use request_metrics::RequestObserver;
