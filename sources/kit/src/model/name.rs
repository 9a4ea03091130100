//! The names of the five personal sources, as the contract spells them.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of source: one of the five personal ones, or the collections.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SourceName {
    /// What the user wrote down.
    Notes,
    /// Documents, articles, audio and video, with their transcripts.
    Media,
    /// Conversations, message by message.
    Chats,
    /// Character cards.
    Characters,
    /// The prompt library.
    Prompts,
    /// Documents that come from elsewhere.
    Collections,
}

impl SourceName {
    /// Every source of a library, in the order in which they are listed and asked.
    pub const ALL: [Self; 5] =
        [Self::Notes, Self::Media, Self::Chats, Self::Characters, Self::Prompts];

    /// The name in tools, URIs, logs and configuration.
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

/// Says which name was not understood.
#[derive(Debug, thiserror::Error)]
#[error(
    "unknown source `{0}`, expected one of notes, media, chats, characters, prompts, collections"
)]
pub struct UnknownSource(String);

impl FromStr for SourceName {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .chain([Self::Collections])
            .find(|name| name.as_str() == text)
            .ok_or_else(|| UnknownSource(text.to_owned()))
    }
}
