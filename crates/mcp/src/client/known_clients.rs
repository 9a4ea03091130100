//! Client-specific behaviour, selected by the name in the client's `clientInfo`.

use std::sync::Arc;

use crate::NameStyle;

/// Client program that is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Name in `clientInfo`; empty if the client sent none.
    pub name: Arc<str>,
}

/// Listing preferences of one client program.
struct ClientPreferences {
    /// Lower-case text that occurs in the client's name.
    name_fragment: &'static str,
    /// Style of tool names.
    name_style: NameStyle,
    /// List the `search` and `fetch` tools.
    deep_research: bool,
    /// The client reads `anthropic/maxResultSizeChars`.
    reads_result_size: bool,
    /// The client shows its model the structured content of a result, and no text beside it.
    reads_structured_content: bool,
}

/// Known clients. The first entry whose fragment occurs in the name wins.
const KNOWN_CLIENTS: [ClientPreferences; 9] = [
    // claude.ai and Claude Desktop hide every tool if one name has a dot; Claude Code replaces it
    // with `_`.
    ClientPreferences {
        reads_result_size: true,
        ..preferences("claude", NameStyle::Underscored, false)
    },
    ClientPreferences {
        reads_result_size: true,
        ..preferences("anthropic", NameStyle::Underscored, false)
    },
    // The model's API rejects the whole request.
    ClientPreferences {
        reads_structured_content: true,
        ..preferences("codex", NameStyle::Underscored, false)
    },
    preferences("copilot", NameStyle::Underscored, false),
    // Omits tools with dots, or calls them by a different name.
    preferences("cursor", NameStyle::Underscored, false),
    // Warns about each dot and replaces it with `_`.
    preferences("visual studio code", NameStyle::Underscored, false),
    preferences("vscode", NameStyle::Underscored, false),
    // Supports dots.
    preferences("gemini-cli", NameStyle::Dotted, false),
    // ChatGPT reads a library through `search` and `fetch` only in deep research.
    preferences("openai-mcp", NameStyle::Dotted, true),
];

/// Preferences of unknown clients.
const DEFAULT_PREFERENCES: ClientPreferences = preferences("", NameStyle::Dotted, true);

const fn preferences(
    name_fragment: &'static str,
    name_style: NameStyle,
    deep_research: bool,
) -> ClientPreferences {
    ClientPreferences {
        name_fragment,
        name_style,
        deep_research,
        reads_result_size: false,
        reads_structured_content: false,
    }
}

impl Client {
    /// Returns the style of tool names that this client supports.
    pub fn name_style(&self) -> NameStyle {
        self.preferences().name_style
    }

    /// Returns `true` if `search` and `fetch` should be listed for this client.
    pub fn wants_deep_research(&self) -> bool {
        self.preferences().deep_research
    }

    /// Returns `true` if the client may be `ChatGPT`, which reads the `securitySchemes` of tools.
    pub(crate) fn reads_security_schemes(&self) -> bool {
        self.wants_deep_research()
    }

    /// Returns `true` if the client reads `anthropic/maxResultSizeChars`.
    pub(crate) fn reads_result_size(&self) -> bool {
        self.preferences().reads_result_size
    }

    /// Returns `true` if the client shows its model the structured content of a result, and no text.
    pub(crate) fn reads_structured_content(&self) -> bool {
        self.preferences().reads_structured_content
    }

    fn preferences(&self) -> &'static ClientPreferences {
        let name = self.name.to_lowercase();
        KNOWN_CLIENTS
            .iter()
            .find(|known| name.contains(known.name_fragment))
            .unwrap_or(&DEFAULT_PREFERENCES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> Client {
        Client { name: name.into() }
    }

    #[test]
    fn client_matched_by_name_fragment() {
        for name in ["claude-ai", "Claude Desktop", "codex-mcp-client", "cursor-vscode"] {
            assert_eq!(client(name).name_style(), NameStyle::Underscored, "{name}");
            assert!(!client(name).wants_deep_research(), "{name}");
        }
        assert!(client("openai-mcp (ChatGPT)").wants_deep_research());
        assert!(!client("gemini-cli-mcp-client").wants_deep_research());
    }

    #[test]
    fn unknown_client_gets_dotted_names_and_all_tools() {
        for name in ["", "inspector"] {
            assert_eq!(client(name).name_style(), NameStyle::Dotted, "{name}");
            assert!(client(name).wants_deep_research(), "{name}");
        }
    }
}
