//! The supported clients: one table, with the fields that each of them reads. Formats were taken from
//! the manuals of the clients, and compared with what their own commands write (`tests/clients`).

use std::path::PathBuf;

use vademecum_core::config;

use super::{
    client::{Client, Connection, Field, Http, Manual, Settings, first_existing},
    endpoint::{HttpCredential, ServerEndpoint, ServerUrl},
    entry::EntryName,
    layout::{SettingsLayout, SettingsSyntax},
};

const JSON: SettingsSyntax = SettingsSyntax::Json;
const JSONC: SettingsSyntax = SettingsSyntax::Jsonc;

/// Fields of an entry that names a program and its arguments.
const PROGRAM: &[(&str, Field)] = &[("command", Field::Program), ("args", Field::Arguments)];
/// The same, with a type.
const TYPED_PROGRAM: &[(&str, Field)] =
    &[("type", Field::Text("stdio")), ("command", Field::Program), ("args", Field::Arguments)];
/// Fields of an entry that names an address.
const ADDRESS: &[(&str, Field)] = &[("url", Field::Url), ("headers", Field::Headers)];
/// The same, with a type.
const TYPED_ADDRESS: &[(&str, Field)] =
    &[("type", Field::Text("http")), ("url", Field::Url), ("headers", Field::Headers)];

/// The supported clients.
pub(super) static CLIENTS: [&Client; 15] = [
    &Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        // The file lists only servers that the app starts. Addresses are "connectors" of the
        // account, which Anthropic's servers call, not the app.
        connection: Connection::Settings(Settings {
            file: || Some(claude_desktop_folder()?.join("claude_desktop_config.json")),
            sign: claude_desktop_folder,
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: PROGRAM,
            http: Http::Manual(claude_connector),
            reference: Some(shell_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Quit Claude Desktop and start it again.",
    },
    &Client {
        name: "claude-code",
        title: "Claude Code",
        connection: Connection::Settings(Settings {
            file: || {
                Some(config::claude_code_folder().or_else(dirs::home_dir)?.join(".claude.json"))
            },
            sign: || {
                let folder = config::claude_code_folder().or_else(|| home(".claude"))?;
                first_existing([folder, home(".claude.json")?])
            },
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: TYPED_PROGRAM,
            http: Http::Fields(TYPED_ADDRESS),
            reference: Some(shell_reference),
            add_command: Some(claude_code_command),
        }),
        hooks: Some(|| {
            let folder = config::claude_code_folder().or_else(|| home(".claude"));
            Some(folder?.join("settings.json"))
        }),
        next_steps: "Restart Claude Code; `/mcp` shows whether it is connected.\n\
                     For one project and all who work on it: --file .mcp.json in its folder.",
    },
    &Client {
        name: "cursor",
        title: "Cursor",
        connection: Connection::Settings(Settings {
            file: || home(".cursor/mcp.json"),
            sign: || home(".cursor"),
            layout: SettingsLayout { syntax: JSONC, section: "mcpServers" },
            stdio: TYPED_PROGRAM,
            // Cursor needs no type for an entry with an address.
            http: Http::Fields(ADDRESS),
            reference: Some(env_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "In Cursor, switch the server on under Settings > Tools & MCP.\n\
                     For one project: --file .cursor/mcp.json in its folder.",
    },
    &Client {
        name: "vscode",
        title: "Visual Studio Code",
        connection: Connection::Settings(Settings {
            file: || settings("Code/User/mcp.json"),
            sign: || settings("Code"),
            layout: SettingsLayout { syntax: JSONC, section: "servers" },
            stdio: TYPED_PROGRAM,
            http: Http::Fields(TYPED_ADDRESS),
            reference: Some(env_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "In Visual Studio Code, run `MCP: List Servers` and start the server.\n\
                     For one workspace: --file .vscode/mcp.json in its folder.",
    },
    &Client {
        name: "copilot",
        title: "Copilot CLI",
        connection: Connection::Settings(Settings {
            file: || Some(copilot_folder()?.join("mcp-config.json")),
            sign: copilot_folder,
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: &[
                ("tools", Field::List("*")),
                ("type", Field::Text("local")),
                ("command", Field::Program),
                ("args", Field::Arguments),
            ],
            http: Http::Fields(&[
                ("tools", Field::List("*")),
                ("type", Field::Text("http")),
                ("url", Field::Url),
                ("headers", Field::Headers),
            ]),
            reference: Some(shell_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Restart Copilot CLI; `/mcp show` shows whether it is connected.",
    },
    &Client {
        name: "codex",
        title: "Codex",
        connection: Connection::Settings(Settings {
            file: || Some(codex_folder()?.join("config.toml")),
            sign: codex_folder,
            layout: SettingsLayout { syntax: SettingsSyntax::Toml, section: "mcp_servers" },
            stdio: PROGRAM,
            // Codex reads the variable itself.
            http: Http::Fields(&[
                ("url", Field::Url),
                ("bearer_token_env_var", Field::KeyVariable),
                ("http_headers", Field::TokenHeader),
            ]),
            reference: Some(shell_reference),
            add_command: Some(codex_command),
        }),
        // Codex warns if both this file and `config.toml` have hooks, and runs both.
        hooks: Some(|| Some(codex_folder()?.join("hooks.json"))),
        next_steps: "Restart Codex; `/mcp` shows whether it is connected.\n\
                     For one trusted project: --file .codex/config.toml in its folder.",
    },
    &Client {
        name: "chatgpt",
        title: "ChatGPT in the browser",
        connection: Connection::Account(chatgpt_connector),
        hooks: None,
        next_steps: "",
    },
    &Client {
        name: "gemini",
        title: "Gemini CLI",
        connection: Connection::Settings(Settings {
            file: || home(".gemini/settings.json"),
            sign: || home(".gemini"),
            layout: SettingsLayout { syntax: JSONC, section: "mcpServers" },
            stdio: PROGRAM,
            http: Http::Fields(TYPED_ADDRESS),
            reference: Some(shell_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Restart Gemini CLI; `/mcp` shows whether it is connected.\n\
                     For one project: --file .gemini/settings.json in its folder.",
    },
    &Client {
        name: "opencode",
        title: "OpenCode",
        connection: Connection::Settings(Settings {
            file: || {
                let folder = dot_config("opencode")?;
                first_existing([folder.join("opencode.jsonc"), folder.join("opencode.json")])
            },
            sign: || dot_config("opencode"),
            layout: SettingsLayout { syntax: JSONC, section: "mcp" },
            stdio: &[("type", Field::Text("local")), ("command", Field::CommandLine)],
            http: Http::Fields(&[
                ("type", Field::Text("remote")),
                ("url", Field::Url),
                ("headers", Field::Headers),
            ]),
            reference: Some(|variable| format!("{{env:{variable}}}")),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Restart OpenCode; `opencode mcp list` shows whether it is connected.",
    },
    &Client {
        name: "zed",
        title: "Zed",
        connection: Connection::Settings(Settings {
            file: || Some(zed_folder()?.join("settings.json")),
            sign: zed_folder,
            layout: SettingsLayout { syntax: JSONC, section: "context_servers" },
            stdio: PROGRAM,
            http: Http::Fields(ADDRESS),
            reference: None,
            add_command: None,
        }),
        hooks: None,
        next_steps: "Zed reads the settings at once; the agent panel shows the server.",
    },
    &Client {
        name: "windsurf",
        title: "Windsurf",
        connection: Connection::Settings(Settings {
            file: || home(".codeium/windsurf/mcp_config.json"),
            sign: || home(".codeium/windsurf"),
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: PROGRAM,
            http: Http::Fields(&[("serverUrl", Field::Url), ("headers", Field::Headers)]),
            reference: Some(env_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "In Windsurf, refresh the list of MCP servers.",
    },
    &Client {
        name: "goose",
        title: "Goose",
        connection: Connection::Settings(Settings {
            file: || Some(goose_folder()?.join("config.yaml")),
            sign: goose_folder,
            layout: SettingsLayout { syntax: SettingsSyntax::Yaml, section: "extensions" },
            stdio: &[
                ("enabled", Field::True),
                ("type", Field::Text("stdio")),
                ("name", Field::Name),
                ("description", Field::Text("Your library")),
                ("cmd", Field::Program),
                ("args", Field::Arguments),
                ("timeout", Field::Seconds(300)),
            ],
            http: Http::Fields(&[
                ("enabled", Field::True),
                ("type", Field::Text("streamable_http")),
                ("name", Field::Name),
                ("description", Field::Text("Your library")),
                ("uri", Field::Url),
                ("headers", Field::Headers),
                ("env_keys", Field::KeyVariables),
                ("timeout", Field::Seconds(300)),
            ]),
            reference: Some(shell_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Start a new session of Goose.",
    },
    &Client {
        name: "lm-studio",
        title: "LM Studio",
        connection: Connection::Settings(Settings {
            file: || home(".lmstudio/mcp.json"),
            sign: || home(".lmstudio"),
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: PROGRAM,
            http: Http::Fields(ADDRESS),
            reference: None,
            add_command: None,
        }),
        hooks: None,
        next_steps: "In LM Studio, switch the server on in the tab Program.",
    },
    &Client {
        name: "cline",
        title: "Cline in Visual Studio Code",
        connection: Connection::Settings(Settings {
            file: || {
                let folder = cline_extension_folder()?;
                Some(folder.join("settings/cline_mcp_settings.json"))
            },
            sign: cline_extension_folder,
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: PROGRAM,
            http: Http::Fields(CLINE_ADDRESS),
            reference: Some(env_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Cline reads the settings at once.",
    },
    &Client {
        name: "cline-cli",
        title: "Cline in the terminal",
        connection: Connection::Settings(Settings {
            file: || home(".cline/data/settings/cline_mcp_settings.json"),
            sign: || home(".cline"),
            layout: SettingsLayout { syntax: JSON, section: "mcpServers" },
            stdio: PROGRAM,
            http: Http::Fields(CLINE_ADDRESS),
            reference: Some(env_reference),
            add_command: None,
        }),
        hooks: None,
        next_steps: "Restart Cline.",
    },
];

const CLINE_ADDRESS: &[(&str, Field)] =
    &[("type", Field::Text("streamableHttp")), ("url", Field::Url), ("headers", Field::Headers)];

/// Reference to an environment variable, as in a shell.
fn shell_reference(variable: &str) -> String {
    format!("${{{variable}}}")
}

/// Reference to an environment variable, as in the settings of Visual Studio Code.
fn env_reference(variable: &str) -> String {
    format!("${{env:{variable}}}")
}

/// Path below the home folder.
fn home(path: &str) -> Option<PathBuf> {
    Some(dirs::home_dir()?.join(path))
}

/// Path below the folder for settings of this system.
fn settings(path: &str) -> Option<PathBuf> {
    Some(dirs::config_dir()?.join(path))
}

/// Path below `~/.config`, which some clients use on every system.
fn dot_config(path: &str) -> Option<PathBuf> {
    if cfg!(target_os = "linux") { settings(path) } else { home(&format!(".config/{path}")) }
}

fn claude_desktop_folder() -> Option<PathBuf> {
    let packaged = if cfg!(windows) { packaged_app_folder(&dirs::data_local_dir()?) } else { None };
    packaged.or_else(|| settings("Claude"))
}

fn codex_folder() -> Option<PathBuf> {
    config::codex_home().or_else(|| home(".codex"))
}

fn copilot_folder() -> Option<PathBuf> {
    config::copilot_home().or_else(|| home(".copilot"))
}

fn zed_folder() -> Option<PathBuf> {
    if cfg!(windows) { settings("Zed") } else { dot_config("zed") }
}

fn goose_folder() -> Option<PathBuf> {
    if cfg!(windows) { settings("Block/goose/config") } else { dot_config("goose") }
}

fn cline_extension_folder() -> Option<PathBuf> {
    settings("Code/User/globalStorage/saoudrizwan.claude-dev")
}

/// Returns the settings folder of an app that was installed as a Windows package, which is the
/// usual installation there. Windows redirects the app's accesses from the ordinary folder to this
/// one.
fn packaged_app_folder(local: &std::path::Path) -> Option<PathBuf> {
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

fn claude_connector(url: &ServerUrl) -> Manual {
    Manual {
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
    }
}

/// ChatGPT calls servers from its provider's machines and stores their addresses in the user's
/// account.
fn chatgpt_connector(link: &ServerEndpoint, name: &EntryName) -> Manual {
    let url = match link {
        ServerEndpoint::Http { url, .. } if url.is_public() => url.as_str(),
        ServerEndpoint::Http { .. } | ServerEndpoint::Stdio(_) => "https://<your host>/mcp",
    };
    Manual {
        reason: "it keeps the addresses of its servers in your account, not in a file on this \
                 machine",
        steps: format!(
            "\
1. Start `vademecum serve` and make it reachable by HTTPS, behind a proxy or a tunnel of yours,
   with `server.public_url` and `auth.oauth = true` in the settings: ChatGPT then sends you to
   this server to log in. It sends no fixed key: without `auth.oauth`, anyone who knows the
   address of a reachable server can read your library.
2. In ChatGPT on the web: Plugins > + > Add custom MCP server. Where that is missing: Settings >
   Apps > Advanced settings > Developer mode, then Create app.
3. Name it `{name}`, and give it this address:

{url}

4. Choose OAuth, confirm, log in, and switch it on in a chat. `search` and `fetch` are what
   deep research and company knowledge use.
The ChatGPT app for the desktop reads the settings of Codex: vademecum connect codex",
            name = name.as_str(),
        ),
    }
}

fn claude_code_command(link: &ServerEndpoint, name: &EntryName) -> Vec<String> {
    let mut words: Vec<String> = ["claude", "mcp", "add", "--scope", "user"].map(Into::into).into();
    match link {
        ServerEndpoint::Stdio(start) => {
            words.extend([name.as_str(), "--", &start.command].map(Into::into));
            words.extend(start.arguments.clone());
        }
        ServerEndpoint::Http { url, credential } => {
            words.extend(["--transport", "http", name.as_str(), url.as_str()].map(Into::into));
            if let Some(credential) = credential {
                let header = format!("Authorization: {}", credential.to_header(shell_reference));
                words.extend(["--header".to_owned(), header]);
            }
        }
    }
    words
}

fn codex_command(link: &ServerEndpoint, name: &EntryName) -> Vec<String> {
    let mut words: Vec<String> = ["codex", "mcp", "add", name.as_str()].map(Into::into).into();
    match link {
        ServerEndpoint::Stdio(start) => {
            words.extend(["--", &start.command].map(Into::into));
            words.extend(start.arguments.clone());
        }
        ServerEndpoint::Http { url, credential } => {
            words.extend(["--url", url.as_str()].map(Into::into));
            match credential {
                Some(HttpCredential::Variable(key)) => {
                    words.extend(["--bearer-token-env-var", key.as_str()].map(Into::into));
                }
                // Its command has no option for headers.
                Some(HttpCredential::LocalToken(_)) => return Vec::new(),
                None => {}
            }
        }
    }
    words
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

    #[test]
    fn guide_and_table_have_the_same_clients() {
        let guide = include_str!("../../../docs/connecting.md");
        for client in CLIENTS {
            let command = format!("vademecum connect {}", client.name);
            assert!(guide.contains(&command), "{command}");
        }
        for rest in guide.split("vademecum connect ").skip(1) {
            let name: String =
                rest.chars().take_while(|it| it.is_ascii_lowercase() || *it == '-').collect();
            let is_known = CLIENTS.iter().any(|client| client.name == name);
            assert!(is_known || name.is_empty() || name.starts_with("--"), "{name}");
        }
    }
}
