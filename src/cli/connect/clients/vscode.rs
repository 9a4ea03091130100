//! Visual Studio Code: `mcp.json` of the user's profile or of a workspace.

use std::path::PathBuf;

use super::super::{
    client::{Client, Place, Way},
    document::{Layout, Syntax},
    entry::{Entry, EntryName},
    link::Link,
};

/// Visual Studio Code.
pub(in super::super) const CLIENT: Client = Client {
    title: "Visual Studio Code",
    place: Some(Place { file, layout: Layout { syntax: Syntax::Jsonc, section: "servers" } }),
    way,
    afterwards: "In Visual Studio Code, run `MCP: List Servers` and start the server.\n\
                 For one workspace: --file .vscode/mcp.json in its folder.",
};

fn file() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("Code").join("User").join("mcp.json"))
}

fn way(link: &Link, _: &EntryName) -> Way {
    let entry = match link {
        Link::Stdio(start) => Entry::starting(start).of_type("stdio"),
        Link::Http { url, key } => {
            Entry::connecting(url, key.as_ref(), |variable| format!("${{env:{variable}}}"))
                .of_type("http")
        }
    };
    Way::Entry { entry, command: None }
}
