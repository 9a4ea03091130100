//! What is known of the program at the other end, by the name it gives itself.

use std::sync::Arc;

use super::NameStyle;

/// The program at the other end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// What it calls itself; empty if it did not say.
    pub name: Arc<str>,
}

/// What suits a client.
struct Profile {
    /// What its name holds, in lower case.
    mark: &'static str,
    /// How it wants tool names.
    names: NameStyle,
    /// Whether `search` and `fetch` are of use to it.
    deep_research: bool,
}

/// The clients that are known; the first whose mark is in the name counts.
const KNOWN: [Profile; 9] = [
    // claude.ai and Claude Desktop hide every tool if one name has a dot;
    // Claude Code writes `_` for it.
    profile("claude", NameStyle::Underscored, false),
    profile("anthropic", NameStyle::Underscored, false),
    // The model's interface refuses the whole request.
    profile("codex", NameStyle::Underscored, false),
    profile("copilot", NameStyle::Underscored, false),
    // Leaves out tools with dots, or calls them by another name than it read.
    profile("cursor", NameStyle::Underscored, false),
    // Warns of each dot, and writes `_` for it.
    profile("visual studio code", NameStyle::Underscored, false),
    profile("vscode", NameStyle::Underscored, false),
    // Takes dots.
    profile("gemini-cli", NameStyle::Dotted, false),
    // ChatGPT: reads a library by `search` and `fetch` only in deep research.
    profile("openai-mcp", NameStyle::Dotted, true),
];

/// What suits a client that is not known.
const UNKNOWN: Profile = profile("", NameStyle::Dotted, true);

const fn profile(mark: &'static str, names: NameStyle, deep_research: bool) -> Profile {
    Profile { mark, names, deep_research }
}

impl Client {
    /// How it wants tool names.
    pub fn names(&self) -> NameStyle {
        self.profile().names
    }

    /// Whether `search` and `fetch` are of use to it.
    pub fn wants_deep_research(&self) -> bool {
        self.profile().deep_research
    }

    fn profile(&self) -> &'static Profile {
        let name = self.name.to_lowercase();
        KNOWN.iter().find(|known| name.contains(known.mark)).unwrap_or(&UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> Client {
        Client { name: name.into() }
    }

    #[test]
    fn a_client_is_known_by_a_part_of_its_name() {
        for name in ["claude-ai", "Claude Desktop", "codex-mcp-client", "cursor-vscode"] {
            assert_eq!(client(name).names(), NameStyle::Underscored, "{name}");
            assert!(!client(name).wants_deep_research(), "{name}");
        }
        assert!(client("openai-mcp (ChatGPT)").wants_deep_research());
        assert!(!client("gemini-cli-mcp-client").wants_deep_research());
    }

    #[test]
    fn an_unknown_client_gets_everything_as_it_is_called() {
        for name in ["", "inspector"] {
            assert_eq!(client(name).names(), NameStyle::Dotted, "{name}");
            assert!(client(name).wants_deep_research(), "{name}");
        }
    }
}
