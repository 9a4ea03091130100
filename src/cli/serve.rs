//! `vademecum serve`.

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};

use super::{command::Common, output::complain};
use crate::app::App;
use vademecum_core::config::{Settings, ToolNames};

/// Serves HTTP and WebSocket until it is stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum serve
  vademecum serve --listen 127.0.0.1:9000 --config vademecum.toml")]
pub(super) struct Serve {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:7744]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// How tool names are listed [default: auto]
    #[arg(long, value_enum, value_name = "FORM")]
    tool_names: Option<ToolNames>,
    /// Serve the users of a tldw directory as they are; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    tldw: Option<PathBuf>,
}

impl Serve {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let mut settings = common.settings()?;
        if let Some(listen) = self.listen {
            settings.server.listen = listen;
        }
        if let Some(names) = self.tool_names {
            settings.tools.tool_names = names;
        }
        if let Some(folder) = self.tldw {
            settings.storage.tldw = Some(folder);
        }
        settings.serving()?;
        over_http(settings).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Serves HTTP and WebSocket at the address of the settings.
pub(super) async fn over_http(settings: Settings) -> Result<()> {
    allow_open_files();
    let address = settings.listen()?;
    let app = App::new(settings)?;
    let door = app.door()?;
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    complain(&format!("listening on http://{}/mcp", listener.local_addr()?));
    Ok(app.serve(door, listener).await?)
}

/// Lets this process have as many files open as it may: each connection and each
/// database is one or more, and what systems begin with is for programs with few.
fn allow_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum
            && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        {
            tracing::debug!(%error, "as few files may be open as before");
        }
    }
}
