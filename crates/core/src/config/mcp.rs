//! Whether the protocol is spoken, and over what by `vademecum mcp`.

use serde::Deserialize;

/// Whether the protocol is spoken, and over what.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// Whether clients are served at all.
    pub enabled: bool,
    /// What `vademecum mcp` serves over.
    pub transport: Transport,
}

/// What clients are served over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Standard input and output: one client, who started the program.
    #[default]
    Stdio,
    /// HTTP, at the address of `server.listen`: whoever can show who they are.
    StreamableHttp,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { enabled: true, transport: Transport::Stdio }
    }
}
