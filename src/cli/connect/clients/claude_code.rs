//! Claude Code: `.claude.json` of the user, or `.mcp.json` of a project.

use std::path::PathBuf;

use super::super::{
    client::{Client, ConnectionMethod, SettingsLocation, quote_command_line},
    endpoint::ServerEndpoint,
    entry::{EntryName, ServerEntry},
    layout::{SettingsLayout, SettingsSyntax},
};
use vademecum_core::config;

/// Definition of Claude Code.
pub(in super::super) const CLIENT: Client = Client {
    title: "Claude Code",
    settings: Some(SettingsLocation {
        file: settings_file,
        layout: SettingsLayout { syntax: SettingsSyntax::Json, section: "mcpServers" },
    }),
    hooks: Some(hooks_file),
    connection_method,
    next_steps: "Restart Claude Code; `/mcp` shows whether it is connected.\n\
                 For one project and all who work on it: --file .mcp.json in its folder.",
};

fn settings_file() -> Option<PathBuf> {
    Some(config::claude_code_folder().or_else(dirs::home_dir)?.join(".claude.json"))
}

fn hooks_file() -> Option<PathBuf> {
    let folder =
        config::claude_code_folder().or_else(|| Some(dirs::home_dir()?.join(".claude")))?;
    Some(folder.join("settings.json"))
}

fn connection_method(link: &ServerEndpoint, name: &EntryName) -> ConnectionMethod {
    let add = ["claude", "mcp", "add", "--scope", "user"];
    match link {
        ServerEndpoint::Stdio(start) => {
            let arguments = start.arguments.iter().map(String::as_str);
            let words =
                add.into_iter().chain([name.as_str(), "--", &start.command]).chain(arguments);
            ConnectionMethod::SettingsEntry {
                entry: ServerEntry::for_stdio(start).with_type("stdio"),
                command: Some(quote_command_line(words)),
            }
        }
        ServerEndpoint::Http { url, credential } => {
            let reference = |variable: &str| format!("${{{variable}}}");
            let header =
                credential.as_ref().map(|it| format!("Authorization: {}", it.to_header(reference)));
            let header = header.iter().flat_map(|header| ["--header", header.as_str()]);
            let words = add
                .into_iter()
                .chain(["--transport", "http", name.as_str(), url.as_str()])
                .chain(header);
            ConnectionMethod::SettingsEntry {
                entry: ServerEntry::for_http(url, credential.as_ref(), reference).with_type("http"),
                command: Some(quote_command_line(words)),
            }
        }
    }
}
