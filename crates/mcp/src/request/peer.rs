//! Remote end of a connection.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{MessageHeaders, NameStyle, PeerConnection, RequestDefaults, SessionId};
use vademecum_core::auth::Principal;

/// Remote end of a connection or of one HTTP request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Authenticated caller.
    pub principal: Principal,
    /// Session that the message belongs to, if any.
    pub session: Option<SessionId>,
    /// Defaults from the query of the URL; they precede those of the session.
    pub defaults: RequestDefaults,
    /// Keys of the `config` in the URL that have no meaning.
    pub ignored_config: Vec<String>,
    /// Style of tool names from the URL.
    pub name_style: Option<NameStyle>,
    /// MCP headers of an HTTP request; `None` on other transports.
    pub headers: Option<MessageHeaders>,
    /// Limits concurrent calls on a persistent connection.
    pub call_permits: Option<Arc<Semaphore>>,
    /// Connection of the peer; `None` for calls of the program itself, which are not audited.
    pub connection: Option<PeerConnection>,
}
