//! `[mcp]`: whether MCP is served, and the transport of `vademecum mcp`.

use serde::Deserialize;

/// Whether MCP is served, and the transport of `vademecum mcp`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// Whether MCP clients are served at all.
    pub enabled: bool,
    /// Transport of `vademecum mcp`.
    pub transport: Transport,
}

/// Transport of `vademecum mcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Standard input and output, for the one client that started the program.
    #[default]
    Stdio,
    /// Streamable HTTP at `server.listen`, for authenticated clients.
    StreamableHttp,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { enabled: true, transport: Transport::Stdio }
    }
}
