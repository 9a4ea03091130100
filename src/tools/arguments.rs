//! From the text of a call to arguments that a tool takes, or to words on what
//! is wrong with them and where.
//!
//! What is right is read once. What is not is mended if it is plain what was
//! meant (`forgive`), and read again.

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use super::{forgive::forgive, schema::types};
use crate::actors::CallError;

/// Reads the arguments of a tool that takes what `schema` says.
pub(crate) fn parse<T: DeserializeOwned>(
    arguments: &RawValue,
    schema: &Value,
) -> Result<T, CallError> {
    let text = match arguments.get() {
        "null" => "{}",
        text => text,
    };
    read_strictly(arguments, schema).or_else(|problem| match serde_json::from_str(text) {
        Ok(value) => read(&forgive(schema, value)?.to_string(), schema),
        Err(_) => Err(problem),
    })
}

/// The same, for a tool whose callers are programs: nothing is mended.
pub(crate) fn read_strictly<T: DeserializeOwned>(
    arguments: &RawValue,
    schema: &Value,
) -> Result<T, CallError> {
    read(if arguments.get() == "null" { "{}" } else { arguments.get() }, schema)
}

fn read<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<T, CallError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let input = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let reason = reason(error.inner());
        CallError::Invalid(match place.as_str() {
            "." => reason,
            place => format!("{place}: {reason}"),
        })
    })?;
    if text.contains('[') {
        refuse_lists_for_objects(text, schema)?;
    }
    Ok(input)
}

/// Refuses a list where the schema wants an object: serde would read it as the
/// object's fields in their order, which is nobody's promise.
fn refuse_lists_for_objects(arguments: &str, schema: &Value) -> Result<(), CallError> {
    // What is no JSON at all is refused by whoever reads it.
    let Ok(value) = serde_json::from_str::<Value>(arguments) else { return Ok(()) };
    match misplaced_list(schema, &value, "arguments") {
        None => Ok(()),
        Some(place) => Err(CallError::Invalid(format!("{place}: expected an object, got a list"))),
    }
}

/// Where a list stands that should be an object.
fn misplaced_list(schema: &Value, value: &Value, place: &str) -> Option<String> {
    match value {
        Value::Array(_) => (types(schema) == ["object"]).then(|| place.to_owned()),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let place = match place {
                "arguments" => name.clone(),
                place => format!("{place}.{name}"),
            };
            misplaced_list(schema.get("properties")?.get(name)?, value, &place)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The error without its line and column, which nobody who sends JSON knows.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}
