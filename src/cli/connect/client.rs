//! The list of clients, and what there is to know of each.

use std::path::PathBuf;

use super::{
    clients::{chatgpt, claude_code, claude_desktop, codex, cursor, vscode},
    document::Layout,
    entry::{Entry, EntryName},
    link::Link,
};

/// A client that the server can be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ClientName {
    /// The app of Claude
    ClaudeDesktop,
    /// Claude in the terminal
    ClaudeCode,
    /// The editor Cursor
    Cursor,
    /// Visual Studio Code with Copilot
    #[value(name = "vscode")]
    VsCode,
    /// Codex in the terminal, the editor and the app
    Codex,
    /// ChatGPT in the browser
    #[value(name = "chatgpt")]
    ChatGpt,
}

/// What there is to know of a client.
#[derive(Debug)]
pub(super) struct Client {
    /// What people call it.
    pub(super) title: &'static str,
    /// Where its settings are, if they are in a file.
    pub(super) place: Option<Place>,
    /// What it needs to reach the server.
    pub(super) way: fn(&Link, &EntryName) -> Way,
    /// What is still to be done when its settings have changed.
    pub(super) afterwards: &'static str,
}

/// Where a client's settings are.
#[derive(Debug)]
pub(super) struct Place {
    /// The file, on this machine.
    pub(super) file: fn() -> Option<PathBuf>,
    /// How it is written.
    pub(super) layout: Layout,
}

/// What a client needs to reach the server.
#[derive(Debug)]
pub(super) enum Way {
    /// An entry in its settings.
    Entry {
        /// The entry.
        entry: Entry,
        /// A command of the client that makes the same entry.
        command: Option<String>,
    },
    /// Steps that only a person can take.
    ByHand {
        /// Why.
        reason: &'static str,
        /// What to do.
        steps: String,
    },
}

impl ClientName {
    /// What there is to know of it.
    pub(super) fn client(self) -> &'static Client {
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

/// A command line that a shell takes apart into these words again.
pub(super) fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@+,".contains(it);
    let quoted = words.into_iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_client_is_called_what_the_guide_calls_it() {
        let names = ClientName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|it| it.get_name().to_owned()).collect();
        let guide = include_str!("../../../docs/connecting.md");
        for name in &names {
            assert!(guide.contains(&format!("vademecum connect {name}")), "{name}");
        }
        assert_eq!(names.len(), guide.matches("\n## ").count() - 2, "{names:?}");
    }

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(
            command_line(["claude", "--data", "/my folder", "it's", "${KEY}", ""]),
            r"claude --data '/my folder' 'it'\''s' '${KEY}' ''"
        );
    }
}
