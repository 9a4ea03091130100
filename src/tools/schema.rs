//! JSON Schema 2020-12 of what tools take and answer: nothing to resolve, and
//! nothing that validators warn about.

use schemars::{JsonSchema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use crate::actors::CallError;

/// The schema of what a tool takes.
pub(crate) fn input<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a tool answers.
pub(crate) fn output<T: JsonSchema>() -> Value {
    // Nobody reads descriptions of answers, but every client pays for them.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let terse = settings.with_transform(RecursiveTransform(|schema: &mut schemars::Schema| {
        schema.remove("description");
    }));
    generate::<T>(terse)
}

/// Refuses a list where the schema wants an object: serde would read it as the
/// object's fields in their order, which is nobody's promise.
pub(crate) fn refuse_lists_for_objects<T: JsonSchema>(arguments: &str) -> Result<(), CallError> {
    // What is no JSON at all is refused by whoever reads it.
    let Ok(value) = serde_json::from_str::<Value>(arguments) else { return Ok(()) };
    match misplaced_list(&input::<T>(), &value, "") {
        None => Ok(()),
        Some(place) if place.is_empty() => {
            Err(CallError::Invalid("arguments: expected an object, got a list".to_owned()))
        }
        Some(place) => Err(CallError::Invalid(format!("{place}: expected an object, got a list"))),
    }
}

/// Where a list stands that should be an object.
fn misplaced_list(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let schema = match schema.get("anyOf").and_then(Value::as_array) {
        // An optional object: the object, or null.
        Some(variants) => variants.iter().find(|variant| variant.get("properties").is_some())?,
        None => schema,
    };
    let properties = schema.get("properties")?;
    match value {
        Value::Array(_) => Some(place.to_owned()),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            misplaced_list(properties.get(name)?, value, &place)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(RecursiveTransform(|schema: &mut schemars::Schema| {
            // `uint` and the like are no formats of JSON Schema.
            schema.remove("format");
            schema.remove("title");
            collapse(schema);
        }));
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    if let Value::Object(fields) = &mut schema {
        fields.remove("description");
        fields.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// Documented variants of an enum become one `enum`, which is what models read.
fn collapse(schema: &mut schemars::Schema) {
    let Some(Value::Array(variants)) = schema.get("oneOf") else { return };
    let names: Option<Vec<Value>> =
        variants.iter().map(|variant| variant.get("const").cloned()).collect();
    if let Some(names) = names {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), names.into());
    }
}
