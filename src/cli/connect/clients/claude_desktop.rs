//! Claude Desktop: `claude_desktop_config.json`.
//!
//! Its file knows only servers that it starts. Addresses are "connectors" of
//! the account, which the company's servers call, not the app.

use std::path::{Path, PathBuf};

use super::super::{
    client::{Client, Place, Way},
    document::{Layout, Syntax},
    entry::{Entry, EntryName},
    link::Link,
};

/// Claude Desktop.
pub(in super::super) const CLIENT: Client = Client {
    title: "Claude Desktop",
    place: Some(Place { file, layout: Layout { syntax: Syntax::Json, section: "mcpServers" } }),
    way,
    afterwards: "Quit Claude Desktop and start it again.",
};

fn file() -> Option<PathBuf> {
    let ordinary = dirs::config_dir()?.join("Claude");
    let packaged = if cfg!(windows) { packaged(&dirs::data_local_dir()?) } else { None };
    Some(packaged.unwrap_or(ordinary).join("claude_desktop_config.json"))
}

/// Where Windows keeps the settings of an app that was installed as a package,
/// which is the ordinary way there. The app is told it were the usual folder.
fn packaged(local: &Path) -> Option<PathBuf> {
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

fn way(link: &Link, _: &EntryName) -> Way {
    match link {
        Link::Stdio(start) => Way::Entry { entry: Entry::starting(start), command: None },
        Link::Http { url, .. } => Way::ByHand {
            reason: "its settings name programs, not addresses; without --http it starts the \
                     server itself",
            steps: format!(
                "\
1. Make the server reachable by HTTPS from the internet: a connector is called by Anthropic's
   servers, not by the app. Have it ask for a key or a sign-in; who knows the address can read.
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
    fn the_folder_of_a_packaged_app_is_found() {
        let local = tempfile::tempdir().unwrap();
        assert_eq!(packaged(local.path()), None);
        let inside = "LocalCache/Roaming/Claude";
        for package in ["Other_1", "Claude_pzs8"] {
            std::fs::create_dir_all(local.path().join("Packages").join(package).join(inside))
                .unwrap();
        }
        let expected = local.path().join("Packages/Claude_pzs8").join(inside);
        assert_eq!(packaged(local.path()), Some(expected));
    }
}
