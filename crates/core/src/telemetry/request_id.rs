//! Request ids for logs and responses.

use std::fmt;

use tracing::Span;
use uuid::Uuid;

/// Id of a request: the caller's, if it is safe to log, else a random UUID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    const MAX_BYTES: usize = 64;

    /// Accepts the caller's id if it is safe to log: 1 to 64 ASCII letters, digits, `.`, `_` and
    /// `-`.
    pub fn from_caller(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = (1..=Self::MAX_BYTES).contains(&text.len()) && text.bytes().all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// Generates a unique id.
    pub fn generate() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tracing span of the request. It has level `error` so that every log line,
    /// whatever the filter, can be assigned to its request.
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
    fn request_id_accepts_safe_characters_only() {
        for text in ["a", "7f.B-_", &"x".repeat(64)] {
            assert_eq!(RequestId::from_caller(text).unwrap().as_str(), text);
        }
        for text in ["", " ", "a b", "a\n", "ä", "a\"", "a/b", &"x".repeat(65)] {
            assert_eq!(RequestId::from_caller(text), None, "{text:?}");
        }
        assert!(RequestId::from_caller(RequestId::generate().as_str()).is_some());
    }
}
