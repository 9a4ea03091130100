//! `vademecum mcp`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;

use super::{command::Common, serve::over_http};
use crate::app::App;
use vademecum_core::config::{ToolNames, Transport};

/// Serves one MCP client over standard input and output, or what mcp.transport says.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
This is what a client starts by itself. In its configuration:
  { \"mcpServers\": { \"vademecum\": { \"command\": \"vademecum\", \"args\": [\"mcp\"] } } }

`vademecum mcp server` is the same.")]
pub(super) struct Mcp {
    /// How tool names are listed [default: auto]
    #[arg(long, value_enum, value_name = "FORM")]
    tool_names: Option<ToolNames>,
    /// Serve the users of a tldw directory as they are; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    tldw: Option<PathBuf>,
    /// May be said, and changes nothing
    #[arg(value_parser = ["server"], hide = true)]
    server: Option<String>,
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
        match settings.transport()? {
            Transport::Stdio => App::new(settings)?.serve_stdio().await?,
            Transport::StreamableHttp => over_http(settings).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
