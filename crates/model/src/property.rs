//! Conditions on the properties and tasks of notes, by which they are listed.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It is to be done.
    Open,
    /// It is done or cancelled.
    Done,
}

/// State of the links of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Some link in it leads to nothing that is stored.
    Broken,
    /// No other item links to it.
    Orphan,
    /// It links to no other item, and none links to it.
    Unlinked,
}

/// A condition on one property of a note.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyCondition {
    /// Name of the property, in lower case.
    pub name: String,
    test: PropertyTest,
}

/// Test of the values of a property.
#[derive(Clone, Debug, PartialEq)]
enum PropertyTest {
    /// The note has the property.
    Exists,
    /// The note does not have the property.
    Missing,
    /// No value equals this one.
    Differs(PropertyValue),
    /// Some value compares so with this one.
    Compares(&'static [Ordering], PropertyValue),
}

/// A value of a property in the form in which it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyValue {
    /// The text without case, quotes and the brackets of a link.
    pub text: String,
    /// The number that the text is, if it is one.
    pub number: Option<f64>,
}

/// Signs before a value, the longest first, and the comparisons that they mean.
const OPERATORS: [(&str, &[Ordering]); 5] = [
    (">=", &[Ordering::Greater, Ordering::Equal]),
    ("<=", &[Ordering::Less, Ordering::Equal]),
    (">", &[Ordering::Greater]),
    ("<", &[Ordering::Less]),
    ("=", &[Ordering::Equal]),
];

impl PropertyValue {
    /// Maximum length of a compared text, in characters. Only the beginning of a longer one is compared.
    pub const MAX_CHARS: usize = 200;

    /// Reads a value as it is written in a note or in a condition.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let link = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
        let text = link.map_or(text, |link| link.split('|').next().unwrap_or(link).trim());
        let text: String =
            text.chars().flat_map(char::to_lowercase).take(Self::MAX_CHARS).collect();
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        Self { text, number }
    }

    /// Compares two values: as numbers if both are, else as texts, so that dates are in order.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            _ => self.text.cmp(&other.text),
        }
    }
}

impl PropertyCondition {
    /// Reads a condition: a value, `>=7` and the like, `*` for any value, or null for none.
    pub fn parse(name: &str, value: &Value) -> Result<Self, String> {
        let test = match value {
            Value::Null => PropertyTest::Missing,
            Value::Bool(_) | Value::Number(_) => {
                PropertyTest::Compares(&[Ordering::Equal], PropertyValue::parse(&value.to_string()))
            }
            Value::String(text) => PropertyTest::parse(text)?,
            Value::Array(_) | Value::Object(_) => {
                return Err(format!(
                    "expected a text such as `>=7`, a number, true, false or null, got `{value}`"
                ));
            }
        };
        Ok(Self { name: name.trim().to_lowercase(), test })
    }

    /// Returns whether a note with these values of the property passes.
    pub fn matches<'v>(&self, mut values: impl Iterator<Item = &'v PropertyValue>) -> bool {
        match &self.test {
            PropertyTest::Exists => values.next().is_some(),
            PropertyTest::Missing => values.next().is_none(),
            PropertyTest::Differs(other) => {
                values.all(|value| value.compare(other) != Ordering::Equal)
            }
            PropertyTest::Compares(wanted, other) => values.any(|value| {
                let is_same_kind = value.number.is_some() == other.number.is_some();
                (is_same_kind || wanted.contains(&Ordering::Equal) && wanted.len() == 1)
                    && wanted.contains(&value.compare(other))
            }),
        }
    }

    /// Returns whether a note without the property may pass.
    pub fn accepts_missing(&self) -> bool {
        matches!(self.test, PropertyTest::Missing | PropertyTest::Differs(_))
    }
}

impl PropertyTest {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Exists);
        }
        let value = |rest: &str| match rest.trim() {
            "" => Err(format!("`{text}` has no value; write for example `>=7`, or `*` for any")),
            rest => Ok(PropertyValue::parse(rest)),
        };
        if let Some(rest) = text.strip_prefix("!=") {
            return Ok(Self::Differs(value(rest)?));
        }
        for (sign, wanted) in OPERATORS {
            if let Some(rest) = text.strip_prefix(sign) {
                return Ok(Self::Compares(wanted, value(rest)?));
            }
        }
        Ok(Self::Compares(&[Ordering::Equal], value(text)?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(condition: &Value, values: &[&str]) -> bool {
        let values: Vec<PropertyValue> = values.iter().map(|it| PropertyValue::parse(it)).collect();
        PropertyCondition::parse("x", condition).unwrap().matches(values.iter())
    }

    #[test]
    fn numbers_dates_and_texts_are_compared() {
        for (condition, values, expected) in [
            (json!(">=7"), &["7.0"][..], true),
            (json!(">=7"), &["10"], true),
            (json!(">=7"), &["6.5"], false),
            (json!(">=7"), &["good"], false),
            (json!(7), &["7"], true),
            (json!("<2026-02-01"), &["2026-01-31"], true),
            (json!("< 2026-02-01"), &["2026-02-01"], false),
            (json!("Done"), &["done"], true),
            (json!("Ada Byron"), &["[[Ada Byron|Ada]]"], true),
            (json!("a"), &["b", "A"], true),
            (json!("!=a"), &["b", "A"], false),
            (json!("!=a"), &[], true),
            (json!(true), &["true"], true),
            (json!("*"), &["x"], true),
            (json!("*"), &[], false),
            (json!(null), &[], true),
            (json!(null), &["x"], false),
            (json!(">1"), &["2", "0"], true),
        ] {
            assert_eq!(passes(&condition, values), expected, "{condition} {values:?}");
        }
    }

    #[test]
    fn wrong_conditions_say_what_is_expected() {
        for wrong in [json!(">="), json!(""), json!(["a"]), json!({ "a": 1 })] {
            let error = PropertyCondition::parse("x", &wrong).unwrap_err();
            assert!(error.contains(">=7"), "{error}");
        }
    }
}
