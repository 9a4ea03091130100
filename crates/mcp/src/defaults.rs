//! The `config` of a request: wishes, not orders, and never credentials.

use base64::{Engine, alphabet, engine};
use serde::Deserialize;
use vademecum_kit::model::{Order, Preferences};

/// Longest `config` that is read, in bytes.
const LONGEST: usize = 8 * 1_024;

/// What holds for a request or a session, unless a call says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// How much is shown and read, and in which order.
    pub preferences: Preferences,
    /// What search results look like.
    pub shape: Option<Shape>,
}

/// What search results look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every field of a hit.
    #[default]
    Full,
    /// `{id, title, text, url, metadata}`, as deep-research clients know it.
    Compact,
}

/// Why a `config` cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DefaultsError {
    /// Too much of it.
    #[error("`config` is longer than {LONGEST} bytes")]
    Long,
    /// Not base64.
    #[error("`config` is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not what it should be.
    #[error(
        "`config` is not right: {0}; it takes snippet_length, max_tokens, sibling_window, \
         chars_per_token, order_by and shape, and never credentials"
    )]
    Json(#[from] serde_json::Error),
}

/// The keys that are taken. Whatever else is sent is refused, so that nobody
/// believes that a user or a key given here had an effect.
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

impl Defaults {
    /// Reads a `config`: JSON in base64 of any alphabet, padded or not.
    pub fn from_base64(text: &str) -> Result<Self, DefaultsError> {
        if text.len() > LONGEST {
            return Err(DefaultsError::Long);
        }
        let lenient = engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(engine::DecodePaddingMode::Indifferent);
        // In a query string, an unescaped `+` arrives as a space.
        let plain = text.trim().replace([' ', '-'], "+").replace('_', "/");
        let json = engine::GeneralPurpose::new(&alphabet::STANDARD, lenient).decode(plain)?;
        Self::from_json(&json)
    }

    /// Reads a `config` that is JSON already.
    pub fn from_json(json: &[u8]) -> Result<Self, DefaultsError> {
        let config: Config = serde_json::from_slice(json)?;
        let clamp = |wish: Option<i64>, least: usize, most: usize| {
            wish.map(|wish| usize::try_from(wish).unwrap_or(0).clamp(least, most))
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

    /// These wishes, and where there are none, those of `others`.
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
    fn a_config_is_read_from_either_alphabet_and_clamped() {
        let json = r#"{"snippet_length": 9999, "sibling_window": -3, "order_by": "recent"}"#;
        for text in [STANDARD.encode(json), URL_SAFE_NO_PAD.encode(json)] {
            let preferences = Defaults::from_base64(&text).unwrap().preferences;
            assert_eq!(preferences.snippet_length, Some(1_000));
            assert_eq!(preferences.sibling_window, Some(0));
            assert_eq!(preferences.order_by, Some(Order::Recent));
        }
    }

    #[test]
    fn credentials_and_users_are_refused_by_name() {
        for key in ["api_key", "user_id", "token"] {
            let text = STANDARD.encode(format!(r#"{{"{key}": "x"}}"#));
            let error = Defaults::from_base64(&text).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("never credentials"), "{error}");
        }
        assert!(Defaults::from_base64("§").is_err());
        assert!(Defaults::from_base64(&"A".repeat(LONGEST + 1)).is_err());
    }
}
