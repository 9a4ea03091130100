//! Names of the five personal sources and of collections.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of source: one of the five personal ones, or collections.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SourceName {
    /// Notes of the user.
    Notes,
    /// Documents, articles, audio and video, with their transcripts.
    Media,
    /// Conversations, message by message.
    Chats,
    /// Character cards.
    Characters,
    /// Prompt library.
    Prompts,
    /// Documents from external sources.
    Collections,
}

impl SourceName {
    /// All personal sources, in listing and query order.
    pub const ALL: [Self; 5] =
        [Self::Notes, Self::Media, Self::Chats, Self::Characters, Self::Prompts];

    /// Returns the name used in tools, URIs, logs and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Media => "media",
            Self::Chats => "chats",
            Self::Characters => "characters",
            Self::Prompts => "prompts",
            Self::Collections => "collections",
        }
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Error for an unknown source name.
#[derive(Debug, thiserror::Error)]
#[error(
    "unknown source `{0}`, expected one of notes, media, chats, characters, prompts, collections"
)]
pub struct UnknownSourceError(String);

impl FromStr for SourceName {
    type Err = UnknownSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .chain([Self::Collections])
            .find(|name| name.as_str() == text)
            .ok_or_else(|| UnknownSourceError(text.to_owned()))
    }
}
