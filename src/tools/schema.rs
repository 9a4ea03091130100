//! JSON Schema 2020-12 of what tools take and answer, in few words: every
//! client pays for each of them in every conversation. There is nothing to
//! resolve, and nothing that validators warn about.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of what a tool takes.
pub(crate) fn input<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_deserialize());
    shorten(&mut schema);
    optional_is_not_null(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of what a tool answers: its fields, what kind of value each is,
/// and which of them always have one.
pub(crate) fn output<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_serialize());
    shorten(&mut schema);
    let mut always = schema.get("required").cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        flatten(field);
        if let Some(always) = always.as_array_mut() {
            if !always.iter().any(|known| known == name) {
                // What may be left out is left out when there is none.
                optional_is_not_null(field);
            } else if types(field).contains(&"null") {
                always.retain(|known| known != name);
            }
        }
    }
    schema["required"] = always;
    schema
}

/// The types that a schema allows; none if it does not say.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
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

/// Leaves out what says nothing to a model, everywhere in a schema.
fn shorten(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    // `uint` and the like are no formats of JSON Schema. Fields that are not
    // known are refused by the server, with a word on what was meant: a client
    // that refuses them itself can say less.
    for keyword in ["format", "title", "additionalProperties"] {
        fields.remove(keyword);
    }
    let nothing = [("default", Value::Null), ("default", false.into()), ("minimum", 0.into())];
    for (keyword, nothing) in nothing {
        if fields.get(keyword) == Some(&nothing) {
            fields.remove(keyword);
        }
    }
    for keyword in ["items", "anyOf", "oneOf"] {
        match fields.get_mut(keyword) {
            Some(Value::Array(variants)) => variants.iter_mut().for_each(shorten),
            Some(inner) => shorten(inner),
            None => {}
        }
    }
    if let Some(Value::Object(items)) = fields.get_mut("items") {
        items.remove("description");
    }
    name_variants(fields);
    merge_variants(fields);
    properties(schema).for_each(shorten);
}

/// Documented variants of an enum become one `enum`, which is what models read.
fn name_variants(fields: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = fields.get("oneOf") else { return };
    let names: Option<Vec<Value>> =
        variants.iter().map(|variant| variant.get("const").cloned()).collect();
    if let Some(names) = names {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), "string".into());
        fields.insert("enum".to_owned(), names.into());
    }
}

/// Variants that their types tell apart become one schema with several types.
fn merge_variants(fields: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = fields.get("anyOf") else { return };
    let mut merged = Map::new();
    let mut names: Vec<&str> = Vec::new();
    for variant in variants {
        let Some(variant_fields) = variant.as_object() else { return };
        names.extend(types(variant));
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

/// An argument that may be left out is not described as one that may be null.
fn optional_is_not_null(schema: &mut Value) {
    if let Some(Value::Array(names)) = schema.get_mut("type") {
        names.retain(|name| name != "null");
        if let [only] = names.as_slice() {
            schema["type"] = only.clone();
        }
    }
    properties(schema).for_each(optional_is_not_null);
}

/// Keeps what kind of value it is, and of what a list is one.
fn flatten(schema: &mut Value) {
    // Variants that are not merged are of one kind here.
    if let Some(first) = schema.get("anyOf").and_then(|variants| variants.get(0)) {
        *schema = first.clone();
    }
    let kind = schema.get("type").cloned().unwrap_or_default();
    let items = schema.get("items").and_then(|items| items.get("type")).cloned();
    *schema = match (kind, items) {
        // Where there may be none, it is not what the answer is about.
        (kind @ Value::Array(_), _) | (kind, None) => json!({ "type": kind }),
        (kind, Some(items)) => json!({ "type": kind, "items": { "type": items } }),
    };
}

fn properties(schema: &mut Value) -> impl Iterator<Item = &mut Value> {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(|properties| properties.values_mut())
}
