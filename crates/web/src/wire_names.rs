//! Names on the wire that several routes use.

/// Path of the endpoint for single messages.
pub(crate) const MCP_PATH: &str = "/mcp";
/// Path of the endpoint for connections.
pub(crate) const WEBSOCKET_PATH: &str = "/mcp/ws";
/// Header with the session id, in requests and in the reply to `initialize`.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";
