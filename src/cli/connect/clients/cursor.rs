//! Cursor: `mcp.json` of the user or of a project.

use std::path::PathBuf;

use super::super::{
    client::{Client, Place, Way},
    document::{Layout, Syntax},
    entry::{Entry, EntryName},
    link::Link,
};

/// Cursor.
pub(in super::super) const CLIENT: Client = Client {
    title: "Cursor",
    place: Some(Place { file, layout: Layout { syntax: Syntax::Jsonc, section: "mcpServers" } }),
    way,
    afterwards: "In Cursor, switch the server on under Settings > Tools & MCP.\n\
                 For one project: --file .cursor/mcp.json in its folder.",
};

fn file() -> Option<PathBuf> {
    Some(dirs::home_dir()?.join(".cursor").join("mcp.json"))
}

fn way(link: &Link, _: &EntryName) -> Way {
    let entry = match link {
        Link::Stdio(start) => Entry::starting(start).of_type("stdio"),
        // What has an address needs no type there.
        Link::Http { url, key } => {
            Entry::connecting(url, key.as_ref(), |variable| format!("${{env:{variable}}}"))
        }
    };
    Way::Entry { entry, command: None }
}
