//! `vademecum mcp`.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Result;
#[cfg(unix)]
use clap::ValueEnum as _;
#[cfg(unix)]
use vademecum_web::LocalServerError;

use super::{
    common::CommonOptions,
    output::print_error,
    serve::{print_page_link, serve_http},
};
#[cfg(unix)]
use super::{
    connect::{LaunchCommand, absolute_path_text},
    local_server::connect_own_server,
    relay::Relay,
};
use crate::app::App;
use vademecum_core::config::{ToolNames, Transport};

/// Serve one MCP client over standard input and output, or over the transport in mcp.transport
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A client starts this command itself. In its configuration:
  { \"mcpServers\": { \"vademecum\": { \"command\": \"vademecum\", \"args\": [\"mcp\"] } } }

If a server runs in the data folder (`vademecum serve`), this process passes messages on to
it. `vademecum mcp server` is the same.")]
pub(super) struct Mcp {
    /// Naming style of the listed tools [default: auto]
    #[arg(long, value_enum, value_name = "FORM")]
    tool_names: Option<ToolNames>,
    /// Serve the users of a tldw directory; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    tldw: Option<PathBuf>,
    /// Serve the library in this process, also if a server runs in the data folder
    #[arg(long)]
    alone: bool,
    /// Accepted for compatibility; has no effect
    #[arg(value_parser = ["server"], hide = true)]
    server: Option<String>,
}

impl Mcp {
    /// Passes the messages of the client on to the running server, until the client closes its side.
    /// Returns `None` if there is none, or one with other settings.
    #[cfg(unix)]
    pub(super) fn relay(&self, common: &CommonOptions) -> Option<ExitCode> {
        let mut settings = common.load_settings().ok()?;
        if self.alone || settings.mcp_transport().ok()? != Transport::Stdio {
            return None;
        }
        settings.storage.tldw = self.tldw.clone().or(settings.storage.tldw.take());
        let connection = match connect_own_server(&settings, self.tool_names) {
            Ok(connection) => connection,
            Err(LocalServerError::NoServer) => return None,
            Err(error) => {
                print_error(&format!("{error}; this process serves the library"));
                return None;
            }
        };
        let arguments = self.arguments_alone(common).ok()?;
        print_terminal_advice();
        let relay = Relay { settings, tool_names: self.tool_names, arguments };
        Some(relay.run(connection).unwrap_or_else(|error| {
            print_error(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }))
    }

    /// Returns the arguments of a process that does the same without a server.
    #[cfg(unix)]
    fn arguments_alone(&self, common: &CommonOptions) -> Result<Vec<String>> {
        let mut arguments = LaunchCommand::from_options(common)?.arguments;
        arguments.push("--alone".to_owned());
        if let Some(names) = self.tool_names.and_then(|names| names.to_possible_value()) {
            arguments.extend(["--tool-names".to_owned(), names.get_name().to_owned()]);
        }
        if let Some(folder) = &self.tldw {
            arguments.extend(["--tldw".to_owned(), absolute_path_text(folder)?]);
        }
        if let Some(level) = &common.log {
            arguments.extend(["--log".to_owned(), level.clone()]);
        }
        Ok(arguments)
    }

    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut settings = common.load_settings()?;
        if let Some(names) = self.tool_names {
            settings.tools.tool_names = names;
        }
        if let Some(folder) = self.tldw {
            settings.storage.tldw = Some(folder);
        }
        common.check_user(&settings)?;
        match settings.mcp_transport()? {
            Transport::Stdio => {
                print_terminal_advice();
                let mut app = App::new(settings)?;
                app.check_custom_tools().await?;
                app.serve_stdio().await?;
            }
            Transport::StreamableHttp => serve_http(settings, print_page_link).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Tells a person on a terminal that a client is expected.
fn print_terminal_advice() {
    if io::stdin().is_terminal() {
        print_error(
            "waiting for an MCP client on standard input; clients start this command themselves \
             (`vademecum connect` writes their settings); Ctrl-C ends it",
        );
    }
}
