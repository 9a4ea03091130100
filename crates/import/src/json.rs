//! JSON of strangers, within bounds: a text of a few bytes for each value takes
//! many times as much memory once it is read.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// Most entries of a list.
const MAX_ENTRIES: usize = 1_000_000;
/// Longest entry that is read, in bytes.
const MAX_ENTRY_BYTES: usize = 32 * 1_024 * 1_024;
/// How deep `serde_json` reads.
const MAX_DEPTH: usize = 127;

/// The entries of a list, or what is there alone, none of them read yet.
pub(super) fn entries(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map(|Entries(entries)| entries)
    } else {
        serde_json::from_str(text).map(|alone| vec![alone])
    }
}

/// Reads one entry.
pub(super) fn entry<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    if json.len() > MAX_ENTRY_BYTES {
        return Err(format!("it is longer than {MAX_ENTRY_BYTES} bytes"));
    }
    serde_json::from_str(json).map_err(|error| reason(&error))
}

/// Why a text is not JSON, and where; nothing if it is.
pub(super) fn flaw(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).err().map(|error| error.to_string())
}

/// Why JSON cannot be read, in words that its user knows.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let said = error.to_string();
    match said.strip_prefix("recursion limit exceeded") {
        Some(place) => format!("it nests more than {MAX_DEPTH} values in one another{place}"),
        None => said,
    }
}

struct Entries<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Entries<'de>;

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
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_list_gives_its_entries_and_anything_else_itself() {
        let texts = |text: &str| {
            entries(text)
                .map(|found| found.iter().map(|it| it.get().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(texts(" [1, {\"a\": [2]}]").unwrap(), ["1", "{\"a\": [2]}"]);
        assert_eq!(texts("{\"a\": 1}").unwrap(), ["{\"a\": 1}"]);
        assert!(texts("[1").is_err() && texts("").is_err());
    }

    #[test]
    fn what_would_fill_the_memory_is_refused() {
        let many = format!("[{}1]", "1,".repeat(MAX_ENTRIES));
        let error = entries(&many).unwrap_err().to_string();
        assert!(error.contains("more than 1000000 entries"), "{error}");
        let long = format!("[{}1]", "1,".repeat(MAX_ENTRY_BYTES / 2));
        let error = entry::<Value>(&long).unwrap_err();
        assert!(error.contains("longer than"), "{error}");
        let deep = "[".repeat(10_000);
        assert!(entry::<Value>(&deep).unwrap_err().contains("nests more than 127 values"));
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(entry::<Value>(&nested(MAX_DEPTH)).is_ok());
        assert!(entry::<Value>(&nested(MAX_DEPTH + 1)).is_err());
    }
}
