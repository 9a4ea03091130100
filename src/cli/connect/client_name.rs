//! The supported clients.

use super::{
    client::Client,
    clients::{chatgpt, claude_code, claude_desktop, codex, cursor, vscode},
};

/// A supported client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ClientName {
    /// Claude Desktop
    ClaudeDesktop,
    /// Claude Code, in the terminal
    ClaudeCode,
    /// Cursor, the editor
    Cursor,
    /// Visual Studio Code with Copilot
    #[value(name = "vscode")]
    VsCode,
    /// Codex, in the terminal, the editor and the app
    Codex,
    /// ChatGPT in the browser
    #[value(name = "chatgpt")]
    ChatGpt,
}

impl ClientName {
    /// Returns the definition of the client.
    pub(super) fn definition(self) -> &'static Client {
        match self {
            Self::ClaudeDesktop => &claude_desktop::CLIENT,
            Self::ClaudeCode => &claude_code::CLIENT,
            Self::Cursor => &cursor::CLIENT,
            Self::VsCode => &vscode::CLIENT,
            Self::Codex => &codex::CLIENT,
            Self::ChatGpt => &chatgpt::CLIENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn client_names_match_the_guide() {
        let names = ClientName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|it| it.get_name().to_owned()).collect();
        let guide = include_str!("../../../docs/connecting.md");
        for name in &names {
            assert!(guide.contains(&format!("vademecum connect {name}")), "{name}");
        }
        let is_client = |section: &&str| section.contains("\n`vademecum connect ");
        let sections = guide.split("\n## ").skip(1).filter(is_client).count();
        assert_eq!(names.len(), sections, "{names:?}");
    }
}
