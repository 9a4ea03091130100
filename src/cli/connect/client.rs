//! The definition of a client: where its settings are and how it connects to a server.

use std::path::PathBuf;

use super::{
    endpoint::ServerEndpoint,
    entry::{EntryName, ServerEntry},
    hook::HooksFile,
    layout::SettingsLayout,
};

/// Definition of a client: settings location and connection method.
#[derive(Debug)]
pub(super) struct Client {
    /// Display name.
    pub(super) title: &'static str,
    /// Location of its settings; `None` if they are not in a file.
    pub(super) settings: Option<SettingsLocation>,
    /// Returns the path of the file with its hooks; `None` if it has none for prompts.
    pub(super) hooks: Option<HooksFile>,
    /// Returns the steps that connect the client to a server.
    pub(super) connection_method: fn(&ServerEndpoint, &EntryName) -> ConnectionMethod,
    /// Instructions for the user after the settings have changed.
    pub(super) next_steps: &'static str,
}

/// Location and layout of a client's settings.
#[derive(Debug)]
pub(super) struct SettingsLocation {
    /// Returns the path of the settings file; `None` if this machine has no folder for it.
    pub(super) file: fn() -> Option<PathBuf>,
    /// Layout of the file.
    pub(super) layout: SettingsLayout,
}

/// Steps that connect a client to the server.
#[derive(Debug)]
pub(super) enum ConnectionMethod {
    /// An entry in the client's settings.
    SettingsEntry {
        /// The entry.
        entry: ServerEntry,
        /// Command of the client that adds the same entry.
        command: Option<String>,
    },
    /// Steps that only a person can do.
    Manual {
        /// The reason.
        reason: &'static str,
        /// Instructions for the user.
        steps: String,
    },
}

/// Joins words to a command line, with shell quoting where necessary.
pub(super) fn quote_command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
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
    use super::*;

    #[test]
    fn command_line_quotes_special_words() {
        assert_eq!(
            quote_command_line(["claude", "--data", "/my folder", "it's", "${KEY}", ""]),
            r"claude --data '/my folder' 'it'\''s' '${KEY}' ''"
        );
    }
}
