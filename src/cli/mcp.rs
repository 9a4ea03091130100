//! `vademecum mcp`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;

use super::{
    common::CommonOptions,
    serve::{print_page_link, serve_http},
};
use crate::app::App;
use vademecum_core::config::{ToolNames, Transport};

/// Serve one MCP client over standard input and output, or over the transport in mcp.transport
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A client starts this command itself. In its configuration:
  { \"mcpServers\": { \"vademecum\": { \"command\": \"vademecum\", \"args\": [\"mcp\"] } } }

`vademecum mcp server` is the same.")]
pub(super) struct Mcp {
    /// Naming style of the listed tools [default: auto]
    #[arg(long, value_enum, value_name = "FORM")]
    tool_names: Option<ToolNames>,
    /// Serve the users of a tldw directory; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    tldw: Option<PathBuf>,
    /// Accepted for compatibility; has no effect
    #[arg(value_parser = ["server"], hide = true)]
    server: Option<String>,
}

impl Mcp {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut settings = common.load_settings()?;
        if let Some(names) = self.tool_names {
            settings.tools.tool_names = names;
        }
        if let Some(folder) = self.tldw {
            settings.storage.tldw = Some(folder);
        }
        match settings.mcp_transport()? {
            Transport::Stdio => {
                let mut app = App::new(settings)?;
                app.check_custom_tools().await?;
                app.serve_stdio().await?;
            }
            Transport::StreamableHttp => serve_http(settings, print_page_link).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
