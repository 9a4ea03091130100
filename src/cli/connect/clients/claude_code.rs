//! Claude Code: `.claude.json` of the user, or `.mcp.json` of a project.

use std::path::PathBuf;

use super::super::{
    client::{Client, Place, Way, command_line},
    document::{Layout, Syntax},
    entry::{Entry, EntryName},
    link::Link,
};
use vademecum_core::config;

/// Claude Code.
pub(in super::super) const CLIENT: Client = Client {
    title: "Claude Code",
    place: Some(Place { file, layout: Layout { syntax: Syntax::Json, section: "mcpServers" } }),
    way,
    afterwards: "Start Claude Code anew; `/mcp` shows whether it is connected.\n\
                 For one project and all who work on it: --file .mcp.json in its folder.",
};

fn file() -> Option<PathBuf> {
    Some(config::claude_code_folder().or_else(dirs::home_dir)?.join(".claude.json"))
}

fn way(link: &Link, name: &EntryName) -> Way {
    let add = ["claude", "mcp", "add", "--scope", "user"];
    match link {
        Link::Stdio(start) => {
            let arguments = start.arguments.iter().map(String::as_str);
            let words =
                add.into_iter().chain([name.as_str(), "--", &start.command]).chain(arguments);
            Way::Entry {
                entry: Entry::starting(start).of_type("stdio"),
                command: Some(command_line(words)),
            }
        }
        Link::Http { url, key } => {
            let reference = |variable: &str| format!("${{{variable}}}");
            let header = key
                .as_ref()
                .map(|key| format!("Authorization: Bearer {}", reference(key.as_str())));
            let header = header.iter().flat_map(|header| ["--header", header.as_str()]);
            let words = add
                .into_iter()
                .chain(["--transport", "http", name.as_str(), url.as_str()])
                .chain(header);
            Way::Entry {
                entry: Entry::connecting(url, key.as_ref(), reference).of_type("http"),
                command: Some(command_line(words)),
            }
        }
    }
}
