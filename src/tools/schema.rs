//! JSON Schema 2020-12 of what tools take and answer: nothing to resolve, and
//! nothing that validators warn about.

use schemars::{JsonSchema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

/// The schema of what a tool takes.
pub(crate) fn input<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a tool answers.
pub(crate) fn output<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
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
