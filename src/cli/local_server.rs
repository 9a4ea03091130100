//! The running server of the data folder, for commands.

use std::{
    io::{self, BufRead as _, Write as _},
    time::Duration,
};

use anyhow::{Result, bail};
use serde_json::Value;
use vademecum_accounts::LocalToken;
use vademecum_core::config::{AuthMode, LocalAccess, Settings, ToolNames};
use vademecum_web::{Greeting, LocalConnection, LocalServerError, connect_local_server};

/// Connects to the server that runs in the data folder of these settings.
pub(super) fn connect_own_server(
    settings: &Settings,
    tool_names: Option<ToolNames>,
) -> Result<LocalConnection, LocalServerError> {
    if settings.auth.mode == AuthMode::Multi {
        return Err(LocalServerError::NoServer);
    }
    let folder = settings.storage.data_folder().map_err(io::Error::other)?;
    let needs_token = settings.auth.local == LocalAccess::Token || settings.auth.oauth;
    let token =
        if needs_token && folder.is_dir() { Some(LocalToken::open(&folder)?) } else { None };
    let token = token.map(|token| token.expose().into());
    connect_local_server(&folder, &Greeting { settings: settings.digest(), token, tool_names })
}

/// Sends a request to the running server and returns the reply.
#[cfg(unix)]
pub(super) fn ask_server(
    settings: &Settings,
    message: &str,
    time_limit: Option<Duration>,
) -> Result<String> {
    let LocalConnection { mut writer, mut reader } = connect_own_server(settings, None)?;
    writer.set_read_timeout(time_limit)?;
    writer.set_write_timeout(time_limit)?;
    writer.write_all(format!("{message}\n").as_bytes())?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if !line.ends_with('\n') {
            bail!("the server ended before it answered");
        }
        // Messages of the log may come first.
        if serde_json::from_str::<Value>(&line)?.get("id").is_some() {
            return Ok(line);
        }
    }
}

/// Fails: this system has no local sockets.
#[cfg(not(unix))]
pub(super) fn ask_server(_: &Settings, _: &str, _: Option<Duration>) -> Result<String> {
    bail!(LocalServerError::NoServer)
}
