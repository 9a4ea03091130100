//! What a list of tools leaves out of what they take, because the list says it
//! elsewhere: whoever is shown it reads it whole, and pays for every word.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

/// What a list has said so far.
#[derive(Debug, Default)]
pub(crate) struct Brief {
    /// Objects, by their name and what they hold, and which tool takes them.
    objects: HashMap<(String, String), String>,
    /// Explanations, by the name of what they explain.
    words: HashSet<(String, String)>,
}

impl Brief {
    /// Shortens what the next tool of the list takes.
    pub(crate) fn shorten(&mut self, tool: &str, input: &mut Value) {
        let arguments = input.get_mut("properties").and_then(Value::as_object_mut);
        for (name, argument) in arguments.into_iter().flatten() {
            if argument.get("properties").is_some() {
                let known = (name.clone(), argument.to_string());
                if let Some(other) = self.objects.get(&known) {
                    *argument =
                        json!({ "type": "object", "description": format!("As in {other}.") });
                    continue;
                }
                self.objects.insert(known, tool.to_owned());
                name_fields(argument);
            }
            self.explain(name, argument);
        }
    }

    /// Shortens what a tool of the list answers: what may be there is named, and
    /// what is always there need not be told apart from it.
    pub(crate) fn shorten_output(output: &mut Value) {
        let Value::Object(schema) = output else { return };
        schema.remove("required");
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (_, field) in fields.into_iter().flatten() {
            if field.get("type").is_some_and(Value::is_array) {
                *field = json!({});
            }
        }
    }

    /// Keeps an explanation only where it is new, and of an object inside an
    /// object only that.
    fn explain(&mut self, name: &str, argument: &mut Value) {
        let Value::Object(fields) = argument else { return };
        if let Some(Value::String(words)) = fields.get("description")
            && !self.words.insert((name.to_owned(), words.clone()))
        {
            fields.remove("description");
        }
        let inner = fields.get_mut("properties").and_then(Value::as_object_mut);
        for (name, field) in inner.into_iter().flatten() {
            if let Value::Object(fields) = field {
                fields.remove("properties");
            }
            self.explain(name, field);
        }
    }
}

/// Of an object that holds nothing but objects, only names what is in them:
/// `notes {keywords}`.
fn name_fields(argument: &mut Value) {
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
    fn what_a_tool_before_has_explained_is_not_explained_again() {
        let inner = json!({ "type": "object", "description": "c, d", "properties": { "c": {} } });
        let input = json!({ "properties": {
            "a": { "type": "string", "description": "What it is." },
            "b": { "type": "object", "properties": { "inner": inner, "e": { "type": "integer" } } },
        }});
        let (mut brief, mut first, mut second) = (Brief::default(), input.clone(), input);
        brief.shorten("one", &mut first);
        brief.shorten("two", &mut second);
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
    fn of_objects_in_an_object_only_the_names_are_listed() {
        let notes = json!({ "type": "object", "properties": { "keywords": {}, "tags": {} } });
        let filters = json!({
            "type": "object",
            "description": "By source",
            "properties": { "notes": notes, "prompts": { "type": "object" } },
        });
        let mut input = json!({ "properties": { "filters": filters } });
        Brief::default().shorten("one", &mut input);
        assert_eq!(
            input["properties"]["filters"],
            json!({ "type": "object", "description": "By source: notes {keywords, tags}" })
        );
    }
}
