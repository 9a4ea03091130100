//! Bounded parsing of untrusted JSON. A parsed value takes many times the memory of its text, so
//! lists are split into unparsed entries first.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// Maximum number of entries of a list.
const MAX_ENTRIES: usize = 1_000_000;
/// Maximum size of an entry, in bytes.
const MAX_ENTRY_BYTES: usize = 32 * 1_024 * 1_024;
/// Recursion limit of `serde_json`.
const MAX_DEPTH: usize = 127;

/// Splits a list into its entries without parsing them; any other value is the only entry. Fails if
/// the text is not JSON or has more than 1,000,000 entries.
pub fn split_entries(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map(|RawEntries(entries)| entries)
    } else {
        serde_json::from_str(text).map(|alone| vec![alone])
    }
}

/// Parses one entry. Fails if it is longer than 32 MiB.
pub fn parse_entry<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    if json.len() > MAX_ENTRY_BYTES {
        return Err(format!("it is longer than {MAX_ENTRY_BYTES} bytes"));
    }
    serde_json::from_str(json).map_err(|error| error_message(&error))
}

/// Returns the text of a field, or an empty one if it is missing or no text. `path` is a JSON pointer
/// such as `/author/name`.
pub fn text_at<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the entries of a list, or none if it is missing or no list. `path` is a JSON pointer.
pub fn list_at<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    value.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the texts of a list, or none if it is missing. `path` is a JSON pointer.
pub fn texts_at(value: &Value, path: &str) -> Vec<String> {
    list_at(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns `true` if a field is `true`. `path` is a JSON pointer.
pub fn is_true_at(value: &Value, path: &str) -> bool {
    value.pointer(path).and_then(Value::as_bool) == Some(true)
}

/// Returns an identifier, which is a text or a number; empty if it is missing.
pub fn id_at(value: &Value, path: &str) -> String {
    match value.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Returns the syntax error of a text, with its position, or `None` if the text is JSON.
pub fn find_syntax_error(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).err().map(|error| error.to_string())
}

/// Returns the message of an error; exceeding the recursion limit is described as nesting.
pub fn error_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.strip_prefix("recursion limit exceeded") {
        Some(place) => format!("it nests more than {MAX_DEPTH} values in one another{place}"),
        None => message,
    }
}

struct RawEntries<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for RawEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = RawEntries<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    if entries.len() == MAX_ENTRIES {
                        let reason = format!("the list has more than {MAX_ENTRIES} entries");
                        return Err(A::Error::custom(reason));
                    }
                    entries.push(entry);
                }
                Ok(RawEntries(entries))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_split_and_other_values_kept() {
        let texts = |text: &str| {
            split_entries(text)
                .map(|found| found.iter().map(|it| it.get().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(texts(" [1, {\"a\": [2]}]").unwrap(), ["1", "{\"a\": [2]}"]);
        assert_eq!(texts("{\"a\": 1}").unwrap(), ["{\"a\": 1}"]);
        assert!(texts("[1").is_err() && texts("").is_err());
    }

    #[test]
    fn oversized_json_is_rejected() {
        let many = format!("[{}1]", "1,".repeat(MAX_ENTRIES));
        let error = split_entries(&many).unwrap_err().to_string();
        assert!(error.contains("more than 1000000 entries"), "{error}");
        let long = format!("[{}1]", "1,".repeat(MAX_ENTRY_BYTES / 2));
        let error = parse_entry::<Value>(&long).unwrap_err();
        assert!(error.contains("longer than"), "{error}");
        let deep = "[".repeat(10_000);
        assert!(parse_entry::<Value>(&deep).unwrap_err().contains("nests more than 127 values"));
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_entry::<Value>(&nested(MAX_DEPTH)).is_ok());
        assert!(parse_entry::<Value>(&nested(MAX_DEPTH + 1)).is_err());
    }
}
