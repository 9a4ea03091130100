//! Request defaults from the `config` parameter. They are preferences and never contain
//! credentials.

use base64::{Engine, alphabet, engine};
use serde::{Deserialize, Serialize};
use vademecum_model::{Order, Preferences};

/// Maximum length of an encoded `config`, in bytes.
const MAX_CONFIG_BYTES: usize = 8 * 1_024;

/// Defaults of a request or session; arguments of a call take precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDefaults {
    /// Result sizes and order.
    pub preferences: Preferences,
    /// Format of search results.
    pub shape: Option<Shape>,
}

/// Format of search results.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every field of a hit.
    #[default]
    Full,
    /// `{id, title, text, url, metadata}`, as deep-research clients know it.
    Compact,
}

/// Error of reading a `config`.
#[derive(Debug, thiserror::Error)]
pub enum DefaultsError {
    /// The text is too long.
    #[error("`config` is longer than {MAX_CONFIG_BYTES} bytes")]
    TooLong,
    /// The text is not base64.
    #[error("`config` is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The JSON is invalid.
    #[error(
        "invalid `config`: {0}; allowed keys are snippet_length, max_tokens, sibling_window, \
         chars_per_token, order_by and shape, never credentials"
    )]
    Json(#[from] serde_json::Error),
}

/// Accepted keys. Unknown keys are rejected, so that a user or key given here is not silently
/// ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    snippet_length: Option<i64>,
    max_tokens: Option<i64>,
    sibling_window: Option<i64>,
    chars_per_token: Option<i64>,
    order_by: Option<Order>,
    shape: Option<Shape>,
}

impl RequestDefaults {
    /// Parses a `config`: JSON in base64, with the standard or URL-safe alphabet, padded or not.
    pub fn from_base64(text: &str) -> Result<Self, DefaultsError> {
        if text.len() > MAX_CONFIG_BYTES {
            return Err(DefaultsError::TooLong);
        }
        let lenient = engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(engine::DecodePaddingMode::Indifferent);
        // In a query string, an unescaped `+` arrives as a space.
        let plain = text.trim().replace([' ', '-'], "+").replace('_', "/");
        let json = engine::GeneralPurpose::new(&alphabet::STANDARD, lenient).decode(plain)?;
        Self::from_json(&json)
    }

    /// Parses a `config` in JSON. Numbers are clamped to their range.
    pub fn from_json(json: &[u8]) -> Result<Self, DefaultsError> {
        let config: Config = serde_json::from_slice(json)?;
        let clamp = |value: Option<i64>, min: usize, max: usize| {
            value.map(|value| usize::try_from(value).unwrap_or(0).clamp(min, max))
        };
        Ok(Self {
            preferences: Preferences {
                snippet_length: clamp(config.snippet_length, 1, 1_000),
                max_tokens: clamp(config.max_tokens, 500, 200_000),
                sibling_window: clamp(config.sibling_window, 0, 10),
                chars_per_token: clamp(config.chars_per_token, 1, 20),
                order_by: config.order_by,
            },
            shape: config.shape,
        })
    }

    /// Returns these defaults, with missing values taken from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            preferences: self.preferences.or(others.preferences),
            shape: self.shape.or(others.shape),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn config_accepts_both_alphabets_and_is_clamped() {
        let json = r#"{"snippet_length": 9999, "sibling_window": -3, "order_by": "recent"}"#;
        for text in [STANDARD.encode(json), URL_SAFE_NO_PAD.encode(json)] {
            let preferences = RequestDefaults::from_base64(&text).unwrap().preferences;
            assert_eq!(preferences.snippet_length, Some(1_000));
            assert_eq!(preferences.sibling_window, Some(0));
            assert_eq!(preferences.order_by, Some(Order::Recent));
        }
    }

    #[test]
    fn config_rejects_credentials_and_users() {
        for key in ["api_key", "user_id", "token"] {
            let text = STANDARD.encode(format!(r#"{{"{key}": "x"}}"#));
            let error = RequestDefaults::from_base64(&text).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("never credentials"), "{error}");
        }
        assert!(RequestDefaults::from_base64("§").is_err());
        assert!(RequestDefaults::from_base64(&"A".repeat(MAX_CONFIG_BYTES + 1)).is_err());
    }
}
