//! Argument types of the writing tools. Each checks its limit when it is deserialized, and the
//! error names that limit.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use vademecum_model::MAX_CONTENT_CHARS;

/// Maximum number of tags in one list.
const MAX_TAGS: usize = 50;

/// Non-empty text of one line with at most `MAX_CHARS` characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SingleLine<const MAX_CHARS: usize>(pub(super) String);

/// Title of an item.
pub(super) type Title = SingleLine<500>;
/// Name of a tag.
type Tag = SingleLine<100>;
/// Name of an author.
pub(super) type Author = SingleLine<200>;

impl<const MAX_CHARS: usize> SingleLine<MAX_CHARS> {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("expected some text, got none".to_owned());
        }
        if text.contains(char::is_control) {
            return Err("expected one line without control characters".to_owned());
        }
        check_max_chars(text, MAX_CHARS)?;
        Ok(Self(text.to_owned()))
    }
}

impl<'de, const MAX_CHARS: usize> Deserialize<'de> for SingleLine<MAX_CHARS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<const MAX_CHARS: usize> JsonSchema for SingleLine<MAX_CHARS> {
    fn schema_name() -> Cow<'static, str> {
        format!("Line{MAX_CHARS}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_CHARS })
    }
}

/// Text of a note or a document.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct Content(
    #[serde(deserialize_with = "deserialize_content")]
    #[schemars(length(max = MAX_CONTENT_CHARS))]
    pub(super) String,
);

fn deserialize_content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    check_max_chars(&text, MAX_CONTENT_CHARS).map_err(D::Error::custom)?;
    Ok(text)
}

/// List of tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct Tags(
    #[serde(deserialize_with = "deserialize_tags")]
    #[schemars(length(max = MAX_TAGS))]
    pub(super) Vec<String>,
);

fn deserialize_tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let tags = Vec::<Tag>::deserialize(deserializer)?;
    if tags.len() > MAX_TAGS {
        let count = tags.len();
        return Err(D::Error::custom(format!("expected at most {MAX_TAGS} tags, got {count}")));
    }
    Ok(tags.into_iter().map(|tag| tag.0).collect())
}

/// Type of a document, such as `markdown`: letters, digits and `._+-/`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct MediaType(
    #[serde(deserialize_with = "deserialize_media_type")]
    #[schemars(with = "SingleLine<50>")]
    pub(super) String,
);

impl Default for MediaType {
    fn default() -> Self {
        Self("markdown".to_owned())
    }
}

fn deserialize_media_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = SingleLine::<50>::deserialize(deserializer)?.0.to_lowercase();
    let allowed = |letter: char| letter.is_alphanumeric() || "._+-/".contains(letter);
    if name.chars().all(allowed) {
        Ok(name)
    } else {
        Err(D::Error::custom(format!("expected a media type such as `markdown`, got `{name}`")))
    }
}

/// HTTP or HTTPS URL of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct Url(
    #[serde(deserialize_with = "deserialize_url")]
    #[schemars(with = "SingleLine<2000>")]
    pub(super) String,
);

fn deserialize_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let url = SingleLine::<2000>::deserialize(deserializer)?.0;
    if url.starts_with("https://") || url.starts_with("http://") {
        Ok(url)
    } else {
        Err(D::Error::custom("expected a URL that begins with https:// or http://"))
    }
}

fn check_max_chars(text: &str, most: usize) -> Result<(), String> {
    // The byte length is cheaper than counting characters, and never smaller.
    if text.len() <= most {
        return Ok(());
    }
    match text.chars().count() {
        length if length <= most => Ok(()),
        length => Err(format!("expected at most {most} characters, got {length}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn parse_error<T: for<'de> Deserialize<'de> + std::fmt::Debug>(value: Value) -> String {
        from_value::<T>(value).unwrap_err().to_string()
    }

    #[test]
    fn single_line_is_bounded_and_has_no_breaks() {
        assert_eq!(from_value::<Title>(json!("  Rye \u{202e} 麦  ")).unwrap().0, "Rye \u{202e} 麦");
        for (text, expected) in [("", "some text"), (" \n ", "some text"), ("a\0b", "control")] {
            assert!(parse_error::<Title>(json!(text)).contains(expected), "{text:?}");
        }
        assert!(parse_error::<Title>(json!("a\nb")).contains("one line"));
        assert!(from_value::<Title>(json!("é".repeat(500))).is_ok());
        let long = parse_error::<Title>(json!("é".repeat(501)));
        assert!(long.contains("at most 500 characters, got 501"), "{long}");
    }

    #[test]
    fn content_accepts_any_text_within_limit() {
        for text in ["", "a\0b", "\u{202e}x"] {
            assert_eq!(from_value::<Content>(json!(text)).unwrap().0, text);
        }
        assert!(from_value::<Content>(json!("麦".repeat(MAX_CONTENT_CHARS))).is_ok());
        let long = parse_error::<Content>(json!("x".repeat(MAX_CONTENT_CHARS + 1)));
        assert!(long.contains("at most 1000000 characters, got 1000001"), "{long}");
    }

    #[test]
    fn tags_are_single_lines_and_bounded() {
        assert_eq!(from_value::<Tags>(json!([" a ", "b"])).unwrap().0, ["a", "b"]);
        assert!(parse_error::<Tags>(json!(["a", ""])).contains("some text"));
        assert!(parse_error::<Tags>(json!(vec!["a"; 51])).contains("at most 50 tags, got 51"));
    }

    #[test]
    fn url_needs_http_and_media_type_is_word() {
        assert!(from_value::<Url>(json!("https://example.org/a?b#c")).is_ok());
        for url in ["javascript:alert(1)", "file:///etc/passwd", "example.org", ""] {
            assert!(from_value::<Url>(json!(url)).is_err(), "{url}");
        }
        assert_eq!(from_value::<MediaType>(json!("PDF")).unwrap().0, "pdf");
        assert!(parse_error::<MediaType>(json!("a b")).contains("such as `markdown`"));
    }
}
