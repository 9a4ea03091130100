//! What can be written, as types that cannot be wrong: each has its limit, and
//! what goes beyond it is refused with that limit.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use vademecum_kit::model::LONGEST_CONTENT;

/// Most tags that one call names in one list.
const MOST_TAGS: usize = 50;

/// A text of one line, not empty, of at most so many characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<const MOST: usize>(pub(super) String);

/// The title of something.
pub(super) type Title = Line<500>;
/// A tag.
type Tag = Line<100>;
/// The name of somebody.
pub(super) type Author = Line<200>;

impl<const MOST: usize> Line<MOST> {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("expected some text, got none".to_owned());
        }
        if text.contains(char::is_control) {
            return Err("expected one line without control characters".to_owned());
        }
        at_most(text, MOST)?;
        Ok(Self(text.to_owned()))
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for Line<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<const MOST: usize> JsonSchema for Line<MOST> {
    fn schema_name() -> Cow<'static, str> {
        format!("Line{MOST}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": MOST })
    }
}

/// The text of a note or a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content(pub(super) String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        at_most(&text, LONGEST_CONTENT).map_err(D::Error::custom)?;
        Ok(Self(text))
    }
}

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "maxLength": LONGEST_CONTENT })
    }
}

/// Tags, each named once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tags = Vec::<Tag>::deserialize(deserializer)?;
        if tags.len() > MOST_TAGS {
            let count = tags.len();
            let problem = format!("expected at most {MOST_TAGS} tags, got {count}");
            return Err(D::Error::custom(problem));
        }
        Ok(Self(tags.into_iter().map(|tag| tag.0).collect()))
    }
}

impl JsonSchema for Tags {
    fn schema_name() -> Cow<'static, str> {
        "Tags".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let items = serde_json::json!({ "type": "string" });
        schemars::json_schema!({ "type": "array", "items": items, "maxItems": MOST_TAGS })
    }
}

/// The kind of a document, such as `markdown`: letters, digits and `._+-/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MediaType(pub(super) String);

impl Default for MediaType {
    fn default() -> Self {
        Self("markdown".to_owned())
    }
}

impl<'de> Deserialize<'de> for MediaType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Line::<50>::deserialize(deserializer)?.0.to_lowercase();
        let allowed = |letter: char| letter.is_alphanumeric() || "._+-/".contains(letter);
        if name.chars().all(allowed) {
            Ok(Self(name))
        } else {
            Err(D::Error::custom(format!("expected a kind such as `markdown`, got `{name}`")))
        }
    }
}

impl JsonSchema for MediaType {
    fn schema_name() -> Cow<'static, str> {
        "MediaType".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Line::<50>::json_schema(generator)
    }
}

/// Where something was published: an address that a reader can open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url(pub(super) String);

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = Line::<2000>::deserialize(deserializer)?.0;
        if url.starts_with("https://") || url.starts_with("http://") {
            Ok(Self(url))
        } else {
            Err(D::Error::custom("expected an address that begins with https:// or http://"))
        }
    }
}

impl JsonSchema for Url {
    fn schema_name() -> Cow<'static, str> {
        "Url".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Line::<2000>::json_schema(generator)
    }
}

fn at_most(text: &str, most: usize) -> Result<(), String> {
    // Bytes are counted faster than characters, and are never fewer.
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

    fn problem<T: for<'de> Deserialize<'de> + std::fmt::Debug>(value: Value) -> String {
        from_value::<T>(value).unwrap_err().to_string()
    }

    #[test]
    fn a_line_is_one_line_within_its_limit() {
        assert_eq!(from_value::<Title>(json!("  Rye \u{202e} 麦  ")).unwrap().0, "Rye \u{202e} 麦");
        for (text, said) in [("", "some text"), (" \n ", "some text"), ("a\0b", "control")] {
            assert!(problem::<Title>(json!(text)).contains(said), "{text:?}");
        }
        assert!(problem::<Title>(json!("a\nb")).contains("one line"));
        assert!(from_value::<Title>(json!("é".repeat(500))).is_ok());
        let long = problem::<Title>(json!("é".repeat(501)));
        assert!(long.contains("at most 500 characters, got 501"), "{long}");
    }

    #[test]
    fn a_content_may_be_anything_within_its_limit() {
        for text in ["", "a\0b", "\u{202e}x"] {
            assert_eq!(from_value::<Content>(json!(text)).unwrap().0, text);
        }
        assert!(from_value::<Content>(json!("麦".repeat(LONGEST_CONTENT))).is_ok());
        let long = problem::<Content>(json!("x".repeat(LONGEST_CONTENT + 1)));
        assert!(long.contains("at most 1000000 characters, got 1000001"), "{long}");
    }

    #[test]
    fn tags_are_lines_and_not_too_many() {
        assert_eq!(from_value::<Tags>(json!([" a ", "b"])).unwrap().0, ["a", "b"]);
        assert!(problem::<Tags>(json!(["a", ""])).contains("some text"));
        assert!(problem::<Tags>(json!(vec!["a"; 51])).contains("at most 50 tags, got 51"));
    }

    #[test]
    fn an_address_can_be_opened_and_a_kind_is_a_word() {
        assert!(from_value::<Url>(json!("https://example.org/a?b#c")).is_ok());
        for url in ["javascript:alert(1)", "file:///etc/passwd", "example.org", ""] {
            assert!(from_value::<Url>(json!(url)).is_err(), "{url}");
        }
        assert_eq!(from_value::<MediaType>(json!("PDF")).unwrap().0, "pdf");
        assert!(problem::<MediaType>(json!("a b")).contains("such as `markdown`"));
    }
}
