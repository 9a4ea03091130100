//! Access tags: what marks those for whom something in a library is meant.

use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

/// An access tag, such as `team:garden`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessTag(Arc<str>);

/// The access tags of a principal. Copies share one set.
pub type AccessTags = Arc<BTreeSet<AccessTag>>;

/// Says why texts cannot be access tags.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// One of them cannot.
    #[error(
        "`{0}` cannot be an access tag: use 1 to 128 characters without line breaks, none of them \
         a space at an end"
    )]
    Tag(String),
    /// They are no list.
    #[error("expected a JSON array of texts, such as [\"team:garden\"]")]
    List,
    /// There are too many.
    #[error("there are more than {} access tags", AccessTag::MOST)]
    TooMany,
}

impl AccessTag {
    const LONGEST: usize = 128;
    /// Tags that somebody has at most.
    pub(super) const MOST: usize = 256;

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a list of tags, as `x-session-tags` has it: a JSON array of texts.
    pub(super) fn list(text: &str) -> Result<AccessTags, TagError> {
        let texts: Vec<String> = serde_json::from_str(text).map_err(|_| TagError::List)?;
        Self::set(texts.iter().map(String::as_str))
    }

    /// Reads a set of tags.
    pub(super) fn set<'a>(
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<AccessTags, TagError> {
        let tags: Vec<Self> = texts.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        if tags.len() > Self::MOST {
            return Err(TagError::TooMany);
        }
        Ok(Arc::new(tags.into_iter().collect()))
    }
}

impl FromStr for AccessTag {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let long = text.chars().count() > Self::LONGEST;
        let plain = text.trim() == text && !text.chars().any(char::is_control);
        if plain && !long && !text.is_empty() {
            Ok(Self(text.into()))
        } else {
            Err(TagError::Tag(text.chars().take(100).collect()))
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
    fn a_tag_is_a_short_text() {
        for text in ["", " ", " a", "a ", "a\n", "a\0b"] {
            assert!(text.parse::<AccessTag>().is_err(), "{text:?}");
        }
        for text in ["team:a", "North America", "Q4-2024", "größe, klein", "a'b"] {
            assert_eq!(text.parse::<AccessTag>().unwrap().as_str(), text);
        }
        assert!("a".repeat(129).parse::<AccessTag>().is_err());
        assert_eq!(AccessTag::set(["b", "team:1", "b"]).unwrap().len(), 2);
        let many: Vec<String> = (0..=AccessTag::MOST).map(|number| number.to_string()).collect();
        assert!(AccessTag::set(many.iter().map(String::as_str)).is_err());
    }
}
