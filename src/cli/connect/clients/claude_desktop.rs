//! Claude Desktop: `claude_desktop_config.json`.
//!
//! The file lists only servers that the app starts. Addresses are "connectors" of the account,
//! which Anthropic's servers call, not the app.

use std::path::{Path, PathBuf};

use super::super::{
    client::{Client, ConnectionMethod, SettingsLocation},
    endpoint::ServerEndpoint,
    entry::{EntryName, ServerEntry},
    layout::{SettingsLayout, SettingsSyntax},
};

/// Definition of Claude Desktop.
pub(in super::super) const CLIENT: Client = Client {
    title: "Claude Desktop",
    settings: Some(SettingsLocation {
        file: settings_file,
        layout: SettingsLayout { syntax: SettingsSyntax::Json, section: "mcpServers" },
    }),
    hooks: None,
    connection_method,
    next_steps: "Quit Claude Desktop and start it again.",
};

fn settings_file() -> Option<PathBuf> {
    let ordinary = dirs::config_dir()?.join("Claude");
    let packaged = if cfg!(windows) { packaged_app_folder(&dirs::data_local_dir()?) } else { None };
    Some(packaged.unwrap_or(ordinary).join("claude_desktop_config.json"))
}

/// Returns the settings folder of an app that was installed as a Windows package, which is the
/// usual installation there. Windows redirects the app's accesses from the ordinary folder to this
/// one.
fn packaged_app_folder(local: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(local.join("Packages")).ok()?;
    let mut found: Vec<PathBuf> = packages
        .filter_map(|package| Some(package.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("Claude_"))
        })
        .map(|path| path.join("LocalCache").join("Roaming").join("Claude"))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found.into_iter().next()
}

fn connection_method(link: &ServerEndpoint, _: &EntryName) -> ConnectionMethod {
    match link {
        ServerEndpoint::Stdio(start) => {
            ConnectionMethod::SettingsEntry { entry: ServerEntry::for_stdio(start), command: None }
        }
        ServerEndpoint::Http { url, .. } => ConnectionMethod::Manual {
            reason: "its settings name programs, not addresses; without --http it starts the \
                     server itself",
            steps: format!(
                "\
1. Make the server reachable by HTTPS from the internet: a connector is called by Anthropic's
   servers, not by the app. Set `server.public_url` and `auth.oauth = true`, so that it sends you
   to this server to log in; without, anyone with the address can read.
2. In Claude Desktop: Settings > Connectors > Add custom connector.
3. Name it, and give it this address:

{url}",
                url = if url.is_public() { url.as_str() } else { "https://<your host>/mcp" },
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packaged_app_folder_is_found() {
        let local = tempfile::tempdir().unwrap();
        assert_eq!(packaged_app_folder(local.path()), None);
        let inside = "LocalCache/Roaming/Claude";
        for package in ["Other_1", "Claude_pzs8"] {
            std::fs::create_dir_all(local.path().join("Packages").join(package).join(inside))
                .unwrap();
        }
        let expected = local.path().join("Packages/Claude_pzs8").join(inside);
        assert_eq!(packaged_app_folder(local.path()), Some(expected));
    }
}
