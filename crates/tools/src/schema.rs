//! Generates compact JSON Schemas (2020-12) of tool inputs and outputs. Every client pays for their
//! size in every conversation, so subschemas are inlined and keywords that do not help a model are
//! dropped.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Generates the input schema of a tool.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = generate_schema::<T>(SchemaSettings::draft2020_12().for_deserialize());
    compact_schema(&mut schema);
    remove_null_type(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Generates the output schema of a tool: fields, their types, and `required` for fields that are
/// never null.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    let mut schema = generate_schema::<T>(SchemaSettings::draft2020_12().for_serialize());
    compact_schema(&mut schema);
    let mut always = schema.get("required").cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        flatten_field(field);
        if let Some(always) = always.as_array_mut() {
            if !always.iter().any(|known| known == name) {
                // Optional fields are omitted when empty, never null.
                remove_null_type(field);
            } else if schema_types(field).contains(&"null") {
                always.retain(|known| known != name);
            }
        }
    }
    schema["required"] = always;
    schema
}

/// Returns the types that a schema allows; empty if it names none.
pub(crate) fn schema_types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn generate_schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    if let Value::Object(fields) = &mut schema {
        fields.remove("description");
    }
    schema
}

/// Removes keywords that do not help a model, recursively.
fn compact_schema(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    // `uint` and similar formats are not part of JSON Schema. `additionalProperties` is dropped
    // because the server rejects unknown fields itself, with a better message than a validating
    // client can give.
    for keyword in ["format", "title", "additionalProperties"] {
        fields.remove(keyword);
    }
    let nothing = [
        ("default", Value::Null),
        ("default", false.into()),
        ("default", 0.into()),
        ("minimum", 0.into()),
        ("minimum", 1.into()),
    ];
    for (keyword, nothing) in nothing {
        if fields.get(keyword) == Some(&nothing) {
            fields.remove(keyword);
        }
    }
    for keyword in ["items", "anyOf", "oneOf"] {
        match fields.get_mut(keyword) {
            Some(Value::Array(variants)) => variants.iter_mut().for_each(compact_schema),
            Some(inner) => compact_schema(inner),
            None => {}
        }
    }
    if let Some(Value::Object(items)) = fields.get_mut("items") {
        items.remove("description");
    }
    merge_const_variants(fields);
    merge_typed_variants(fields);
    // An empty description replaces that of the type where the name of an argument says enough.
    if fields.get("description") == Some(&"".into()) {
        fields.remove("description");
    }
    properties_mut(schema).for_each(compact_schema);
}

/// Converts documented enum variants to a single `enum`, which models read better.
fn merge_const_variants(fields: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = fields.get("oneOf") else { return };
    let names: Option<Vec<Value>> =
        variants.iter().map(|variant| variant.get("const").cloned()).collect();
    if let Some(names) = names {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), "string".into());
        fields.insert("enum".to_owned(), names.into());
    }
}

/// Merges `anyOf` variants that differ only in their type into one schema with several types.
fn merge_typed_variants(fields: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = fields.get("anyOf") else { return };
    let mut merged = Map::new();
    let mut names: Vec<&str> = Vec::new();
    for variant in variants {
        let Some(variant_fields) = variant.as_object() else { return };
        names.extend(schema_types(variant));
        for (keyword, value) in variant_fields {
            let known = merged.insert(keyword.clone(), value.clone());
            let differs = known.is_some_and(|known| known != *value);
            if differs && !["type", "description"].contains(&keyword.as_str()) {
                return;
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    merged.insert("type".to_owned(), names.into());
    fields.remove("anyOf");
    for (keyword, value) in merged {
        fields.entry(keyword).or_insert(value);
    }
}

/// Removes `null` from the types of optional arguments: they are omitted, not null.
fn remove_null_type(schema: &mut Value) {
    if let Some(Value::Array(names)) = schema.get_mut("type") {
        names.retain(|name| name != "null");
        if let [only] = names.as_slice() {
            schema["type"] = only.clone();
        }
    }
    properties_mut(schema).for_each(remove_null_type);
}

/// Reduces a schema to its type and the type of its elements.
fn flatten_field(schema: &mut Value) {
    // The remaining variants all have the same type.
    if let Some(first) = schema.get("anyOf").and_then(|variants| variants.get(0)) {
        *schema = first.clone();
    }
    let kind = schema.get("type").cloned().unwrap_or_default();
    let items = schema.get("items").and_then(|items| items.get("type")).cloned();
    *schema = match (kind, items) {
        // The element type of a nullable list is dropped.
        (kind @ Value::Array(_), _) | (kind, None) => json!({ "type": kind }),
        (kind, Some(items)) => json!({ "type": kind, "items": { "type": items } }),
    };
}

fn properties_mut(schema: &mut Value) -> impl Iterator<Item = &mut Value> {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(|properties| properties.values_mut())
}
