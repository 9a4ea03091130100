//! `config.example.toml`, generated from the schema of the settings.
//!
//! Doc comments become comments, and defaults become values. A setting without a default, and
//! every setting of a section that does not exist by default, is commented out and has the value of
//! its `#[schemars(example = …)]`. On a map or a list of sections, each example stands for one
//! section: its keys select the settings that are written (all if it has none), and its values,
//! unless they are null, replace theirs. A value in quotes loses its back-ticks.

use std::{collections::HashSet, fs, path::Path};

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Settings;

/// Maximum width of a comment, in characters.
const WIDTH: usize = 100;

/// Key of the description of a type in the schema of a property that has one of its own.
const TYPE_DESCRIPTION: &str = "typeDescription";

type Object = Map<String, Value>;

/// Whether a setting takes effect or is commented out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Active,
    Commented,
}

/// Form in which a property of a schema is written.
enum Content {
    Value(Value, Form),
    Table,
    /// A map of tables with this schema.
    Tables(Object),
}

/// The file as far as it is written.
struct Example {
    /// Schemas of the types, by name.
    definitions: Object,
    /// Comments of the current section; each is written once.
    comments: HashSet<String>,
    text: String,
}

/// Returns the content of the file.
fn generate() -> Example {
    // In the contract for serialization, all properties are required that are never skipped, in the
    // order of the fields.
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Settings>();
    let root = schema.ensure_object();
    let Some(Value::Object(definitions)) = root.remove("$defs") else { panic!("no definitions") };
    let mut example = Example { definitions, comments: HashSet::new(), text: String::new() };
    example.comment(root);
    for (name, section) in example.properties(root, &Object::new()) {
        example.text.push('\n');
        example.comments.clear();
        example.section(&name, &section);
    }
    example
}

impl Example {
    /// Writes a section of the root.
    fn section(&mut self, name: &str, schema: &Object) {
        if let Some(item) = self.map_item(schema) {
            self.tables(name, schema, &item);
        } else if let Some(item) = self.list_item(schema) {
            let mut elements = examples(schema);
            if elements.is_empty() {
                elements.push(Object::new());
            }
            for (index, element) in elements.iter().enumerate() {
                self.text.push_str(if index == 0 { "" } else { "\n" });
                self.comment(&item);
                self.line(Form::Commented, &format!("[[{name}]]"));
                self.dotted_keys("", &item, element);
            }
        } else {
            self.table(name, schema, &Object::new(), Form::Active);
        }
    }

    /// Writes a table with a header, and the tables below it.
    fn table(&mut self, path: &str, schema: &Object, entry: &Object, form: Form) {
        // The documentation of a table is that of its type.
        let about = schema.get(TYPE_DESCRIPTION).or_else(|| schema.get("description"));
        self.paragraphs(about.and_then(Value::as_str).unwrap_or_default());
        self.line(form, &format!("[{path}]"));
        let mut tables = Vec::new();
        for (key, property) in self.properties(schema, entry) {
            match self.content(&property, entry.get(&key), form) {
                Content::Value(value, form) => self.setting(&key, &property, &value, form),
                content => tables.push((format!("{path}.{key}"), property, content)),
            }
        }
        for (path, property, content) in tables {
            self.text.push_str(if form == Form::Active { "\n" } else { "#\n" });
            self.comments.clear();
            match content {
                Content::Tables(item) => self.tables(&path, &property, &item),
                Content::Table | Content::Value(..) => {
                    self.table(&path, &property, &Object::new(), Form::Commented);
                }
            }
        }
    }

    /// Writes the examples of a map of tables.
    fn tables(&mut self, path: &str, schema: &Object, item: &Object) {
        for (index, (name, entry)) in examples(schema).into_iter().flatten().enumerate() {
            self.text.push_str(if index == 0 { "" } else { "#\n" });
            let path = format!("{path}.{name}");
            self.table(&path, item, entry.as_object().unwrap(), Form::Commented);
        }
    }

    /// Writes the settings of an element of a list, whose tables have no headers.
    fn dotted_keys(&mut self, prefix: &str, schema: &Object, entry: &Object) {
        for (key, property) in self.properties(schema, entry) {
            let path = format!("{prefix}{key}");
            match self.content(&property, entry.get(&key), Form::Commented) {
                Content::Value(value, form) => self.setting(&path, &property, &value, form),
                Content::Table => {
                    self.dotted_keys(&format!("{path}."), &property, &Object::new());
                }
                Content::Tables(_) => panic!("`{path}` is a map of tables in a list"),
            }
        }
    }

    fn setting(&mut self, key: &str, property: &Object, value: &Value, form: Form) {
        self.comment(property);
        let order = property.get("required").and_then(Value::as_array);
        let value = to_toml(value, order.map_or(&[], Vec::as_slice));
        self.line(form, &format!("{key} = {value}"));
    }

    /// Writes the description of a schema, and those of its permitted values.
    fn comment(&mut self, schema: &Object) {
        self.paragraphs(schema.get("description").and_then(Value::as_str).unwrap_or_default());
        let item = self.list_item(schema);
        let values = item.as_ref().unwrap_or(schema).get("oneOf").and_then(Value::as_array);
        for value in values.into_iter().flatten() {
            let meaning = value["description"].as_str().unwrap();
            self.paragraph(&format!("{}: {meaning}", value["const"]));
        }
    }

    fn paragraphs(&mut self, text: &str) {
        text.split("\n\n").for_each(|paragraph| self.paragraph(paragraph));
    }

    /// Writes a comment, unless the section has the same one already.
    fn paragraph(&mut self, text: &str) {
        if text.is_empty() || !self.comments.insert(text.to_owned()) {
            return;
        }
        let mut line = "#".to_owned();
        for word in text.replace("`\"", "\"").replace("\"`", "\"").split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(Form::Active, &line);
                "#".clone_into(&mut line);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(Form::Active, &line);
    }

    fn line(&mut self, form: Form, line: &str) {
        self.text.push_str(if form == Form::Commented { "# " } else { "" });
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Returns the content of a property: a value that is `given`, the default or the example.
    fn content(&self, property: &Object, given: Option<&Value>, form: Form) -> Content {
        if let Some(item) = self.map_item(property) {
            return Content::Tables(item);
        }
        let given = given.filter(|value| !value.is_null());
        let default = property.get("default").filter(|value| !value.is_null());
        let example = property.get("examples").and_then(|all| all.get(0));
        let (value, form) = match (form, default) {
            (Form::Active, Some(default)) => (Some(default), Form::Active),
            (Form::Active | Form::Commented, _) => (given.or(example).or(default), Form::Commented),
        };
        match value {
            Some(value) => Content::Value(value.clone(), form),
            None if property.contains_key("properties") => Content::Table,
            None => panic!("neither a default nor an example: {property:?}"),
        }
    }

    /// Returns the properties of a table that `entry` selects, in the order of the fields. Those
    /// that may be skipped come first, because their order is unknown.
    fn properties(&self, schema: &Object, entry: &Object) -> Vec<(String, Object)> {
        let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
        let required = schema.get("required").and_then(Value::as_array).cloned();
        let required: Vec<String> =
            required.iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect();
        let skipped = properties.keys().filter(|name| !required.contains(name)).cloned();
        let names: Vec<String> = skipped.chain(required.clone()).collect();
        let selected =
            names.into_iter().filter(|name| entry.is_empty() || entry.contains_key(name));
        selected
            .map(|name| {
                let property = self.resolve(&properties[&name]);
                (name, property)
            })
            .collect()
    }

    /// Returns the schema of the tables in a map, if the schema is one of such a map.
    fn map_item(&self, schema: &Object) -> Option<Object> {
        let item = schema.get("additionalProperties").filter(|item| item.is_object())?;
        Some(self.resolve(item)).filter(|item| item.contains_key("properties"))
    }

    /// Returns the schema of the elements, if the schema is one of a list.
    fn list_item(&self, schema: &Object) -> Option<Object> {
        schema.get("items").filter(|item| item.is_object()).map(|item| self.resolve(item))
    }

    /// Returns the schema with the referenced type, whose description it may replace.
    fn resolve(&self, schema: &Value) -> Object {
        let mut schema = schema.as_object().cloned().unwrap_or_default();
        loop {
            let target = if let Some(Value::String(name)) = schema.remove("$ref") {
                self.definitions[name.trim_start_matches("#/$defs/")].clone()
            } else if let Some(Value::Array(type_or_null)) = schema.remove("anyOf") {
                type_or_null[0].clone()
            } else {
                return schema;
            };
            if let Some(description) = target.get("description") {
                schema.insert(TYPE_DESCRIPTION.to_owned(), description.clone());
            }
            for (key, value) in target.as_object().unwrap().clone() {
                schema.entry(key).or_insert(value);
            }
        }
    }
}

/// Returns the examples of a schema, which are objects.
fn examples(schema: &Object) -> Vec<Object> {
    let examples = schema.get("examples").and_then(Value::as_array);
    examples.into_iter().flatten().filter_map(|it| it.as_object().cloned()).collect()
}

/// Returns the value in a line of TOML. `order` is that of the fields of an object.
fn to_toml(value: &Value, order: &[Value]) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => {
            format!("[{}]", join(items.iter().map(|item| to_toml(item, &[])).collect()))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| order.iter().position(|name| name == *key));
            let field = |(key, value): (&String, &Value)| {
                let is_bare = key.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
                let key = if is_bare { key.clone() } else { format!("{key:?}") };
                format!("{key} = {}", to_toml(value, &[]))
            };
            format!("{{ {} }}", join(fields.into_iter().map(field).collect()))
        }
        // JSON and TOML write other values alike.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// `UPDATE_EXAMPLE=1 cargo test -p vademecum-core example` rewrites the file.
#[test]
fn example_file_matches_settings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config.example.toml");
    let text = generate().text;
    if std::env::var_os("UPDATE_EXAMPLE").is_some_and(|value| value == "1") {
        fs::write(&path, &text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "config.example.toml differs; if intended, run with UPDATE_EXAMPLE=1");
}

#[test]
fn example_mentions_every_setting() {
    let Example { definitions, text, .. } = generate();
    let types = definitions.values().filter_map(|schema| schema["properties"].as_object());
    for name in types.flat_map(Map::keys) {
        // As a key, as a table, before a dot, or in the comment of another setting.
        let forms =
            [format!("{name} = "), format!("{name}]"), format!("{name}."), format!("`{name}`")];
        assert!(forms.iter().any(|form| text.contains(form)), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn commented_settings_are_valid() {
    let mut is_active = false;
    let uncomment = |line: &str| {
        let is_list = matches!(line, "# [[deny]]" | "# [[folders]]");
        is_active = is_list || line.starts_with('[') || (is_active && !line.starts_with("# ["));
        let is_setting = |it: &&str| is_list || it.split(' ').nth(1) == Some("=");
        let setting = line.strip_prefix("# ").filter(is_setting);
        setting.filter(|_| is_active).unwrap_or(line).to_owned()
    };
    let text: Vec<String> = generate().text.lines().map(uncomment).collect();
    let settings = Settings::parse(&text.join("\n")).unwrap_or_else(|error| panic!("{error}"));
    assert!(settings.server.public_url.is_some() && settings.archive.location.is_some());
    assert_eq!((settings.deny.len(), settings.folders.len()), (1, 1));
}
