//! Codex: `config.toml`, which the terminal, the editor and the app share.

use std::path::PathBuf;

use serde_json::json;

use super::super::{
    client::{Client, Place, Way, command_line},
    document::{Layout, Syntax},
    entry::{Entry, EntryName},
    link::Link,
};
use vademecum_core::config;

/// Codex.
pub(in super::super) const CLIENT: Client = Client {
    title: "Codex",
    place: Some(Place { file, layout: Layout { syntax: Syntax::Toml, section: "mcp_servers" } }),
    way,
    afterwards: "Start Codex anew; `/mcp` shows whether it is connected.\n\
                 For one trusted project: --file .codex/config.toml in its folder.",
};

fn file() -> Option<PathBuf> {
    let folder = config::codex_home().or_else(|| Some(dirs::home_dir()?.join(".codex")))?;
    Some(folder.join("config.toml"))
}

fn way(link: &Link, name: &EntryName) -> Way {
    let add = ["codex", "mcp", "add", name.as_str()];
    match link {
        Link::Stdio(start) => {
            let arguments = start.arguments.iter().map(String::as_str);
            let words = add.into_iter().chain(["--", &start.command]).chain(arguments);
            Way::Entry { entry: Entry::starting(start), command: Some(command_line(words)) }
        }
        Link::Http { url, key } => {
            let mut entry = Entry::of([("url", json!(url.as_str()))]);
            let mut words = [add.as_slice(), &["--url", url.as_str()]].concat();
            // It refuses a key in the file, and reads the variable itself.
            if let Some(key) = key {
                entry = entry.and("bearer_token_env_var", json!(key.as_str()));
                words.extend(["--bearer-token-env-var", key.as_str()]);
            }
            Way::Entry { entry, command: Some(command_line(words)) }
        }
    }
}
