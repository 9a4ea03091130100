//! `vademecum serve`.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};
use vademecum_core::config::{AuthMode, ListenAddress, PublicUrl, Settings, ToolNames};
use vademecum_web::Listener;

use super::{
    common::CommonOptions,
    login::{code_lifetime, create_login_link},
    output::print_error,
};
use crate::app::App;

/// Serve HTTP and WebSocket
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum serve
  vademecum serve --listen 127.0.0.1:9000 --config vademecum.toml
  vademecum serve --listen unix:/run/user/1000/vademecum.sock")]
pub(super) struct Serve {
    /// Address to listen on, or unix:PATH for a socket that only its owner may use; port 0 selects a
    /// free port [default: 127.0.0.1:7744]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<ListenAddress>,
    /// Naming style of the listed tools [default: auto]
    #[arg(long, value_enum, value_name = "FORM")]
    tool_names: Option<ToolNames>,
    /// Serve the users of a tldw directory; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    tldw: Option<PathBuf>,
}

impl Serve {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut settings = common.load_settings()?;
        if let Some(listen) = self.listen {
            settings.server.listen = listen;
        }
        if let Some(names) = self.tool_names {
            settings.tools.tool_names = names;
        }
        if let Some(folder) = self.tldw {
            settings.storage.tldw = Some(folder);
        }
        settings.check_mcp_enabled()?;
        common.check_user(&settings)?;
        serve_http(settings, print_page_link).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the address of the pages on a terminal; that of a server for one user is a link that logs
/// in, which a log must not have.
pub(super) fn print_page_link(app: &App, address: &PublicUrl) {
    if !io::stderr().is_terminal() {
        return;
    }
    if app.settings().auth.mode == AuthMode::Multi {
        print_error(&format!("pages: {address}/"));
        return;
    }
    let lifetime = code_lifetime(app.settings());
    match create_login_link(app, address, lifetime, None) {
        Ok(link) => print_error(&format!("your library in the browser (once, {lifetime}): {link}")),
        Err(error) => tracing::warn!(%error, "no link to the pages could be created"),
    }
}

/// Serves HTTP and WebSocket at the address of the settings. `announce` is called before the first
/// request if there are pages.
pub(super) async fn serve_http(
    settings: Settings,
    announce: impl FnOnce(&App, &PublicUrl),
) -> Result<()> {
    raise_open_file_limit();
    let address = settings.listen_address()?.clone();
    let mut app = App::new(settings)?;
    app.check_custom_tools().await?;
    let listener =
        Listener::bind(&address).with_context(|| format!("cannot listen on {address}"))?;
    let server_state = app.server_state(listener.site_address()?)?;
    print_error(&format!("listening on {}", listener.describe()?));
    if let Some(logins) = server_state.logins.as_ref().filter(|_| server_state.pages.is_some()) {
        announce(&app, logins.public_url());
    }
    Ok(app.serve(server_state, listener).await?)
}

/// Raises the limit of open files to the maximum that the system allows. Each connection and each
/// database needs one or more, and the default limit is too low for that.
fn raise_open_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum
            && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        {
            tracing::debug!(%error, "cannot raise the limit of open files");
        }
    }
}
