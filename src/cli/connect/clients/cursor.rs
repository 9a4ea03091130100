//! Cursor: `mcp.json` of the user or of a project.

use std::path::PathBuf;

use super::super::{
    client::{Client, ConnectionMethod, SettingsLocation},
    endpoint::ServerEndpoint,
    entry::{EntryName, ServerEntry},
    layout::{SettingsLayout, SettingsSyntax},
};

/// Definition of Cursor.
pub(in super::super) const CLIENT: Client = Client {
    title: "Cursor",
    settings: Some(SettingsLocation {
        file: settings_file,
        layout: SettingsLayout { syntax: SettingsSyntax::Jsonc, section: "mcpServers" },
    }),
    hooks: None,
    connection_method,
    next_steps: "In Cursor, switch the server on under Settings > Tools & MCP.\n\
                 For one project: --file .cursor/mcp.json in its folder.",
};

fn settings_file() -> Option<PathBuf> {
    Some(dirs::home_dir()?.join(".cursor").join("mcp.json"))
}

fn connection_method(link: &ServerEndpoint, _: &EntryName) -> ConnectionMethod {
    let entry = match link {
        ServerEndpoint::Stdio(start) => ServerEntry::for_stdio(start).with_type("stdio"),
        // Cursor needs no type for an entry with an address.
        ServerEndpoint::Http { url, credential } => {
            ServerEntry::for_http(url, credential.as_ref(), |variable| {
                format!("${{env:{variable}}}")
            })
        }
    };
    ConnectionMethod::SettingsEntry { entry, command: None }
}
