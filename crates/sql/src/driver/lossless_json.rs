//! Lossless parsing of JSON and numbers from a database.
//!
//! Numbers that JSON readers would round become strings: integers beyond 2⁵³ − 1, and fractions
//! with more digits than a double holds.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, value::RawValue};

/// Largest integer that all JSON readers represent exactly: 2⁵³ − 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Number of significant decimal digits that a double always preserves.
const EXACT_DIGITS: usize = 15;

/// Maximum depth of parsed JSON. Deeper values could exhaust the stack, and clients reject them.
const MAX_DEPTH: usize = 100;

/// Members of a JSON object, in order, with unparsed values. `N` is the type of the names;
/// duplicate names are kept.
pub(super) struct ObjectMembers<'a, N>(pub(super) Vec<(N, &'a RawValue)>);

impl<'de, N: Deserialize<'de>> Deserialize<'de> for ObjectMembers<'de, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<N>(PhantomData<N>);

        impl<'de, N: Deserialize<'de>> Visitor<'de> for InOrder<N> {
            type Value = ObjectMembers<'de, N>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(ObjectMembers(members))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// Parses JSON without losing digits. Values below [`MAX_DEPTH`] levels become strings of JSON.
pub(super) fn parse_json(json: &str) -> Result<Value, serde_json::Error> {
    parse_nested(json, MAX_DEPTH)
}

fn parse_nested(json: &str, depth: usize) -> Result<Value, serde_json::Error> {
    match json.trim_start().as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => Ok(number_value(json.trim())),
        Some(b'[' | b'{') if depth == 0 => Ok(Value::from(json)),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json)?;
            items.into_iter().map(|item| parse_nested(item.get(), depth - 1)).collect()
        }
        Some(b'{') => {
            let ObjectMembers::<String>(members) = serde_json::from_str(json)?;
            let members: Result<Map<String, Value>, _> = members
                .into_iter()
                .map(|(name, member)| Ok((name, parse_nested(member.get(), depth - 1)?)))
                .collect();
            members.map(Value::Object)
        }
        Some(_) | None => parse_plain_string(json).map_or_else(|| serde_json::from_str(json), Ok),
    }
}

/// Parses a JSON string without escapes, the most common case.
fn parse_plain_string(json: &str) -> Option<Value> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains('\\')).then(|| Value::from(inside))
}

/// Converts a JSON number; it becomes a string if a number would be inexact.
pub(super) fn number_value(digits: &str) -> Value {
    if let Ok(number) = digits.parse() {
        return integer_value(number);
    }
    let is_whole = digits.bytes().all(|it| it == b'-' || it.is_ascii_digit());
    let near = digits.parse().ok().filter(|near| !is_whole && is_exact(digits, *near));
    near.and_then(Number::from_f64).map_or_else(|| Value::from(digits), Value::Number)
}

/// Converts a decimal number of a database. With a fraction it stays a string, which preserves
/// trailing zeros such as in `1.50`.
pub(super) fn decimal_value(digits: &str) -> Value {
    digits.parse().map_or_else(|_| Value::from(digits), integer_value)
}

/// Converts a signed integer.
pub(super) fn integer_value(number: i64) -> Value {
    if number.unsigned_abs() <= MAX_SAFE_INTEGER {
        Value::from(number)
    } else {
        Value::from(number.to_string())
    }
}

/// Converts an unsigned integer.
pub(super) fn unsigned_value(number: u64) -> Value {
    if number <= MAX_SAFE_INTEGER { Value::from(number) } else { Value::from(number.to_string()) }
}

/// Converts a double; NaN and infinities become strings.
pub(super) fn double_value(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::from(number.to_string()), Value::Number)
}

/// Returns true if a double has exactly the written digits.
fn is_exact(written: &str, near: f64) -> bool {
    let digits = significant_digits(written);
    near.is_finite()
        && (digits.len() <= EXACT_DIGITS && (near.is_normal() || digits.is_empty())
            || digits == significant_digits(&format!("{near:e}")))
}

/// Returns the significant digits: from the first to the last that is not zero.
fn significant_digits(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;
    use serde_json::json;

    use super::*;

    #[test]
    fn number_value_preserves_all_digits() {
        for (written, read) in [
            ("9007199254740991", json!(9_007_199_254_740_991_i64)),
            ("9007199254740993", json!("9007199254740993")),
            ("-9223372036854775808", json!("-9223372036854775808")),
            ("18446744073709551616", json!("18446744073709551616")),
            ("0.1", json!(0.1)),
            ("1e+300", json!(1e300)),
            ("0.30000000000000004", json!(0.300_000_000_000_000_04)),
            ("0.1234567890123456789", json!("0.1234567890123456789")),
            ("0.0", json!(0.0)),
            ("1e-400", json!("1e-400")),
            ("1e-320", json!(1e-320)),
            ("4.9e-324", json!("4.9e-324")),
        ] {
            assert_eq!(number_value(written), read, "{written}");
        }
    }

    #[test]
    fn decimal_with_fraction_stays_text() {
        assert_eq!(decimal_value("1.50"), json!("1.50"));
        assert_eq!(decimal_value("42"), json!(42));
        assert_eq!(decimal_value("NaN"), json!("NaN"));
    }

    #[test]
    fn nested_numbers_stay_exact() {
        let read =
            parse_json(r#"{"a\"b": [1, 9007199254740993, {"c": null}], "t": "x\ny", "u": "z"}"#);
        let expected = json!({"a\"b": [1, "9007199254740993", {"c": null}], "t": "x\ny", "u": "z"});
        assert_eq!(read.unwrap(), expected);
    }

    #[test]
    fn deeply_nested_values_stay_text() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let mut value = parse_json(&nested(200_000)).unwrap();
        for _ in 0..MAX_DEPTH {
            value = value[0].take();
        }
        assert_eq!(value, json!(nested(200_000 - MAX_DEPTH)));
        let objects = format!("{}1{}", "{\"a\":".repeat(150), "}".repeat(150));
        assert!(parse_json(&objects).unwrap().to_string().contains("\"{\\\"a\\\":"));
    }

    #[test]
    fn duplicate_members_are_kept() {
        let ObjectMembers::<IgnoredAny>(members) =
            serde_json::from_str(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(members.iter().map(|(_, it)| it.get()).collect::<Vec<_>>(), ["1", "2"]);
    }
}
