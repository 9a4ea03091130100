//! The promises of the tools, written out: `schemas/tools` says what each
//! takes and answers. Changing one is changing a promise, seen in a diff.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use vademecum::registry;
use vademecum_mcp::{NameStyle, ToolCatalog, ToolListing, Toolset};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/tools")
}

/// Each file as it should be: how a client that is shown everything sees the tool.
fn promised() -> BTreeMap<String, String> {
    let tools = registry::tools();
    let catalog = ToolCatalog::new(tools.iter().map(|tool| tool.entry().clone()).collect());
    let listing = ToolListing {
        name_style: NameStyle::Dotted,
        toolsets: Toolset::ALL.to_vec(),
        include_write: true,
        include_admin: true,
    };
    let listed = catalog.list_tools(&listing).into_iter();
    listed
        .map(|tool| {
            let name = tool["name"].as_str().unwrap();
            (format!("{name}.json"), serde_json::to_string_pretty(&tool).unwrap() + "\n")
        })
        .collect()
}

/// `UPDATE_SCHEMAS=1 cargo test --test it schemas` writes the files anew.
#[test]
fn the_files_say_what_the_tools_promise() {
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1");
    if update {
        fs::create_dir_all(folder()).unwrap();
    }
    for (name, text) in promised() {
        let path = folder().join(&name);
        if update {
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{name} differs; if that is meant, run with UPDATE_SCHEMAS=1");
    }
}

#[test]
fn there_is_a_file_for_each_tool_and_no_other() {
    let files: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, promised().into_keys().collect());
}

/// The keywords of a schema, wherever they stand; names of properties are none.
fn keywords(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(name.clone());
                match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.values().for_each(|property| keywords(property, found));
                    }
                    ("default" | "enum" | "const" | "examples", _) => {}
                    (_, value) => keywords(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keywords(value, found)),
        _ => {}
    }
}

#[test]
fn a_schema_has_nothing_to_resolve_and_nothing_that_validators_warn_about() {
    for (name, text) in promised() {
        let tool: Value = serde_json::from_str(&text).unwrap();
        let mut found = BTreeSet::new();
        keywords(&tool["inputSchema"], &mut found);
        keywords(&tool["outputSchema"], &mut found);
        for word in ["$ref", "$defs", "$schema", "definitions", "format", "title"] {
            assert!(!found.contains(word), "{name}: {word}");
        }
        assert!(!text.contains("\"$ref\""), "{name}");
    }
}

#[test]
fn every_argument_is_explained_by_the_tool_or_by_one_with_the_same() {
    let (mut explained, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for text in promised().into_values() {
        let tool: Value = serde_json::from_str(&text).unwrap();
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
        let inner = &arguments.get("retrieval").unwrap_or(&Value::Null)["properties"];
        for (argument, schema) in arguments.iter().chain(inner.as_object().into_iter().flatten()) {
            taken.insert(argument.clone());
            if schema["description"].as_str().is_some_and(|said| !said.is_empty()) {
                explained.insert(argument.clone());
            }
        }
    }
    assert_eq!(explained, taken);
}
