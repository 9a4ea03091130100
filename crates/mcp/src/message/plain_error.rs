//! Errors of reading JSON in words of JSON: the names of Rust types mean nothing to the sender.

/// Returns the reason of an error without its position, which means nothing to the sender of a JSON value.
pub fn plain_json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    plain_reason(reason)
}

fn plain_reason(reason: &str) -> String {
    if reason.starts_with("data did not match any variant") {
        return "the value has none of the forms of the schema".to_owned();
    }
    let Some((found, expected)) = reason.rsplit_once(", expected ") else {
        return reason.to_owned();
    };
    // A list of names is not a type.
    if expected.starts_with(['`', '"']) || expected.starts_with("one of ") {
        return reason.to_owned();
    }
    let found = match found.strip_prefix("invalid type: ") {
        Some("sequence") => "invalid type: list".to_owned(),
        Some("map") => "invalid type: object".to_owned(),
        Some(other) if other.starts_with("floating point `") => {
            found.replacen("floating point", "number", 1)
        }
        _ => found.to_owned(),
    };
    format!("{found}, expected {}", plain_type(expected))
}

/// Returns the JSON type of what Serde expects.
fn plain_type(expected: &str) -> &str {
    let words = expected.trim_start_matches("a ").trim_start_matches("an ");
    let first = words.split([' ', '<']).next().unwrap_or_default();
    match first {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
        | "usize" => "a whole number",
        "nonzero" => "a whole number that is not 0",
        "f32" | "f64" => "a number",
        "struct" | "map" | "internally" | "adjacently" => "an object",
        "sequence" | "tuple" | "array" => "a list",
        "enum" | "newtype" | "variant" => "one of the values of the schema",
        "unit" => "null",
        "borrowed" | "str" | "string" | "char" | "character" => "a string",
        "bool" | "boolean" => "true or false",
        "option" | "any" => "a value",
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, Deserialize)]
    struct Point {
        #[expect(dead_code, reason = "only read")]
        x: u8,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    enum Either {
        #[expect(dead_code, reason = "only read")]
        One(u8),
    }

    fn error<T: DeserializeOwned>(json: &str) -> String {
        plain_json_error(&serde_json::from_str::<T>(json).map(drop).unwrap_err())
    }

    #[test]
    fn messages_have_no_names_of_rust_types() {
        let cases = [
            (error::<i64>("\"x\""), "invalid type: string \"x\", expected a whole number"),
            (error::<usize>("-1"), "invalid value: integer `-1`, expected a whole number"),
            (error::<f64>("[1]"), "invalid type: list, expected a number"),
            (error::<Point>("3"), "invalid type: integer `3`, expected an object"),
            (error::<Point>("{}"), "missing field `x`"),
            (
                error::<BTreeMap<String, u8>>("1.5"),
                "invalid type: number `1.5`, expected an object",
            ),
            (error::<Vec<u8>>("{}"), "invalid type: object, expected a list"),
            (error::<bool>("null"), "invalid type: null, expected true or false"),
            (error::<Colour>("\"x\""), "unknown variant `x`, expected `red` or `blue`"),
            (error::<Either>("\"x\""), "the value has none of the forms of the schema"),
            (
                error::<i64>("\", expected f64\""),
                "invalid type: string \", expected f64\", expected a whole number",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
