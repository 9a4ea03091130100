//! Detection of JSON formats by their field names.
//!
//! JSON formats have no signature; they differ only in the names of their fields. Values are
//! skipped without being parsed.

use std::{collections::HashSet, fmt, io::Read};

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Deserializer, Value};

use crate::FileProbe;

/// Maximum number of bytes examined.
const MAX_PROBE_BYTES: u64 = 1_024 * 1_024;
/// Maximum number of field names in a message.
const MAX_DESCRIBED_FIELDS: usize = 6;
/// Maximum number of field names kept.
const MAX_FIELD_NAMES: usize = 1_000;

/// The field names of an object, or of the first object of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonShape {
    field_names: HashSet<String>,
    spec: Option<String>,
    /// `true` if the file is a list of objects.
    pub is_list: bool,
}

impl JsonShape {
    /// Probes a file. The shape is empty if the file is not JSON or does not begin with an object
    /// or a list.
    pub(crate) fn probe(probe: &FileProbe) -> Self {
        let mut outline = Self::default();
        if !probe.head_text().starts_with(['{', '[']) {
            return outline;
        }
        let Some(mut reader) = probe.reader() else { return outline };
        let mut start = Vec::new();
        let skipped = reader.by_ref().take(3).read_to_end(&mut start);
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
        if skipped.is_ok() {
            let json = start.chain(reader.take(MAX_PROBE_BYTES));
            // The text may be cut off; the fields seen before that count.
            let read = Deserializer::from_reader(json).deserialize_any(&mut outline);
            tracing::trace!(whole = read.is_ok(), "probed a JSON file");
        }
        outline
    }

    /// Returns `true` if one of these fields exists.
    pub(crate) fn has_any_field(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.field_names.contains(*name))
    }

    /// Returns the names of the first fields in alphabetical order, for messages:
    /// `` with the fields `a`, `b` ``. Empty if there are none.
    pub(crate) fn describe(&self) -> String {
        let mut names: Vec<_> = self.field_names.iter().filter(|it| it.len() <= 40).collect();
        names.sort_unstable();
        let dots = if names.len() > MAX_DESCRIBED_FIELDS { " …" } else { "" };
        names.truncate(MAX_DESCRIBED_FIELDS);
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let ending = if names.len() == 1 { "" } else { "s" };
        let fields = names.join(", ");
        if names.is_empty() { fields } else { format!(", with the field{ending} {fields}{dots}") }
    }

    /// Returns the text of the field `spec`.
    pub(crate) fn spec(&self) -> Option<&str> {
        self.spec.as_deref()
    }
}

impl<'de> Visitor<'de> for &mut JsonShape {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object or a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if name == "spec" {
                self.spec = fields.next_value::<Value>()?.as_str().map(str::to_owned);
                self.field_names.insert(name);
                continue;
            }
            if self.field_names.len() < MAX_FIELD_NAMES {
                self.field_names.insert(name);
            }
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.is_list = true;
        // The other objects have the same fields as the first.
        let first = items.next_element_seed(FirstObject(&mut self.field_names));
        first.and(Err(A::Error::custom("only the first object is read")))
    }
}

/// Visitor that collects the field names of the first object of a list.
struct FirstObject<'a>(&'a mut HashSet<String>);

impl<'de> DeserializeSeed<'de> for FirstObject<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, object: D) -> Result<(), D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FirstObject<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if self.0.len() < MAX_FIELD_NAMES {
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
    use crate::detection::file_probe::tests::probe_file;

    fn probe_json(json: &str) -> JsonShape {
        JsonShape::probe(&probe_file("a.json", json))
    }

    #[test]
    fn shape_has_late_fields_of_an_object() {
        let json =
            format!("\u{feff}\n{{\"a\": \"{}\", \"spec\": \"x\", \"b\": 1}}", "y".repeat(20_000));
        let seen = probe_json(&json);
        assert!(
            seen.has_any_field(&["a"])
                && seen.has_any_field(&["none", "b"])
                && !seen.has_any_field(&["c"])
        );
        assert_eq!((seen.spec(), seen.is_list), (Some("x"), false));
    }

    #[test]
    fn shape_of_list_is_its_first_object() {
        let seen = probe_json(r#"[{"act": 1}, {"prompt": 2}]"#);
        assert!(seen.is_list && seen.has_any_field(&["act"]) && !seen.has_any_field(&["prompt"]));
    }

    #[test]
    fn broken_json_is_probed_as_far_as_possible() {
        assert!(probe_json(r#"{"a": 1, "b"#).has_any_field(&["a"]));
        assert!(probe_json(&format!("{{\"a\": {}", "[".repeat(100_000))).has_any_field(&["a"]));
        for text in ["", "text", "[1]", "[[[", "{ invalid"] {
            assert!(probe_json(text).field_names.is_empty(), "{text}");
        }
    }
}
