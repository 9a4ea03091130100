//! What a conversation is known by.

use super::SessionId;

/// The name of a conversation. It is a name, never a right: whoever uses it is
/// checked every time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A handle that we minted and returned, and the caller passes back.
    Handle(String),
    /// The session of a transport: `mcp-session-id`, a WebSocket, a process.
    Session(SessionId),
    /// What `ChatGPT` calls the conversation, `_meta["openai/session"]`.
    OpenAi(String),
}
