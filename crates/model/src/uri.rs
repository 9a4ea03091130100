//! URIs of items: `notes://<id>`, `media://3`, `chats://<id>#<message>`.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SourceName;

/// Identifier of an item within its source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ItemId {
    /// Row number of a media document, character or prompt.
    Number(i64),
    /// Text identifier of a note or conversation.
    Text(String),
}

impl ItemId {
    /// Returns the identifier as a row number if it is one.
    pub fn as_number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

impl From<i64> for ItemId {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for ItemId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Canonical URI of an item, or of one message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uri {
    /// Source of the item.
    pub source: SourceName,
    /// Identifier of the item, as text.
    pub id: String,
    /// Part of the item: a message of a conversation.
    pub part: Option<String>,
}

impl Uri {
    /// Creates the URI of a whole item.
    pub fn item(source: SourceName, id: impl Into<String>) -> Self {
        Self { source, id: id.into(), part: None }
    }

    /// Creates the URI of one part of an item.
    pub fn part(source: SourceName, id: impl Into<String>, part: impl Into<String>) -> Self {
        Self { source, id: id.into(), part: Some(part.into()) }
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://", self.source)?;
        write_encoded(formatter, &self.id)?;
        match &self.part {
            Some(part) => {
                formatter.write_str("#")?;
                write_encoded(formatter, part)
            }
            None => Ok(()),
        }
    }
}

/// Writes an identifier with its invisible characters percent-encoded: readers and agents cannot
/// see them, and outputs are cleaned of them. All other characters stay as they are.
fn write_encoded(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some((at, letter)) = rest.char_indices().find(|(_, it)| is_invisible(*it)) {
        formatter.write_str(rest.get(..at).unwrap_or_default())?;
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            write!(formatter, "%{byte:02X}")?;
        }
        rest = rest.get(at + letter.len_utf8()..).unwrap_or_default();
    }
    formatter.write_str(rest)
}

/// Decodes the invisible characters of an identifier. Other percent signs are literal.
fn decode_invisible(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, encoded) = rest.split_at(at);
        decoded.push_str(before);
        let (letter, length) =
            decode_first(encoded).map_or(('%', 1), |letter| (letter, 3 * letter.len_utf8()));
        decoded.push(letter);
        rest = encoded.get(length..).unwrap_or_default();
    }
    decoded + rest
}

/// Returns the invisible character that `text` begins with in percent-encoding, if any.
fn decode_first(text: &str) -> Option<char> {
    let mut bytes = Vec::new();
    for at in (0..12).step_by(3) {
        let digits = text.get(at..at + 3)?.strip_prefix('%')?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        if let Ok(found) = str::from_utf8(&bytes) {
            return found.chars().next().filter(|letter| is_invisible(*letter));
        }
    }
    None
}

/// Returns whether a character is a control character or invisible: it has no width, changes only
/// how its neighbours are shown, or fills space without a glyph.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Error for text that is not an item URI.
#[derive(Debug, thiserror::Error)]
#[error("`{uri}` is not an item URI: {reason}")]
pub struct UriError {
    uri: String,
    reason: String,
}

impl FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = |reason: String| UriError { uri: text.to_owned(), reason };
        let (source, rest) = text
            .split_once("://")
            .ok_or_else(|| refuse("expected <source>://<id>, such as notes://42".to_owned()))?;
        let source = source.parse().map_err(|error| refuse(format!("{error}")))?;
        let (id, part) = match rest.split_once('#') {
            Some((id, part)) => (id, Some(decode_invisible(part))),
            None => (rest, None),
        };
        if id.is_empty() {
            return Err(refuse("the id is missing".to_owned()));
        }
        Ok(Self { source, id: decode_invisible(id), part })
    }
}

impl Serialize for Uri {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uri {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Uri {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Uri".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_round_trips_through_text() {
        for text in ["notes://a-b", "media://3", "chats://c1#m2"] {
            assert_eq!(text.parse::<Uri>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invisible_characters_are_encoded_in_uris() {
        let uri = Uri::part(SourceName::Collections, "docs/a\u{200b}b%20\u{e0041}.md", "\u{ad}7");
        let text = uri.to_string();
        assert_eq!(text, "collections://docs/a%E2%80%8Bb%20%F3%A0%81%81.md#%C2%AD7");
        assert_eq!(text.parse::<Uri>().unwrap(), uri);
        for literal in ["notes://100%", "notes://%C3%A9", "notes://%zz%E2%80", "notes://%é"] {
            assert_eq!(literal.parse::<Uri>().unwrap().to_string(), literal);
        }
    }

    #[test]
    fn uri_requires_known_source_and_id() {
        let cases = [
            ("recipes://1", "unknown source `recipes`"),
            ("notes://", "the id is missing"),
            ("42", "expected <source>://<id>"),
        ];
        for (text, reason) in cases {
            let error = text.parse::<Uri>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
