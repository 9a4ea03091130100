//! Codex: `config.toml`, shared by the terminal, the editor and the app.

use std::path::PathBuf;

use serde_json::json;

use super::super::{
    client::{Client, ConnectionMethod, SettingsLocation, quote_command_line},
    endpoint::{HttpCredential, ServerEndpoint},
    entry::{EntryName, ServerEntry},
    layout::{SettingsLayout, SettingsSyntax},
};
use vademecum_core::config;

/// Definition of Codex.
pub(in super::super) const CLIENT: Client = Client {
    title: "Codex",
    settings: Some(SettingsLocation {
        file: settings_file,
        layout: SettingsLayout { syntax: SettingsSyntax::Toml, section: "mcp_servers" },
    }),
    hooks: Some(hooks_file),
    connection_method,
    next_steps: "Restart Codex; `/mcp` shows whether it is connected.\n\
                 For one trusted project: --file .codex/config.toml in its folder.",
};

fn folder() -> Option<PathBuf> {
    config::codex_home().or_else(|| Some(dirs::home_dir()?.join(".codex")))
}

fn settings_file() -> Option<PathBuf> {
    Some(folder()?.join("config.toml"))
}

// Codex warns if both this file and `config.toml` have hooks, and runs both.
fn hooks_file() -> Option<PathBuf> {
    Some(folder()?.join("hooks.json"))
}

fn connection_method(link: &ServerEndpoint, name: &EntryName) -> ConnectionMethod {
    let add = ["codex", "mcp", "add", name.as_str()];
    match link {
        ServerEndpoint::Stdio(start) => {
            let arguments = start.arguments.iter().map(String::as_str);
            let words = add.into_iter().chain(["--", &start.command]).chain(arguments);
            ConnectionMethod::SettingsEntry {
                entry: ServerEntry::for_stdio(start),
                command: Some(quote_command_line(words)),
            }
        }
        ServerEndpoint::Http { url, credential } => {
            let mut entry = ServerEntry::from_fields([("url", json!(url.as_str()))]);
            let mut words = [add.as_slice(), &["--url", url.as_str()]].concat();
            let mut command = true;
            match credential {
                // Codex reads the variable itself.
                Some(HttpCredential::Variable(key)) => {
                    entry = entry.with_field("bearer_token_env_var", json!(key.as_str()));
                    words.extend(["--bearer-token-env-var", key.as_str()]);
                }
                // Its command has no option for headers.
                Some(token @ HttpCredential::LocalToken(_)) => {
                    let header = token.to_header(str::to_owned);
                    entry = entry.with_field("http_headers", json!({ "Authorization": header }));
                    command = false;
                }
                None => {}
            }
            let command = command.then(|| quote_command_line(words));
            ConnectionMethod::SettingsEntry { entry, command }
        }
    }
}
