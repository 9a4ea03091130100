//! What a JSON file is about: the names of the fields with which it begins.
//!
//! Formats of JSON have no mark at their beginning; they are told apart by
//! what their fields are called. Values are passed over unread.

use std::{collections::HashSet, fmt, io::Read};

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Deserializer, Value};

use super::Glance;

/// How far is looked into a file, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;
/// Most names that are kept.
const MAX_NAMES: usize = 1_000;

/// The fields of an object, or of the first object of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    names: HashSet<String>,
    spec: Option<String>,
    /// Whether the file is a list of objects.
    pub is_list: bool,
}

impl Outline {
    /// Looks at a file; empty if it is not JSON or begins with no object.
    pub(super) fn of(glance: &Glance) -> Self {
        let mut outline = Self::default();
        if !glance.opening().starts_with(['{', '[']) {
            return outline;
        }
        let Some(mut reader) = glance.reader() else { return outline };
        let mut start = Vec::new();
        let skipped = reader.by_ref().take(3).read_to_end(&mut start);
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
        if skipped.is_ok() {
            let json = start.chain(reader.take(MAX_BYTES));
            // The end may be missing: what was seen until then counts.
            let read = Deserializer::from_reader(json).deserialize_any(&mut outline);
            tracing::trace!(whole = read.is_ok(), "looked into a JSON file");
        }
        outline
    }

    /// Whether there is a field of any of these names.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.names.contains(*name))
    }

    /// What the field `spec` says.
    pub(super) fn spec(&self) -> Option<&str> {
        self.spec.as_deref()
    }
}

impl<'de> Visitor<'de> for &mut Outline {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object or a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if name == "spec" {
                self.spec = fields.next_value::<Value>()?.as_str().map(str::to_owned);
                self.names.insert(name);
                continue;
            }
            if self.names.len() < MAX_NAMES {
                self.names.insert(name);
            }
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.is_list = true;
        // The other objects are like the first, and need not be read.
        let first = items.next_element_seed(First(&mut self.names));
        first.and(Err(A::Error::custom("enough was seen")))
    }
}

/// The first object of a list: the names of its fields, as far as they can be
/// read.
struct First<'a>(&'a mut HashSet<String>);

impl<'de> DeserializeSeed<'de> for First<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, object: D) -> Result<(), D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if self.0.len() < MAX_NAMES {
                self.0.insert(name);
            }
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glance::tests::glance;

    fn outline(json: &str) -> Outline {
        Outline::of(&glance("a.json", json))
    }

    #[test]
    fn the_names_of_an_object_are_seen_however_late_they_come() {
        let json =
            format!("\u{feff}\n{{\"a\": \"{}\", \"spec\": \"x\", \"b\": 1}}", "y".repeat(20_000));
        let seen = outline(&json);
        assert!(seen.has(&["a"]) && seen.has(&["none", "b"]) && !seen.has(&["c"]));
        assert_eq!((seen.spec(), seen.is_list), (Some("x"), false));
    }

    #[test]
    fn of_a_list_the_first_object_is_seen() {
        let seen = outline(r#"[{"act": 1}, {"prompt": 2}]"#);
        assert!(seen.is_list && seen.has(&["act"]) && !seen.has(&["prompt"]));
    }

    #[test]
    fn what_is_cut_short_or_nested_without_end_or_no_json_is_seen_as_far_as_it_goes() {
        assert!(outline(r#"{"a": 1, "b"#).has(&["a"]));
        assert!(outline(&format!("{{\"a\": {}", "[".repeat(100_000))).has(&["a"]));
        for text in ["", "text", "[1]", "[[[", "{ invalid"] {
            assert!(outline(text).names.is_empty(), "{text}");
        }
    }
}
