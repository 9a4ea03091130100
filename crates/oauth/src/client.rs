//! Clients: programs that ask for access. A client is registered here, or its id is the address of
//! a document that describes it.

use rusqlite::{Row, types::Type};
use url::Url;

use super::RedirectUri;

/// Maximum length of the name of a client, in characters.
const MAX_NAME_LENGTH: usize = 80;
/// Maximum number of redirect addresses of a client.
pub(crate) const MAX_REDIRECT_URIS: usize = 20;

/// Program that asks for access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Identifier.
    pub id: String,
    /// Name that the client gave itself, which is not verified; may be empty.
    pub name: String,
    /// Addresses to which codes may be sent.
    pub redirect_uris: Vec<RedirectUri>,
    /// Origin of these properties.
    pub kind: ClientKind,
}

/// Origin of the properties of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// The client registered itself (RFC 7591).
    Registered,
    /// The id is the address of a metadata document, which only the owner of its host can change.
    Document,
}

impl Client {
    /// Returns the name for people; the id if there is none.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() { &self.id } else { &self.name }
    }

    /// Returns the host of the document that describes the client.
    pub fn document_host(&self) -> Option<String> {
        let url = Url::parse(&self.id).ok().filter(|_| self.kind == ClientKind::Document)?;
        url.host_str().map(str::to_owned)
    }

    /// Returns the redirect address of a request if the client registered it.
    pub(crate) fn find_redirect_uri(&self, text: &str) -> Option<RedirectUri> {
        let requested: RedirectUri = text.parse().ok()?;
        self.redirect_uris.iter().any(|known| requested.matches(known)).then_some(requested)
    }

    /// Reads a registered client.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let stored: String = row.get("redirect_uris")?;
        let texts: Vec<String> = serde_json::from_str(&stored).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
        })?;
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            redirect_uris: texts.iter().filter_map(|text| text.parse().ok()).collect(),
            kind: ClientKind::Registered,
        })
    }
}

/// Returns true if a client id is an address, and no id that this server gave.
pub(crate) fn is_document_url(id: &str) -> bool {
    id.contains("://")
}

/// Returns a name that a page can show: without control characters and characters that change the
/// direction of writing or are invisible, and not longer than some words.
pub(crate) fn clean_name(name: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let shown: String = name.chars().filter(|letter| !is_hidden(*letter)).collect();
    let words: Vec<&str> = shown.split_whitespace().collect();
    words.join(" ").chars().take(MAX_NAME_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_name_is_harmless_and_short() {
        assert_eq!(clean_name(" Claude\u{202e}\n  Code\u{0}\u{200b} "), "Claude Code");
        assert_eq!(clean_name(&"x".repeat(500)).len(), MAX_NAME_LENGTH);
    }
}
