//! Randomized tests: requests are generated from the schemas of the tools, and invariants are
//! checked that must hold for every request.

mod calls;
mod isolation;
mod pages;

use serde_json::{Map, Value, json};

use crate::support::SeededRng;

/// Texts that break careless parsers.
const AWKWARD_TEXTS: [&str; 16] = [
    "",
    " ",
    "\0",
    "\u{202e}\u{feff}",
    "\"",
    "'; DROP TABLE notes; --",
    "AND OR NOT NEAR(",
    "%00%",
    "../../etc/passwd",
    "notes://",
    "media://99999999999999999999",
    "chats://#",
    "{{title}}",
    "🍞👩‍👩‍👧‍👦",
    "-1",
    "null",
];

/// Generates random tool arguments.
struct ArgumentGenerator<'a> {
    rng: &'a mut SeededRng,
    /// Texts that are meaningful to the server: words, names, ids, URIs.
    known_texts: &'a [String],
}

impl ArgumentGenerator<'_> {
    /// Generates arguments for a tool: mostly valid according to its schema, sometimes with one
    /// wrong field, sometimes arbitrary JSON.
    fn generate_arguments(&mut self, tool: &Value) -> Value {
        let schema = &tool["inputSchema"];
        let mut made = self.generate_value(schema, 0);
        match (self.rng.next_below(4), made.as_object_mut()) {
            (0, Some(fields)) => {
                let names: Vec<String> = schema["properties"]
                    .as_object()
                    .map(|properties| properties.keys().cloned().collect())
                    .unwrap_or_default();
                let name = if names.is_empty() || self.rng.next_below(5) == 0 {
                    "surprise".to_owned()
                } else {
                    self.rng.choose(&names).clone()
                };
                fields.insert(name, self.arbitrary_json(0));
                made
            }
            // `arguments` may be omitted but must not be null.
            (1, _) if self.rng.next_below(5) == 0 => match self.arbitrary_json(0) {
                Value::Null => json!([]),
                anything => anything,
            },
            _ => made,
        }
    }

    /// Generates a value that is valid according to the schema, as far as the schema is specific.
    fn generate_value(&mut self, schema: &Value, depth: usize) -> Value {
        if let Some(names) = schema["enum"].as_array() {
            return self.rng.choose(names).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.rng.choose(kinds).clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") => {
                let required = |name: &str| {
                    schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)))
                };
                let mut fields = Map::new();
                for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                    if required(name) || self.rng.next_below(4) == 0 {
                        fields.insert(name.clone(), self.generate_value(property, depth + 1));
                    }
                }
                Value::Object(fields)
            }
            Some("array") => {
                let least = schema["minItems"].as_u64().unwrap_or(0);
                let count = usize::try_from(least).unwrap() + self.rng.next_below(3);
                (0..count).map(|_| self.generate_value(&schema["items"], depth + 1)).collect()
            }
            Some("string") => self.generate_text().into(),
            Some("integer") => {
                let least = schema["minimum"].as_i64().unwrap_or(0);
                let most = schema["maximum"].as_i64().unwrap_or(least + 50);
                let span = usize::try_from(most - least + 1).unwrap();
                (least + i64::try_from(self.rng.next_below(span)).unwrap()).into()
            }
            Some("number") => {
                json!(f64::from(u8::try_from(self.rng.next_below(100)).unwrap()) / 50.0)
            }
            Some("boolean") => (self.rng.next_below(2) == 0).into(),
            _ => self.arbitrary_json(depth),
        }
    }

    fn generate_text(&mut self) -> String {
        match self.rng.next_below(8) {
            0 => (*self.rng.choose(&AWKWARD_TEXTS)).to_owned(),
            1 => format!(
                "{} {}",
                self.rng.choose(self.known_texts),
                self.rng.choose(self.known_texts)
            ),
            _ => self.rng.choose(self.known_texts).clone(),
        }
    }

    /// Generates an arbitrary JSON value.
    fn arbitrary_json(&mut self, depth: usize) -> Value {
        match self.rng.next_below(if depth < 3 { 9 } else { 7 }) {
            0 => Value::Null,
            1 => true.into(),
            2 => json!(i64::MAX),
            3 => json!(-1),
            4 => json!(1e300),
            5 => self.generate_text().into(),
            6 => "x".repeat(self.rng.next_below(5_000)).into(),
            7 => (0..self.rng.next_below(4)).map(|_| self.arbitrary_json(depth + 1)).collect(),
            _ => {
                let names = ["query", "id", "source", "retrieval", "mode", "filters"];
                let name = *self.rng.choose(&names);
                json!({ name: self.arbitrary_json(depth + 1) })
            }
        }
    }
}
