//! Request defaults from the `config` parameter. They are preferences and never contain
//! credentials.

use base64::{Engine, alphabet, engine};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use vademecum_model::Preferences;

/// Maximum length of an encoded `config`, in bytes.
const MAX_CONFIG_BYTES: usize = 8 * 1_024;

/// Defaults of a request or session; arguments of a call take precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDefaults {
    /// Result sizes and order.
    pub preferences: Preferences,
    /// Format of search results.
    pub shape: Option<Shape>,
    /// Whether texts are sent beside structured contents.
    #[serde(default)]
    pub text: Option<ResultText>,
}

/// Text of a result with structured content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultText {
    /// The text for the model is sent, too.
    Lines,
    /// Only the structured content is sent.
    None,
}

/// A `config` as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadConfig {
    /// The values of the keys that have a meaning.
    pub defaults: RequestDefaults,
    /// The other keys, which are ignored.
    pub ignored: Vec<String>,
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
    #[error("`config` is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON is no object.
    #[error("`config` must be an object, such as {{\"snippet_length\": 200}}")]
    NotObject,
    /// A value has the wrong type.
    #[error("`config`: {key}: expected {expected}, got `{value}`")]
    Value {
        /// The key.
        key: &'static str,
        /// Accepted values.
        expected: &'static str,
        /// The value, shortened.
        value: String,
    },
    /// Credentials and users are never taken from here.
    #[error(
        "`config` has the key `{0}`; it takes snippet_length, max_tokens, sibling_window, \
         chars_per_token, order_by, shape and text, never credentials or users"
    )]
    Credential(String),
}

/// The keys that have a meaning.
const KEYS: [&str; 7] = [
    "snippet_length",
    "max_tokens",
    "sibling_window",
    "chars_per_token",
    "order_by",
    "shape",
    "text",
];
/// Parts of the names of keys that are refused, so that credentials and users given here are not silently
/// ignored.
const REFUSED_KEYS: [&str; 10] = [
    "apikey",
    "token",
    "password",
    "passwd",
    "secret",
    "credential",
    "authorization",
    "user",
    "dbpath",
    "cookie",
];
/// Maximum number of ignored keys that are named, and maximum length of a key or value in bytes.
const MAX_IGNORED: usize = 20;
const MAX_SHOWN_BYTES: usize = 64;

impl RequestDefaults {
    /// Parses a `config`: JSON in base64, with the standard or URL-safe alphabet, padded or not.
    pub fn from_base64(text: &str) -> Result<ReadConfig, DefaultsError> {
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

    /// Parses a `config` in JSON. Numbers, also as text, are clamped to their range; keys without a meaning are
    /// ignored.
    pub fn from_json(json: &[u8]) -> Result<ReadConfig, DefaultsError> {
        let Value::Object(fields) = serde_json::from_slice(json)? else {
            return Err(DefaultsError::NotObject);
        };
        let mut read = ReadConfig::default();
        let Self { preferences, shape, text } = &mut read.defaults;
        for (key, value) in fields {
            if value.is_null() && KEYS.contains(&key.as_str()) {
                continue;
            }
            match key.as_str() {
                "snippet_length" => {
                    preferences.snippet_length = Some(number("snippet_length", &value, 1, 1_000)?);
                }
                "max_tokens" => {
                    preferences.max_tokens = Some(number("max_tokens", &value, 500, 200_000)?);
                }
                "sibling_window" => {
                    preferences.sibling_window = Some(number("sibling_window", &value, 0, 10)?);
                }
                "chars_per_token" => {
                    preferences.chars_per_token = Some(number("chars_per_token", &value, 1, 20)?);
                }
                "order_by" => {
                    preferences.order_by = Some(word("order_by", value, "relevance or recent")?);
                }
                "shape" => *shape = Some(word("shape", value, "full or compact")?),
                "text" => *text = Some(word("text", value, "lines or none")?),
                _ if is_refused(&key) => return Err(DefaultsError::Credential(shortened(&key))),
                _ if read.ignored.len() < MAX_IGNORED => read.ignored.push(shortened(&key)),
                _ => {}
            }
        }
        read.ignored.sort_unstable();
        Ok(read)
    }

    /// Returns these defaults, with missing values taken from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            preferences: self.preferences.or(others.preferences),
            shape: self.shape.or(others.shape),
            text: self.text.or(others.text),
        }
    }
}

/// Returns whether a key is a credential or a user.
fn is_refused(key: &str) -> bool {
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    // A number of tokens is no credential.
    let plain = plain.replace("tokens", "");
    REFUSED_KEYS.iter().any(|refused| plain.contains(refused))
}

/// Reads a number, which may be a text, and clamps it.
fn number(
    key: &'static str,
    value: &Value,
    least: usize,
    most: usize,
) -> Result<usize, DefaultsError> {
    let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && !value.is_boolean() => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the conversion saturates"
            )]
            let whole = number.trunc().max(0.0) as usize;
            Ok(whole.clamp(least, most))
        }
        _ => Err(DefaultsError::Value { key, expected: "a number", value: shortened(&text) }),
    }
}

fn word<T: DeserializeOwned>(
    key: &'static str,
    value: Value,
    expected: &'static str,
) -> Result<T, DefaultsError> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    serde_json::from_value(value).map_err(|_| DefaultsError::Value {
        key,
        expected,
        value: shortened(&text),
    })
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use vademecum_model::Order;

    use super::*;

    fn read(json: &str) -> Result<ReadConfig, DefaultsError> {
        RequestDefaults::from_base64(&STANDARD.encode(json))
    }

    #[test]
    fn config_accepts_both_alphabets_and_is_clamped() {
        let json = r#"{"snippet_length": 9999, "sibling_window": -3, "order_by": "recent"}"#;
        for text in [STANDARD.encode(json), URL_SAFE_NO_PAD.encode(json)] {
            let preferences = RequestDefaults::from_base64(&text).unwrap().defaults.preferences;
            assert_eq!(preferences.snippet_length, Some(1_000));
            assert_eq!(preferences.sibling_window, Some(0));
            assert_eq!(preferences.order_by, Some(Order::Recent));
        }
    }

    #[test]
    fn numbers_may_be_texts_and_other_keys_are_named() {
        let config = read(
            r#"{"snippet_length": " 200 ", "max_tokens": 800.0, "theme": 1, "shape": null, "text": "none"}"#,
        );
        let ReadConfig { defaults, ignored } = config.unwrap();
        let preferences = defaults.preferences;
        assert_eq!((preferences.snippet_length, preferences.max_tokens), (Some(200), Some(800)));
        assert_eq!((defaults.shape, defaults.text), (None, Some(ResultText::None)));
        assert_eq!(ignored, ["theme"]);
        let many: Vec<String> = (0..99).map(|it| format!("\"k{it}\": 1")).collect();
        assert_eq!(read(&format!("{{{}}}", many.join(","))).unwrap().ignored.len(), MAX_IGNORED);
    }

    #[test]
    fn wrong_values_say_what_is_expected() {
        for (json, expected) in [
            (r#"{"snippet_length": "long"}"#, "snippet_length: expected a number, got `long`"),
            (r#"{"snippet_length": true}"#, "expected a number"),
            (r#"{"order_by": "random"}"#, "order_by: expected relevance or recent, got `random`"),
            (r#"{"shape": 3}"#, "shape: expected full or compact, got `3`"),
            ("[1]", "must be an object"),
        ] {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn config_rejects_credentials_and_users() {
        for key in ["api_key", "user_id", "token", "X-Password", "accessToken"] {
            let error = read(&format!(r#"{{"{key}": "x"}}"#)).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("never credentials"), "{error}");
        }
        assert!(RequestDefaults::from_base64("§").is_err());
        assert!(RequestDefaults::from_base64(&"A".repeat(MAX_CONFIG_BYTES + 1)).is_err());
    }
}
