//! `vademecum mcp`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;

use super::command::Common;
use crate::{app::App, config::ToolNames};

/// Serves one MCP client over standard input and output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
This is what a client starts by itself. In its configuration:
  { \"mcpServers\": { \"vademecum\": { \"command\": \"vademecum\", \"args\": [\"mcp\"] } } }")]
pub(super) struct Mcp {
    /// How tool names are listed [default: auto]
    #[arg(long, value_enum, value_name = "FORM")]
    tool_names: Option<ToolNames>,
    /// Serve the users of a tldw directory as they are; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    tldw: Option<PathBuf>,
}

impl Mcp {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let mut settings = common.settings()?;
        if let Some(names) = self.tool_names {
            settings.tools.tool_names = names;
        }
        if let Some(folder) = self.tldw {
            settings.storage.tldw = Some(folder);
        }
        App::new(settings)?.serve_stdio().await?;
        Ok(ExitCode::SUCCESS)
    }
}
