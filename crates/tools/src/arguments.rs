//! Parses the arguments of a tool call, with errors that name the wrong field.
//!
//! Valid arguments are deserialized once. Invalid ones are coerced where the intent is clear
//! ([`coerce_arguments`]) and deserialized a second time.

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};
use vademecum_actors::CallError;
use vademecum_mcp::plain_json_error;

use super::{argument_coercion::coerce_arguments, schema::schema_types};

/// Parses the arguments of a tool with input schema `schema`; invalid ones are coerced first.
pub(crate) fn parse_lenient<T: DeserializeOwned>(
    arguments: &RawValue,
    schema: &Value,
) -> Result<T, CallError> {
    let text = match arguments.get() {
        "null" => "{}",
        text => text,
    };
    parse_strict(arguments, schema).or_else(|problem| match serde_json::from_str(text) {
        Ok(value) => deserialize_arguments(&coerce_arguments(schema, value)?.to_string(), schema),
        Err(_) => Err(problem),
    })
}

/// Like [`parse_lenient`], but without coercion, for tools that programs call.
pub(crate) fn parse_strict<T: DeserializeOwned>(
    arguments: &RawValue,
    schema: &Value,
) -> Result<T, CallError> {
    deserialize_arguments(if arguments.get() == "null" { "{}" } else { arguments.get() }, schema)
}

fn deserialize_arguments<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<T, CallError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let input = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let reason = plain_json_error(error.inner());
        CallError::Invalid(match place.as_str() {
            "." => reason,
            place => format!("{place}: {reason}"),
        })
    })?;
    if text.contains('[') {
        reject_lists_for_objects(text, schema)?;
    }
    Ok(input)
}

/// Rejects a list where the schema requires an object. Serde would accept it as the object's fields
/// in declaration order, which no schema promises.
fn reject_lists_for_objects(arguments: &str, schema: &Value) -> Result<(), CallError> {
    // Invalid JSON has been rejected by the deserializer.
    let Ok(value) = serde_json::from_str::<Value>(arguments) else { return Ok(()) };
    match find_misplaced_list(schema, &value, "arguments") {
        None => Ok(()),
        Some(place) => Err(CallError::Invalid(format!("{place}: expected an object, got a list"))),
    }
}

/// Returns the path of a list that stands where the schema requires an object.
fn find_misplaced_list(schema: &Value, value: &Value, place: &str) -> Option<String> {
    match value {
        Value::Array(_) => (schema_types(schema) == ["object"]).then(|| place.to_owned()),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let place = match place {
                "arguments" => name.clone(),
                place => format!("{place}.{name}"),
            };
            find_misplaced_list(schema.get("properties")?.get(name)?, value, &place)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
