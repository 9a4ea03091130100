//! Access tags: labels that restrict content to the principals that hold them.

use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

/// An access tag, such as `team:garden`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessTag(Arc<str>);

/// Access tags of a principal. Clones share one set.
pub type AccessTags = Arc<BTreeSet<AccessTag>>;

/// Error for texts that are not valid access tags.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// A text is not a valid tag.
    #[error(
        "`{0}` is not a valid access tag: use 1 to 128 characters without control characters and without \
         spaces at the ends"
    )]
    InvalidTag(String),
    /// The text is not a JSON array of strings.
    #[error("expected a JSON array of strings, such as [\"team:garden\"]")]
    NotAList,
    /// There are more than 256 tags.
    #[error("there are more than {} access tags", AccessTag::MAX_TAGS)]
    TooMany,
}

impl AccessTag {
    const MAX_CHARS: usize = 128;
    /// Maximum number of tags of one principal.
    pub const MAX_TAGS: usize = 256;

    /// Returns the tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the value of `x-session-tags`: a JSON array of strings.
    pub fn parse_json(text: &str) -> Result<AccessTags, TagError> {
        let texts: Vec<String> = serde_json::from_str(text).map_err(|_| TagError::NotAList)?;
        Self::parse_set(texts.iter().map(String::as_str))
    }

    /// Parses tags into a set. Fails on an invalid tag or on too many tags.
    pub fn parse_set<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<AccessTags, TagError> {
        let tags: Vec<Self> = texts.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        if tags.len() > Self::MAX_TAGS {
            return Err(TagError::TooMany);
        }
        Ok(Arc::new(tags.into_iter().collect()))
    }
}

impl FromStr for AccessTag {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let long = text.chars().count() > Self::MAX_CHARS;
        let plain = text.trim() == text && !text.chars().any(char::is_control);
        if plain && !long && !text.is_empty() {
            Ok(Self(text.into()))
        } else {
            Err(TagError::InvalidTag(text.chars().take(100).collect()))
        }
    }
}

impl fmt::Display for AccessTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_accepts_short_printable_text() {
        for text in ["", " ", " a", "a ", "a\n", "a\0b"] {
            assert!(text.parse::<AccessTag>().is_err(), "{text:?}");
        }
        for text in ["team:a", "North America", "Q4-2024", "größe, klein", "a'b"] {
            assert_eq!(text.parse::<AccessTag>().unwrap().as_str(), text);
        }
        assert!("a".repeat(129).parse::<AccessTag>().is_err());
        assert_eq!(AccessTag::parse_set(["b", "team:1", "b"]).unwrap().len(), 2);
        let many: Vec<String> =
            (0..=AccessTag::MAX_TAGS).map(|number| number.to_string()).collect();
        assert!(AccessTag::parse_set(many.iter().map(String::as_str)).is_err());
    }
}
