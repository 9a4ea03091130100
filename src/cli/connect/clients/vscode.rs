//! Visual Studio Code: `mcp.json` of the user's profile or of a workspace.

use std::path::PathBuf;

use super::super::{
    client::{Client, ConnectionMethod, SettingsLocation},
    endpoint::ServerEndpoint,
    entry::{EntryName, ServerEntry},
    layout::{SettingsLayout, SettingsSyntax},
};

/// Definition of Visual Studio Code.
pub(in super::super) const CLIENT: Client = Client {
    title: "Visual Studio Code",
    settings: Some(SettingsLocation {
        file: settings_file,
        layout: SettingsLayout { syntax: SettingsSyntax::Jsonc, section: "servers" },
    }),
    hooks: None,
    connection_method,
    next_steps: "In Visual Studio Code, run `MCP: List Servers` and start the server.\n\
                 For one workspace: --file .vscode/mcp.json in its folder.",
};

fn settings_file() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("Code").join("User").join("mcp.json"))
}

fn connection_method(link: &ServerEndpoint, _: &EntryName) -> ConnectionMethod {
    let entry = match link {
        ServerEndpoint::Stdio(start) => ServerEntry::for_stdio(start).with_type("stdio"),
        ServerEndpoint::Http { url, credential } => {
            ServerEntry::for_http(url, credential.as_ref(), |variable| {
                format!("${{env:{variable}}}")
            })
            .with_type("http")
        }
    };
    ConnectionMethod::SettingsEntry { entry, command: None }
}
