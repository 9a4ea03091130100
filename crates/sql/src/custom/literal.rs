//! JSON values of arguments and definitions, as text that keeps every digit.

use serde_json::{Value, value::RawValue};

/// Key of the object as which a date of TOML is read.
const TOML_DATE: &str = "$__toml_private_datetime";

/// JSON value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// `null`.
    Null,
    /// A number, `true`, `false`, or the contents of a string.
    Scalar {
        /// The value.
        text: String,
        /// True if the value is a string.
        is_string: bool,
    },
    /// A list.
    List(Vec<Self>),
    /// An object, or a list in a list.
    Other,
}

impl Literal {
    /// Parses JSON. Returns `None` if it is not valid.
    pub(super) fn parse(json: &str) -> Option<Self> {
        let json = json.trim();
        let scalar = |text: &str, is_string| Self::Scalar { text: text.to_owned(), is_string };
        match json.chars().next()? {
            'n' => Some(Self::Null),
            '{' => Some(Self::Other),
            '"' => serde_json::from_str(json).ok().map(|text: String| scalar(&text, true)),
            '[' => {
                let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
                // Lists in lists are not read, however deep they are.
                let item = |item: &&RawValue| {
                    if item.get().starts_with('[') {
                        Some(Self::Other)
                    } else {
                        Self::parse(item.get())
                    }
                };
                items.iter().map(item).collect::<Option<_>>().map(Self::List)
            }
            _ => Some(scalar(json, false)),
        }
    }

    /// Returns a value of the settings. A date of TOML becomes text.
    pub(super) fn from_setting(value: &Value) -> Self {
        let date = value.as_object().and_then(|fields| fields.get(TOML_DATE)?.as_str());
        match (date, value) {
            (Some(date), _) => Self::Scalar { text: date.to_owned(), is_string: true },
            (None, Value::Array(items)) => {
                Self::List(items.iter().map(Self::from_setting).collect())
            }
            (None, value) => Self::parse(&value.to_string()).unwrap_or(Self::Other),
        }
    }

    /// Returns the JSON value that the text of a command line or a client means: a list in brackets,
    /// or else the text.
    pub(super) fn unquote_list(self) -> Self {
        match self {
            Self::Scalar { text, is_string: true } if text.trim_start().starts_with('[') => {
                match Self::parse(&text) {
                    Some(list @ Self::List(_)) => list,
                    _ => Self::Scalar { text, is_string: true },
                }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        let scalar = |text: &str, is_string| Literal::Scalar { text: text.to_owned(), is_string };
        let list = Literal::List(vec![scalar("1.10", false), scalar("a", true), Literal::Null]);
        assert_eq!(Literal::parse(" [1.10, \"a\", null]"), Some(list.clone()));
        assert_eq!(scalar("[1.10,\"a\",null]", true).unquote_list(), list);
        assert_eq!(scalar("[x", true).unquote_list(), scalar("[x", true));
        assert_eq!(Literal::parse("{\"a\": 1}"), Some(Literal::Other));
        assert_eq!(Literal::parse("[1"), None);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Literal::parse(&deep), Some(Literal::List(vec![Literal::Other])));
    }
}
