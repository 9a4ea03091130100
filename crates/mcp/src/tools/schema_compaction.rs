//! Compaction of the schemas in `tools/list`. Models read the complete list and pay for every
//! token, so text that the list already contains is left out.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

/// Schema parts that the list already contains.
#[derive(Debug, Default)]
pub(crate) struct SchemaCompactor {
    /// Object arguments, by name and schema, with the first tool that takes them.
    objects: HashMap<(String, String), String>,
    /// Argument names with their descriptions.
    descriptions: HashSet<(String, String)>,
    /// Fields of the output schemas, as text.
    outputs: HashSet<String>,
    /// Bounds of arguments: name, keyword and value.
    bounds: HashSet<(String, &'static str, String)>,
    /// Default values of arguments, by name; `None` if tools have different ones.
    defaults: HashMap<String, Option<Value>>,
}

impl SchemaCompactor {
    /// Compacts the input schema of the next tool in the list.
    pub(crate) fn compact_input(&mut self, tool: &str, input: &mut Value) {
        let arguments = input.get_mut("properties").and_then(Value::as_object_mut);
        for (name, argument) in arguments.into_iter().flatten() {
            if argument.get("properties").is_some() {
                let known = (name.clone(), argument.to_string());
                if let Some(other) = self.objects.get(&known) {
                    let words = format!("As in {other}.");
                    *argument = json!({ "type": "object" });
                    if self.descriptions.insert((name.clone(), words.clone())) {
                        argument["description"] = words.into();
                    }
                    continue;
                }
                self.objects.insert(known, tool.to_owned());
                summarize_nested_objects(argument);
            }
            self.deduplicate_descriptions(name, argument);
        }
    }

    /// Compacts the output schema of the next tool in the list: removes `required` and the type of
    /// optional fields, and the fields if the list already contains the schema.
    pub(crate) fn compact_output(&mut self, output: &mut Value) {
        let Value::Object(schema) = output else { return };
        schema.remove("required");
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        let Some(fields) = fields else { return };
        if !self.outputs.insert(format!("{fields:?}")) {
            schema.remove("properties");
            return;
        }
        for field in fields.values_mut() {
            if field.get("type").is_some_and(Value::is_array) {
                *field = json!({});
            }
        }
    }

    /// Compacts the schemas of a tool that every client lists further: removes the types of all
    /// result fields, which every answer shows, and bounds and defaults that the list already contains.
    pub(crate) fn compact_listed_by_default(&mut self, tool: &mut Value) {
        let arguments = tool.pointer_mut("/inputSchema/properties").and_then(Value::as_object_mut);
        for (name, argument) in arguments.into_iter().flatten() {
            self.deduplicate_bounds(name, argument);
        }
        let fields = tool.pointer_mut("/outputSchema/properties").and_then(Value::as_object_mut);
        fields.into_iter().flatten().for_each(|(_, field)| *field = json!({}));
    }

    /// Removes descriptions that the list already contains, and the properties of nested objects.
    fn deduplicate_descriptions(&mut self, name: &str, argument: &mut Value) {
        let Value::Object(fields) = argument else { return };
        if let Some(Value::String(words)) = fields.get("description")
            && !self.descriptions.insert((name.to_owned(), words.clone()))
        {
            fields.remove("description");
        }
        let inner = fields.get_mut("properties").and_then(Value::as_object_mut);
        for (name, field) in inner.into_iter().flatten() {
            if let Value::Object(fields) = field {
                fields.remove("properties");
            }
            self.deduplicate_descriptions(name, field);
        }
    }

    /// Removes bounds that an argument of the same name in the list already has, and a default value
    /// that all of them have.
    fn deduplicate_bounds(&mut self, name: &str, argument: &mut Value) {
        let Value::Object(fields) = argument else { return };
        for keyword in ["minimum", "maximum"] {
            let bound = fields.get(keyword).map(|it| (name.to_owned(), keyword, it.to_string()));
            if bound.is_some_and(|bound| !self.bounds.insert(bound)) {
                fields.remove(keyword);
            }
        }
        let default = fields.get("default").cloned();
        match self.defaults.get_mut(name) {
            None => drop(self.defaults.insert(name.to_owned(), default)),
            Some(known) if *known == default => drop(fields.remove("default")),
            Some(known) => *known = None,
        }
    }
}

/// Replaces the properties of an object that holds only objects by their names in the description:
/// `notes {keywords}`.
fn summarize_nested_objects(argument: &mut Value) {
    let Some(Value::Object(inner)) = argument.get("properties") else { return };
    if inner.values().any(|field| field.get("type") != Some(&"object".into())) {
        return;
    }
    let named = inner.iter().filter_map(|(name, object)| {
        let fields: Vec<&str> =
            object.get("properties")?.as_object()?.keys().map(String::as_str).collect();
        Some(format!("{name} {{{}}}", fields.join(", ")))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    if let Some(fields) = argument.as_object_mut() {
        let words = fields.get("description").and_then(Value::as_str).unwrap_or_default();
        let words = format!("{words}: {named}");
        fields.remove("properties");
        fields.insert("description".to_owned(), words.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_descriptions_are_removed() {
        let inner = json!({ "type": "object", "description": "c, d", "properties": { "c": {} } });
        let input = json!({ "properties": {
            "a": { "type": "string", "description": "What it is." },
            "b": { "type": "object", "properties": { "inner": inner, "e": { "type": "integer" } } },
        }});
        let (mut compactor, mut first, mut second) =
            (SchemaCompactor::default(), input.clone(), input);
        compactor.compact_input("one", &mut first);
        compactor.compact_input("two", &mut second);
        assert_eq!(
            first["properties"]["b"]["properties"]["inner"],
            json!({ "type": "object", "description": "c, d" })
        );
        assert_eq!(first["properties"]["a"]["description"], "What it is.");
        assert_eq!(
            second["properties"],
            json!({
                "a": { "type": "string" },
                "b": { "type": "object", "description": "As in one." },
            })
        );
    }

    #[test]
    fn tools_listed_by_default_have_bounds_once() {
        let (mut compactor, mut compacted) = (SchemaCompactor::default(), Vec::new());
        for default in [10, 10, 20, 10] {
            let limit = json!({ "type": "integer", "minimum": 1, "default": default });
            let mut tool = json!({
                "inputSchema": { "properties": { "limit": limit } },
                "outputSchema": { "properties": { "a": { "type": "integer" } } },
            });
            compactor.compact_listed_by_default(&mut tool);
            assert_eq!(tool["outputSchema"]["properties"], json!({ "a": {} }));
            compacted.push(tool["inputSchema"]["properties"]["limit"].take());
        }
        let same = json!({ "type": "integer" });
        assert_eq!(compacted[0], json!({ "type": "integer", "minimum": 1, "default": 10 }));
        assert_eq!(compacted[1], same);
        assert_eq!(compacted[2], json!({ "type": "integer", "default": 20 }));
        assert_eq!(compacted[3], json!({ "type": "integer", "default": 10 }));
    }

    #[test]
    fn repeated_output_lists_no_fields() {
        let output = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let (mut compactor, mut first, mut second) =
            (SchemaCompactor::default(), output.clone(), output.clone());
        compactor.compact_output(&mut first);
        compactor.compact_output(&mut second);
        assert_eq!(first, output);
        assert_eq!(second, json!({ "type": "object" }));
    }

    #[test]
    fn nested_objects_are_listed_by_name() {
        let notes = json!({ "type": "object", "properties": { "keywords": {}, "tags": {} } });
        let filters = json!({
            "type": "object",
            "description": "By source",
            "properties": { "notes": notes, "prompts": { "type": "object" } },
        });
        let mut input = json!({ "properties": { "filters": filters } });
        SchemaCompactor::default().compact_input("one", &mut input);
        assert_eq!(
            input["properties"]["filters"],
            json!({ "type": "object", "description": "By source: notes {keywords, tags}" })
        );
    }
}
