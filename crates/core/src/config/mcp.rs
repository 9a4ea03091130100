//! `[mcp]`: whether MCP is served, and the transport of `vademecum mcp`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Behaviour of `vademecum mcp`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// Whether clients are served at all.
    pub enabled: bool,
    /// Transport of `vademecum mcp`.
    pub transport: Transport,
}

/// Transport of `vademecum mcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Standard input and output of the client that started the process.
    #[default]
    Stdio,
    /// Streamable HTTP at `server.listen`, like `vademecum serve`; only with `auth.mode` `"multi"`.
    StreamableHttp,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { enabled: true, transport: Transport::Stdio }
    }
}
