//! What a request is called, in the log and towards who sent it.

use std::fmt;

use tracing::Span;
use uuid::Uuid;

/// What a request is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    const LONGEST: usize = 64;

    /// What the caller calls it, if that is plain enough to stand in a log: 1 to 64
    /// letters, digits, `.`, `_` and `-`.
    pub fn taken(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// One that no other request has.
    pub fn mint() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    /// It as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What every line inside the request is logged in. It is there whatever is
    /// logged: a warning without it could not be put down to anything.
    pub fn span(&self) -> Span {
        tracing::error_span!("request", request.id = self.as_str())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_plain_is_taken() {
        for text in ["a", "7f.B-_", &"x".repeat(64)] {
            assert_eq!(RequestId::taken(text).unwrap().as_str(), text);
        }
        for text in ["", " ", "a b", "a\n", "ä", "a\"", "a/b", &"x".repeat(65)] {
            assert_eq!(RequestId::taken(text), None, "{text:?}");
        }
        assert!(RequestId::taken(RequestId::mint().as_str()).is_some());
    }
}
