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
        write!(formatter, "{}://{}", self.source, self.id)?;
        match &self.part {
            Some(part) => write!(formatter, "#{part}"),
            None => Ok(()),
        }
    }
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
            Some((id, part)) => (id, Some(part.to_owned())),
            None => (rest, None),
        };
        if id.is_empty() {
            return Err(refuse("the id is missing".to_owned()));
        }
        Ok(Self { source, id: id.to_owned(), part })
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
