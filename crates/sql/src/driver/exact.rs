//! JSON as a database writes it, read without losing a digit.
//!
//! A number that readers of JSON would round becomes a text: whole numbers
//! beyond 2⁵³, and fractions with more digits than a double has.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, value::RawValue};

/// The greatest whole number that every reader of JSON takes as it is.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Digits that a double always keeps.
const SURE_DIGITS: usize = 15;

/// The members of a JSON object, in order and as they are written. `N` reads the
/// names, of which two may be alike.
pub(super) struct Members<'a, N>(pub(super) Vec<(N, &'a RawValue)>);

impl<'de, N: Deserialize<'de>> Deserialize<'de> for Members<'de, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<N>(PhantomData<N>);

        impl<'de, N: Deserialize<'de>> Visitor<'de> for InOrder<N> {
            type Value = Members<'de, N>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// Reads JSON.
pub(super) fn value(json: &str) -> Result<Value, serde_json::Error> {
    match json.trim_start().as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => Ok(number(json.trim())),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json)?;
            items.into_iter().map(|item| value(item.get())).collect()
        }
        Some(b'{') => {
            let Members::<String>(members) = serde_json::from_str(json)?;
            let members: Result<Map<String, Value>, _> = members
                .into_iter()
                .map(|(name, member)| Ok((name, value(member.get())?)))
                .collect();
            members.map(Value::Object)
        }
        Some(_) | None => text(json).map_or_else(|| serde_json::from_str(json), Ok),
    }
}

/// A JSON text in which nothing is escaped, as most are.
fn text(json: &str) -> Option<Value> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains('\\')).then(|| Value::from(inside))
}

/// A number as JSON writes it.
pub(super) fn number(digits: &str) -> Value {
    if let Ok(number) = digits.parse() {
        return whole(number);
    }
    let is_whole = digits.bytes().all(|it| it == b'-' || it.is_ascii_digit());
    let near = digits.parse().ok().filter(|near| !is_whole && is_same(digits, *near));
    near.and_then(Number::from_f64).map_or_else(|| Value::from(digits), Value::Number)
}

/// A decimal number as a database writes it. With a fraction it stays a text:
/// `1.50` is not `1.5` to whoever has declared two digits.
pub(super) fn decimal(digits: &str) -> Value {
    digits.parse().map_or_else(|_| Value::from(digits), whole)
}

/// A whole number.
pub(super) fn whole(number: i64) -> Value {
    if number.unsigned_abs() <= MAX_SAFE {
        Value::from(number)
    } else {
        Value::from(number.to_string())
    }
}

/// A whole number without a sign.
pub(super) fn unsigned(number: u64) -> Value {
    if number <= MAX_SAFE { Value::from(number) } else { Value::from(number.to_string()) }
}

/// A double, which JSON has no word for when it is none or infinite.
pub(super) fn double(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::from(number.to_string()), Value::Number)
}

/// Whether a double is what is written, digit by digit.
fn is_same(written: &str, near: f64) -> bool {
    let digits = significant(written);
    near.is_finite()
        && (digits.len() <= SURE_DIGITS && (near != 0.0 || digits.is_empty())
            || digits == significant(&format!("{near:e}")))
}

/// The digits that matter: from the first that is not zero to the last.
fn significant(number: &str) -> String {
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
    fn no_digit_is_lost() {
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
        ] {
            assert_eq!(number(written), read, "{written}");
        }
    }

    #[test]
    fn a_decimal_with_a_fraction_stays_as_it_is_written() {
        assert_eq!(decimal("1.50"), json!("1.50"));
        assert_eq!(decimal("42"), json!(42));
        assert_eq!(decimal("NaN"), json!("NaN"));
    }

    #[test]
    fn numbers_are_exact_however_deep_they_lie() {
        let read = value(r#"{"a\"b": [1, 9007199254740993, {"c": null}], "t": "x\ny", "u": "z"}"#);
        let expected = json!({"a\"b": [1, "9007199254740993", {"c": null}], "t": "x\ny", "u": "z"});
        assert_eq!(read.unwrap(), expected);
    }

    #[test]
    fn two_members_of_one_name_are_two_values() {
        let Members::<IgnoredAny>(members) = serde_json::from_str(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(members.iter().map(|(_, it)| it.get()).collect::<Vec<_>>(), ["1", "2"]);
    }
}
