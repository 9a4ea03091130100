//! Names of clients that look like those of other programs. A client chooses its name itself, so a
//! page shows the host that receives the answer first, and marks names that pretend to be another's.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::{MixedScript as _, skeleton};

use super::{Client, ClientKind, RedirectUri};

/// Well-known program, and where its answers go.
#[derive(Debug)]
struct KnownProgram {
    /// Name for people.
    name: &'static str,
    /// Words of the name, without spaces, in lowercase, any of which names it.
    words: &'static [&'static str],
    /// Hosts of its maker, with all below them.
    hosts: &'static [&'static str],
    /// Schemes of its applications.
    schemes: &'static [&'static str],
}

/// Programs whose names strangers could borrow. On the device of the user, any program can take any
/// name; the page says that the answer stays there.
const KNOWN_PROGRAMS: [KnownProgram; 7] = [
    KnownProgram {
        name: "Claude",
        words: &["claude", "anthropic"],
        hosts: &["claude.ai", "claude.com", "anthropic.com"],
        schemes: &["claude"],
    },
    KnownProgram {
        name: "ChatGPT",
        words: &["chatgpt", "openai", "codex"],
        hosts: &["chatgpt.com", "openai.com"],
        schemes: &["codex"],
    },
    KnownProgram {
        name: "Gemini",
        words: &["gemini", "google"],
        hosts: &["google.com"],
        schemes: &[],
    },
    KnownProgram {
        name: "GitHub Copilot",
        words: &["copilot", "github", "microsoft"],
        hosts: &["github.com", "microsoft.com"],
        schemes: &["vscode", "vscode-insiders"],
    },
    KnownProgram {
        name: "Visual Studio Code",
        words: &["visualstudiocode", "vscode"],
        hosts: &["vscode.dev", "microsoft.com"],
        schemes: &["vscode", "vscode-insiders"],
    },
    KnownProgram {
        name: "Cursor",
        words: &["cursor"],
        hosts: &["cursor.com", "cursor.sh"],
        schemes: &["cursor"],
    },
    KnownProgram {
        name: "Perplexity",
        words: &["perplexity"],
        hosts: &["perplexity.ai"],
        schemes: &[],
    },
];

/// Name of this program, which no client has.
const OWN_NAME: &str = "vademecum";

/// Reason to distrust the name of a client. The messages are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameWarning {
    /// The name is that of this program.
    #[error("This program is no part of Vademecum, although its name says so.")]
    Own,
    /// The name is that of a well-known program, and the answer goes elsewhere.
    #[error(
        "The name is that of {program}, but the answer goes elsewhere. Its makers use {hosts}."
    )]
    Borrowed {
        /// Name of the well-known program.
        program: &'static str,
        /// Hosts of its makers.
        hosts: String,
    },
    /// The name has letters that look like others.
    #[error("The name has letters that look like others. They are marked here: {plain}")]
    LookAlike {
        /// Name with the code points of these letters.
        plain: String,
    },
}

impl Client {
    /// Returns reasons to distrust the name of this client, which asks for an answer at an address.
    pub(crate) fn name_warnings(&self, redirect_uri: &RedirectUri) -> Vec<NameWarning> {
        let readings = readings(&self.name);
        let named = |word: &str| readings.iter().any(|reading| reading.contains(&fold(word)));
        let mut warnings = Vec::new();
        if named(OWN_NAME) {
            warnings.push(NameWarning::Own);
        }
        for program in &KNOWN_PROGRAMS {
            if program.words.iter().any(|word| named(word)) && !self.is_of(program, redirect_uri) {
                let hosts = program.hosts.join(", ");
                warnings.push(NameWarning::Borrowed { program: program.name, hosts });
            }
        }
        if has_look_alikes(&self.name) {
            warnings.push(NameWarning::LookAlike { plain: with_code_points(&self.name) });
        }
        warnings
    }

    /// Returns true if all that identifies this client is of the makers of a program, or the answer
    /// stays on the device of the user.
    fn is_of(&self, program: &KnownProgram, redirect_uri: &RedirectUri) -> bool {
        let is_theirs = |host: &str| {
            program.hosts.iter().any(|known| {
                host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        };
        let answers_there = redirect_uri.is_loopback()
            || redirect_uri.web_host().is_some_and(is_theirs)
            || redirect_uri.application_scheme().is_some_and(|it| program.schemes.contains(&it));
        let is_described_there = match self.kind {
            ClientKind::Registered => true,
            ClientKind::Document => self.document_host().is_some_and(|host| is_theirs(&host)),
        };
        answers_there && is_described_there
    }
}

/// Returns what people may read in a name, without spaces and punctuation. Letters are replaced by
/// those that they look like, before or after all become lowercase: a capital I looks like an l.
fn readings(name: &str) -> BTreeSet<String> {
    let plain: String = name.nfkc().collect();
    let lowercase = plain.to_lowercase();
    // Normal forms replace some letters by others that look different.
    [fold(name), fold(&plain), fold(&lowercase), letters(&lowercase)].into()
}

/// Replaces letters by those that they look like.
fn fold(text: &str) -> String {
    let looks: String = skeleton(text).collect();
    letters(&looks.to_lowercase())
}

fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

/// Returns true if a word has letters of several scripts, or all its letters look like Latin ones.
fn has_look_alikes(name: &str) -> bool {
    name.split_whitespace().any(|word| {
        let looks: String = skeleton(word).collect();
        !word.is_ascii() && (!word.is_single_script() || looks.is_ascii())
    })
}

/// Returns a name with the code points of all letters that are not ASCII.
fn with_code_points(name: &str) -> String {
    let shown = name.chars().map(|letter| {
        if letter.is_ascii() {
            letter.to_string()
        } else {
            format!("\u{ab}U+{:04X}\u{bb}", u32::from(letter))
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(name: &str, address: &str) -> Vec<NameWarning> {
        let redirect_uri: RedirectUri = address.parse().unwrap();
        let client = Client {
            id: "client-1".to_owned(),
            name: name.to_owned(),
            redirect_uris: vec![redirect_uri.clone()],
            kind: ClientKind::Registered,
        };
        client.name_warnings(&redirect_uri)
    }

    #[test]
    fn borrowed_names_are_marked() {
        for name in [
            "Claude",
            "claude.ai",
            "C L A U D E",
            "CIaude",
            "C1aude",
            "Cl\u{430}ude",
            "Ｃｌａｕｄｅ",
            "\u{3f9}laude",
            "Claude\u{301}",
            "Anthropic MCP",
            "ＣＬＡＵＤＥ connector",
            "cl-aude",
        ] {
            let found = warnings(name, "https://evil.example/callback");
            let is_borrowed =
                |it: &NameWarning| matches!(it, NameWarning::Borrowed { program: "Claude", .. });
            assert!(found.iter().any(is_borrowed), "{name}: {found:?}");
        }
        for address in [
            "https://claude.ai.evil.example/cb",
            "https://notclaude.ai/cb",
            "com.evil.app:/cb",
            "cursor://anysphere/cb",
        ] {
            assert!(!warnings("Claude", address).is_empty(), "{address}");
        }
        assert_eq!(warnings("Vademecum", "https://evil.example/cb"), [NameWarning::Own]);
        assert_eq!(warnings("V\u{430}demecum", "http://127.0.0.1/cb")[0], NameWarning::Own);
    }

    #[test]
    fn own_names_are_not_marked() {
        for (name, address) in [
            ("Claude", "https://claude.ai/api/mcp/auth_callback"),
            ("Claude", "https://claude.com/api/mcp/auth_callback"),
            ("Claude Code (notes)", "http://localhost:1234/callback"),
            ("ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect"),
            ("Codex", "http://127.0.0.1:9/callback"),
            ("Visual Studio Code", "https://vscode.dev/redirect"),
            ("Cursor", "cursor://anysphere.cursor-mcp/oauth/callback"),
            ("Test client", "https://client.example/callback"),
            ("Caf\u{e9} notes", "https://client.example/callback"),
            ("\u{77e5}\u{8b58} Agent", "https://client.example/callback"),
            ("\u{417}\u{430}\u{43c}\u{435}\u{442}\u{43a}\u{438}", "https://client.example/cb"),
        ] {
            assert_eq!(warnings(name, address), [], "{name}");
        }
    }

    #[test]
    fn look_alike_letters_are_named() {
        let found = warnings("P\u{430}yments", "https://evil.example/cb");
        let plain = "P\u{ab}U+0430\u{bb}yments".to_owned();
        assert_eq!(found, [NameWarning::LookAlike { plain }]);
        assert_eq!(warnings("\u{455}\u{43e}\u{440}\u{435}", "https://evil.example/cb").len(), 1);
    }
}
