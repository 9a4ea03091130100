//! Identity of a conversation.

use crate::SessionId;

/// Id of a conversation. It grants no access; the principal is checked on every request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Handle that the server issued and the caller passes back.
    Handle(String),
    /// Transport session: `mcp-session-id`, a WebSocket or a process.
    Session(SessionId),
    /// Conversation id of `ChatGPT`, `_meta["openai/session"]`.
    OpenAi(String),
}
