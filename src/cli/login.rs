//! `vademecum login`.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use url::form_urlencoded;

use super::{
    audit::record_command,
    common::CommonOptions,
    output::{print_error, print_line},
};
use crate::app::App;
use vademecum_core::config::{AuthMode, PublicUrl, Settings};
use vademecum_oauth::{CodeLifetime, Endpoint};

/// Print a one-time link that logs a browser in, to see the pages and to admit clients
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum login --config vademecum.toml
  vademecum login --config vademecum.toml --user ada")]
pub(super) struct Login {}

impl Login {
    #[expect(clippy::unused_self, reason = "commands are values with a method `run`")]
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let address = match &app.settings().server.public_url {
            Some(address) => address.clone(),
            None => local_address(app.settings())?,
        };
        let lifetime = code_lifetime(app.settings());
        let link = create_login_link(&app, &address, lifetime, None)?;
        let user = app.principal().user();
        print_error(&format!("logs {user} in once, {lifetime}:"));
        print_line(&link);
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a link that logs the user in to the server at `address` once, and records it. It leads to
/// the page with the path `page`.
pub(super) fn create_login_link(
    app: &App,
    address: &PublicUrl,
    lifetime: CodeLifetime,
    page: Option<&str>,
) -> Result<String> {
    let user = app.principal().user();
    let code = app.logins(address)?.create_login_code(user, lifetime);
    record_command(app, "user.login_code", Some(user), None, code.is_ok());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("code", &code?).extend_pairs(page.map(|page| ("page", page)));
    Ok(address.join(&format!("{}?{}", Endpoint::LoginCode.path(), query.finish())))
}

/// Returns how long the code in a link is valid: a server that strangers reach gives codes for other
/// devices, while the person at the computer opens the link at once.
pub(super) fn code_lifetime(settings: &Settings) -> CodeLifetime {
    let is_desktop = settings.auth.mode == AuthMode::Single && !settings.auth.oauth;
    if is_desktop { CodeLifetime::Local } else { CodeLifetime::Long }
}

/// Returns the address at which browsers on this machine find a server of these settings.
pub(super) fn local_address(settings: &Settings) -> Result<PublicUrl> {
    let listen = settings.listen_address()?;
    let address = listen.tcp().context(
        "server.listen is a Unix socket, which browsers cannot open: set an address and a port",
    )?;
    let host = if address.ip().is_loopback() {
        address.to_string()
    } else {
        format!("localhost:{}", address.port())
    };
    format!("http://{host}").parse().map_err(anyhow::Error::msg)
}
